#include "frontend/rewrite/factor_sums.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "frontend/ir/composite.h"
#include "frontend/ir/own_graph.h"
#include "frontend/rewrite/named_products.h"
#include "frontend/rewrite/split_sums.h"

namespace spirograd::rewrite {

using namespace ir;

namespace {

// An infinite constant stays: times each term it is NaN where terms of both signs are added, times their sum it is not.
bool is_finite(Expr e) {
  const std::vector<double>& data = e.node().data;
  return std::all_of(data.begin(), data.end(), [](double x) { return std::isfinite(x); });
}

// The sum with the factors out of it that do not change along one of its axes. Those of repeated products leave if the sum
// that is left has fewer axes then: such a product is no work, for it is computed once for many elements.
Expr factored(Expr sum, bool in_repeated) {
  const Named body = {sum.in(0), all_axes(sum.in(0))};
  const Product whole = factors_of(body, in_repeated);
  Extents extents;
  extents.note(body);
  for (int64_t axis : sum.node().attr) {
    std::vector<Named> inside, outside;
    std::set<int64_t> of_inside = {axis};
    for (const Factor& f : whole.factors) {
      const bool stays = contains(f.axes, axis) || !is_finite(f.e);
      (stays ? inside : outside).push_back(f);
      if (stays) of_inside.insert(f.axes.begin(), f.axes.end());
    }
    if (outside.empty() || inside.empty() || (in_repeated && of_inside.size() == body.axes.size())) continue;
    const Axes added = {axis}, names(of_inside.begin(), of_inside.end());
    outside.push_back(summed(product(inside, names, extents), added));
    const Axes rest = without(sum.node().attr, added);
    const Expr out = summed(product(outside, without(body.axes, added), extents), rest).e;
    return whole.negative ? -out : out;
  }
  if (!whole.negative || in_repeated) return {};
  const std::vector<Named> all(whole.factors.begin(), whole.factors.end());
  return -summed(product(all, body.axes, extents), sum.node().attr).e;
}

}  // namespace

Expr factor_out(Expr sum) {
  if (sum.op() != Op::Sum || !is_float(sum.dtype())) return {};
  const Expr out = factored(sum, false);
  return out ? out : factored(sum, true);
}

Program factor_sums(const Program& p, RuleLog* rules) {
  constexpr int kMostRounds = 4;
  if (!reaches(p, {Op::Sum})) return p;
  const bool scatters = reaches(p, {Op::Scatter});
  Program out = p;
  bool changed = true;
  for (int round = 0; round < kMostRounds && changed; ++round) {
    changed = false;
    out = with_replaced(out, {Op::Sum}, [&](Graph& g, const Node& n) {
      const Expr sum{&g, g.intern(n)};
      Expr e = scatters ? scatters_apart(sum) : Expr();
      if (!e) e = products_apart(sum);
      if (!e) e = factor_out(sum);
      changed = changed || e;
      return e ? e.id : sum.id;
    });
    if (changed) out = simplify(out, rules);
  }
  return out;
}

}  // namespace spirograd::rewrite
