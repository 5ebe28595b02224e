#include "frontend/text/weak_nodes.h"

#include <algorithm>

#include "frontend/ir/traverse.h"

namespace spirograd::text {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;

std::unordered_set<uint32_t> weak_nodes(const Graph& g, std::span<const NodeId> roots) {
  std::unordered_set<uint32_t> weak;
  for (NodeId id : ir::postorder(g, roots)) {
    const Node& n = g[id];
    const DType t = n.type.dtype;
    size_t from = 0, to = n.in.size();  // the operands that give the element type
    if (n.op == Op::Select) from = 1;
    if (n.op == Op::Gather || ir::is_scatter(n.op)) to = 1;
    if (n.op == Op::Const && n.type.shape.rank() == 0 && (t == DType::F32 || t == DType::I32)) weak.insert(id.v);
    if (t == DType::Bool || from == to || n.op == Op::Cast || n.op == Op::Quot || finds_place(n.op) ||
        n.op == Op::MapAccum || n.op == Op::Proj)
      continue;
    const bool all = std::all_of(n.in.begin() + static_cast<int64_t>(from), n.in.begin() + static_cast<int64_t>(to),
                                 [&](NodeId i) { return weak.contains(i.v); });
    if (all) weak.insert(id.v);
  }
  return weak;
}

}  // namespace spirograd::text
