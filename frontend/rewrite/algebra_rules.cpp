// Rows for elementwise operations. Floats: nothing here assumes finite values (0*x and x - x stay); signs of zero may
// change, constants are folded in double.
#include <algorithm>
#include <cmath>

#include "frontend/ir/eval_ops.h"
#include "frontend/rewrite/simplify_rules.h"

namespace spirograd::rewrite {

using namespace ir;

namespace {

constexpr int64_t kMaxFold = 4096;

Expr like(Expr e, double value) { return full(*e.graph, e.type(), value); }
// Remainders of floats are left to the device.
// What is rounded is rounded where it runs: the evaluator computes in double.
bool foldable(Expr e) {
  return e.dtype() != DType::F16 && has_flag(e.op(), kFolds) && !(e.op() == Op::Rem && is_float(e.dtype()));
}

Expr fold_constant(Facts&, Expr e) {
  const Node& n = e.node();
  if (!foldable(e) || e.shape().count() > kMaxFold) return no();
  std::vector<View> in;
  for (NodeId operand : n.in) {
    const Node& o = (*e.graph)[operand];
    if (o.op != Op::Const) return no();
    in.push_back({&o.type, o.data.data()});
  }
  std::vector<double> out(static_cast<size_t>(e.shape().count()));
  if (is_pointwise(n.op))
    eval_pointwise(n, in, out.data());
  else
    eval_layout(n, in, out.data());
  return constant(*e.graph, e.type(), std::move(out));
}

Expr uniform_constant(Facts&, Expr e) {
  const Node& n = e.node();
  if (e.rank() == 0 || n.data.empty()) return no();
  for (double x : n.data)
    if (x != n.data[0] || std::signbit(x) != std::signbit(n.data[0])) return no();
  return like(e, n.data[0]);
}

// An operand seen as a stretched smaller array: the array and the axes it occupies.
struct Stretched {
  Expr inner;
  std::vector<int64_t> axes;
};
std::optional<Stretched> stretched(Expr e) {
  if (e.op() == Op::Broadcast) return Stretched{e.in(0), e.node().attr};
  if (e.op() == Op::Iota && e.rank() > 1) return Stretched{iota(*e.graph, {e.shape()[axis_of(e)]}, 0), {e.attr(0)}};
  return std::nullopt;
}

Expr hoist_broadcast(Facts&, Expr e) {
  std::vector<Stretched> operands;
  std::vector<int64_t> axes;
  for (size_t j = 0; j < e.node().in.size(); ++j) {
    auto s = stretched(e.in(static_cast<int>(j)));
    if (!s) return no();
    for (int64_t t : s->axes)
      if (std::find(axes.begin(), axes.end(), t) == axes.end()) axes.push_back(t);
    operands.push_back(std::move(*s));
  }
  if (static_cast<int>(axes.size()) == e.rank()) return no();
  std::sort(axes.begin(), axes.end());
  Shape inner;
  for (int64_t t : axes) inner.push_back(e.shape()[static_cast<int>(t)]);
  std::vector<Expr> in;
  for (Stretched& s : operands) {
    for (int64_t& t : s.axes) t = std::find(axes.begin(), axes.end(), t) - axes.begin();
    in.push_back(s.inner.shape() == inner ? s.inner : broadcast(s.inner, inner, s.axes));
  }
  return broadcast(with_operands(*e.graph, e.node(), in), e.shape(), axes);
}

Expr constant_right(Facts&, Expr e) {
  if (!uniform(e.in(0)) || uniform(e.in(1))) return no();
  return binary(e.op(), e.in(1), e.in(0));
}

// ---- neutral elements, signs -----------------------------------------------------------------------------------------

Expr add_zero(Facts&, Expr e) { return is_uniform(e.in(1), 0) ? e.in(0) : no(); }
Expr zero_minus(Facts&, Expr e) { return is_uniform(e.in(0), 0) ? -e.in(1) : no(); }
Expr mul_one(Facts&, Expr e) { return is_uniform(e.in(1), 1) ? e.in(0) : no(); }
Expr mul_minus_one(Facts&, Expr e) {
  const double one = e.dtype() == DType::U32 ? 4294967295.0 : -1.0;
  return is_uniform(e.in(1), one) ? -e.in(0) : no();
}
Expr integer_mul_zero(Facts&, Expr e) { return is_integer(e.dtype()) && is_uniform(e.in(1), 0) ? like(e, 0) : no(); }
// Whatever the other operand is.
Expr masked_zero(Facts&, Expr e) {
  const bool zero = is_uniform(e.in(0), 0) || (e.op() == Op::StrongMul && is_uniform(e.in(1), 0));
  return zero ? like(e, 0) : no();
}
// Where no zero meets an infinity or NaN, or is divided by zero, nothing has to be masked.
Expr unmasked(Facts&, Expr e) {
  const auto x = uniform(e.in(0)), y = uniform(e.in(1));
  const bool harmless = y && std::isfinite(*y) && (e.op() != Op::MaskedDiv || *y != 0);
  if (!harmless && !(x && *x != 0 && e.op() != Op::StrongMul)) return no();
  return binary(e.op() == Op::MaskedDiv ? Op::Div : Op::Mul, e.in(0), e.in(1));
}
Expr integer_sub_self(Facts&, Expr e) { return is_integer(e.dtype()) && e.in(0) == e.in(1) ? like(e, 0) : no(); }
Expr rem_one(Facts&, Expr e) { return is_integer(e.dtype()) && is_uniform(e.in(1), 1) ? like(e, 0) : no(); }
Expr pow_one(Facts&, Expr e) { return is_uniform(e.in(1), 1) ? e.in(0) : no(); }
Expr pow_two(Facts&, Expr e) { return is_uniform(e.in(1), 2) ? e.in(0) * e.in(0) : no(); }
Expr pow_zero(Facts&, Expr e) { return is_uniform(e.in(1), 0) ? like(e, 1) : no(); }
Expr neg_neg(Facts&, Expr e) { return e.in(0).op() == Op::Neg ? e.in(0).in(0) : no(); }
Expr neg_sub(Facts&, Expr e) { return e.in(0).op() == Op::Sub ? e.in(0).in(1) - e.in(0).in(0) : no(); }
Expr add_neg(Facts&, Expr e) {
  if (e.in(1).op() == Op::Neg) return e.in(0) - e.in(1).in(0);
  return e.in(0).op() == Op::Neg ? e.in(1) - e.in(0).in(0) : no();
}
Expr sub_neg(Facts&, Expr e) { return e.in(1).op() == Op::Neg ? e.in(0) + e.in(1).in(0) : no(); }
Expr mul_neg(Facts&, Expr e) {
  const bool a = e.in(0).op() == Op::Neg, b = e.in(1).op() == Op::Neg;
  if (!a && !b) return no();
  const Expr product = binary(e.op(), a ? e.in(0).in(0) : e.in(0), b ? e.in(1).in(0) : e.in(1));
  return a && b ? product : -product;
}
Expr neg_mul_constant(Facts&, Expr e) {
  const Expr m = e.in(0);
  if (m.op() != Op::Mul) return no();
  const auto c = uniform(m.in(1));
  if (!c || !is_float(e.dtype())) return no();
  return m.in(0) * like(e, -*c);
}

// Integers only: sums and products may be regrouped modulo 2^32.
Expr integer_sub_constant(Facts&, Expr e) {
  const auto c = uniform(e.in(1));
  if (!c || !is_integer(e.dtype())) return no();
  return e.in(0) + like(e, wrap(0 - bits(*c), e.dtype()));
}
Expr integer_regroup(Facts&, Expr e) {
  const auto c = uniform(e.in(1));
  if (!c || !is_integer(e.dtype()) || e.in(0).op() != e.op()) return no();
  const auto d = uniform(e.in(0).in(1));
  if (!d) return no();
  const uint64_t v = e.op() == Op::Add ? bits(*c) + bits(*d) : bits(*c) * bits(*d);
  return binary(e.op(), e.in(0).in(0), like(e, wrap(v, e.dtype())));
}

Expr same_operands(Facts&, Expr e) { return e.in(0) == e.in(1) ? e.in(0) : no(); }

// ---- facts about integers --------------------------------------------------------------------------------------------

Expr compare_ranges(Facts& facts, Expr e) {
  if (e.in(0).dtype() != DType::I32) return no();
  const Range a = facts(e.in(0)).range, b = facts(e.in(1)).range;
  const bool same = e.in(0) == e.in(1);
  const bool lt = a.hi < b.lo, le = a.hi <= b.lo || same, gt = a.lo > b.hi, ge = a.lo >= b.hi || same;
  const bool equal = same || (a.lo == a.hi && b.lo == b.hi && a.lo == b.lo);
  const auto decided = [&](bool yes, bool never) { return yes ? like(e, 1) : never ? like(e, 0) : no(); };
  if (e.op() == Op::Eq) return decided(equal, lt || gt);
  if (e.op() == Op::Ne) return decided(lt || gt, equal);
  if (e.op() == Op::Lt) return decided(lt, ge);
  if (e.op() == Op::Le) return decided(le, gt);
  return e.op() == Op::Gt ? decided(gt, le) : decided(ge, lt);
}

// a - b == 0 holds modulo 2^32 exactly if a == b.
Expr equal_difference(Facts&, Expr e) {
  const Expr d = e.in(0);
  return is_integer(d.dtype()) && d.op() == Op::Sub && is_uniform(e.in(1), 0) ? binary(e.op(), d.in(0), d.in(1)) : no();
}

Expr extreme_ranges(Facts& facts, Expr e) {
  if (e.dtype() != DType::I32) return no();
  const Range a = facts(e.in(0)).range, b = facts(e.in(1)).range;
  const bool min = e.op() == Op::Min;
  if (min ? a.hi <= b.lo : a.lo >= b.hi) return e.in(0);
  return (min ? b.hi <= a.lo : b.lo >= a.hi) ? e.in(1) : no();
}

Expr divide_ranges(Facts& facts, Expr e) {
  if (e.dtype() != DType::I32) return no();
  const auto s = uniform(e.in(1));
  if (!s || *s <= 0) return no();
  const Range a = facts(e.in(0)).range;
  const double bound = *s;
  if (static_cast<double>(a.hi) < bound && static_cast<double>(a.lo) > -bound)
    return e.op() == Op::Rem ? e.in(0) : like(e, 0);
  const IndexFact& f = facts(e);
  return f.affine && !f.f.has_quotient() ? affine_array(*e.graph, e.shape(), f.f) : no();
}

Expr integer_constant(Facts& facts, Expr e) {
  if (e.dtype() != DType::I32) return no();
  const IndexFact& f = facts(e);
  return f.affine && f.f.constant() ? like(e, static_cast<double>(f.f.c)) : no();
}

// ---- bool, select, cast ----------------------------------------------------------------------------------------------

Expr and_or_constant(Facts&, Expr e) {
  const auto c = uniform(e.in(1));
  if (!c) return no();
  return (*c != 0) == (e.op() == Op::And) ? e.in(0) : e.in(1);
}

Expr not_compare(Facts&, Expr e) {
  const Expr c = e.in(0);
  if (c.op() == Op::Not) return c.in(0);
  if (c.op() == Op::Eq) return binary(Op::Ne, c.in(0), c.in(1));
  if (c.op() == Op::Ne) return binary(Op::Eq, c.in(0), c.in(1));
  if (!has_flag(c.op(), kPredicate) || is_float(c.in(0).dtype())) return no();  // NaN: !(x < y) is not x >= y
  if (c.op() == Op::Lt) return binary(Op::Ge, c.in(0), c.in(1));
  if (c.op() == Op::Le) return binary(Op::Gt, c.in(0), c.in(1));
  if (c.op() == Op::Gt) return binary(Op::Le, c.in(0), c.in(1));
  return c.op() == Op::Ge ? binary(Op::Lt, c.in(0), c.in(1)) : no();
}

Expr select_constant(Facts&, Expr e) {
  const auto c = uniform(e.in(0));
  return c ? e.in(*c != 0 ? 1 : 2) : no();
}
Expr select_same(Facts&, Expr e) { return e.in(1) == e.in(2) ? e.in(1) : no(); }
Expr select_not(Facts&, Expr e) { return e.in(0).op() == Op::Not ? select(e.in(0).in(0), e.in(2), e.in(1)) : no(); }
Expr select_nested(Facts&, Expr e) {
  const Expr m = e.in(0), a = e.in(1), b = e.in(2);
  if (a.op() == Op::Select && a.in(0) == m) return select(m, a.in(1), b);
  return b.op() == Op::Select && b.in(0) == m ? select(m, a, b.in(2)) : no();
}
Expr select_bool(Facts&, Expr e) {
  if (e.dtype() != DType::Bool || !uniform(e.in(1)) || !uniform(e.in(2))) return no();
  return *uniform(e.in(1)) != 0 ? e.in(0) : unary(Op::Not, e.in(0));
}

Expr cast_cast(Facts&, Expr e) {
  if (e.in(0).op() != Op::Cast) return no();
  const DType from = e.in(0).in(0).dtype(), mid = e.in(0).dtype(), to = e.dtype();
  const bool exact = from == DType::Bool || from == DType::F16 || (from == DType::F32 && mid == DType::F64) ||
                     (is_integer(from) && mid == DType::F64 && (is_float(to) || to == from)) ||
                     (is_integer(from) && is_integer(mid) && is_integer(to));
  return exact && to != DType::Bool ? cast(e.in(0).in(0), to) : no();
}

std::vector<Op> fold_ops() {
  std::vector<Op> ops = pointwise_ops();
  for (const OpInfo& i : kOps)
    if (i.kind == Kind::Layout) ops.push_back(i.op);
  return ops;
}
std::vector<Op> comparisons() { return {Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge}; }

}  // namespace

std::vector<Op> pointwise_ops() {
  std::vector<Op> ops;
  for (const OpInfo& i : kOps)
    if (i.kind == Kind::Pointwise) ops.push_back(i.op);
  return ops;
}

std::optional<double> uniform(Expr e) {
  if (e.op() == Op::Broadcast) e = e.in(0);
  if (e.op() != Op::Const || e.rank() != 0) return std::nullopt;
  return e.node().data[0];
}

const std::vector<Rule>& algebra_rules() {
  // clang-format off
  static const std::vector<Rule> rules = {
    {"fold-constant", fold_ops(), fold_constant,
     "def f() = const(i32[2], [1, 2]) + const(i32[2], [3, 5])",
     "def f() = const(i32[2], [4, 7])"},
    {"uniform-constant", {Op::Const}, uniform_constant,
     "def f() = const(f32[2], [3.0, 3.0])",
     "def f() = full([2], 3.0)"},
    {"hoist-broadcast", pointwise_ops(), hoist_broadcast,
     "def f(a: f32[3]) = exp(broadcast(a, [3, 4], [0]))",
     "def f(a: f32[3]) = broadcast(exp(a), [3, 4], [0])"},
    {"constant-right", {Op::Add, Op::Mul, Op::And, Op::Or, Op::Eq, Op::Ne}, constant_right,
     "def f(a: f32[3]) = 2.0 * a",
     "def f(a: f32[3]) = a * 2.0"},
    {"add-zero", {Op::Add, Op::Sub}, add_zero,
     "def f(a: f32[3]) = a + 0.0",
     "def f(a: f32[3]) = a"},
    {"zero-minus", {Op::Sub}, zero_minus,
     "def f(a: f32[3]) = 0.0 - a",
     "def f(a: f32[3]) = neg(a)"},
    {"mul-one", {Op::Mul, Op::Div, Op::Quot}, mul_one,
     "def f(a: f32[3]) = a * 1.0",
     "def f(a: f32[3]) = a"},
    {"mul-minus-one", {Op::Mul}, mul_minus_one,
     "def f(a: i32[3]) = a * full([3], -1)",
     "def f(a: i32[3]) = neg(a)"},
    {"integer-mul-zero", {Op::Mul}, integer_mul_zero,
     "def f(a: i32[3]) = a * 0",
     "def f(a: i32[3]) = full([3], 0)"},
    {"masked-zero", {Op::MaskedMul, Op::MaskedDiv, Op::StrongMul}, masked_zero,
     "def f(a: f32[3]) = masked_mul(0.0, a)",
     "def f(a: f32[3]) = full([3], 0.0)"},
    {"unmasked", {Op::MaskedMul, Op::MaskedDiv, Op::StrongMul}, unmasked,
     "def f(a: f32[3]) = masked_div(a, full([3], 2.0))",
     "def f(a: f32[3]) = a / 2.0"},
    {"integer-sub-self", {Op::Sub}, integer_sub_self,
     "def f(a: i32[3]) = a - a",
     "def f(a: i32[3]) = full([3], 0)"},
    {"rem-one", {Op::Rem}, rem_one,
     "def f(a: i32[3]) = rem(a, 1)",
     "def f(a: i32[3]) = full([3], 0)"},
    {"pow-one", {Op::Pow}, pow_one,
     "def f(a: f32[3]) = pow(a, 1.0)",
     "def f(a: f32[3]) = a"},
    {"pow-two", {Op::Pow}, pow_two,
     "def f(a: f32[3]) = pow(a, 2.0)",
     "def f(a: f32[3]) = a * a"},
    {"pow-zero", {Op::Pow}, pow_zero,
     "def f(a: f32[3]) = pow(a, 0.0)",
     "def f(a: f32[3]) = full([3], 1.0)"},
    {"neg-neg", {Op::Neg}, neg_neg,
     "def f(a: f32[3]) = neg(neg(a))",
     "def f(a: f32[3]) = a"},
    {"neg-sub", {Op::Neg}, neg_sub,
     "def f(a: f32[3], b: f32[3]) = neg(a - b)",
     "def f(a: f32[3], b: f32[3]) = b - a"},
    {"neg-mul-constant", {Op::Neg}, neg_mul_constant,
     "def f(a: f32[3]) = neg(a * 2.0)",
     "def f(a: f32[3]) = a * full([3], -2.0)"},
    {"add-neg", {Op::Add}, add_neg,
     "def f(a: f32[3], b: f32[3]) = a + neg(b)",
     "def f(a: f32[3], b: f32[3]) = a - b"},
    {"sub-neg", {Op::Sub}, sub_neg,
     "def f(a: f32[3], b: f32[3]) = a - neg(b)",
     "def f(a: f32[3], b: f32[3]) = a + b"},
    {"mul-neg", {Op::Mul, Op::Div}, mul_neg,
     "def f(a: f32[3], b: f32[3]) = neg(a) * b",
     "def f(a: f32[3], b: f32[3]) = neg(a * b)"},
    {"integer-sub-constant", {Op::Sub}, integer_sub_constant,
     "def f(a: i32[3]) = a - 2",
     "def f(a: i32[3]) = a + full([3], -2)"},
    {"integer-regroup", {Op::Add, Op::Mul}, integer_regroup,
     "def f(a: i32[3]) = a + 2 + 3",
     "def f(a: i32[3]) = a + 5"},
    {"same-operands", {Op::Min, Op::Max, Op::And, Op::Or}, same_operands,
     "def f(a: f32[3]) = min(a, a)",
     "def f(a: f32[3]) = a"},
    {"compare-ranges", comparisons(), compare_ranges,
     "def f() = iota(4) < 4",
     "def f() = full([4], true)"},
    {"equal-difference", {Op::Eq, Op::Ne}, equal_difference,
     "def f(a: i32[3], b: i32[3]) = a - b == 0",
     "def f(a: i32[3], b: i32[3]) = a == b"},
    {"extreme-ranges", {Op::Min, Op::Max}, extreme_ranges,
     "def f() = max(iota(4), 0)",
     "def f() = iota(4)"},
    {"divide-ranges", {Op::Quot, Op::Rem}, divide_ranges,
     "def f() = quot(iota([3, 4], axis=0) * 4 + iota([3, 4], axis=1), 4)",
     "def f() = iota([3, 4], axis=0)"},
    {"integer-constant", {Op::Add, Op::Sub, Op::Mul, Op::Neg, Op::Quot, Op::Rem}, integer_constant,
     "def f() = iota(4) - (iota(4) + 2)",
     "def f() = full([4], -2)"},
    {"and-or-constant", {Op::And, Op::Or}, and_or_constant,
     "def f(a: bool[3]) = a and true",
     "def f(a: bool[3]) = a"},
    {"not-compare", {Op::Not}, not_compare,
     "def f(a: i32[3], b: i32[3]) = not (a < b)",
     "def f(a: i32[3], b: i32[3]) = a >= b"},
    {"select-constant", {Op::Select}, select_constant,
     "def f(a: f32[3], b: f32[3]) = select(full([3], true), a, b)",
     "def f(a: f32[3], b: f32[3]) = a"},
    {"select-same", {Op::Select}, select_same,
     "def f(c: bool[3], a: f32[3]) = select(c, a, a)",
     "def f(c: bool[3], a: f32[3]) = a"},
    {"select-not", {Op::Select}, select_not,
     "def f(c: bool[3], a: f32[3], b: f32[3]) = select(not c, a, b)",
     "def f(c: bool[3], a: f32[3], b: f32[3]) = select(c, b, a)"},
    {"select-nested", {Op::Select}, select_nested,
     "def f(c: bool[3], a: f32[3], b: f32[3], d: f32[3]) = select(c, select(c, a, b), d)",
     "def f(c: bool[3], a: f32[3], b: f32[3], d: f32[3]) = select(c, a, d)"},
    {"select-bool", {Op::Select}, select_bool,
     "def f(c: bool[3]) = select(c, full([3], true), full([3], false))",
     "def f(c: bool[3]) = c"},
    {"cast-cast", {Op::Cast}, cast_cast,
     "def f(c: bool[3]) = f32(i32(c))",
     "def f(c: bool[3]) = f32(c)"},
  };
  // clang-format on
  return rules;
}

}  // namespace spirograd::rewrite
