// Rows that remove scatters. What stays afterwards has index arrays that depend on data of the run, or an affine map that
// would cost far more as a sum over all free variables.
#include <algorithm>

#include "frontend/rewrite/index_plan.h"
#include "frontend/rewrite/index_runs.h"
#include "frontend/rewrite/known_elements.h"
#include "frontend/rewrite/pull.h"
#include "frontend/rewrite/simplify_rules.h"

namespace spirograd::rewrite {

using namespace ir;

namespace {

std::vector<int64_t> first_axes(int n) {
  std::vector<int64_t> axes;
  for (int t = 0; t < n; ++t) axes.push_back(t);
  return axes;
}
Expr scatter_or_sum(Expr updates, std::span<const Expr> index, const Shape& extents, int m_rank) {
  return index.empty() ? reduce(Op::Sum, updates, first_axes(m_rank)) : scatter(updates, index, extents);
}

Expr masked(Expr mask, Expr x, bool keep_where_true) {
  const Expr z = zeros(*x.graph, x.type());
  const Expr m = over_rest(mask, x.shape());
  return keep_where_true ? select(m, x, z) : select(m, z, x);
}

Expr scatter_zeros(Facts& facts, Expr e) {
  const std::vector<Expr> index = index_of(e);
  bool zero = is_uniform(e.in(0), 0) || e.in(0).shape().count() == 0;
  for (size_t s = 0; s < index.size() && !zero; ++s) zero = facts(index[s]).range.outside(e.attr(static_cast<int>(s)));
  return zero ? zeros(*e.graph, e.type()) : no();
}

// The adjoint of gather-affine. The core that is left is inverted if that pays, else stays a smaller scatter.
Expr scatter_affine(Facts& facts, Expr e) {
  const std::vector<Expr> index = index_of(e);
  const Expr updates = e.in(0);
  if (updates.shape().count() == 0) return no();
  const Shape extents(e.node().attr);
  const IndexPlan plan = plan_index(facts, index, extents, updates.rank() - index[0].rank(), PlanFor::Scatter);
  if (plan.nothing) return zeros(*e.graph, e.type());
  Expr x = forward(updates, plan.pre);
  if (const auto pulled = pull(plan, x)) return forward(*pulled, plan.post);
  if (!plan.progress) return no();
  std::vector<Expr> core;
  Shape core_extents;
  for (const Component& c : plan.core) {
    core.push_back(core_index(plan, c, index));
    core_extents.push_back(c.extent);
  }
  return forward(scatter(x, core, core_extents), plan.post);
}

// Rows of updates that known masks keep at zero, whatever the data: true where a row of the leading `rows` may hold
// something.
std::vector<bool> rows_in_use(Expr updates, int64_t rows) {
  std::vector<bool> used(static_cast<size_t>(rows), true);
  std::vector<std::vector<int64_t>> turns;  // transpositions between the updates and what is looked at, outermost first
  for (;;) {
    if (updates.op() == Op::Transpose) {
      turns.push_back(updates.node().attr);
      updates = updates.in(0);
      continue;
    }
    if (updates.op() != Op::Select) return used;
    const bool keep = is_uniform(updates.in(2), 0);
    if (!keep && !is_uniform(updates.in(1), 0)) return used;
    Expr mask = updates.in(0);
    for (auto turn = turns.rbegin(); turn != turns.rend(); ++turn) mask = transpose(mask, *turn);
    const auto elements = known_elements(mask);
    if (!elements) return used;
    const size_t length = elements->size() / used.size();
    for (size_t k = 0; k < used.size(); ++k) {
      const auto row = elements->begin() + static_cast<std::ptrdiff_t>(k * length);
      const bool any =
          std::any_of(row, row + static_cast<std::ptrdiff_t>(length), [&](double x) { return (x != 0) == keep; });
      used[k] = used[k] && any;
    }
    updates = updates.in(keep ? 1 : 2);
  }
}

// Known indices that hit each target at most once, updates known to be zero aside: read through the inverse table, -1 where
// nothing arrives.
Expr scatter_constant(Facts&, Expr e) {
  const std::vector<Expr> index = index_of(e);
  const Shape& m = index[0].shape();
  const Shape extents(e.node().attr);
  const int64_t n = m.count();
  if (n == 0 || n > kMaxTable || extents.count() > kMaxTable || m.rank() == 0) return no();
  std::vector<int64_t> target(static_cast<size_t>(n), 0);
  for (size_t s = 0; s < index.size(); ++s) {
    const auto elements = known_elements(index[s]);
    if (!elements) return no();
    for (size_t k = 0; k < target.size(); ++k) {
      const auto v = static_cast<int64_t>((*elements)[k]);
      const int64_t extent = extents[static_cast<int>(s)];
      target[k] = target[k] < 0 || v < 0 || v >= extent ? -1 : target[k] * extent + v;
    }
  }
  const std::vector<bool> used = rows_in_use(e.in(0), n);
  for (size_t k = 0; k < target.size(); ++k)
    if (!used[k]) target[k] = -1;
  std::vector<double> inverse(static_cast<size_t>(extents.count()), -1);
  for (size_t k = 0; k < target.size(); ++k) {
    if (target[k] < 0) continue;
    double& source = inverse[static_cast<size_t>(target[k])];
    if (source >= 0) return no();
    source = static_cast<double>(k);
  }
  const Shape rest = e.in(0).shape().slice(m.rank(), e.in(0).rank());
  const Expr table[] = {constant(*e.graph, i32(extents), std::move(inverse))};
  return gather(reshape(e.in(0), Shape{n} + rest), table);
}

// The adjoint of gather-select: an index that takes the values 0 and 1.
Expr scatter_select(Facts&, Expr e) {
  std::vector<Expr> index = index_of(e);
  for (size_t s = 0; s < index.size(); ++s) {
    const auto choice = two_way(index[s]);
    if (e.attr(static_cast<int>(s)) != 2 || !choice || choice->yes + choice->no != 1 || choice->yes * choice->no != 0)
      continue;
    const int m_rank = index[s].rank();
    index.erase(index.begin() + static_cast<std::ptrdiff_t>(s));
    const Shape extents = Shape(e.node().attr).erased(static_cast<int>(s));
    const Expr yes = scatter_or_sum(masked(choice->mask, e.in(0), true), index, extents, m_rank);
    const Expr other = scatter_or_sum(masked(choice->mask, e.in(0), false), index, extents, m_rank);
    const Expr parts[] = {choice->yes == 0 ? yes : other, choice->yes == 0 ? other : yes};
    return stack(parts, static_cast<int>(s));
  }
  return no();
}

// Summed target axes need no index, but what falls outside of them must still be dropped.
Expr sum_scatter(Facts& facts, Expr e) {
  const Expr s = e.in(0);
  if (s.op() != Op::Scatter || s.in(0).shape().count() == 0) return no();
  const std::vector<Expr> index = index_of(s);
  const int m_rank = index[0].rank(), p = static_cast<int>(index.size());
  std::vector<Expr> left;
  Shape extents;
  std::vector<int64_t> passive;
  std::vector<bool> summed(static_cast<size_t>(p), false);
  for (int64_t t : e.node().attr) {
    if (t < p)
      summed[static_cast<size_t>(t)] = true;
    else
      passive.push_back(t - p + m_rank);
  }
  Expr updates = reduce(Op::Sum, s.in(0), passive), mask;
  const auto require = [&](Expr m) { mask = mask ? both(mask, m) : m; };
  for (int j = 0; j < p; ++j) {
    const Expr f = index[static_cast<size_t>(j)];
    if (!summed[static_cast<size_t>(j)]) {
      left.push_back(f);
      extents.push_back(s.attr(j));
      continue;
    }
    const Range r = facts(f).range;
    if (r.lo < 0) require(binary(Op::Ge, f, zeros(*e.graph, f.type())));
    if (r.hi >= s.attr(j)) require(binary(Op::Lt, f, full(*e.graph, f.type(), static_cast<double>(s.attr(j)))));
  }
  if (mask) updates = masked(mask, updates, true);
  return scatter_or_sum(updates, left, extents, m_rank);
}

}  // namespace

const std::vector<Rule>& scatter_rules() {
  // clang-format off
  static const std::vector<Rule> rules = {
    {"scatter-zeros", {Op::Scatter}, scatter_zeros,
     "def f(i: i32[4]) = scatter([3], zeros([4, 2]), i)",
     "def f(i: i32[4]) = zeros([3, 2])"},
    {"scatter-affine", {Op::Scatter}, scatter_affine,
     "def f(a: f32[3, 2]) = scatter([5], a, iota(3) + 1)",
     "def f(a: f32[3, 2]) = window(a, axis=0, lo=-1, n=5)"},
    {"scatter-select", {Op::Scatter}, scatter_select,
     "def f(c: bool[3], a: f32[3]) = scatter([2], a, select(c, full([3], 0), full([3], 1)))",
     "def f(c: bool[3], a: f32[3]) = stack(sum(select(c, a, zeros([3])), axis=0), sum(select(c, zeros([3]), a), axis=0), axis=0)"},
    {"scatter-constant", {Op::Scatter}, scatter_constant,
     "def f(a: f32[3]) = scatter([4], a, const(i32[3], [2, 0, 3]))",
     "def f(a: f32[3]) = gather(reshape(a, [3]), const(i32[4], [1, -1, 0, 2]))"},
    {"scatter-runs", {Op::Scatter}, scatter_runs,
     "def f(a: f32[16]) = scatter([16], a, min(iota(16) + 1, 15))",
     "def f(a: f32[16]) = window(window(a, axis=0, lo=0, n=15), axis=0, lo=-1, n=16) + window(window(a, axis=0, lo=15, n=1), axis=0, lo=-15, n=16)"},
    {"sum-scatter", {Op::Sum}, sum_scatter,
     "def f(a: f32[3], i: i32[3]) = sum(scatter([4], a, i), axis=0)",
     "def f(a: f32[3], i: i32[3]) = sum(select((i >= 0) and (i < 4), a, zeros([3])), axis=0)"},
  };
  // clang-format on
  return rules;
}

}  // namespace spirograd::rewrite
