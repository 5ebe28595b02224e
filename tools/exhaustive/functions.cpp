#include "tools/exhaustive/functions.h"

#include <cmath>
#include <numbers>

#include "frontend/ir/log_gamma.h"
#include "spirograd/ops.h"
#include "tools/exhaustive/ulp.h"

namespace spirograd::exhaustive {
namespace {

double logistic_of(double x) { return 1 / (1 + std::exp(-x)); }
double square_of(double x) { return x * x; }

// Quotients by u^2 + v^2 are formed with the greater of the two taken out: f32 squared fits a double, so nothing overflows.
double length_squared(double y, double x) { return y * y + x * x; }

// The first over the squared length; 0 for directions that are at infinity.
double over_length(double of, double y, double x) {
  return of == 0 || std::isinf(x) != std::isinf(y) ? 0 : of / length_squared(y, x);
}

// The quotient of a denormal is one again, with as few digits.
bool no_denormals(double x, double y) { return !may_be_flushed(x) && !may_be_flushed(y); }

// Derivatives of u^v: where the power itself is a normal f32 and v is finite.
bool pow_is_normal(double x, double y) {
  const auto normal = [](double r) { return r == 0 || (std::abs(r) >= 0x1p-126 && std::abs(r) < 0x1p128); };
  return std::isfinite(y) && normal(std::pow(x, y)) && normal(std::pow(x, y - 1));
}

// As the derivative is defined: of log u at u = 0 nothing is asked.
double pow_exponent(double x, double y) { return x == 0 ? std::pow(x, y) * 0 : std::pow(x, y) * std::log(x); }
double pow_base(double x, double y) { return y == 0 ? 0 : y * std::pow(x, y - 1); }

double log_add_exp(double x, double y) {
  if (x == y) return x + std::numbers::ln2;
  return std::max(x, y) + std::log1p(std::exp(-std::abs(x - y)));
}
double larger_size(double x, double y) { return std::max(std::abs(x), std::abs(y)); }
// The weights of the difference in f32; at equal infinities all goes to the first.
double first_weight(double x, double y) {
  return x == y ? (std::isinf(x) ? 1 : 0.5) : logistic_of(static_cast<float>(x - y));
}
double second_weight(double x, double y) { return x == y && std::isinf(x) ? 0 : first_weight(y, x); }

using Real = long double;  // sums below lose digits near the zeros of digamma
constexpr Real kPi = std::numbers::pi_v<Real>;
bool is_pole(double x) { return x <= 0 && x == std::floor(x); }
Real to_nearest_integer(double x) { return static_cast<Real>(x) - std::round(static_cast<Real>(x)); }

double digamma_of(double x, double) {
  if (is_pole(x)) return x == 0 ? -1 / x : std::nan("");
  Real y = x, sum = 0;
  if (x < 0) sum = -kPi / std::tan(kPi * to_nearest_integer(x)), y = 1 - y;
  for (; y < 20; y += 1) sum -= 1 / y;
  const Real w = 1 / (y * y);
  return static_cast<double>(sum + std::log(y) - 1 / (2 * y) -
                             w * (1 / Real{12} - w * (1 / Real{120} - w * (1 / Real{252} - w / 240))));
}
double trigamma_of(double x, double) {
  if (is_pole(x)) return std::isinf(x) ? std::nan("") : HUGE_VAL;
  Real y = x < 0 ? 1 - Real{x} : Real{x}, sum = 0;
  for (; y < 20; y += 1) sum += 1 / (y * y);
  const Real w = 1 / (y * y);
  sum += 1 / y + w / 2 + w / y * (1 / Real{6} - w * (1 / Real{30} - w * (1 / Real{42} - w / 30)));
  const Real sine = std::sin(kPi * to_nearest_integer(x)) / kPi;
  return static_cast<double>(x < 0 ? 1 / (sine * sine) - sum : sum);
}
// From the asymptotic value, by steps of third order; 1 - |x| of an f32 is exact.
double erfinv_of(double x, double) {
  const double size = std::abs(x);
  if (!(size < 1)) return size == 1 ? x * HUGE_VAL : std::nan("");
  if (size < 1e-9) return x / std::numbers::inv_sqrtpi / 2;
  const double rest = 1 - size;
  double y = size < 0.5 ? size : std::sqrt(-std::log(rest * (1 + size)));
  for (int k = 0; k < 40; ++k) {
    const double off = size < 0.5 ? std::erf(y) - size : rest - std::erfc(y);
    const double step = off * std::exp(y * y) / (2 * std::numbers::inv_sqrtpi);
    y -= step / (1 + y * step);
  }
  return std::copysign(y, x);
}
double erfinv_slope(double x, double) {
  const double y = erfinv_of(x, 0);
  return std::exp(y * y) / (2 * std::numbers::inv_sqrtpi);
}
double lgamma_of(double x, double) { return ir::log_gamma(x); }
// Below 0 lgamma and digamma are differences, which have zeros: errors are absolute there, in units of these.
double lgamma_size(double x, double) { return x < -2 && !is_pole(x) ? 1 + lgamma_of(-x, 0) : 0; }
double digamma_size(double x, double) {
  return x < 0 && !is_pole(x) ? static_cast<double>(1 / std::abs(to_nearest_integer(x))) : 0;
}

// clang-format off
const std::vector<Function>& table() {
  using A = Array;
  using D = double;
  static const std::vector<Function> all = {
      {"exp",      1, [](A x, A) { return exp(x); },      [](D x, D) { return std::exp(x); },   {[](D x, D) { return std::exp(x); }}},
      {"expm1",    1, [](A x, A) { return expm1(x); },    [](D x, D) { return std::expm1(x); }, {[](D x, D) { return std::exp(x); }}},
      {"log",      1, [](A x, A) { return log(x); },      [](D x, D) { return std::log(x); },   {[](D x, D) { return 1 / x; }}},
      {"log1p",    1, [](A x, A) { return log1p(x); },    [](D x, D) { return std::log1p(x); }, {[](D x, D) { return 1 / (1 + x); }}},
      {"sqrt",     1, [](A x, A) { return sqrt(x); },     [](D x, D) { return std::sqrt(x); },  {[](D x, D) { return 0.5 / std::sqrt(x); }}},
      {"recip",    1, [](A x, A) { return recip(x); },    [](D x, D) { return 1 / x; },         {[](D x, D) { return -1 / (x * x); }}},
      {"sin",      1, [](A x, A) { return sin(x); },      [](D x, D) { return std::sin(x); },   {[](D x, D) { return std::cos(x); }}},
      {"cos",      1, [](A x, A) { return cos(x); },      [](D x, D) { return std::cos(x); },   {[](D x, D) { return -std::sin(x); }}},
      {"tan",      1, [](A x, A) { return tan(x); },      [](D x, D) { return std::tan(x); },   {[](D x, D) { return 1 / square_of(std::cos(x)); }}},
      {"asin",     1, [](A x, A) { return asin(x); },     [](D x, D) { return std::asin(x); },  {[](D x, D) { return 1 / std::sqrt((1 - x) * (1 + x)); }}},
      {"acos",     1, [](A x, A) { return acos(x); },     [](D x, D) { return std::acos(x); },  {[](D x, D) { return -1 / std::sqrt((1 - x) * (1 + x)); }}},
      {"atan",     1, [](A x, A) { return atan(x); },     [](D x, D) { return std::atan(x); },  {[](D x, D) { return 1 / (1 + x * x); }}},
      {"sinh",     1, [](A x, A) { return sinh(x); },     [](D x, D) { return std::sinh(x); },  {[](D x, D) { return std::cosh(x); }}},
      {"cosh",     1, [](A x, A) { return cosh(x); },     [](D x, D) { return std::cosh(x); },  {[](D x, D) { return std::sinh(x); }}},
      {"tanh",     1, [](A x, A) { return tanh(x); },     [](D x, D) { return std::tanh(x); },  {[](D x, D) { return 1 / square_of(std::cosh(x)); }}},
      {"asinh",    1, [](A x, A) { return asinh(x); },    [](D x, D) { return std::asinh(x); }, {[](D x, D) { return 1 / std::sqrt(1 + x * x); }}},
      {"acosh",    1, [](A x, A) { return acosh(x); },    [](D x, D) { return std::acosh(x); }, {[](D x, D) { return 1 / std::sqrt(x - 1) / std::sqrt(x + 1); }}},
      {"atanh",    1, [](A x, A) { return atanh(x); },    [](D x, D) { return std::atanh(x); }, {[](D x, D) { return 1 / ((1 - x) * (1 + x)); }},
       Pairs::Any, nullptr, [](D x, D) { return std::abs(x) <= 1; }},
      {"erf",      1, [](A x, A) { return erf(x); },      [](D x, D) { return std::erf(x); },   {[](D x, D) { return 2 * std::numbers::inv_sqrtpi * std::exp(-x * x); }}},
      {"erfc",     1, [](A x, A) { return erfc(x); },     [](D x, D) { return std::erfc(x); },  {[](D x, D) { return -2 * std::numbers::inv_sqrtpi * std::exp(-x * x); }}},
      {"erfinv",   1, [](A x, A) { return erfinv(x); },   erfinv_of, {erfinv_slope}, Pairs::Any, nullptr, [](D x, D) { return std::abs(x) <= 1; }},
      {"lgamma",   1, [](A x, A) { return lgamma(x); },   lgamma_of, {digamma_of}, Pairs::Any, lgamma_size, nullptr, digamma_size},
      {"digamma",  1, [](A x, A) { return digamma(x); },  digamma_of, {trigamma_of}, Pairs::Any, digamma_size},
      {"logistic", 1, [](A x, A) { return logistic(x); }, [](D x, D) { return logistic_of(x); }, {[](D x, D) { return 1 / square_of(2 * std::cosh(x / 2)); }}},
      {"softplus", 1, [](A x, A) { return softplus(x); }, [](D x, D) { return log_add_exp(x, 0); }, {[](D x, D) { return logistic_of(x); }}},
      {"pow",      2, [](A x, A y) { return pow(x, y); }, [](D x, D y) { return std::pow(x, y); }, {pow_base, pow_exponent}, Pairs::Powers, nullptr, pow_is_normal},
      {"atan2",    2, [](A x, A y) { return atan2(x, y); }, [](D x, D y) { return std::atan2(x, y); },
       {[](D x, D y) { return over_length(y, x, y); }, [](D x, D y) { return -over_length(x, x, y); }}, Pairs::Any, nullptr,
       no_denormals},
      {"logaddexp", 2, [](A x, A y) { return logaddexp(x, y); }, log_add_exp,
       {first_weight, second_weight}, Pairs::Any, larger_size},
      {"rem",      2, [](A x, A y) { return rem(x, y); }, [](D x, D y) { return std::fmod(x, y); }, {}},
  };
  return all;
}
// clang-format on

}  // namespace

std::span<const Function> functions() { return table(); }

}  // namespace spirograd::exhaustive
