// Elementwise kernels of the interpreter. One pass per node, the operation chosen outside the loop.
#include <algorithm>
#include <cmath>
#include <string>

#include "frontend/ir/eval_ops.h"

namespace spirograd::ir {
namespace {

template <class F>
void map1(int64_t n, const View& a, double* out, F f) {
  for (int64_t i = 0; i < n; ++i) out[i] = f(a.data[i]);
}

template <class F>
void map2(int64_t n, std::span<const View> in, double* out, F f) {
  const double *a = in[0].data, *b = in[1].data;
  for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
}

double sign(double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; }  // 0 and NaN stand for themselves

// exp only of what is not positive, so that nothing overflows.
double logistic(double x) {
  if (x >= 0) return 1 / (1 + std::exp(-x));
  const double e = std::exp(x);
  return e / (1 + e);
}

// Toward zero; beyond the range the nearest bound; NaN is 0.
double saturate(double x, DType t) {
  if (std::isnan(x)) return 0;
  const double lo = t == DType::I32 ? -2147483648.0 : 0.0, hi = t == DType::I32 ? 2147483647.0 : 4294967295.0;
  return std::clamp(std::trunc(x), lo, hi) + 0.0;  // + 0: no -0 among integers
}

// A zero divisor is read as one; the least i32 divided by -1 wraps to itself.
double quot(double x, double y, DType t) {
  if (y == 0) return x;
  return wrap(static_cast<uint64_t>(static_cast<int64_t>(x) / static_cast<int64_t>(y)), t);
}
double rem(double x, double y) {
  if (y == 0) return 0;
  return static_cast<double>(static_cast<int64_t>(x) % static_cast<int64_t>(y));
}

void eval_cast(int64_t n, const View& a, DType to, double* out) {
  const DType from = a.type->dtype;
  switch (to) {
    case DType::Bool: return map1(n, a, out, [](double x) { return x != 0 ? 1.0 : 0.0; });
    case DType::I32:
    case DType::U32:
      if (is_float(from)) return map1(n, a, out, [to](double x) { return saturate(x, to); });
      return map1(n, a, out, [to](double x) { return wrap(bits(x), to); });
    case DType::F32:
    case DType::F64: return map1(n, a, out, [](double x) { return x; });
  }
}

void choose(int64_t count, std::span<const View> in, double* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = in[0].data[i] != 0 ? in[1].data[i] : in[2].data[i];
}

// Operations whose integer form differs from the float form. False: `n` has no such form.
bool eval_integer(const Node& n, std::span<const View> in, double* out) {
  const int64_t count = n.type.shape.count();
  const DType t = n.type.dtype;
  const auto one = [&](auto f) { map1(count, in[0], out, f); };
  const auto two = [&](auto f) { map2(count, in, out, f); };
  if (n.op == Op::Neg)
    one([t](double x) { return wrap(0 - bits(x), t); });
  else if (n.op == Op::Abs)
    one([t](double x) { return wrap(bits(std::fabs(x)), t); });
  else if (n.op == Op::Add)
    two([t](double x, double y) { return wrap(bits(x) + bits(y), t); });
  else if (n.op == Op::Sub)
    two([t](double x, double y) { return wrap(bits(x) - bits(y), t); });
  else if (n.op == Op::Mul)
    two([t](double x, double y) { return wrap(bits(x) * bits(y), t); });
  else if (n.op == Op::Quot)
    two([t](double x, double y) { return quot(x, y, t); });
  else if (n.op == Op::Rem)
    two(rem);
  else
    return false;
  return true;
}

}  // namespace

void eval_pointwise(const Node& n, std::span<const View> in, double* out) {
  const int64_t count = n.type.shape.count();
  if (is_integer(n.type.dtype) && eval_integer(n, in, out)) return;
  const auto one = [&](auto f) { map1(count, in[0], out, f); };
  const auto two = [&](auto f) { map2(count, in, out, f); };
  const auto test = [&](auto f) { map2(count, in, out, [f](double x, double y) { return f(x, y) ? 1.0 : 0.0; }); };
  // clang-format off
  switch (n.op) {
    case Op::Neg:          return one([](double x) { return -x; });
    case Op::Abs:          return one([](double x) { return std::fabs(x); });
    case Op::Sign:         return one(sign);
    case Op::Not:          return one([](double x) { return x == 0 ? 1.0 : 0.0; });
    case Op::Floor:        return one([](double x) { return std::floor(x); });
    case Op::Sqrt:         return one([](double x) { return std::sqrt(x); });
    case Op::Exp:          return one([](double x) { return std::exp(x); });
    case Op::Log:          return one([](double x) { return std::log(x); });
    case Op::Sin:          return one([](double x) { return std::sin(x); });
    case Op::Cos:          return one([](double x) { return std::cos(x); });
    case Op::Tan:          return one([](double x) { return std::tan(x); });
    case Op::Asin:         return one([](double x) { return std::asin(x); });
    case Op::Acos:         return one([](double x) { return std::acos(x); });
    case Op::Atan:         return one([](double x) { return std::atan(x); });
    case Op::Sinh:         return one([](double x) { return std::sinh(x); });
    case Op::Cosh:         return one([](double x) { return std::cosh(x); });
    case Op::Tanh:         return one([](double x) { return std::tanh(x); });
    case Op::Asinh:        return one([](double x) { return std::asinh(x); });
    case Op::Acosh:        return one([](double x) { return std::acosh(x); });
    case Op::Atanh:        return one([](double x) { return std::atanh(x); });
    case Op::Erf:          return one([](double x) { return std::erf(x); });
    case Op::Logistic:     return one(logistic);
    case Op::Log1p:        return one([](double x) { return std::log1p(x); });
    case Op::Expm1:        return one([](double x) { return std::expm1(x); });
    case Op::Cast:         return eval_cast(count, in[0], n.type.dtype, out);
    case Op::StopGradient: return one([](double x) { return x; });
    case Op::Add:          return two([](double x, double y) { return x + y; });
    case Op::Sub:          return two([](double x, double y) { return x - y; });
    case Op::Mul:          return two([](double x, double y) { return x * y; });
    case Op::Div:          return two([](double x, double y) { return x / y; });
    case Op::Pow:          return two([](double x, double y) { return std::pow(x, y); });
    case Op::Atan2:        return two([](double x, double y) { return std::atan2(x, y); });
    case Op::Min:          return two([](double x, double y) { return x <= y ? x : y; });
    case Op::Max:          return two([](double x, double y) { return x >= y ? x : y; });
    case Op::Quot:         return two([](double x, double y) { return std::trunc(x / y); });
    case Op::Rem:          return two([](double x, double y) { return std::fmod(x, y); });
    case Op::Eq:           return test([](double x, double y) { return x == y; });
    case Op::Ne:           return test([](double x, double y) { return x != y; });
    case Op::Lt:           return test([](double x, double y) { return x < y; });
    case Op::Le:           return test([](double x, double y) { return x <= y; });
    case Op::Gt:           return test([](double x, double y) { return x > y; });
    case Op::Ge:           return test([](double x, double y) { return x >= y; });
    case Op::And:          return test([](double x, double y) { return x != 0 && y != 0; });
    case Op::Or:           return test([](double x, double y) { return x != 0 || y != 0; });
    case Op::MaskedMul:    return two([](double x, double y) { return x == 0 ? 0 : x * y; });
    case Op::MaskedDiv:    return two([](double x, double y) { return x == 0 ? 0 : x / y; });
    case Op::StrongMul:    return two([](double x, double y) { return x == 0 || y == 0 ? 0 : x * y; });
    case Op::Select:       return choose(count, in, out);
    case Op::Param: case Op::Const: case Op::Iota: case Op::IndexVar: case Op::Var: case Op::Broadcast: case Op::Transpose:
    case Op::Reshape: case Op::Window: case Op::Reverse: case Op::Concat: case Op::Stack: case Op::Sum: case Op::Prod:
    case Op::ReduceMax: case Op::ReduceMin: case Op::ArgMax: case Op::ArgMin: case Op::Gather: case Op::Scatter:
    case Op::Build: case Op::MapAccum: case Op::Proj:
      throw Error("SG0900", "internal: " + std::string(name(n.op)) + " is not elementwise");
  }
  // clang-format on
}

}  // namespace spirograd::ir
