// Elementwise kernels of the interpreter: one row per operation, chosen outside the loop over the elements.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <type_traits>

#include "frontend/ir/eval_ops.h"
#include "frontend/ir/log_gamma.h"
#include "frontend/ir/op_table.h"

namespace spirograd::ir {
namespace {

using Evaluate = void (*)(const Node&, std::span<const View> in, double* out);

// Makes what runs over all elements out of a function of one element, which is inlined; it may ask for the node's dtype.
template <class F>
constexpr Evaluate one(F) {
  return [](const Node& n, std::span<const View> in, double* out) {
    const int64_t count = n.type.shape.count();
    const double* a = in[0].data;
    if constexpr (std::is_invocable_v<F, double>) {
      for (int64_t i = 0; i < count; ++i) out[i] = F{}(a[i]);
    } else {
      for (int64_t i = 0; i < count; ++i) out[i] = F{}(a[i], n.type.dtype);
    }
  };
}
template <class F>
constexpr Evaluate two(F) {
  return [](const Node& n, std::span<const View> in, double* out) {
    const int64_t count = n.type.shape.count();
    const double *a = in[0].data, *b = in[1].data;
    if constexpr (std::is_invocable_v<F, double, double>) {
      for (int64_t i = 0; i < count; ++i) out[i] = F{}(a[i], b[i]);
    } else {
      for (int64_t i = 0; i < count; ++i) out[i] = F{}(a[i], b[i], n.type.dtype);
    }
  };
}
template <class F>
constexpr Evaluate test(F) {
  return two([](double x, double y) { return F{}(x, y) ? 1.0 : 0.0; });
}

double sign(double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; }  // 0 and NaN stand for themselves

// exp only of what is not positive, so that nothing overflows.
double logistic(double x) {
  if (x >= 0) return 1 / (1 + std::exp(-x));
  const double e = std::exp(x);
  return e / (1 + e);
}

// From -1/x - 1/(x + 1) - .. - 1/(x + n - 1) + digamma(x + n) by the asymptotic series; digamma(1 - x) - pi cot(pi x) below
// 0. In long double, for sums near the zeros.
double digamma(double x) {
  using Real = long double;
  if (x == 0) return -1 / x;
  if (x < 0 && x == std::floor(x)) return std::nan("");
  Real y = x, sum = 0;
  if (x < 0) {
    const Real pi = std::numbers::pi_v<Real>;
    sum = -pi / std::tan(pi * (y - std::round(y)));
    y = 1 - y;
  }
  for (; y < 16; y += 1) sum -= 1 / y;
  const Real w = 1 / (y * y);
  Real tail = 0;  // B(2k) / 2k w^k
  for (const Real c :
       {1 / Real{12}, -691 / Real{32760}, 1 / Real{132}, -1 / Real{240}, 1 / Real{252}, -1 / Real{120}, 1 / Real{12}})
    tail = w * (c + tail);
  return static_cast<double>(sum + std::log(y) - 1 / (2 * y) - tail);
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

void eval_cast(const Node& n, std::span<const View> in, double* out) {
  const bool from_float = is_float(in[0].type->dtype);
  switch (n.type.dtype) {
    case DType::Bool: return one([](double x) { return x != 0 ? 1.0 : 0.0; })(n, in, out);
    case DType::I32:
    case DType::U32:
      if (from_float) return one([](double x, DType t) { return saturate(x, t); })(n, in, out);
      return one([](double x, DType t) { return wrap(bits(x), t); })(n, in, out);
    case DType::F16:
    case DType::F32:
    case DType::F64: return one([](double x) { return x; })(n, in, out);
  }
}

void choose(const Node& n, std::span<const View> in, double* out) {
  const int64_t count = n.type.shape.count();
  for (int64_t i = 0; i < count; ++i) out[i] = in[0].data[i] != 0 ? in[1].data[i] : in[2].data[i];
}

struct Row {
  Op op;
  Evaluate evaluate;
  Evaluate of_integers = nullptr;  // where integers are computed in another way
};

// clang-format off
constexpr Row kRows[] = {
    {Op::Neg,           one([](double x) { return -x; }),
                         one([](double x, DType t) { return wrap(0 - bits(x), t); })},
    {Op::Abs,           one([](double x) { return std::fabs(x); }),
                         one([](double x, DType t) { return wrap(bits(std::fabs(x)), t); })},
    {Op::Sign,          one([](double x) { return sign(x); })},
    {Op::Not,           one([](double x) { return x == 0 ? 1.0 : 0.0; })},
    {Op::Floor,         one([](double x) { return std::floor(x); })},
    {Op::Sqrt,          one([](double x) { return std::sqrt(x); })},
    {Op::Exp,           one([](double x) { return std::exp(x); })},
    {Op::Log,           one([](double x) { return std::log(x); })},
    {Op::Sin,           one([](double x) { return std::sin(x); })},
    {Op::Cos,           one([](double x) { return std::cos(x); })},
    {Op::Tan,           one([](double x) { return std::tan(x); })},
    {Op::Asin,          one([](double x) { return std::asin(x); })},
    {Op::Acos,          one([](double x) { return std::acos(x); })},
    {Op::Atan,          one([](double x) { return std::atan(x); })},
    {Op::Sinh,          one([](double x) { return std::sinh(x); })},
    {Op::Cosh,          one([](double x) { return std::cosh(x); })},
    {Op::Tanh,          one([](double x) { return std::tanh(x); })},
    {Op::Asinh,         one([](double x) { return std::asinh(x); })},
    {Op::Acosh,         one([](double x) { return std::acosh(x); })},
    {Op::Atanh,         one([](double x) { return std::atanh(x); })},
    {Op::Erf,           one([](double x) { return std::erf(x); })},
    {Op::Erfc,          one([](double x) { return std::erfc(x); })},
    {Op::Logistic,      one([](double x) { return logistic(x); })},
    {Op::Log1p,         one([](double x) { return std::log1p(x); })},
    {Op::Expm1,         one([](double x) { return std::expm1(x); })},
    {Op::Lgamma,        one([](double x) { return log_gamma(x); })},
    {Op::Digamma,       one([](double x) { return digamma(x); })},
    {Op::Bits,          one([](double x) { return static_cast<double>(std::bit_cast<uint32_t>(static_cast<float>(x))); })},
    {Op::FromBits,      one([](double x) { return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(x))); })},
    {Op::Cast,          eval_cast},
    {Op::StopGradient,  one([](double x) { return x; })},
    {Op::PreferStore,   one([](double x) { return x; })},
    {Op::PreferRecompute, one([](double x) { return x; })},
    {Op::Add,           two([](double x, double y) { return x + y; }),
                         two([](double x, double y, DType t) { return wrap(bits(x) + bits(y), t); })},
    {Op::Sub,           two([](double x, double y) { return x - y; }),
                         two([](double x, double y, DType t) { return wrap(bits(x) - bits(y), t); })},
    {Op::Mul,           two([](double x, double y) { return x * y; }),
                         two([](double x, double y, DType t) { return wrap(bits(x) * bits(y), t); })},
    {Op::Div,           two([](double x, double y) { return x / y; })},
    {Op::Pow,           two([](double x, double y) { return std::pow(x, y); })},
    {Op::Atan2,         two([](double x, double y) { return std::atan2(x, y); })},
    {Op::Min,           two([](double x, double y) { return x <= y ? x : y; })},
    {Op::Max,           two([](double x, double y) { return x >= y ? x : y; })},
    {Op::Quot,          two([](double x, double y, DType t) { return quot(x, y, t); })},
    {Op::Rem,           two([](double x, double y) { return std::fmod(x, y); }),
                         two([](double x, double y, DType) { return rem(x, y); })},
    {Op::BitAnd,        two([](double x, double y, DType t) { return wrap(bits(x) & bits(y), t); })},
    {Op::BitOr,         two([](double x, double y, DType t) { return wrap(bits(x) | bits(y), t); })},
    {Op::BitXor,        two([](double x, double y, DType t) { return wrap(bits(x) ^ bits(y), t); })},
    {Op::ShiftLeft,     two([](double x, double y, DType t) { return wrap(bits(x) << (bits(y) & 31), t); })},
    {Op::ShiftRight,    two([](double x, double y) { return std::floor(std::ldexp(x, -static_cast<int>(bits(y) & 31))); })},
    {Op::Eq,            test([](double x, double y) { return x == y; })},
    {Op::Ne,            test([](double x, double y) { return x != y; })},
    {Op::Lt,            test([](double x, double y) { return x < y; })},
    {Op::Le,            test([](double x, double y) { return x <= y; })},
    {Op::Gt,            test([](double x, double y) { return x > y; })},
    {Op::Ge,            test([](double x, double y) { return x >= y; })},
    {Op::And,           test([](double x, double y) { return x != 0 && y != 0; })},
    {Op::Or,            test([](double x, double y) { return x != 0 || y != 0; })},
    {Op::MaskedMul,     two([](double x, double y) { return x == 0 ? 0 : x * y; })},
    {Op::MaskedDiv,     two([](double x, double y) { return x == 0 ? 0 : x / y; })},
    {Op::StrongMul,     two([](double x, double y) { return x == 0 || y == 0 ? 0 : x * y; })},
    {Op::Select,        choose},
};
// clang-format on

constexpr auto kTable = op_table<kRows, kPointwiseOnes>();

}  // namespace

void eval_pointwise(const Node& n, std::span<const View> in, double* out) {
  const Row& row = *kTable[static_cast<size_t>(n.op)];
  (is_integer(n.type.dtype) && row.of_integers ? row.of_integers : row.evaluate)(n, in, out);
}

}  // namespace spirograd::ir
