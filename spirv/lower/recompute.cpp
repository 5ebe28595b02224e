#include "spirv/lower/recompute.h"

#include <algorithm>
#include <set>
#include <vector>

#include "spirv/lower/extent.h"
#include "spirv/schedule/cost.h"

namespace spirograd::lower {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

constexpr int64_t kFraction = 4;
constexpr int64_t kInMemory = int64_t{1} << 20;  // elements: beyond caches
constexpr double kMostSaved = 0.8;               // of what it costs to compute a node, by loads that are made in any case
constexpr size_t kMostBelow = 100;

bool is_input(const Node& n) { return n.op == Op::Param || (n.op == Op::Const && n.type.shape.rank() > 0); }

// Arrays that are loaded to compute `id`, by ways that do not pass `without`. None where more than kMostBelow nodes are met.
std::set<uint32_t> loaded(const Graph& g, NodeId id, NodeId without, const NodeSet& stored) {
  std::set<uint32_t> arrays, seen;
  std::vector<NodeId> stack(g[id].in.begin(), g[id].in.end());
  while (!stack.empty()) {
    const NodeId at = stack.back();
    stack.pop_back();
    if (at == without || !seen.insert(at.v).second) continue;
    if (seen.size() > kMostBelow) return {};
    const Node& n = g[at];
    if (is_input(n) || stored.contains(at.v) || n.op == Op::Proj)
      arrays.insert(at.v);
    else
      stack.insert(stack.end(), n.in.begin(), n.in.end());
  }
  return arrays;
}

// What is loaded for `user` where it does not need the node, of what the node is computed from. 0 where there is too much to
// look at.
double loaded_anyway(const Graph& g, NodeId id, NodeId user, const NodeSet& stored, const Target& t) {
  const std::set<uint32_t> own = loaded(g, id, {}, stored), others = loaded(g, user, id, stored);
  double c = 0;
  for (uint32_t array : own)
    if (others.contains(array)) c += t.price.load * (is_input(g[{array}]) ? kGiven : 1);
  return c;
}

bool reduce_alike(const Graph& g, const Node& a, const Node& b) {
  return ir::kind(a.op) == ir::Kind::Reduce && a.op == b.op && a.attr == b.attr &&
         g[a.in[0]].type.shape == g[b.in[0]].type.shape;
}

}  // namespace

double saved_with_others(const Graph& g, NodeId id, double cost, std::span<const Use> uses, const NodeSet& stored,
                         const Target& t) {
  double saved = 0;
  if (g[id].type.shape.count() < kInMemory) return saved;
  for (size_t j = 0; j < uses.size(); ++j) {
    const Use& u = uses[j];
    const auto earlier = uses.first(j);
    const bool shared = std::any_of(earlier.begin(), earlier.end(),
                                    [&](const Use& o) { return reduce_alike(g, g[NodeId{o.kernel}], g[NodeId{u.kernel}]); });
    const double less =
        shared ? cost - t.price.load : std::min(kMostSaved * cost, loaded_anyway(g, id, {u.kernel}, stored, t));
    saved += evaluations(u) * less * schedule::idle(u.invocations, t);
  }
  return saved;
}

double recompute_cost(const Graph& g, NodeId id, const NodeSet& stored, const Costs& below, const Target& t) {
  // What is stretched, from a fraction of its elements, is computed for these only, or stored where it is dear.
  const auto used = [&](NodeId in) {
    const bool stretched =
        g[in].op == Op::Broadcast && g[g[in].in[0]].type.shape.count() * kFraction <= g[in].type.shape.count();
    return stored.contains(in.v) ? t.price.load : stretched ? std::min(below.at(in.v), t.price.load) : below.at(in.v);
  };
  const Node& n = g[id];
  double c = op_cost(n);
  if (is_input(n)) {
    c = kGiven * t.price.load;
  } else if (ir::is_scatter(n.op) || n.op == Op::Proj || n.op == Op::MapAccum) {
    c = t.price.load;
  } else if (ir::info(n.op).kind == ir::Kind::Reduce) {
    const auto elements = [&](NodeId of) { return static_cast<double>(g[of].type.shape.count()); };
    const double length = elements(n.in[0]) / std::max(1.0, elements(id));
    c = length * (used(n.in[0]) + 1);
  } else {
    for (size_t j = 0; j < n.in.size(); ++j) {
      const auto before = n.in.begin() + static_cast<std::ptrdiff_t>(j);
      if (std::find(n.in.begin(), before, n.in[j]) == before) c += used(n.in[j]);  // of x + x once
    }
  }
  return std::min(c, 1e15);
}

void recompute_costs(const Graph& g, std::span<const NodeId> order, const NodeSet& stored, const Target& t, Costs& cost) {
  cost.reserve(order.size());
  for (NodeId id : order) cost[id.v] = recompute_cost(g, id, stored, cost, t);
}

}  // namespace spirograd::lower
