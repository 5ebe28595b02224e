// Where a kernel reads: for everything that the computation of a node loads, how the place depends on the node's own point.
#pragma once

#include <set>
#include <vector>

#include "frontend/ir/graph.h"

namespace spirograd::lower {

struct Access {
  ir::NodeId leaf;     // a root, a loop result, a parameter or a constant array
  uint32_t axes = 0;   // bit a: the place depends on coordinate a of the point
  bool own = false;    // the place is the point itself
};

/// Every different access of the kernel that computes `root`, in a fixed order. The walk stops at `roots`, parameters and
/// constants.
std::vector<Access> accesses(const ir::Graph& g, ir::NodeId root, const std::set<uint32_t>& roots);

}  // namespace spirograd::lower
