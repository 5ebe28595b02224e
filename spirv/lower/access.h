// Where a kernel reads: for everything that the computation of a node loads, how the place depends on the node's own point.
#pragma once

#include <vector>

#include "frontend/ir/graph.h"

namespace spirograd::lower {

/// A set of nodes of one graph, asked far more often than changed.
class NodeSet {
 public:
  bool contains(uint32_t id) const { return id < in_.size() && in_[id]; }
  void insert(uint32_t id) {
    if (id >= in_.size()) in_.resize(id + 1, false);
    in_[id] = true;
  }
  void clear() { in_.clear(); }

 private:
  std::vector<bool> in_;  // by id
};

/// One coordinate of a place: which coordinates of a kernel's own point it depends on, and whether it is one of them
/// unchanged.
struct Coordinate {
  uint32_t axes = 0;
  int same_as = -1;
  auto operator<=>(const Coordinate&) const = default;
};
using Place = std::vector<Coordinate>;

/// Where operand j is read when the node is computed at `place`. `reduced` stands for the axes that a reduction runs over.
Place operand_place(const ir::Graph& g, const ir::Node& n, size_t j, const Place& place, Coordinate reduced = {});

struct Access {
  ir::NodeId leaf;    // a root, a loop result, a parameter or a constant array
  uint32_t axes = 0;  // bit a: the place depends on coordinate a of the point
  bool own = false;   // the place is the point itself
};

/// Every different access of the kernel that computes `root`, in a fixed order. The walk stops at `roots`, parameters and
/// constants.
std::vector<Access> accesses(const ir::Graph& g, ir::NodeId root, const NodeSet& roots);

}  // namespace spirograd::lower
