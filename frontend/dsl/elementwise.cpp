// Leaves and elementwise operations.
#include <cmath>

#include "frontend/dsl/forms.h"

namespace spirograd {
namespace {

using detail::binary;
using detail::Numbers;
using detail::of_one;
using detail::of_two;
using detail::operation;
using detail::unary;
using Operands = std::span<const ir::Expr>;

template <class F>
Array leaf(const char* what, const Loc& loc, F&& make) {
  return operation(what, {}, Numbers::Alone, loc, [&](ir::Graph& g, Operands) { return make(g); });
}

}  // namespace

// A literal's numbers follow the same rules as numbers in expressions, except that any is rounded to a float type.
static ir::Expr literal_array(ir::Graph& g, const char* what, const Type& type, const std::vector<double>& values) {
  std::vector<double> data;
  data.reserve(values.size());
  for (double v : values) {
    const bool integer = !is_float(type.dtype) && v == std::trunc(v) && std::abs(v) < 0x1p53;
    const Arg number = type.dtype == DType::Bool && (v == 0 || v == 1) ? Arg(v != 0, Loc{})
                       : integer                                       ? Arg(static_cast<int64_t>(v), Loc{})
                                                                       : Arg(v, Loc{});
    data.push_back(detail::rounded(what, number, type.dtype));
  }
  return ir::constant(g, type, std::move(data));
}

Array full(Type type, double value, Loc loc) {
  return leaf("full", loc, [&](ir::Graph& g) {
    const ir::Expr scalar = literal_array(g, "full", {computed_as(type.dtype), {}}, {value});
    return ir::converted(type.shape.rank() == 0 ? scalar : ir::broadcast(scalar, type.shape, {}), type.dtype);
  });
}
Array full(Shape shape, Arg value) {
  return of_one("full", value, [&](ir::Expr e) { return ir::broadcast_to(e, shape); });
}
Array zeros(Type type, Loc loc) { return full(type, 0, std::move(loc)); }
Array zeros(Shape shape, DType dtype, Loc loc) { return full(Type{dtype, shape}, 0, std::move(loc)); }
Array ones(Type type, Loc loc) { return full(type, 1, std::move(loc)); }
Array ones(Shape shape, DType dtype, Loc loc) { return full(Type{dtype, shape}, 1, std::move(loc)); }

Array constant(Type type, const std::vector<double>& values, Loc loc) {
  return leaf("constant", loc, [&](ir::Graph& g) {
    return ir::converted(literal_array(g, "constant", computed_as(type), values), type.dtype);
  });
}
Array constant(const HostArray& values, Loc loc) { return constant(values.type, values.values(), std::move(loc)); }
Array constant(DType dtype, double value, Loc loc) { return constant(Type{dtype, {}}, {value}, std::move(loc)); }

Array iota(int64_t n, Loc loc) { return iota(Shape{n}, 0, std::move(loc)); }
Array iota(Shape shape, int axis, Loc loc) {
  return leaf("iota", loc, [&](ir::Graph& g) { return ir::iota(g, shape, ir::normal_axis("iota", axis, i32(shape))); });
}

Array abs(Arg a) { return unary(ir::Op::Abs, a); }
Array sign(Arg a) { return unary(ir::Op::Sign, a); }
Array sqrt(Arg a) { return unary(ir::Op::Sqrt, a); }
Array exp(Arg a) { return unary(ir::Op::Exp, a); }
Array log(Arg a) { return unary(ir::Op::Log, a); }
Array sin(Arg a) { return unary(ir::Op::Sin, a); }
Array cos(Arg a) { return unary(ir::Op::Cos, a); }
Array tan(Arg a) { return unary(ir::Op::Tan, a); }
Array asin(Arg a) { return unary(ir::Op::Asin, a); }
Array acos(Arg a) { return unary(ir::Op::Acos, a); }
Array atan(Arg a) { return unary(ir::Op::Atan, a); }
Array sinh(Arg a) { return unary(ir::Op::Sinh, a); }
Array cosh(Arg a) { return unary(ir::Op::Cosh, a); }
Array tanh(Arg a) { return unary(ir::Op::Tanh, a); }
Array asinh(Arg a) { return unary(ir::Op::Asinh, a); }
Array acosh(Arg a) { return unary(ir::Op::Acosh, a); }
Array atanh(Arg a) { return unary(ir::Op::Atanh, a); }
Array erf(Arg a) { return unary(ir::Op::Erf, a); }
Array erfc(Arg a) { return unary(ir::Op::Erfc, a); }
Array logistic(Arg a) { return unary(ir::Op::Logistic, a); }
Array log1p(Arg a) { return unary(ir::Op::Log1p, a); }
Array expm1(Arg a) { return unary(ir::Op::Expm1, a); }
Array lgamma(Arg a) { return unary(ir::Op::Lgamma, a); }
Array digamma(Arg a) { return unary(ir::Op::Digamma, a); }
Array stop_gradient(Arg a) { return unary(ir::Op::StopGradient, a); }
Array prefer_store(Arg a) { return unary(ir::Op::PreferStore, a); }
Array prefer_recompute(Arg a) { return unary(ir::Op::PreferRecompute, a); }

Array square(Arg a) { return of_one("square", a, ir::square); }
Array recip(Arg a) { return of_one("recip", a, ir::recip); }
Array relu(Arg a) { return of_one("relu", a, ir::relu); }
Array leaky_relu(Arg a, double slope) {
  return of_one("leaky_relu", a, [&](ir::Expr e) { return ir::leaky_relu(e, slope); });
}
Array softplus(Arg a) { return of_one("softplus", a, ir::softplus); }
Array logaddexp(Arg a, Arg b) { return of_two("logaddexp", a, b, ir::log_add_exp); }
Array floor_(Arg a) { return unary(ir::Op::Floor, a); }
Array floor(Arg a) { return of_one("floor", a, ir::floor_to_int); }
Array cast(Arg a, DType dtype) {
  return of_one("cast", a, [&](ir::Expr e) { return ir::converted(e, dtype); });
}

Array pow(Arg a, Arg b) { return binary(ir::Op::Pow, a, b); }
Array masked_mul(Arg x, Arg y) { return binary(ir::Op::MaskedMul, x, y); }
Array masked_div(Arg x, Arg y) { return binary(ir::Op::MaskedDiv, x, y); }
Array strong_mul(Arg x, Arg y) { return binary(ir::Op::StrongMul, x, y); }
Array atan2(Arg y, Arg x) { return binary(ir::Op::Atan2, y, x); }
Array quot(Arg a, Arg b) { return binary(ir::Op::Quot, a, b); }
Array rem(Arg a, Arg b) { return binary(ir::Op::Rem, a, b); }
Array bit_and(Arg a, Arg b) { return binary(ir::Op::BitAnd, a, b); }
Array bit_or(Arg a, Arg b) { return binary(ir::Op::BitOr, a, b); }
Array bits(Arg a) { return unary(ir::Op::Bits, a); }
Array from_bits(Arg a) { return unary(ir::Op::FromBits, a); }
Array bit_xor(Arg a, Arg b) { return binary(ir::Op::BitXor, a, b); }
Array shift_left(Arg a, Arg count) { return binary(ir::Op::ShiftLeft, a, count); }
Array shift_right(Arg a, Arg count) { return binary(ir::Op::ShiftRight, a, count); }
Array minimum(Arg a, Arg b) { return binary(ir::Op::Min, a, b); }
Array maximum(Arg a, Arg b) { return binary(ir::Op::Max, a, b); }

static Array choice(const char* what, const Arg& mask, const Arg& a, const Arg& b) {
  const Arg args[] = {mask, a, b};
  return operation(what, args, Numbers::MaskFirst, mask.loc,
                   [&](ir::Graph&, Operands in) { return ir::select_broadcast(in[0], in[1], in[2], what); });
}
Array where(Arg mask, Arg a, Arg b) { return choice("where", mask, a, b); }
Array select(Arg mask, Arg a, Arg b) { return choice("select", mask, a, b); }
Array cond(Arg condition, Arg a, Arg b) {
  const Arg args[] = {condition, a, b};
  return operation("cond", args, Numbers::MaskFirst, condition.loc,
                   [](ir::Graph&, Operands in) { return ir::cond(in[0], in[1], in[2]); });
}

namespace detail {

std::vector<Array> cond_of_each(const Arg& condition, const std::vector<Arg>& a, const std::vector<Arg>& b) {
  if (a.size() != b.size())
    return operations(
        "cond", {&condition, 1}, Numbers::Alone, condition.loc, [&](ir::Graph&, Operands) -> std::vector<ir::Expr> {
          throw Error("SG0101",
                      "cond: one side has " + std::to_string(a.size()) + " arrays, the other " + std::to_string(b.size()));
        });
  std::vector<Array> out;
  for (size_t j = 0; j < a.size(); ++j) out.push_back(spirograd::cond(condition, a[j], b[j]));
  return out;
}

Array number_of_arm(Arg which) {
  return operation("switch", {&which, 1}, Numbers::Alone, which.loc, [](ir::Graph&, Operands in) {
    if (in[0].type() != i32())
      throw Error("SG0102", "switch: the number of the arm must be one i32, not " + to_string(in[0].type()));
    return in[0];
  });
}

}  // namespace detail

}  // namespace spirograd
