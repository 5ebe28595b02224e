// Rows for gathers: closed forms of affine index arrays, tables that repeat or select, composition of two gathers.
#include <algorithm>

#include "frontend/rewrite/index_plan.h"
#include "frontend/rewrite/simplify_rules.h"

namespace spirograd::rewrite {

using namespace ir;

namespace {

// `part` has lost the addressed axes: repeated for every position of m.
Expr repeated(Expr part, const Shape& m) {
  std::vector<int64_t> axes;
  for (int t = 0; t < part.rank(); ++t) axes.push_back(m.rank() + t);
  return m.rank() == 0 ? part : broadcast(part, m + part.shape(), axes);
}
Expr gather_or_repeat(Expr table, std::span<const Expr> index, const Shape& m) {
  return index.empty() ? repeated(table, m) : gather(table, index);
}

Expr gather_zeros(Facts& facts, Expr e) {
  const std::vector<Expr> index = index_of(e);
  const Shape& table = e.in(0).shape();
  bool zero = is_uniform(e.in(0), 0) || table.count() == 0;
  for (size_t s = 0; s < index.size() && !zero; ++s) zero = facts(index[s]).range.outside(table[static_cast<int>(s)]);
  return zero ? zeros(*e.graph, e.type()) : no();
}

Expr gather_closed_form(Facts& facts, Expr e) {
  if (e.dtype() != DType::I32) return no();
  const IndexFact& f = facts(e);
  return f.affine && !f.f.has_quotient() ? affine_array(*e.graph, e.shape(), f.f) : no();
}

Expr gather_affine(Facts& facts, Expr e) {
  const std::vector<Expr> index = index_of(e);
  const Expr table = e.in(0);
  const int p = static_cast<int>(index.size());
  const IndexPlan plan = plan_index(facts, index, table.shape().slice(0, p), table.rank() - p, PlanFor::Gather);
  if (plan.nothing) return zeros(*e.graph, e.type());
  // A read by run-time scalars stays on its table, see the definition of bulk form.
  if (!plan.progress || (!plan.core.empty() && index[0].rank() == 0)) return no();
  Expr x = transposed(table, plan.post);
  std::vector<Expr> core;
  for (const Component& c : plan.core) core.push_back(core_index(plan, c, index));
  if (!core.empty()) x = gather(x, core);
  return transposed(x, plan.pre);
}

// The table repeats along an addressed axis, and the index is in range: which copy is read does not matter.
Expr gather_broadcast(Facts& facts, Expr e) {
  const Expr table = e.in(0);
  if (table.op() != Op::Broadcast) return no();
  const std::vector<Expr> index = index_of(e);
  const auto& axes = table.node().attr;
  Shape shape;
  std::vector<Expr> rest;
  std::vector<int64_t> moved(static_cast<size_t>(table.rank()));
  for (int t = 0; t < table.rank(); ++t) {
    moved[static_cast<size_t>(t)] = shape.rank();
    const bool addressed = t < static_cast<int>(index.size());
    const bool copy = std::find(axes.begin(), axes.end(), t) == axes.end();
    if (addressed && copy && facts(index[static_cast<size_t>(t)]).range.inside(table.shape()[t])) continue;
    if (addressed) rest.push_back(index[static_cast<size_t>(t)]);
    shape.push_back(table.shape()[t]);
  }
  const Shape& m = index[0].shape();
  if (rest.size() == index.size() || (m.rank() == 0 && !rest.empty())) return no();
  std::vector<int64_t> new_axes;
  for (int64_t t : axes) new_axes.push_back(moved[static_cast<size_t>(t)]);
  return gather_or_repeat(broadcast(table.in(0), shape, new_axes), rest, m);
}

// gather(gather(t, J), I) reads t at J(I), provided that I never leaves the shape of J.
Expr gather_gather(Facts& facts, Expr e) {
  const Expr inner = e.in(0);
  if (inner.op() != Op::Gather) return no();
  const std::vector<Expr> outer_index = index_of(e), inner_index = index_of(inner);
  const Shape& m = inner_index[0].shape();
  const size_t k = std::min(outer_index.size(), static_cast<size_t>(m.rank()));
  for (size_t s = 0; s < k; ++s)
    if (!facts(outer_index[s]).range.inside(m[static_cast<int>(s)])) return no();
  const Shape& outer_m = outer_index[0].shape();
  if (outer_m.rank() == 0 && (inner.in(0).op() == Op::Gather || k < outer_index.size())) return no();
  if (outer_m.rank() + m.rank() - static_cast<int>(k) == 0) return no();
  std::vector<Expr> index;
  for (Expr j : inner_index) index.push_back(gather_or_repeat(j, std::span(outer_index).first(k), outer_m));
  index.insert(index.end(), outer_index.begin() + static_cast<std::ptrdiff_t>(k), outer_index.end());
  return gather(inner.in(0), index);
}

Expr gather_transpose(Facts&, Expr e) {
  const Expr table = e.in(0);
  const std::vector<Expr> index = index_of(e);
  if (table.op() != Op::Transpose || static_cast<int>(index.size()) != table.rank() || index[0].rank() == 0) return no();
  std::vector<Expr> moved(index.size());
  for (size_t j = 0; j < index.size(); ++j) moved[static_cast<size_t>(table.attr(static_cast<int>(j)))] = index[j];
  return gather(table.in(0), moved);
}

// An index that takes one of two constants is a mask.
Expr gather_select(Facts&, Expr e) {
  const Expr table = e.in(0);
  if (table.op() != Op::Stack) return no();
  std::vector<Expr> index = index_of(e);
  const size_t at = static_cast<size_t>(table.attr(0));
  if (at >= index.size()) return no();
  const auto choice = two_way(index[at]);
  if (!choice) return no();
  index.erase(index.begin() + static_cast<std::ptrdiff_t>(at));
  const Shape& m = choice->mask.shape();
  if (m.rank() == 0 && !index.empty()) return no();
  const auto pick = [&](double k) {
    if (k < 0 || k >= static_cast<double>(table.node().in.size())) return zeros(*e.graph, e.type());
    return gather_or_repeat(table.in(static_cast<int>(k)), index, m);
  };
  return select(over_rest(choice->mask, e.shape()), pick(choice->yes), pick(choice->no));
}

// A sum of reads of sums is one sum of reads: no array of partial sums is stored. Transposed convolutions have this form.
// Only if the partial sums are not computed much more often than they were (borders).
Expr sum_gather_sum(Facts&, Expr e) {
  const Expr read = e.in(0);
  if (read.op() != Op::Gather) return no();
  const Expr table = read.in(0);
  const Expr sums = table.op() == Op::Transpose ? table.in(0) : table;
  if (sums.op() != Op::Sum || read.shape().count() > 2 * table.shape().count()) return no();
  const auto& axes = sums.node().attr;
  if (read.rank() + static_cast<int>(axes.size()) > kMaxRank) return no();
  std::vector<int64_t> kept, perm;
  for (int t = 0; t < sums.in(0).rank(); ++t)
    if (std::find(axes.begin(), axes.end(), t) == axes.end()) kept.push_back(t);
  for (int j = 0; j < table.rank(); ++j) {
    const int64_t k = table.op() == Op::Transpose ? table.attr(j) : j;
    perm.push_back(kept[static_cast<size_t>(k)]);
  }
  perm.insert(perm.end(), axes.begin(), axes.end());
  std::vector<int64_t> summed = e.node().attr;
  for (size_t j = 0; j < axes.size(); ++j) summed.push_back(read.rank() + static_cast<int64_t>(j));
  return reduce(Op::Sum, gather(transpose(sums.in(0), perm), index_of(read)), summed);
}

}  // namespace

std::vector<Expr> index_of(Expr e) {
  std::vector<Expr> index;
  for (size_t j = 1; j < e.node().in.size(); ++j) index.push_back(e.in(static_cast<int>(j)));
  return index;
}

std::optional<TwoWay> two_way(Expr index) {
  const Expr inner = index.op() == Op::Broadcast ? index.in(0) : index;
  const auto stretch = [&](Expr mask) {
    return index.op() == Op::Broadcast ? broadcast(mask, index.shape(), index.node().attr) : mask;
  };
  if (inner.op() == Op::Cast && inner.in(0).dtype() == DType::Bool) return TwoWay{stretch(inner.in(0)), 1, 0};
  if (inner.op() != Op::Select) return std::nullopt;
  const auto yes = uniform(inner.in(1)), no = uniform(inner.in(2));
  if (!yes || !no) return std::nullopt;
  return TwoWay{stretch(inner.in(0)), *yes, *no};
}

Expr over_rest(Expr mask, const Shape& shape) {
  std::vector<int64_t> axes;
  for (int t = 0; t < mask.rank(); ++t) axes.push_back(t);
  return mask.shape() == shape ? mask : broadcast(mask, shape, axes);
}

const std::vector<Rule>& gather_rules() {
  // clang-format off
  static const std::vector<Rule> rules = {
    {"gather-zeros", {Op::Gather}, gather_zeros,
     "def f(a: f32[3]) = gather(a, iota(4) + 3)",
     "def f(a: f32[3]) = zeros([4])"},
    {"gather-closed-form", {Op::Gather}, gather_closed_form,
     "def f() = gather(iota(9) * 2, iota(3) + 1)",
     "def f() = iota(3) * 2 + 2"},
    {"gather-broadcast", {Op::Gather}, gather_broadcast,
     "def f(a: f32[2], i: i32[4]) = gather(broadcast(a, [3, 2], [1]), min(max(i, 0), 2))",
     "def f(a: f32[2], i: i32[4]) = broadcast(broadcast(a, [2], [0]), [4, 2], [1])"},
    {"gather-select", {Op::Gather}, gather_select,
     "def f(c: bool[3], a: f32, b: f32) = gather(stack(a, b, axis=0), select(c, full([3], 0), full([3], 1)))",
     "def f(c: bool[3], a: f32, b: f32) = select(c, broadcast(a, [3], []), broadcast(b, [3], []))"},
    {"gather-affine", {Op::Gather}, gather_affine,
     "def f(a: f32[5, 2]) = gather(a, iota(3) + 1)",
     "def f(a: f32[5, 2]) = window(a, axis=0, lo=1, n=3)"},
    {"gather-gather", {Op::Gather}, gather_gather,
     "def f(a: f32[5], i: i32[4]) = gather(gather(a, i), iota(3) + 1)",
     "def f(a: f32[5], i: i32[4]) = gather(a, gather(i, iota(3) + 1))"},
    {"gather-transpose", {Op::Gather}, gather_transpose,
     "def f(a: f32[2, 3], i: i32[4], j: i32[4]) = gather(transpose(a, [1, 0]), i, j)",
     "def f(a: f32[2, 3], i: i32[4], j: i32[4]) = gather(a, j, i)"},
    {"sum-gather-sum", {Op::Sum}, sum_gather_sum,
     "def f(a: f32[2, 5], i: i32[4]) = sum(gather(sum(a, axis=0), i), axis=0)",
     "def f(a: f32[2, 5], i: i32[4]) = sum(gather(transpose(a, [1, 0]), i), axis=[0, 1])"},
  };
  // clang-format on
  return rules;
}

}  // namespace spirograd::rewrite
