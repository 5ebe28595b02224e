// Elementary functions against the host's long double library, over the whole domain and densely where formulas meet.
#include "spirv/kernel/math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

#include "spirv/kernel/eval.h"
#include "spirv/kernel/verify.h"
#include "tools/exhaustive/c_library.h"

namespace spirograd {
namespace math_test {

using namespace kernel;
using Real = long double;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <class F>
constexpr Scalar scalar_of = sizeof(F) == 4 ? Scalar::F32 : Scalar::F64;

// Runs out[i] = body(x[i], y[i]); also says how many instructions the formula takes.
template <class F>
std::vector<F> apply(const std::function<Value(Builder&, Value, Value)>& body, const std::vector<F>& x,
                     const std::vector<F>& y, size_t* size = nullptr) {
  Builder b("f", 64, x.size());
  const uint32_t in_x = b.bind("x", scalar_of<F>, Access::Read), in_y = b.bind("y", scalar_of<F>, Access::Read);
  const uint32_t out = b.bind("out", scalar_of<F>, Access::Write);
  b.begin_guard();
  const Value first = b.load(in_x, b.index()), second = b.load(in_y, b.index());
  const size_t before = b.size();
  const Value result = body(b, first, second);
  if (size) *size = b.size() - before;
  b.store(out, b.index(), result);
  b.end_if();
  const Kernel k = std::move(b).finish();
  if (const auto error = verify(k)) ADD_FAILURE() << error->str();
  std::vector<F> copy_x = x, copy_y = y, z(x.size());
  const auto bytes = [](std::vector<F>& v) { return std::span(reinterpret_cast<uint8_t*>(v.data()), v.size() * sizeof(F)); };
  const std::vector<std::span<uint8_t>> buffers{bytes(copy_x), bytes(copy_y), bytes(z)};
  evaluate(k, buffers);
  return z;
}

// Distance from the exact value in units of the last place of the f32 (f64) result or, if it is greater, of `size`.
template <class F>
double ulps(F got, Real exact, Real size = 0) {
  const F nearest = static_cast<F>(exact);
  if (std::isnan(nearest)) return std::isnan(got) ? 0 : 1e30;
  if (got == nearest) return 0;
  if (!std::isfinite(got) || !std::isfinite(nearest)) {
    // One last place beyond the largest number is infinity.
    const Real top = std::numeric_limits<F>::max();
    if (std::isnan(got)) return 1e30;
    const Real g = std::isfinite(got) ? Real{got} : std::copysign(top, Real{got}), e = std::min(std::max(exact, -top), top);
    return static_cast<double>(std::abs(g - e) / std::ldexp(Real{1}, std::ilogb(top) - std::numeric_limits<F>::digits + 1));
  }
  const Real scale = std::max(std::abs(Real{nearest}), size);
  const int exponent = std::max(scale == 0 ? -100000 : std::ilogb(scale), std::numeric_limits<F>::min_exponent - 1);
  return static_cast<double>(std::abs(Real{got} - exact) /
                             std::ldexp(Real{1}, exponent - std::numeric_limits<F>::digits + 1));
}

struct Case {
  const char* name;
  Value (*fn)(Builder&, Value);
  Real (*exact)(Real);
  std::vector<float> critical;   // sampled densely around these and their negatives
  Real (*size)(Real) = nullptr;  // errors are relative to this where it is greater than the value
};

Real lgamma_of(Real x) { return std::lgamma(x); }

Real to_nearest_integer(Real x) { return x - std::round(x); }

// Around the zero by its Taylor series: the sum below is right to 1e-18 only.
Real digamma_of(Real x) {
  if (x <= 0 && x == std::floor(x)) return x == 0 ? -1 / x : std::numeric_limits<Real>::quiet_NaN();
  const Real d = (x - static_cast<double>(1.4616321449683622L)) - 9.5499954299656977e-17L;
  if (std::abs(d) < 0.015625L) {
    constexpr Real c[] = {0.9676722454476211704274L,  -0.4427631689835921060929L,  0.2584997609556510106244L,
                          -0.1639427054424065275043L, 0.1078240506912623657572L,   -0.07219956125645471092612L,
                          0.04880428816414310722509L, -0.03316112647484735929226L, 0.02259764823221810465962L,
                          -0.0154247659049489591388L};
    Real r = 0;
    for (size_t j = std::size(c); j-- > 0;) r = r * d + c[j];
    return r * d;
  }
  Real sum = 0, y = x;
  if (x < 0) {
    const Real pi = std::acos(Real{-1});
    sum = -pi / std::tan(pi * to_nearest_integer(x)), y = 1 - x;
  }
  for (; y < 20; y += 1) sum -= 1 / y;
  const Real w = 1 / (y * y);
  return sum + std::log(y) - 1 / (2 * y) -
         w * (1 / 12.0L - w * (1 / 120.0L - w * (1 / 252.0L - w * (1 / 240.0L - w * (1 / 132.0L - w * 691 / 32760.0L)))));
}

// Below 0 these are differences of large terms.
Real lgamma_size(Real x) { return x < -2 && std::isfinite(x) ? 1 + lgamma_of(-x) : 0; }
Real digamma_size(Real x) { return x < 0 && x != std::floor(x) ? 1 / std::abs(to_nearest_integer(x)) : 0; }

const std::vector<Case>& cases() {
  // clang-format off
  static const std::vector<Case> all = {
      {"exp",      kernel::exp,      [](Real x) { return std::exp(x); },   {1e-8f, 0.34657f, 1.0f, 87.33f, 88.72f, 103.9f}},
      {"log",      kernel::log,      [](Real x) { return std::log(x); },   {0.70710678f, 1.0f, 1.41421356f, 1.2e-38f, 2.0f}},
      {"sin",      kernel::sin,      [](Real x) { return std::sin(x); },   {0.78539816f, 1.57079633f, 3.14159265f, 6.2831853f, 800.0f, 1e5f}},
      {"cos",      kernel::cos,      [](Real x) { return std::cos(x); },   {0.78539816f, 1.57079633f, 3.14159265f, 4.71238898f, 800.0f, 1e5f}},
      {"tan",      kernel::tan,      [](Real x) { return std::tan(x); },   {0.78539816f, 1.57079633f, 3.14159265f, 6.2831853f, 800.0f, 1e5f}},
      {"asin",     kernel::asin,     [](Real x) { return std::asin(x); },  {1.2e-4f, 0.5f, 0.999f, 1.0f}},
      {"acos",     kernel::acos,     [](Real x) { return std::acos(x); },  {1e-6f, 0.5f, 0.999f, 1.0f}},
      {"atan",     kernel::atan,     [](Real x) { return std::atan(x); },  {1.2e-4f, 0.41421356f, 1.0f, 2.41421356f}},
      {"sinh",     kernel::sinh,     [](Real x) { return std::sinh(x); },  {1.2e-4f, 1.0f, 5.0f, 88.72f, 89.4f}},
      {"cosh",     kernel::cosh,     [](Real x) { return std::cosh(x); },  {1e-4f, 1.0f, 5.0f, 88.72f, 89.4f}},
      {"tanh",     kernel::tanh,     [](Real x) { return std::tanh(x); },  {1.2e-4f, 0.625f, 1.0f, 9.0f}},
      {"asinh",    kernel::asinh,    [](Real x) { return std::asinh(x); }, {1.2e-4f, 1.0f, 3.0f, 1.3e8f}},
      {"acosh",    kernel::acosh,    [](Real x) { return std::acosh(x); }, {1.0f, 1.001f, 2.0f, 1.3e8f}},
      {"atanh",    kernel::atanh,    [](Real x) { return std::atanh(x); }, {1.2e-4f, 0.17f, 0.5f, 0.999f}},
      {"erf",      kernel::erf,      [](Real x) { return std::erf(x); },   {1e-4f, 0.9219f, 2.0f, 3.95f}},
      {"erfc",     kernel::erfc,     [](Real x) { return std::erfc(x); },  {1e-7f, 0.5f, 2.4f, 3.0f, 9.19f, 10.05f, 26.5f}},
      {"lgamma",   kernel::lgamma,   lgamma_of,  {1e-7f, 0.5f, 1.0f, 1.35f, 1.5f, 2.0f, 3.0f, 10.5f, 4.08e36f, 8388608.0f}, lgamma_size},
      {"digamma",  kernel::digamma,  digamma_of, {1e-7f, 0.5f, 1.0f, 1.46163214f, 2.0f, 10.5f, 8388608.0f}, digamma_size},
      {"logistic", kernel::logistic, [](Real x) { return 1 / (1 + std::exp(-x)); }, {1.0f, 17.0f, 80.0f, 88.0f}},
      {"log1p",    kernel::log1p,    [](Real x) { return std::log1p(x); }, {1e-7f, 0.41421356f, 1.0f, 0.99999f}},
      {"expm1",    kernel::expm1,    [](Real x) { return std::expm1(x); }, {1e-7f, 0.34657f, 1.0f, 17.3f, 88.72f}},
  };
  // clang-format on
  return all;
}

bool has_reference(const char* name) {
  if (exhaustive::has_reference(name)) return true;
  std::printf("  %-9s is not looked at: the C library's own is wrong\n", name);
  return false;
}

std::vector<float> samples(const std::vector<float>& critical) {
  std::mt19937 random(7);
  std::vector<float> xs;
  for (int i = 0; i < 200000; ++i) xs.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  std::uniform_real_distribution<float> unit(-1, 1);
  for (float scale : {1.0f, 10.0f, 100.0f})
    for (int i = 0; i < 20000; ++i) xs.push_back(unit(random) * scale);
  for (float c : critical)
    for (int i = -3000; i < 3000; ++i) {
      const float x = std::bit_cast<float>(std::bit_cast<uint32_t>(c) + static_cast<uint32_t>(i));
      const float near = c * (1 + 0.1f * static_cast<float>(i) / 3000);
      for (float v : {x, near}) xs.insert(xs.end(), {v, -v});
    }
  return xs;
}

std::vector<double> widened(const std::vector<float>& xs) {
  std::mt19937_64 random(11);
  std::vector<double> out;
  for (float x : xs) out.push_back(double{x} * (1 + 1e-9 * static_cast<double>(random() % 1000)));
  return out;
}

TEST(Math, UnaryF32WithinFourUlpOverTheWholeDomain) {
  for (const Case& c : cases()) {
    if (!has_reference(c.name)) continue;
    const std::vector<float> xs = samples(c.critical);
    size_t size = 0;
    const std::vector<float> got = apply<float>([&](Builder& b, Value x, Value) { return c.fn(b, x); }, xs, xs, &size);
    double worst = 0;
    float at = 0;
    for (size_t i = 0; i < xs.size(); ++i) {
      const double e = ulps(got[i], c.exact(xs[i]), c.size ? c.size(xs[i]) : 0);
      if (e > worst) worst = e, at = xs[i];
    }
    std::printf("  f32 %-9s %6.3f ULP at %-14.9g %3zu instructions\n", c.name, worst, static_cast<double>(at), size);
    EXPECT_LE(worst, 4) << c.name << " at " << at;
  }
}

TEST(Math, UnaryF64WithinFourUlp) {
  if (!has_reference("sin")) GTEST_SKIP() << "the C library's long doubles are not exact enough to judge doubles";
  for (const Case& c : cases()) {
    std::vector<double> xs = widened(samples(c.critical));
    const bool circular = c.fn == kernel::sin || c.fn == kernel::cos || c.fn == kernel::tan;
    if (circular) std::erase_if(xs, [](double x) { return !(std::abs(x) < 1e6); });
    size_t size = 0;
    const std::vector<double> got = apply<double>([&](Builder& b, Value x, Value) { return c.fn(b, x); }, xs, xs, &size);
    double worst = 0, at = 0;
    for (size_t i = 0; i < xs.size(); ++i) {
      const double e = ulps(got[i], c.exact(xs[i]), c.size ? c.size(xs[i]) : 0);
      if (e > worst) worst = e, at = xs[i];
    }
    std::printf("  f64 %-9s %6.3f ULP at %-20.17g %3zu instructions\n", c.name, worst, at, size);
    EXPECT_LE(worst, 4) << c.name << " at " << at;
  }
}

TEST(Math, SinAndCosOfEveryMagnitudeAreReduced) {
  if (!has_reference("sin")) GTEST_SKIP() << "the C library's own sine is wrong";
  std::vector<float> xs;
  std::mt19937 random(5);
  for (uint32_t exponent = 100; exponent < 255; ++exponent)
    for (int i = 0; i < 400; ++i)
      xs.push_back(std::bit_cast<float>(exponent << 23 | (static_cast<uint32_t>(random()) & 0x807FFFFF)));
  for (bool cosine : {false, true}) {
    const auto got =
        apply<float>([&](Builder& b, Value x, Value) { return (cosine ? kernel::cos : kernel::sin)(b, x); }, xs, xs);
    for (size_t i = 0; i < xs.size(); ++i) {
      const Real exact = cosine ? std::cos(static_cast<Real>(xs[i])) : std::sin(static_cast<Real>(xs[i]));
      ASSERT_LE(ulps(got[i], exact), 4) << (cosine ? "cos " : "sin ") << xs[i];
    }
  }
}

void same(float got, float want, const std::string& what) {
  const bool equal = std::isnan(want) ? std::isnan(got) : std::bit_cast<uint32_t>(got) == std::bit_cast<uint32_t>(want);
  EXPECT_TRUE(equal) << what << " gave " << got << ", not " << want;
}

// Where what is known holds, and a little beyond: what rounding may make of a difference.
TEST(Math, ExponentialsOfKnownSignsHaveTheSameBits) {
  std::vector<float> xs = {0.0f, -0.0f, kNan};
  for (float x = 1e-6f; x < kInf; x *= 1.0013f) xs.push_back(x);
  for (uint32_t j = 0; j < 40; ++j) xs.push_back(std::bit_cast<float>(0x42b17200 + j));  // where infinity begins
  xs.push_back(kInf);
  const auto apply_to = [](const std::vector<float>& x, ArgumentSign sign, size_t& size) {
    return apply<float>([&](Builder& b, Value v, Value) { return exp_of(b, v, sign); }, x, x, &size);
  };
  std::vector<float> down;
  for (float x : xs) down.push_back(-x);
  size_t size = 0;
  const std::vector<float> rising = apply_to(xs, ArgumentSign::Any, size), falling = apply_to(down, ArgumentSign::Any, size);
  struct Known {
    ArgumentSign sign;
    bool rises;
    double beyond;  // arguments of the other sign up to here
    bool infinite;
  };
  for (const Known& k : {Known{ArgumentSign::NotNegative, true, 40, true},
                         {ArgumentSign::NotPositive, false, 40, false},
                         {ArgumentSign::NotPositiveOrInfinite, false, kAlmostNotPositive, true}}) {
    size_t less = 0;
    const std::vector<float> up = apply_to(xs, k.sign, less), other = apply_to(down, k.sign, less);
    EXPECT_LT(less, size);
    for (size_t j = 0; j < xs.size(); ++j) {
      const bool near = xs[j] < k.beyond || std::isnan(xs[j]);
      if (k.rises || near || (k.infinite && xs[j] == kInf)) same(up[j], rising[j], "exp " + std::to_string(xs[j]));
      if (!k.rises || near) same(other[j], falling[j], "exp " + std::to_string(down[j]));
    }
  }
}

TEST(Math, SpecialValuesOfUnaryFunctions) {
  const std::vector<float> xs = {0.0f, -0.0f, 1.0f, -1.0f, kInf, -kInf, kNan, 2.0f, -2.0f, 200.0f, -200.0f};
  // clang-format off
  const std::vector<std::pair<std::string, std::vector<float>>> table = {
      //               0      -0      1     -1      inf    -inf   nan    2      -2     200    -200     (0.5: not checked here)
      {"exp",      {1,     1,      0.5f, 0.5f,   kInf,  0,     kNan,  0.5f,  0.5f,  kInf,  0}},
      {"log",      {-kInf, -kInf,  0,    kNan,   kInf,  kNan,  kNan,  0.5f,  kNan,  0.5f,  kNan}},
      {"sin",      {0,     -0.0f,  0.5f, 0.5f,   kNan,  kNan,  kNan,  0.5f,  0.5f,  0.5f,  0.5f}},
      {"cos",      {1,     1,      0.5f, 0.5f,   kNan,  kNan,  kNan,  0.5f,  0.5f,  0.5f,  0.5f}},
      {"tan",      {0,     -0.0f,  0.5f, 0.5f,   kNan,  kNan,  kNan,  0.5f,  0.5f,  0.5f,  0.5f}},
      {"asin",     {0,     -0.0f,  0.5f, 0.5f,   kNan,  kNan,  kNan,  kNan,  kNan,  kNan,  kNan}},
      {"acos",     {0.5f,  0.5f,   0,    0.5f,   kNan,  kNan,  kNan,  kNan,  kNan,  kNan,  kNan}},
      {"atan",     {0,     -0.0f,  0.5f, 0.5f,   1.57079633f, -1.57079633f, kNan, 0.5f, 0.5f, 0.5f, 0.5f}},
      {"sinh",     {0,     -0.0f,  0.5f, 0.5f,   kInf,  -kInf, kNan,  0.5f,  0.5f,  kInf,  -kInf}},
      {"cosh",     {1,     1,      0.5f, 0.5f,   kInf,  kInf,  kNan,  0.5f,  0.5f,  kInf,  kInf}},
      {"tanh",     {0,     -0.0f,  0.5f, 0.5f,   1,     -1,    kNan,  0.5f,  0.5f,  1,     -1}},
      {"asinh",    {0,     -0.0f,  0.5f, 0.5f,   kInf,  -kInf, kNan,  0.5f,  0.5f,  0.5f,  0.5f}},
      {"acosh",    {kNan,  kNan,   0,    kNan,   kInf,  kNan,  kNan,  0.5f,  kNan,  0.5f,  kNan}},
      {"atanh",    {0,     -0.0f,  kInf, -kInf,  kNan,  kNan,  kNan,  kNan,  kNan,  kNan,  kNan}},
      {"erf",      {0,     -0.0f,  0.5f, 0.5f,   1,     -1,    kNan,  0.5f,  0.5f,  1,     -1}},
      {"erfc",     {1,     1,      0.5f, 0.5f,   0,     2,     kNan,  0.5f,  0.5f,  0,     2}},
      {"lgamma",   {kInf,  kInf,   0,    kInf,   kInf,  kInf,  kNan,  0,     kInf,  0.5f,  kInf}},
      {"digamma",  {-kInf, kInf,   0.5f, kNan,   kInf,  kNan,  kNan,  0.5f,  kNan,  0.5f,  kNan}},
      {"logistic", {0.5f,  0.5f,   0.5f, 0.5f,   1,     0,     kNan,  0.5f,  0.5f,  1,     0}},
      {"log1p",    {0,     -0.0f,  0.5f, -kInf,  kInf,  kNan,  kNan,  0.5f,  kNan,  0.5f,  kNan}},
      {"expm1",    {0,     -0.0f,  0.5f, 0.5f,   kInf,  -1,    kNan,  0.5f,  0.5f,  kInf,  -1}},
  };
  // clang-format on
  const std::vector<double> xs64(xs.begin(), xs.end());
  ASSERT_EQ(table.size(), cases().size());
  for (const auto& [name, want] : table) {
    const auto of_name = [&, n = name](const Case& c) { return n == c.name; };
    const auto c = std::find_if(cases().begin(), cases().end(), of_name);
    ASSERT_NE(c, cases().end()) << name;
    const auto got = apply<float>([&](Builder& b, Value x, Value) { return c->fn(b, x); }, xs, xs);
    const auto got64 = apply<double>([&](Builder& b, Value x, Value) { return c->fn(b, x); }, xs64, xs64);
    for (size_t i = 0; i < xs.size(); ++i) {
      const std::string what = name + "(" + std::to_string(xs[i]) + ")";
      if (want[i] == 0.5f) continue;
      same(got[i], want[i], what);
      if (std::abs(xs[i]) != 200) same(static_cast<float>(got64[i]), want[i], "f64 " + what);
    }
  }
}

using Binary = std::function<Value(Builder&, Value, Value)>;

TEST(Math, SpecialValuesOfPowAtan2FmodAreThoseOfC) {
  const std::vector<float> values = {0.0f, -0.0f, 1,      -1,    2,      -2,    3,           -3,   0.5f,  -0.5f,
                                     2.5f, -2.5f, 1e-30f, 1e30f, -1e30f, 1e38f, 16777217.0f, kInf, -kInf, kNan};
  std::vector<float> xs, ys;
  for (float x : values)
    for (float y : values) xs.push_back(x), ys.push_back(y);
  const std::vector<double> xd(xs.begin(), xs.end()), yd(ys.begin(), ys.end());
  struct Row {
    const char* name;
    Binary body;
    Real (*exact)(Real, Real);
  };
  const std::vector<Row> rows = {
      {"pow", [](Builder& b, Value x, Value y) { return kernel::pow(b, x, y); },
       [](Real x, Real y) { return std::pow(x, y); }},
      {"atan2", [](Builder& b, Value x, Value y) { return kernel::atan2(b, x, y); },
       [](Real x, Real y) { return std::atan2(x, y); }},
      {"fmod", [](Builder& b, Value x, Value y) { return kernel::fmod(b, x, y); },
       [](Real x, Real y) { return std::fmod(x, y); }},
  };
  for (const Row& row : rows) {
    const auto got = apply<float>(row.body, xs, ys);
    const auto got64 = apply<double>(row.body, xd, yd);
    for (size_t i = 0; i < xs.size(); ++i) {
      const Real exact = row.exact(xs[i], ys[i]);
      const float want = static_cast<float>(exact);
      const std::string what = std::string(row.name) + "(" + std::to_string(xs[i]) + ", " + std::to_string(ys[i]) + ")";
      EXPECT_LE(ulps(got[i], exact), 4) << what << " gave " << got[i] << ", not " << want;
      EXPECT_LE(ulps(got64[i], exact), 4) << "f64 " << what << " gave " << got64[i];
      if (std::isnan(want)) continue;
      EXPECT_EQ(std::signbit(got[i]), std::signbit(want)) << what;
      EXPECT_EQ(std::signbit(got64[i]), std::signbit(want)) << "f64 " << what;
    }
  }
}

TEST(Math, PowAndAtan2WithinFourUlp) {
  std::mt19937 random(3);
  std::vector<float> xs, ys;
  for (int i = 0; i < 100000; ++i) {
    xs.push_back(std::bit_cast<float>(static_cast<uint32_t>(random()) & 0x7FFFFFFF));
    ys.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
    // Exponents for which the power is in range, and bases near 1.
    const float x = std::exp(std::uniform_real_distribution<float>(-80, 80)(random));
    xs.push_back(x);
    ys.push_back(std::uniform_real_distribution<float>(-88, 88)(random) / std::log(x));
    const float near_one = 1 + std::uniform_real_distribution<float>(-1e-3f, 1e-3f)(random);
    xs.push_back(near_one);
    ys.push_back(std::uniform_real_distribution<float>(-88, 88)(random) / std::log(near_one));
  }
  const auto worst_of = [&](const char* name, const Binary& body, Real (*exact)(Real, Real)) {
    size_t size = 0;
    const auto got = apply<float>(body, xs, ys, &size);
    double worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < xs.size(); ++i) {
      const double e = ulps(got[i], exact(xs[i], ys[i]));
      if (e > worst) worst = e, at = i;
    }
    std::printf("  f32 %-9s %6.3f ULP at (%.9g, %.9g) %3zu instructions\n", name, worst, static_cast<double>(xs[at]),
                static_cast<double>(ys[at]), size);
    EXPECT_LE(worst, 4) << name;
  };
  worst_of(
      "pow", [](Builder& b, Value x, Value y) { return kernel::pow(b, x, y); },
      [](Real x, Real y) { return std::pow(x, y); });
  worst_of(
      "atan2", [](Builder& b, Value x, Value y) { return kernel::atan2(b, x, y); },
      [](Real x, Real y) { return std::atan2(x, y); });
}

TEST(Math, PowAndAtan2OfF64WithinFourUlp) {
  std::mt19937_64 random(3);
  std::vector<double> xs, ys;
  for (int i = 0; i < 50000; ++i) {
    const double log_x = std::uniform_real_distribution<double>(-700, 700)(random);
    const double scale = i % 2 ? 1 : std::pow(10, -static_cast<double>(random() % 16));
    xs.push_back(std::exp(log_x * scale));
    ys.push_back(std::uniform_real_distribution<double>(-700, 700)(random) / std::log(xs.back()));
  }
  const auto check = [&](const char* name, const Binary& body, Real (*exact)(Real, Real)) {
    const auto got = apply<double>(body, xs, ys);
    for (size_t i = 0; i < xs.size(); ++i)
      ASSERT_LE(ulps(got[i], exact(xs[i], ys[i])), 4) << name << " " << xs[i] << ", " << ys[i];
  };
  check(
      "pow", [](Builder& b, Value x, Value y) { return kernel::pow(b, x, y); },
      [](Real x, Real y) { return std::pow(x, y); });
  check(
      "atan2", [](Builder& b, Value x, Value y) { return kernel::atan2(b, x, y); },
      [](Real x, Real y) { return std::atan2(x, y); });
}

// Arguments that random samples are unlikely to meet: the worst of simpler formulas.
TEST(Math, KnownHardArguments) {
  for (const Case& c : cases()) {
    if (!has_reference(c.name)) continue;
    for (float x : {7.12474695e19f, 706.079407f, 16367173.0f * 0x1p72f, 1.57079637f, 3.14159274f, 729288.0f, 1.7e38f}) {
      const auto got = apply<float>([&](Builder& b, Value v, Value) { return c.fn(b, v); }, {x, -x}, {x, -x});
      EXPECT_LE(ulps(got[0], c.exact(x), c.size ? c.size(x) : 0), 4) << c.name << " " << x;
      EXPECT_LE(ulps(got[1], c.exact(-x), c.size ? c.size(-x) : 0), 4) << c.name << " " << -x;
    }
  }
  const std::vector<float> xs = {0.704877794f, 0.733303249f, 0.75f, 1.25f, 0.866025388f, 1.11803401f};
  const std::vector<float> ys = {-241.372025f, 268.23822f, -300.0f, 390.0f, 600.0f, -790.0f};
  const auto got = apply<float>([](Builder& b, Value x, Value y) { return kernel::pow(b, x, y); }, xs, ys);
  for (size_t i = 0; i < xs.size(); ++i) EXPECT_LE(ulps(got[i], std::pow(Real{xs[i]}, Real{ys[i]})), 1.5) << xs[i];
}

TEST(Math, PowersWithSimpleConstantExponentsAreFewInstructionsAndExactAtSpecialValues) {
  const std::vector<float> all = samples({1e-19f, 1e-38f, 1.8e19f, 3e-13f, 4e12f});
  std::vector<float> xs;
  for (size_t i = 0; i < all.size(); i += 11) xs.push_back(all[i]);
  for (float x : {0.0f, -0.0f, kInf, -kInf, kNan, 1.0f, -1.0f, -2.0f}) xs.push_back(x);
  const std::vector<double> xd(xs.begin(), xs.end());
  for (const double y : {1.0, 2.0, 3.0, 4.0, -1.0, -2.0, 0.5, -0.5, 1.5, 2.5}) {
    size_t size = 0;
    const auto got = apply<float>([&](Builder& b, Value x, Value) { return kernel::pow(b, x, b.f32(y)); }, xs, xs, &size);
    const auto got64 =
        apply<double>([&](Builder& b, Value x, Value) { return kernel::pow(b, x, b.constant(Scalar::F64, y)); }, xd, xd);
    EXPECT_LE(size, 12) << y;
    for (size_t i = 0; i < xs.size(); ++i) {
      const Real exact = std::pow(Real{xs[i]}, Real{y});
      ASSERT_LE(ulps(got[i], exact), 2) << xs[i] << " ** " << y << " gave " << got[i];
      ASSERT_LE(ulps(got64[i], exact), 2) << xs[i] << " ** " << y << " in f64 gave " << got64[i];
      if (std::isnan(exact)) continue;
      ASSERT_EQ(std::signbit(got[i]), std::signbit(exact)) << xs[i] << " ** " << y;
    }
  }
}

TEST(Math, SineAndCosineOfOneArgumentReduceItOnce) {
  const auto size_of = [](const Binary& body) {
    size_t size = 0;
    apply<float>(body, {1.0f}, {1.0f}, &size);
    return size;
  };
  const size_t one = size_of([](Builder& b, Value x, Value) { return kernel::sin(b, x); });
  const size_t both = size_of([](Builder& b, Value x, Value) { return b.add(kernel::sin(b, x), kernel::cos(b, x)); });
  EXPECT_LE(both, one + 20);
}

TEST(Math, FmodIsExact) {
  std::mt19937_64 random(9);
  std::vector<float> xs, ys;
  std::vector<double> xd, yd;
  for (int i = 0; i < 20000; ++i) {
    xs.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
    ys.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
    xs.push_back(static_cast<float>(random() % 100000) / 8);
    ys.push_back(static_cast<float>(random() % 1000) / 16);
    const int spread = i % 100 == 0 ? 900 : 40;
    xd.push_back(
        std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % static_cast<uint64_t>(spread)) - 60));
    yd.push_back(std::ldexp(static_cast<double>(random() >> 11), -60));
  }
  const Binary body = [](Builder& b, Value x, Value y) { return kernel::fmod(b, x, y); };
  const auto got = apply<float>(body, xs, ys);
  for (size_t i = 0; i < xs.size(); ++i) same(got[i], std::fmod(xs[i], ys[i]), "fmod " + std::to_string(xs[i]));
  const auto got64 = apply<double>(body, xd, yd);
  for (size_t i = 0; i < xd.size(); ++i) ASSERT_EQ(got64[i], std::fmod(xd[i], yd[i])) << xd[i] << " " << yd[i];
}

}  // namespace math_test
}  // namespace spirograd
