#include "spirv/lower/beside.h"

#include <algorithm>

#include "frontend/ir/algebra.h"
#include "frontend/ir/traverse.h"
#include "spirv/lower/access.h"
#include "spirv/lower/inline.h"
#include "spirv/lower/partition.h"

namespace spirograd::lower {

using ir::Expr;
using ir::Graph;
using ir::Kind;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

constexpr size_t kSeen = 300;  // nodes that are looked at: longer computations stay apart

struct Below {
  std::set<uint32_t> params;
  bool elementwise = true, ended = false;
  bool meets = false;  // a given node
};

Below below(const Graph& g, NodeId root, NodeId looked_for) {
  Below out;
  std::set<uint32_t> seen;
  std::vector<NodeId> stack = {root};
  while (!stack.empty()) {
    const NodeId id = stack.back();
    stack.pop_back();
    if (!seen.insert(id.v).second) continue;
    if (seen.size() > kSeen) return out;
    const Node& n = g[id];
    out.meets = out.meets || id == looked_for;
    if (n.op == Op::Param) out.params.insert(id.v);
    const Kind kind = ir::kind(n.op);
    out.elementwise = out.elementwise && (kind == Kind::Pointwise || kind == Kind::Leaf || ir::is_unary_layout(n.op));
    stack.insert(stack.end(), n.in.begin(), n.in.end());
  }
  out.ended = true;
  return out;
}

// Whether the reduction runs through all elements of an array of that shape, each once.
bool runs_through(const Graph& g, const Node& reduction, const Shape& shape) {
  std::optional<NodeId> at = reduction.in[0];
  while (at && g[*at].type.shape != shape) at = below_cut(g, *at);
  return at.has_value();
}

bool fits(const Graph& g, NodeId result, NodeId reduction) {
  const Shape& shape = g[result].type.shape;
  const int64_t length = g[g[reduction].in[0]].type.shape.count() / std::max<int64_t>(1, g[reduction].type.shape.count());
  if (shape.count() == 0 || length <= kUnrolled || !runs_through(g, g[reduction], shape)) return false;
  const Below own = below(g, result, reduction), other = below(g, reduction, result);
  if (!own.ended || !own.elementwise || !other.ended || other.meets) return false;
  return std::any_of(own.params.begin(), own.params.end(),
                     [&](uint32_t p) { return g[{p}].type.shape.count() >= shape.count() && other.params.contains(p); });
}

// Elements of a computation in the order of memory: `n` from `first` on.
Expr elements(Expr x, int64_t first, int64_t n, std::map<uint32_t, Expr>& done) {
  if (const auto it = done.find(x.id.v); it != done.end()) return it->second;
  Graph& g = *x.graph;
  const Node node = g[x.id];
  const bool all = ir::is_pointwise(node.op);
  std::vector<Expr> in;
  for (size_t j = 0; all && j < node.in.size(); ++j) in.push_back(elements({&g, node.in[j]}, first, n, done));
  const Expr out = all ? ir::with_operands(g, node, in) : ir::window(ir::reshape(x, {x.shape().count()}), 0, first, n);
  return done.emplace(x.id.v, out).first->second;
}

}  // namespace

std::optional<NodeId> below_cut(const Graph& g, NodeId at) {
  const Node& n = g[at];
  if (n.op == Op::Reshape) return n.in[0];
  const bool pads = n.op == Op::Window && n.attr[1] == 0 && g[n.in[0]].type.shape.count() <= n.type.shape.count();
  return pads ? std::optional(n.in[0]) : std::nullopt;
}

std::vector<NodeId> split_results(Graph& g, std::span<NodeId> results, const std::map<int64_t, int64_t>& taken,
                                  const Partials& partial) {
  std::vector<NodeId> out;
  if (taken.empty()) return out;
  const std::unordered_map<uint32_t, int> uses = ir::count_uses(g, results);
  for (NodeId& result : results) {
    const int64_t all = g[result].type.shape.count();
    const auto it = taken.find(all);
    const bool its_own = uses.at(result.v) == 1;  // whoever else reads it, reads an array
    if (it == taken.end() || !ir::is_pointwise(g[result].op) || !its_own) continue;
    const Below own = below(g, result, result);
    if (!own.ended || !own.elementwise) continue;
    std::map<uint32_t, Expr> first, others;
    const Expr parts[] = {elements({&g, result}, 0, it->second, first),
                          elements({&g, result}, it->second, all - it->second, others)};
    const auto reduces = [&](const auto& p) { return fits(g, parts[0].id, {p.first}); };
    if (std::ranges::none_of(partial, reduces)) continue;
    for (Expr part : parts) out.push_back(part.id);
    result = ir::concat(parts, 0).id;
  }
  return out;
}

// Where neighbours are served together they would have to store what is not next to each other.
Beside find_beside(const Graph& g, std::span<const NodeId> results, const std::set<uint32_t>& stored,
                   const Partials& partial, const std::set<uint32_t>& alone, const Target& target) {
  Beside out;
  if (target.price.coalesces) return out;
  std::vector<NodeId> candidates(results.begin(), results.end());
  for (NodeId result : results)
    for (NodeId part : g[result].in)
      if (g[result].op == Op::Concat && stored.contains(part.v)) candidates.push_back(part);
  for (NodeId result : candidates) {
    if (!ir::is_pointwise(g[result].op) || alone.contains(result.v) || partial.contains(result.v)) continue;
    for (const auto& [reduction, schedule] : partial) {
      const Op op = g[{reduction}].op;
      const bool folds = ir::kind(op) == Kind::Reduce && !finds_place(op);
      if (folds && !alone.contains(reduction) && fits(g, result, {reduction})) {
        out[result.v] = reduction;
        break;
      }
    }
  }
  return out;
}

}  // namespace spirograd::lower
