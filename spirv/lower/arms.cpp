#include "spirv/lower/arms.h"

#include <algorithm>

#include "frontend/ir/algebra.h"
#include "frontend/ir/traverse.h"
#include "spirv/lower/access.h"
#include "spirv/lower/extent.h"
#include "spirv/schedule/cost.h"

namespace spirograd::lower {

using ir::Condition;
using ir::Conditions;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

constexpr size_t kMostConditions = 8;  // of arms inside of arms; those further inside are not looked at

}  // namespace

double work_of(const Graph& g, const Node& n, const Target& target) {
  if (n.op == Op::MapAccum) {
    const ir::LoopParts parts = ir::loop_parts(g, n);
    double step = 0;
    for (NodeId id : ir::postorder(g, g.function(parts.function).results)) step += work_of(g, g[id], target);
    return static_cast<double>(parts.length) * step;
  }
  int64_t elements = n.type.shape.count();
  for (NodeId in : n.in) elements = std::max(elements, g[in].type.shape.count());
  return static_cast<double>(elements) * op_cost(n) * schedule::idle(static_cast<double>(elements), target);
}

// From users to operands.
Arms::Arms(const Graph& g, std::span<const NodeId> results) {
  if (!g.has(Op::Select)) return;
  const std::vector<NodeId> order = ir::postorder(g, results);
  if (std::ranges::none_of(order, [&](NodeId id) { return g[id].op == Op::Select && condition_of(g, g[id].in[0]); })) return;
  NodeSet met, always;
  for (NodeId r : results) met.insert(r.v), always.insert(r.v);
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const Node& n = g[*id];
    const Conditions own = of(*id);
    const std::optional<Condition> c = n.op == Op::Select ? condition_of(g, n.in[0]) : std::nullopt;
    for (size_t j = 0; j < n.in.size(); ++j) {
      const uint32_t operand = n.in[j].v;
      if (always.contains(operand)) continue;
      const bool decided = c && j > 0 && own.size() < kMostConditions;
      Conditions here = decided ? with(own, j == 1 ? *c : !*c) : own;
      if (met.contains(operand)) here = common(of_.at(operand), here);
      met.insert(operand);
      if (here.empty())
        always.insert(operand), of_.erase(operand);
      else
        of_[operand] = std::move(here);
    }
  }
  for (const auto& [id, conditions] : of_)
    for (const Condition& c : conditions) flags_.insert(c.flag.v);
}

const Conditions& Arms::of(NodeId id) const {
  static const Conditions kAlways;
  const auto it = of_.find(id.v);
  return it == of_.end() ? kAlways : it->second;
}

std::set<uint32_t> Arms::dear_flags(const Graph& g, const Target& target) const {
  std::unordered_map<uint32_t, double> sum;
  for (const auto& [id, conditions] : of_) {
    const double work = work_of(g, g[{id}], target);
    for (const Condition& c : conditions) sum[c.flag.v] += work;
  }
  std::set<uint32_t> out;
  for (const auto& [flag, operations] : sum)
    if (operations >= 2 * target.price.dispatch) out.insert(flag);
  return out;
}

}  // namespace spirograd::lower
