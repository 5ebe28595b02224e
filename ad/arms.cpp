#include "ad/arms.h"

#include <algorithm>

#include "frontend/ir/algebra.h"
#include "frontend/ir/layout.h"

namespace spirograd::ad {

using namespace ir;

namespace {

constexpr int64_t kManyElements = 64;  // of all values in an arm together
constexpr int64_t kManySteps = 2;      // of a loop in it

// Flags of arms that are more than a few operations.
std::vector<NodeId> dear_flags(const Deltas& deltas, const std::unordered_map<DeltaId, Conditions>& of) {
  std::unordered_map<uint32_t, int64_t> elements;
  for (const auto& [id, conditions] : of) {
    const Delta& d = deltas[id];
    const bool long_loop = d.kind == DeltaKind::Loop && loop_parts(*d.k.graph, d.k.node()).length >= kManySteps;
    for (const Condition& c : conditions) {
      int64_t& sum = elements[c.flag.v];
      sum = std::min(kManyElements, sum + (long_loop ? kManyElements : std::min(kManyElements, d.type.shape.count())));
    }
  }
  std::vector<NodeId> out;
  for (const auto& [flag, sum] : elements)
    if (sum >= kManyElements) out.push_back({flag});
  return out;
}

}  // namespace

DeltaArms::DeltaArms(const Graph& g, const DualScope& dual) : deltas_(dual.deltas) {
  for (DeltaId id = 1; id < deltas_.size(); ++id) {
    const Delta& d = deltas_[id];
    if (d.kind != DeltaKind::Choose || d.zeros != Zeros::Mask) continue;
    if (const auto c = condition_of(g, d.k.id)) choices_.emplace(id, *c);
  }
  if (choices_.empty()) return;
  find(dual);
  const std::vector<NodeId> dear = dear_flags(deltas_, of_);
  std::erase_if(choices_, [&](const auto& c) { return std::ranges::find(dear, c.second.flag) == dear.end(); });
  find(dual);
}

// From users to operands: what holds for all of the users.
void DeltaArms::find(const DualScope& dual) {
  of_.clear();
  if (choices_.empty()) return;
  // Cotangents of inputs leave the scope.
  for (DeltaId id = 1; id < deltas_.size(); ++id)
    if (deltas_[id].kind == DeltaKind::Input) of_[id] = {};
  for (DeltaId root : dual.roots) of_[root] = {};
  for (DeltaId id = deltas_.size(); id-- > 1;) {
    if (!of_.contains(id)) continue;
    for (size_t j = 0; j < deltas_[id].in.size(); ++j) {
      const Conditions here = passed(id, j);
      const auto [it, fresh] = of_.try_emplace(deltas_[id].in[j], here);
      if (!fresh) it->second = common(it->second, here);
    }
  }
}

const Conditions& DeltaArms::of(DeltaId id) const {
  static const Conditions kAlways;
  const auto it = of_.find(id);
  return it == of_.end() ? kAlways : it->second;
}

Conditions DeltaArms::passed(DeltaId from, size_t operand) const {
  const auto c = choices_.find(from);
  return c == choices_.end() ? of(from) : with(of(from), operand == 0 ? c->second : !c->second);
}

Conditions DeltaArms::masks(DeltaId from, size_t operand) const {
  if (of_.empty()) return {};
  return without(passed(from, operand), of(deltas_[from].in[operand]));
}

Expr masked(Expr ct, const Conditions& masks) {
  for (const Condition& c : masks) {
    Graph& g = *ct.graph;
    const Expr flag = broadcast_to({&g, c.flag}, ct.shape()), none = ir::zeros(g, ct.type());
    ct = c.value ? select(flag, ct, none) : select(flag, none, ct);
  }
  return ct;
}

}  // namespace spirograd::ad
