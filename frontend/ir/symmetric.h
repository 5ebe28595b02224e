// Arrays that are the same when two of their axes change places: x^T x, distances between all points.
#pragma once

#include <optional>
#include <utility>

#include "frontend/ir/graph.h"

namespace spirograd::ir {

/// The first two axes, in order, between which the value of the node is symmetric in exact arithmetic, whatever the inputs
/// are: factors and terms may have another order. Conservative: looks at a few dozen nodes, and not into loops.
std::optional<std::pair<int, int>> symmetric_axes(const Graph& g, NodeId id);

}  // namespace spirograd::ir
