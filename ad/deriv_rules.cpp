#include "ad/deriv_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "ad/slopes.h"

namespace spirograd::ad {

using namespace ir;

Expr number(Graph& g, Type type, double value) {
  if (type.dtype == DType::F32) value = static_cast<double>(static_cast<float>(value));
  return full(g, type, value);
}

namespace {

// The constant that fills `e`, if it is visibly one number.
const double* constant_value(Expr e) {
  while (e.op() == Op::Broadcast || e.op() == Op::Reshape) e = e.in(0);
  return e.op() == Op::Const && e.rank() == 0 ? e.node().data.data() : nullptr;
}

}  // namespace

bool is_number(Expr e, double value) {
  const double* c = constant_value(e);
  return c != nullptr && *c == value;
}

bool is_divisor(Expr e) {
  while (e.op() == Op::Broadcast || e.op() == Op::Reshape || e.op() == Op::Transpose || e.op() == Op::Neg) e = e.in(0);
  return e.op() == Op::Const && std::ranges::all_of(e.node().data, [](double x) { return x != 0 && !std::isnan(x); });
}

bool is_finite(Expr e) {
  for (;;) {
    const Op op = e.op();
    if (op == Op::Const) return std::ranges::all_of(e.node().data, [](double x) { return std::isfinite(x); });
    if (op == Op::Cast && !is_float(e.in(0).dtype())) return true;
    const bool one_operand = op == Op::Neg || op == Op::Abs || op == Op::Sign || op == Op::Broadcast ||
                             op == Op::Transpose || op == Op::Reshape || op == Op::Window || op == Op::Reverse ||
                             op == Op::Gather;
    if (!one_operand) return false;
    e = e.in(0);
  }
}

namespace {

Factor scale(Expr k) { return {FactorKind::Scale, k, false}; }
Factor over(Expr k) { return {FactorKind::Over, k, false}; }
Factor keep(Expr mask) { return {FactorKind::Keep, mask, false}; }
Factor drop(Expr mask) { return {FactorKind::Drop, mask, false}; }
Factor strong_scale(Expr k) { return {FactorKind::Scale, k, false, true}; }
Factor minus(Factor f) { return f.negative = !f.negative, f; }
Factor one(const Point&) { return {FactorKind::One, {}, false}; }
Factor minus_one(const Point&) { return {FactorKind::One, {}, true}; }

Factor atan2_y(const Point& p) { return scale(over_length(p, true)); }
Factor atan2_x(const Point& p) { return minus(scale(over_length(p, false))); }

// d(u^v)/du = v * u^(v-1). Where v = 0 it is 0 even at u = 0, where the power alone would be infinite.
Factor pow_base(const Point& p) {
  const Expr unit = num(p, 1);
  if (const double* v = constant_value(p.b)) {
    if (*v == 0) return {};
    if (*v == 1) return one(p);
    if (*v == 2) return scale(p.a + p.a);
    const Expr exponent = num(p, *v - 1);
    const double lost = *v - (*constant_value(exponent) + 1);
    return scale(p.b * (lost == 0 ? binary(Op::Pow, p.a, exponent) : power(p, exponent, num(p, lost))));
  }
  const Expr none = binary(Op::Eq, p.b, num(p, 0)), exponent = select(none, unit, p.b - unit);
  // Of the two ways to v - 1 - exponent one is exact: by Sterbenz' lemma where v is large, else because exponent + 1 is.
  const Expr lost = select(above(p.b, 2), (p.b - exponent) - unit, p.b - (exponent + unit));
  return scale(p.b * power(p, exponent, select(none, num(p, 0), lost)));
}

// d(u^v)/dv = u^v * log u, taken as 0 at u = 0; NaN for u < 0. Asked for only if v has a tangent, so (-2)^3 is safe.
Factor pow_exponent(const Point& p) {
  return scale(p.y * unary(Op::Log, select(binary(Op::Eq, p.a, num(p, 0)), num(p, 1), p.a)));
}

// u = n * v + r with r = fmod(u, v): the slope in v is -n, rounded because u - r is not exact.
Factor rem_divisor(const Point& p) { return minus(scale(unary(Op::Floor, (p.a - p.y) / p.b + num(p, 0.5)))); }

// The axes of `shape` that are not among `axes`.
std::vector<int64_t> other_axes(const Shape& shape, const std::vector<int64_t>& axes) {
  std::vector<int64_t> out;
  size_t next = 0;
  for (int a = 0; a < shape.rank(); ++a) {
    if (next < axes.size() && axes[next] == a)
      ++next;
    else
      out.push_back(a);
  }
  return out;
}

// True at the element that the reduction took: the first extreme in row-major order of the reduced axes.
Expr extreme_mask(const Point& p, Op arg_op) {
  const Shape& s = p.a.shape();
  const std::vector<int64_t>& axes = p.y.node().attr;
  const std::vector<int64_t> kept = other_axes(s, axes);
  Expr position, x = p.a;
  int axis = static_cast<int>(axes[0]);
  if (axes.size() == 1) {
    position = iota(p.graph(), s, axis);
  } else {
    std::vector<int64_t> perm = kept;
    perm.insert(perm.end(), axes.begin(), axes.end());
    axis = static_cast<int>(kept.size());
    int64_t stride = 1;
    for (size_t j = axes.size(); j-- > 0;) {
      const int a = static_cast<int>(axes[j]);
      Expr term = iota(p.graph(), s, a);
      if (stride != 1) term = term * full(p.graph(), i32(s), static_cast<double>(stride));
      position = position ? term + position : term;
      stride *= s[a];
    }
    x = reshape(ir::transpose(x, perm), p.y.shape().inserted(axis, stride));
  }
  return binary(Op::Eq, position, broadcast(arg_reduce(arg_op, x, axis), s, kept));
}

Factor extreme(const Point& p, Op arg_op) {
  for (int64_t a : p.y.node().attr)
    if (p.a.shape()[static_cast<int>(a)] == 0) return {};
  return keep(extreme_mask(p, arg_op));
}

// ---- transposes ------------------------------------------------------------------------------------------------------

Expr cast_back(const Transposed& t) { return cast(t.ct, computed_as(t.in(0).dtype())); }
Expr broadcast_back(const Transposed& t) { return reduce(Op::Sum, t.ct, other_axes(t.y.shape(), t.y.node().attr)); }
Expr sum_back(const Transposed& t) { return broadcast(t.ct, t.shape(), other_axes(t.shape(), t.y.node().attr)); }
Expr transpose_back(const Transposed& t) {
  const std::vector<int64_t>& perm = t.y.node().attr;
  std::vector<int64_t> inverse(perm.size());
  for (size_t j = 0; j < perm.size(); ++j) inverse[static_cast<size_t>(perm[j])] = static_cast<int64_t>(j);
  return ir::transpose(t.ct, inverse);
}
Expr reshape_back(const Transposed& t) { return reshape(t.ct, t.shape()); }
Expr window_back(const Transposed& t) {
  const int axis = axis_of(t.y);
  return window(t.ct, axis, -t.y.attr(1), t.shape()[axis]);
}
Expr reverse_back(const Transposed& t) { return reverse(t.ct, axis_of(t.y)); }
Expr concat_back(const Transposed& t) {
  const int axis = axis_of(t.y);
  int64_t lo = 0;
  for (int j = 0; j < t.operand; ++j) lo += t.in(j).shape()[axis];
  return window(t.ct, axis, lo, t.shape()[axis]);
}
Expr stack_back(const Transposed& t) { return reshape(window(t.ct, axis_of(t.y), t.operand, 1), t.shape()); }
std::vector<Expr> index_of(const Transposed& t) {
  std::vector<Expr> index;
  for (size_t j = 1; j < t.y.node().in.size(); ++j) index.push_back(t.in(static_cast<int>(j)));
  return index;
}
Expr gather_back(const Transposed& t) {
  const std::vector<Expr> index = index_of(t);
  return scatter(t.ct, index, t.shape().slice(0, static_cast<int>(index.size())));
}
Expr scatter_back(const Transposed& t) { return gather(t.ct, index_of(t)); }

// ---- the table -------------------------------------------------------------------------------------------------------

constexpr DerivRule zero(Op op, std::string_view why) { return {.op = op, .kind = RuleKind::Zero, .formula = why}; }
constexpr DerivRule special(Op op, std::string_view who) { return {.op = op, .kind = RuleKind::Special, .formula = who}; }
constexpr DerivRule linear(Op op, std::string_view formula, Transpose transpose, bool every_operand = false) {
  return {.op = op, .kind = RuleKind::Linear, .formula = formula, .transpose = transpose, .every_operand = every_operand};
}
constexpr DerivRule partials(Op op, std::string_view formula, std::array<Partial, 3> partial, Interval a = {},
                             Interval b = {}) {
  return {.op = op, .kind = RuleKind::Partials, .formula = formula, .partial = partial, .domain = {a, b}};
}

// clang-format off
constexpr std::array<DerivRule, kOpCount> kRules = {{
    special(Op::Param,        "an input of the scope, or a constant of it"),
    zero   (Op::Const,        "constant"),
    zero   (Op::Iota,         "integer"),
    zero   (Op::IndexVar,     "integer"),
    zero   (Op::Var,          "only while a body is put together; constant there"),
    partials(Op::Neg,         "-1", {minus_one}),
    partials(Op::Abs,         "sign u; 0 at 0", {[](const Point& p) { return scale(unary(Op::Sign, p.a)); }}, {0.2, 2}),
    zero   (Op::Sign,         "piecewise constant"),
    zero   (Op::Not,          "bool"),
    zero   (Op::Floor,        "piecewise constant"),
    partials(Op::Sqrt,        "1 / (r + r); infinite at 0", {[](const Point& p) { return over(p.y + p.y); }}, {0.3, 3}),
    partials(Op::Exp,         "r", {[](const Point& p) { return scale(p.y); }}),
    partials(Op::Log,         "1 / u", {[](const Point& p) { return over(p.a); }}, {0.3, 3}),
    partials(Op::Sin,         "cos u", {[](const Point& p) { return scale(unary(Op::Cos, p.a)); }}),
    partials(Op::Cos,         "-sin u", {[](const Point& p) { return minus(scale(unary(Op::Sin, p.a))); }}),
    partials(Op::Tan,         "1 + r^2", {[](const Point& p) { return scale(num(p, 1) + sq(p.y)); }}, {-1, 1}),
    partials(Op::Asin,        "1 / sqrt(1 - u^2)", {[](const Point& p) {
      return over(unary(Op::Sqrt, (num(p, 1) - p.a) * (num(p, 1) + p.a))); }}, {-0.8, 0.8}),
    partials(Op::Acos,        "-1 / sqrt(1 - u^2)", {[](const Point& p) {
      return minus(over(unary(Op::Sqrt, (num(p, 1) - p.a) * (num(p, 1) + p.a)))); }}, {-0.8, 0.8}),
    partials(Op::Atan,        "1 / (1 + u^2)", {[](const Point& p) { return scale(atan_slope(p)); }}),
    partials(Op::Sinh,        "cosh u", {[](const Point& p) { return scale(unary(Op::Cosh, p.a)); }}),
    partials(Op::Cosh,        "sinh u", {[](const Point& p) { return scale(unary(Op::Sinh, p.a)); }}),
    partials(Op::Tanh,        "4 e / (1 + e)^2, e = exp(-2 |u|)", {[](const Point& p) {
      return scale(tanh_slope(p)); }}),
    partials(Op::Asinh,       "1 / sqrt(1 + u^2)", {[](const Point& p) {
      return scale(asinh_slope(p)); }}),
    partials(Op::Acosh,       "1 / (sqrt(u - 1) * sqrt(u + 1))", {[](const Point& p) {
      return over(unary(Op::Sqrt, p.a - num(p, 1)) * unary(Op::Sqrt, p.a + num(p, 1))); }}, {1.3, 3}),
    partials(Op::Atanh,       "1 / (1 - u^2)", {[](const Point& p) {
      return over((num(p, 1) - p.a) * (num(p, 1) + p.a)); }}, {-0.8, 0.8}),
    partials(Op::Erf,         "2 / sqrt(pi) * exp(-u^2)", {[](const Point& p) {
      return scale(erf_slope(p)); }}),
    partials(Op::Erfc,        "-2 / sqrt(pi) * exp(-u^2)", {[](const Point& p) {
      return minus(scale(erf_slope(p))); }}),
    partials(Op::Logistic,    "e / (1 + e)^2, e = exp(-|u|)", {[](const Point& p) {
      return scale(logistic_slope(p)); }}),
    partials(Op::Log1p,       "1 / (1 + u)", {[](const Point& p) { return over(num(p, 1) + p.a); }}, {-0.7, 3}),
    partials(Op::Expm1,       "exp u", {[](const Point& p) { return scale(unary(Op::Exp, p.a)); }}),
    partials(Op::Lgamma,      "digamma u", {[](const Point& p) { return scale(unary(Op::Digamma, p.a)); }}, {0.8, 4}),
    partials(Op::Digamma,     "1 / u^2 + 1 / (u + 1)^2 + ..", {[](const Point& p) { return scale(trigamma(p)); }}, {0.8, 4}),
    zero   (Op::Bits,         "integer"),
    zero   (Op::FromBits,     "of integers"),
    linear (Op::Cast,         "cast back; zero from or to integers", cast_back),
    zero   (Op::StopGradient, "by definition"),
    partials(Op::PreferStore, "1", {one}),
    partials(Op::PreferRecompute, "1", {one}),
    partials(Op::Add,         "1; 1", {one, one}),
    partials(Op::Sub,         "1; -1", {one, minus_one}),
    partials(Op::Mul,         "v; u", {[](const Point& p) { return scale(p.b); },
                                       [](const Point& p) { return scale(p.a); }}),
    partials(Op::Div,         "1 / v; -r / v", {[](const Point& p) { return over(p.b); },
                                                [](const Point& p) { return minus(scale(p.y / p.b)); }}, {-2, 2}, {0.4, 2}),
    partials(Op::Pow,         "v * u^(v - 1), 0 where v = 0; u^v * log u", {pow_base, pow_exponent}, {0.3, 2}, {-2, 2}),
    partials(Op::Atan2,       "v / (u^2 + v^2); -u / (u^2 + v^2)", {atan2_y, atan2_x}, {0.3, 2}, {-2, 2}),
    partials(Op::Min,         "to u where u <= v, else to v", {
      [](const Point& p) { return keep(binary(Op::Le, p.a, p.b)); },
      [](const Point& p) { return drop(binary(Op::Le, p.a, p.b)); }}),
    partials(Op::Max,         "to u where u >= v, else to v", {
      [](const Point& p) { return keep(binary(Op::Ge, p.a, p.b)); },
      [](const Point& p) { return drop(binary(Op::Ge, p.a, p.b)); }}),
    zero   (Op::Quot,         "integer"),
    partials(Op::Rem,         "1; -trunc(u / v)", {one, rem_divisor}, {2.2, 2.8}, {0.9, 1.05}),
    zero   (Op::BitAnd,       "integer"),
    zero   (Op::BitOr,        "integer"),
    zero   (Op::BitXor,       "integer"),
    zero   (Op::ShiftLeft,    "integer"),
    zero   (Op::ShiftRight,   "integer"),
    zero   (Op::Eq,           "bool"),
    zero   (Op::Ne,           "bool"),
    zero   (Op::Lt,           "bool"),
    zero   (Op::Le,           "bool"),
    zero   (Op::Gt,           "bool"),
    zero   (Op::Ge,           "bool"),
    zero   (Op::And,          "bool"),
    zero   (Op::Or,           "bool"),
    partials(Op::MaskedMul,   "v; u, 0 where u = 0", {[](const Point& p) { return scale(p.b); },
                                                      [](const Point& p) { return strong_scale(p.a); }}),
    partials(Op::MaskedDiv,   "1 / v; -r / v, 0 where u = 0", {[](const Point& p) { return over(p.b); },
      [](const Point& p) { return minus(strong_scale(binary(Op::MaskedDiv, p.y, p.b))); }}, {-2, 2}, {0.4, 2}),
    partials(Op::StrongMul,   "v, 0 where v = 0; u, 0 where u = 0", {
      [](const Point& p) { return strong_scale(p.b); }, [](const Point& p) { return strong_scale(p.a); }}),
    partials(Op::Select,      "to the branch that was taken", {
      nullptr, [](const Point& p) { return keep(p.a); }, [](const Point& p) { return drop(p.a); }}),
    linear (Op::Broadcast,    "sum over the new axes", broadcast_back),
    linear (Op::Transpose,    "the inverse permutation", transpose_back),
    linear (Op::Reshape,      "reshape back", reshape_back),
    linear (Op::Window,       "the window shifted back", window_back),
    linear (Op::Reverse,      "reverse", reverse_back),
    linear (Op::Concat,       "the window of each part", concat_back, true),
    linear (Op::Stack,        "the slice of each part", stack_back, true),
    linear (Op::Sum,          "broadcast", sum_back),
    special(Op::Prod,         "expanded into a tree of multiplications first: exact at zeros (expand_prod.cpp)"),
    partials(Op::ReduceMax,   "to the first greatest element", {[](const Point& p) { return extreme(p, Op::ArgMax); }}),
    partials(Op::ReduceMin,   "to the first least element", {[](const Point& p) { return extreme(p, Op::ArgMin); }}),
    zero   (Op::ArgMax,       "integer"),
    zero   (Op::ArgMin,       "integer"),
    linear (Op::Gather,       "scatter to the same places; duplicates add", gather_back),
    linear (Op::Scatter,      "gather from the same places", scatter_back),
    zero   (Op::ScatterMax,   "integer"),
    special(Op::Build,        "removed by vectorisation first"),
    special(Op::MapAccum,     "a loop over pairs, or a loop in the other direction (loops.cpp)"),
    special(Op::Proj,         "one result of a loop (loops.cpp)"),
    special(Op::WithJvp,      "what its function says"),
    special(Op::WithVjp,      "what its function says; forward, the transpose of that"),
    special(Op::ByKernel,     "that of the value"),
}};
// clang-format on

consteval bool one_row_per_op() {
  for (int i = 0; i < kOpCount; ++i)
    if (kRules[static_cast<size_t>(i)].op != static_cast<Op>(i)) return false;
  return true;
}
static_assert(one_row_per_op(), "the table must list every operation in the order of the enum");

}  // namespace

const DerivRule& rule(Op op) { return kRules[static_cast<size_t>(op)]; }
std::span<const DerivRule> rules() { return kRules; }

bool differentiable(const Graph& g, const Node& node, int j) {
  const DerivRule& r = rule(node.op);
  if (!is_float(node.type.dtype) || !is_float(g[node.in[static_cast<size_t>(j)]].type.dtype)) return false;
  switch (r.kind) {
    case RuleKind::Zero:
    case RuleKind::Special: return false;
    case RuleKind::Linear: return r.every_operand || j == 0;
    case RuleKind::Partials: return r.partial[static_cast<size_t>(j)] != nullptr;
  }
  return false;
}

}  // namespace spirograd::ad
