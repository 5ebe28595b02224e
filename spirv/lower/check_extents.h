// What 32 bits can count: elements of an array in memory, and along an axis of any array.
#pragma once

#include <cstdint>
#include <span>

#include "frontend/ir/graph.h"

namespace spirograd::lower {

constexpr int64_t kArrayLimit = 0x7fffffff;  // elements of an array in memory: indices are 32 bits wide

/// Index arithmetic is done in 32 bits, also for arrays that are never materialised. Throws SG0303 where it would not fit.
void check_extents(const ir::Graph& g, std::span<const ir::NodeId> roots);

}  // namespace spirograd::lower
