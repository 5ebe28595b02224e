#include "frontend/ir/close_loop.h"

#include <algorithm>
#include <unordered_set>

#include "frontend/ir/traverse.h"

namespace spirograd::ir {
namespace {

using NodeSet = std::unordered_set<uint32_t>;

bool is_literal(const Graph& g, const Node& n) {
  return n.op == Op::Const || n.op == Op::Iota || (n.op == Op::Broadcast && g[n.in[0]].op == Op::Const);
}

// Sums and products of positions, laid out anew or built element by element, a few: from these the compiler reads which
// elements a gather takes. As an operand they would be arrays of numbers, and where such gathers are differentiated, places
// of scatters.
bool is_position(const Graph& g, NodeId root) {
  constexpr int kMost = 64;
  std::vector<NodeId> pending = {root};
  for (int seen = 0; !pending.empty(); ++seen) {
    const Node& n = g[pending.back()];
    pending.pop_back();
    if (is_literal(g, n) || n.op == Op::IndexVar) continue;
    const bool keeps_them = n.op == Op::Build || n.op == Op::Add || n.op == Op::Sub || n.op == Op::Mul || n.op == Op::Neg ||
                            n.op == Op::Broadcast || n.op == Op::Reshape || n.op == Op::Transpose;
    if (seen == kMost || n.type.dtype != DType::I32 || !keeps_them) return false;
    for (NodeId operand : n.in) pending.push_back(operand);
  }
  return true;
}

// What takes no longer than to read it.
bool is_cheap(const Node& n) { return is_pointwise(n.op) && info(n.op).cost <= 1 && n.op != Op::PreferStore; }

// Nodes that must stay in the body: they use a variable of the body or an index of a build inside it. A build that is whole
// uses no index any more.
NodeSet bound_nodes(const Graph& g, std::span<const NodeId> order, std::span<const Expr> vars) {
  NodeSet moving;
  for (Expr v : vars) moving.insert(v.id.v);
  NodeSet bound = moving;
  for (NodeId id : order) {
    const Node& n = g[id];
    if (std::any_of(n.in.begin(), n.in.end(), [&](NodeId operand) { return moving.contains(operand.v); }))
      moving.insert(id.v);
    if (n.free_vars != 0 || moving.contains(id.v)) bound.insert(id.v);
  }
  return bound;
}

}  // namespace

std::vector<Expr> captured_terms(Graph& g, std::span<const Expr> vars, std::span<const Expr> results) {
  const std::vector<NodeId> roots = ids_of(results);
  const std::vector<NodeId> order = open_postorder(g, roots);
  NodeSet bound = bound_nodes(g, order, vars);
  NodeSet read;  // by what stays in the body
  for (NodeId root : roots) read.insert(root.v);
  for (auto id = order.rbegin(); id != order.rend(); ++id)
    if (bound.contains(id->v) && read.contains(id->v))
      for (NodeId operand : g[*id].in) read.insert(operand.v);
  const auto is_there = [&](NodeId id) {
    const bool captured = read.contains(id.v) && !bound.contains(id.v);
    return captured || g[id].type.shape.rank() == 0 || is_literal(g, g[id]);
  };
  for (NodeId id : order) {
    const Node& n = g[id];
    if (!read.contains(id.v) || bound.contains(id.v) || n.type.shape.rank() == 0 || !is_cheap(n)) continue;
    if (std::all_of(n.in.begin(), n.in.end(), is_there)) {
      bound.insert(id.v);
      for (NodeId operand : n.in) read.insert(operand.v);
    }
  }
  std::vector<Expr> captured;
  NodeSet seen;
  for (NodeId id : order) {
    if (!read.contains(id.v) || bound.contains(id.v) || is_position(g, id)) continue;
    while (g[id].op == Op::Broadcast) id = g[id].in[0];  // the body stretches it: an operand would be an array as long
    if (!is_literal(g, g[id]) && seen.insert(id.v).second) captured.push_back({&g, id});
  }
  return captured;
}

std::vector<Expr> close_loop(Graph& g, std::span<const Expr> acc, std::span<const Expr> es, std::span<const Expr> vars,
                             std::span<const Expr> results, bool reverse, int64_t length) {
  Loop loop;
  loop.acc.assign(acc.begin(), acc.end());
  loop.es.assign(es.begin(), es.end());
  loop.consts = captured_terms(g, vars, results);
  loop.reverse = reverse;
  loop.length = length;
  std::vector<Expr> params(vars.begin(), vars.end());
  params.insert(params.end(), loop.consts.begin(), loop.consts.end());
  loop.function = close_function(g, params, results);
  return map_accum(g, loop);
}

std::vector<Expr> counted_loop(int64_t n, std::span<const Expr> start, bool reverse,
                               const std::function<std::vector<Expr>(Expr i, const std::vector<Expr>& state)>& step) {
  Graph& g = *start[0].graph;
  std::vector<Expr> vars;
  for (Expr e : start) vars.push_back(fresh_var(g, e.type()));
  const Expr i = fresh_var(g, i32()), all = iota(g, {n}, 0);
  const std::vector<Expr> next = step(i, vars);
  vars.push_back(i);
  return close_loop(g, start, {&all, 1}, vars, next, reverse, n);
}

}  // namespace spirograd::ir
