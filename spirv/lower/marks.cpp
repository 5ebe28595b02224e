#include "spirv/lower/marks.h"

#include <vector>

namespace spirograd::lower {

using ir::NodeId;
using ir::Op;

void add_marked(const ir::Graph& g, std::span<const NodeId> order, std::set<uint32_t>& stored, NodeSet& recomputed) {
  for (NodeId id : order)
    if (const NodeId marked = g[id].op == Op::PreferStore ? g[id].in[0] : NodeId{}; marked && g[marked].op != Op::Param)
      stored.insert(marked.v);
  for (NodeId id : order) {
    if (g[id].op != Op::PreferRecompute) continue;
    // What it is made of element by element has as many bytes; what a reduction gives may be stored.
    std::vector<NodeId> below = {id, g[id].in[0]};
    while (!below.empty()) {
      const NodeId at = below.back();
      below.pop_back();
      const ir::Node& n = g[at];
      const bool elementwise = n.op != Op::PreferStore && (ir::is_pointwise(n.op) || n.op == Op::Broadcast);
      if (stored.contains(at.v) || recomputed.contains(at.v) || !(elementwise || at == g[id].in[0])) continue;
      recomputed.insert(at.v);
      if (elementwise) below.insert(below.end(), n.in.begin(), n.in.end());
    }
  }
}

}  // namespace spirograd::lower
