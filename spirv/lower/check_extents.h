// What an array may be: 32 bits count its elements in memory, and along an axis of any array; and the device has its
// elements.
#pragma once

#include <cstdint>
#include <span>

#include "frontend/ir/graph.h"
#include "spirograd/target.h"

namespace spirograd::lower {

constexpr int64_t kArrayLimit = 0x7fffffff;  // elements of an array in memory: indices are 32 bits wide

/// Index arithmetic is done in 32 bits, also for arrays that are never materialised. Throws SG0303 where it would not fit.
void check_extents(const ir::Graph& g, std::span<const ir::NodeId> roots);

/// Throws SG0303 where an array of that type can have no buffer: it is too large, or its elements are none of the target's.
void check_buffer(const Type& type, const Target& target, const Loc& at = {});

}  // namespace spirograd::lower
