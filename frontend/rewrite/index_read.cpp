// Reads as terms: plain, guarded, and with a given index.
#include "frontend/rewrite/index_read.h"

#include <algorithm>
#include <unordered_map>

namespace spirograd::rewrite {

using namespace ir;

Shape Slice::shape() const {
  Shape s;
  for (size_t a = 0; a < at.size(); ++a)
    if (!at[a]) s.push_back(table.shape()[static_cast<int>(a)]);
  return s;
}

bool Slice::is_whole() const {
  return std::none_of(at.begin(), at.end(), [](Expr e) { return static_cast<bool>(e); });
}

bool is_index(Expr e) { return is_index(*e.graph, e.node()); }
bool is_index(const Graph& g, const Node& n) { return n.op == Op::Gather && g[n.in[1]].type.shape.rank() == 0; }

Slice as_slice(Expr index) {
  Slice s{index.in(0), std::vector<Expr>(static_cast<size_t>(index.in(0).rank()))};
  for (size_t a = 0; a + 1 < index.node().in.size(); ++a) s.at[a] = index.in(static_cast<int>(a) + 1);
  return s;
}

Expr plain_read(const Slice& s) {
  size_t used = s.at.size();
  while (used > 0 && !s.at[used - 1]) --used;
  if (used == 0) return s.table;
  Shape m;
  for (size_t a = 0; a < used; ++a)
    if (!s.at[a]) m.push_back(s.table.shape()[static_cast<int>(a)]);
  std::vector<Expr> index;
  int whole = 0;
  for (size_t a = 0; a < used; ++a) {
    if (!s.at[a])
      index.push_back(iota(*s.table.graph, m, whole++));
    else
      index.push_back(m.rank() == 0 ? s.at[a] : broadcast(s.at[a], m, {}));
  }
  return gather(s.table, index);
}

Expr with_index(Expr e, int64_t level, Expr index) {
  Graph& g = *e.graph;
  const uint64_t bit = uint64_t{1} << level;
  std::unordered_map<uint32_t, NodeId> memo;
  const auto replaced = [&](NodeId id) { return (g[id].free_vars & bit) ? memo.at(id.v) : id; };
  std::vector<NodeId> stack;
  if (g[e.id].free_vars & bit) stack.push_back(e.id);
  while (!stack.empty()) {
    const NodeId id = stack.back();
    const Node& n = g[id];
    if (memo.contains(id.v)) {
      stack.pop_back();
      continue;
    }
    const size_t before = stack.size();
    for (NodeId operand : n.in)
      if ((g[operand].free_vars & bit) && !memo.contains(operand.v)) stack.push_back(operand);
    if (stack.size() > before) continue;
    stack.pop_back();
    if (n.op == Op::IndexVar) {
      memo[id.v] = index.id;
      continue;
    }
    Node copy = n;
    for (NodeId& operand : copy.in) operand = replaced(operand);
    const NodeId made = g.intern(std::move(copy));
    g.copy_loc(g, id, made);
    memo[id.v] = made;
  }
  return {&g, replaced(e.id)};
}

Expr IndexContext::guarded(const Slice& s, const std::vector<bool>& axes, Expr value) const {
  Expr inside;
  const auto require = [&](Expr fact) { inside = inside ? both(inside, fact) : fact; };
  for (size_t a = 0; a < s.at.size(); ++a) {
    if (!s.at[a] || !axes[a]) continue;
    const int64_t extent = s.table.shape()[static_cast<int>(a)];
    const Interval range = ranges.of(s.at[a]);
    if (range.lo < 0) require(binary(Op::Ge, s.at[a], scalar(graph, DType::I32, 0)));
    if (range.hi >= extent) require(binary(Op::Lt, s.at[a], scalar(graph, DType::I32, static_cast<double>(extent))));
  }
  if (!inside) return value;
  if (value.rank() > 0) inside = broadcast(inside, value.shape(), {});
  return select(inside, value, zeros(graph, value.type()));
}

Expr IndexContext::guarded(const Slice& s, Expr value) const {
  return guarded(s, std::vector<bool>(s.at.size(), true), value);
}

}  // namespace spirograd::rewrite
