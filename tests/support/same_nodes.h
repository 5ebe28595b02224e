// Programs have graphs of their own, so node ids say nothing across programs.
#pragma once

#include "frontend/ir/own_graph.h"

namespace spirograd::test {

/// Whether the results of both are the same nodes once they stand in one graph.
inline bool same_nodes(const Program& a, const Program& b) {
  ir::Graph g;
  return ir::copy_into(g, a) == ir::copy_into(g, b);
}

}  // namespace spirograd::test
