#include "spirv/lower/recompute.h"

#include <algorithm>

#include "spirv/lower/extent.h"

namespace spirograd::lower {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

constexpr int64_t kFraction = 4;
constexpr int64_t kInMemory = int64_t{1} << 20;  // elements: beyond caches
constexpr double kGiven = 0.4;  // of the price of a load: inputs, which expressions often read at the same place

}  // namespace

double recompute_cost(const Graph& g, NodeId id, const NodeSet& stored, const Costs& below, const Target& t) {
  // What is stretched to such an array, from a fraction of its elements, is stored itself where it is dear.
  const auto used = [&](NodeId in) {
    const int64_t all = g[in].type.shape.count();
    const bool stretched =
        g[in].op == Op::Broadcast && all >= kInMemory && g[g[in].in[0]].type.shape.count() * kFraction <= all;
    return stored.contains(in.v) ? t.price.load : stretched ? std::min(below.at(in.v), t.price.load) : below.at(in.v);
  };
  const Node& n = g[id];
  double c = op_cost(n);
  if (n.op == Op::Param || (n.op == Op::Const && n.type.shape.rank() > 0)) {
    c = kGiven * t.price.load;
  } else if (n.op == Op::Scatter || n.op == Op::Proj || n.op == Op::MapAccum) {
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

Costs recompute_costs(const Graph& g, std::span<const NodeId> order, const NodeSet& stored, const Target& t) {
  Costs cost;
  for (NodeId id : order) cost[id.v] = recompute_cost(g, id, stored, cost, t);
  return cost;
}

}  // namespace spirograd::lower
