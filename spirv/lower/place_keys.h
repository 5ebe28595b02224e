// Places as numbers: whether what is computed for one point is asked for at one place, or at several.
#pragma once

#include <cstdint>
#include <vector>

#include "frontend/ir/graph.h"

namespace spirograd::lower {

/// One number per axis, equal for coordinates that are the same function of a kernel's own point; of those that differ,
/// equal ones are as rare as equal hashes. What shifts and reversals make of a coordinate is recognised whatever their
/// order.
using PlaceKeys = std::vector<uint64_t>;

/// Those of the kernel's own point.
PlaceKeys keys_of_point(const Shape& domain);

/// Where operand j is read when the node is computed at such a place. `start`: where the operand begins in a concatenation.
/// All that a reduction runs over counts as one place, the same for all reductions.
PlaceKeys operand_keys(const ir::Graph& g, const ir::Node& n, size_t j, const PlaceKeys& at, int64_t start);

}  // namespace spirograd::lower
