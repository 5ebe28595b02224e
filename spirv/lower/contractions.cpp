#include "spirv/lower/contractions.h"

#include <utility>

#include "frontend/ir/algebra.h"
#include "spirv/lower/extent.h"
#include "spirv/lower/known_zeros.h"

namespace spirograd::lower {

using ir::Node;
using ir::NodeId;

bool is_contraction(const Node& n) {
  return ir::info(n.op).kind == ir::Kind::Reduce && !finds_place(n.op) && n.type.shape.rank() >= 2;
}

NodeSet outermost_contractions(const ir::Graph& g, const Partition& partition) {
  NodeSet out, seen;
  for (NodeId root : partition.order) {
    if (!partition.roots.contains(root.v)) continue;
    std::vector<NodeId> stack = {root};
    while (!stack.empty()) {
      const NodeId id = stack.back();
      stack.pop_back();
      if (seen.contains(id.v)) continue;
      seen.insert(id.v);
      if (is_contraction(g[id])) {
        out.insert(id.v);
      } else if (ir::info(g[id].op).kind != ir::Kind::Reduce && ir::info(g[id].op).kind != ir::Kind::Loop) {
        stack.insert(stack.end(), g[id].in.begin(), g[id].in.end());
      }
    }
  }
  return out;
}

uint32_t axes_of(const Place& place) {
  uint32_t axes = 0;
  for (const Coordinate& c : place) axes |= c.axes;
  return axes;
}

std::vector<int64_t> inverse_of(std::span<const int64_t> order) {
  std::vector<int64_t> inverse(order.size());
  for (size_t a = 0; a < order.size(); ++a) inverse[static_cast<size_t>(order[a])] = static_cast<int64_t>(a);
  return inverse;
}

ir::Expr windowed(ir::Expr x, int axis, int64_t from, int64_t count) {
  return from == 0 && count == x.shape()[axis] ? x : ir::window(x, axis, from, count);
}

schedule::MapFacts contraction_facts(const ir::Graph& g, NodeId id, const NodeSet& stored) {
  Accesses found = accesses(g, id, stored);
  count_terms_left(g, found);
  schedule::MapFacts f{g[id].type.shape, {}, ExtentWalk(g, stored)(id).code, true, std::move(found.reductions), true};
  for (const Access& a : found.reads) f.reads.push_back(read_of(a, a.leaf.v));
  f.operations = std::move(found.operations);
  return f;
}

schedule::MapFacts facts_when_copied(schedule::MapFacts f) {
  const uint32_t last = 1u << (f.domain.rank() - 1);
  for (schedule::Read& r : f.reads)
    if (r.reduced && (r.axes & last)) r.last |= last, r.sums = true;
  return f;
}

}  // namespace spirograd::lower
