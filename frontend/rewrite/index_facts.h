// What is known about an integer array without running the program: a closed form over the positions of its axes, a range of
// values, and the axes it depends on. Everything here is a proof: when nothing can be proved the fact says so.
#pragma once

#include <unordered_map>

#include "frontend/rewrite/affine.h"

namespace spirograd::rewrite {

struct IndexFact {
  bool affine = false;  // the value is exactly `f` and no step of its computation wraps
  Affine f;
  Range range;        // of i32 values; everything for other types
  uint32_t axes = 0;  // bit t: the value may depend on the position along axis t
};

/// Facts of nodes, computed once per node. Nodes are immutable, so facts stay true while the graph grows.
class Facts {
 public:
  explicit Facts(ir::Graph& graph) : graph_(graph) {}
  ir::Graph& graph() const { return graph_; }
  const IndexFact& operator()(ir::Expr e);

 private:
  ir::Graph& graph_;
  std::unordered_map<uint32_t, IndexFact> memo_;
};

}  // namespace spirograd::rewrite
