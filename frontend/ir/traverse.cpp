#include "frontend/ir/traverse.h"

#include <algorithm>
#include <unordered_set>

namespace spirograd::ir {

std::vector<NodeId> ids_of(std::span<const Expr> exprs) {
  std::vector<NodeId> ids;
  for (Expr e : exprs) ids.push_back(e.id);
  return ids;
}

namespace {

// What may not be entered is left out, and what is below it alone.
template <class MayEnter>
std::vector<NodeId> postorder(const Graph& g, std::span<const NodeId> roots, const MayEnter& may_enter) {
  std::vector<NodeId> order;
  std::vector<bool> seen(g.size(), false);
  std::vector<std::pair<NodeId, size_t>> stack;
  for (NodeId root : roots) {
    if (!root || seen[root.v] || !may_enter(root)) continue;
    seen[root.v] = true;
    stack.emplace_back(root, 0);
    while (!stack.empty()) {
      auto& [id, next] = stack.back();
      const Node& n = g[id];
      if (next == n.in.size()) {
        order.push_back(id);
        stack.pop_back();
        continue;
      }
      const NodeId operand = n.in[next++];
      if (seen[operand.v] || !may_enter(operand)) continue;
      seen[operand.v] = true;
      stack.emplace_back(operand, 0);
    }
  }
  return order;
}

NodeId replaced(const Memo& memo, NodeId id) {
  const auto it = memo.find(id.v);
  return it == memo.end() ? id : it->second;
}

NodeId with_replaced_operands(Graph& g, NodeId id, const Memo& memo) {
  const auto& in = g[id].in;
  if (std::all_of(in.begin(), in.end(), [&](NodeId operand) { return replaced(memo, operand) == operand; })) return id;
  Node n = g[id];
  for (NodeId& operand : n.in) operand = replaced(memo, operand);
  return g.intern(std::move(n));
}

template <class F>
std::vector<NodeId> rebuild_in(const std::vector<NodeId>& order, Graph& g, std::span<const NodeId> roots, Memo& memo,
                               const F& f) {
  for (NodeId id : order) {
    if (memo.contains(id.v)) continue;
    const NodeId made = f(id, with_replaced_operands(g, id, memo));
    if (made == id) continue;
    g.copy_loc(g, id, made);
    memo[id.v] = made;
  }
  std::vector<NodeId> out;
  for (NodeId r : roots) out.push_back(replaced(memo, r));
  return out;
}

}  // namespace

std::vector<NodeId> postorder(const Graph& g, std::span<const NodeId> roots) {
  return postorder(g, roots, [](NodeId) { return true; });
}

std::vector<NodeId> rebuild(Graph& g, std::span<const NodeId> roots, Memo& memo,
                            const std::function<NodeId(NodeId, NodeId)>& f) {
  return rebuild_in(postorder(g, roots), g, roots, memo, f);
}

// Operands are made before their users, so nothing older than all that is replaced uses any of it.
std::vector<NodeId> rebuild(Graph& g, std::span<const NodeId> roots, Memo& memo) {
  if (memo.empty()) return {roots.begin(), roots.end()};
  const uint32_t oldest =
      std::min_element(memo.begin(), memo.end(), [](const auto& a, const auto& b) { return a.first < b.first; })->first;
  const auto order = postorder(g, roots, [&](NodeId id) { return id.v > oldest && !memo.contains(id.v); });
  return rebuild_in(order, g, roots, memo, [](NodeId, NodeId built) { return built; });
}

std::vector<NodeId> open_postorder(const Graph& g, std::span<const NodeId> roots) {
  std::vector<NodeId> order;
  std::unordered_set<uint32_t> seen;
  std::vector<std::pair<NodeId, size_t>> stack;
  const auto enter = [&](NodeId id) {
    if (!seen.insert(id.v).second) return;
    const bool open = g[id].has_var || g[id].free_vars != 0;
    stack.emplace_back(id, open ? 0 : g[id].in.size());
  };
  for (NodeId root : roots) {
    enter(root);
    while (!stack.empty()) {
      auto& [id, next] = stack.back();
      if (next < g[id].in.size()) {
        enter(g[id].in[next++]);
      } else {
        order.push_back(id);
        stack.pop_back();
      }
    }
  }
  return order;
}

std::vector<NodeId> with_arguments(Graph& g, std::span<const NodeId> roots, std::span<const NodeId> arguments) {
  Memo memo;
  for (NodeId id : postorder(g, roots))
    if (g[id].op == Op::Param) memo[id.v] = arguments[static_cast<size_t>(g[id].attr[0])];
  return rebuild(g, roots, memo);
}

NodeId substitute(Graph& g, NodeId root, Memo memo) { return rebuild(g, {&root, 1}, memo)[0]; }

std::vector<NodeId> substitute_vars(Graph& g, std::span<const NodeId> roots, Memo memo) {
  for (NodeId id : open_postorder(g, roots)) {
    if (!g[id].has_var || memo.contains(id.v)) continue;
    Node n = g[id];
    for (NodeId& operand : n.in) operand = replaced(memo, operand);
    const NodeId made = g.intern(std::move(n));
    g.copy_loc(g, id, made);
    memo[id.v] = made;
  }
  std::vector<NodeId> out;
  for (NodeId r : roots) out.push_back(replaced(memo, r));
  return out;
}

std::unordered_map<uint32_t, int> count_uses(const Graph& g, std::span<const NodeId> roots) {
  std::unordered_map<uint32_t, int> uses;
  for (NodeId r : roots) ++uses[r.v];
  for (NodeId id : postorder(g, roots))
    for (NodeId operand : g[id].in) ++uses[operand.v];
  return uses;
}

}  // namespace spirograd::ir
