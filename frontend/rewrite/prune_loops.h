// Dead parts of loops.
#pragma once

#include <vector>

#include "frontend/ir/graph.h"

namespace spirograd::rewrite {

/// Rebuilds the loops below `roots` (not inside other loops' bodies): results that nobody reads, accumulators that feed only
/// themselves and operands that the body does not use are dropped; accumulators that never change and element stacks whose
/// rows are all equal become invariant operands; a loop of length 0 gives its initial accumulators. Returns the new roots.
std::vector<ir::NodeId> prune_loops(ir::Graph& g, std::vector<ir::NodeId> roots);

}  // namespace spirograd::rewrite
