// Neighbouring axes that nothing tells apart are one axis: what is written for three axes is scheduled like what is written
// for two, and its indices need no divisions.
#pragma once

#include <span>
#include <vector>

#include "frontend/ir/graph.h"

namespace spirograd::lower {

/// What computes the same elements in the same order, with neighbouring axes joined wherever all operations treat them
/// alike: the sum of f32[4,6,5] over its first axis is that of f32[4,30]. The new roots may have fewer axes, and so may the
/// parameters and constants that they read.
std::vector<ir::NodeId> with_joined_axes(ir::Graph& g, std::span<const ir::NodeId> roots);

}  // namespace spirograd::lower
