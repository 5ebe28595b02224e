// Values and derivatives in f32, as kernels compute them, against double precision: strided over all bit patterns, and at
// the arguments where simpler formulas fail. tools/exhaustive measures the same over all patterns.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>

#include "frontend/ir/graph.h"
#include "frontend/rewrite/passes.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "spirograd/trace.h"
#include "spirv/lower/evaluate.h"
#include "tools/cli/job.h"
#include "tools/exhaustive/c_library.h"
#include "tools/exhaustive/runner.h"
#include "tools/exhaustive/ulp.h"

namespace spirograd {
namespace accuracy_test {

using exhaustive::Function;
using exhaustive::ulps;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

const Function& function(const std::string& name) {
  for (const Function& f : exhaustive::functions())
    if (f.name == name) return f;
  throw std::invalid_argument(name);
}

Program parsed(const std::string& text) {
  const text::Module module = text::parse(text, "test").value();
  return text::instantiate(module).value();
}

using Floats = std::vector<float>;

void expect_exact(const Function& f, int derivative, const Floats& x, const Floats& y) {
  if (!exhaustive::has_reference(f.name)) {
    std::printf("%s is not looked at: the C library's own is wrong\n", f.name.c_str());
    return;
  }
  Floats got(x.size());
  exhaustive::make_runner(f, derivative, static_cast<int64_t>(x.size()), nullptr)->run(x, y, got);
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (derivative >= 0 && f.smooth && !f.smooth(x[i], y[i])) continue;
    const auto exact = derivative < 0 ? f.exact : f.slopes[static_cast<size_t>(derivative)];
    const auto size = derivative < 0 ? f.size : f.slope_size;
    const double e = ulps(got[i], exact(x[i], y[i]), size ? size(x[i], y[i]) : 0);
    if (e > worst) worst = e, at = i;
  }
  EXPECT_LE(worst, 4) << f.name << (derivative < 0 ? "" : " derivative " + std::to_string(derivative)) << " at (" << x[at]
                      << ", " << y[at] << "): " << got[at];
}

TEST(Accuracy, FunctionsOfOneArgumentAndTheirDerivativesAreWithinFourUlp) {
  Floats x;
  for (uint64_t bits = 12345; bits < (uint64_t{1} << 32); bits += 199933)
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  for (float special : {0.0f, -0.0f, kInf, -kInf, kNan, 1.0f, -1.0f}) x.push_back(special);
  for (const Function& f : exhaustive::functions())
    for (int d = -1; d < static_cast<int>(f.slopes.size()) && f.arity == 1; ++d) expect_exact(f, d, x, x);
}

// A function that op.h lists is in the table above, which calls the C++ surface, and has the same name in text.
TEST(Accuracy, EveryFunctionIsMeasuredAndHasOneNameOnBothSurfaces) {
  for (const ir::OpInfo& info : ir::kOps) {
    const bool measured = ir::is_pointwise(info.op) && info.arity == 1 && ir::has_flag(info.op, ir::kFloatOnly);
    if (!measured || info.op == ir::Op::Floor) continue;  // whose float form C++ does not have
    const std::string name(info.name);
    const auto named = [&](const Function& f) { return f.name == name; };
    ASSERT_TRUE(std::ranges::any_of(exhaustive::functions(), named)) << name << " is missing in tools/exhaustive";
    const auto op_of = [](const Program& p) { return (*p.graph)[{p.results[0].node}].op; };
    const Program cpp = trace("f", {{"x", f32()}}, [&](Array x) { return function(name).build(x, x); }).value();
    EXPECT_EQ(op_of(cpp), info.op) << name;
    EXPECT_EQ(op_of(parsed("def f(x: f32) = " + name + "(x)")), info.op) << name;
  }
}

// Arguments at which one or the other formula was found wrong.
TEST(Accuracy, KnownHardArguments) {
  const std::vector<std::pair<std::string, Floats>> hard = {
      {"tan", {7.12474695e19f, 706.079407f, -7.12474695e19f, 16367173.0f * 0x1p72f, 1.57079637f}},
      {"sin", {7.12474695e19f, 16367173.0f * 0x1p72f, 3.14159274f, 355.0f, 800.0f, 801.0f}},
      {"tanh", {4.0f, 4.5f, 8.0f, -9.0f, 20.0f, -43.0f}},
      {"logistic", {8.0f, -9.0f, 16.0f, 17.5f, 40.0f, -80.0f}},
      {"asinh", {1.9e19f, -1e20f, 3e38f, 1.3e8f, 5000.0f}},
      {"atan", {1.9e19f, -1e20f, 1e15f}},
      {"erf", {3.0f, -5.5f, 8.0f, 9.1f, 9.25f, -9.3f, 9.35f, 9.5f}},
      {"erfc", {1e-20f, 0.4999f, 0.5f, 2.4f, 2.41f, 9.0f, 9.19f, 9.35f, 9.5f, 10.0f, 10.05f, 10.1f, -0.5f, -5.0f}},
      {"lgamma",
       {0.99999994f, 1.00000012f, 1.99999988f, 2.0000002f, 1.3499f, 1.35f, 2.9999f, 3.0f, 0.5f, 1e-30f, -1e-30f, -0.5f,
        -0.50000006f, -1.4999f, -2.4570248f, -3.1435809f, 4.08e36f, 4.09e36f, -8388607.5f}},
      {"digamma",
       {1.46163213f, 1.46163225f, 0.99999994f, 2.0f, 1.9999f, 1e-30f, -1e-30f, 3e-39f, -0.504083f, -1.5734985f, -10.5f,
        1e30f, -8388607.5f, -4194303.75f}},
      {"asin", {0.99999994f, -0.9999f}},
      {"acos", {0.99999994f, -0.9999f}},
      {"atanh", {0.99999994f, -0.9999f}},
      {"acosh", {1.00000012f, 1.0001f, 3e38f}},
      {"log1p", {-0.99999994f, 1e-30f, 1e-7f, -1e-7f}},
      {"expm1", {1e-30f, 1e-7f, -1e-7f, -17.2f, 88.7f}},
  };
  for (const auto& [name, x] : hard)
    for (int d = -1; d < 1; ++d) expect_exact(function(name), d, x, x);
  const std::vector<std::tuple<std::string, Floats, Floats>> pairs = {
      {"pow", {0.704877794f, 0.733303249f, 4.0f, 1e-30f, 3.0f, 1e30f}, {-241.372025f, 268.23822f, 0.1f, 0.1f, -1.9f, 1e-3f}},
      {"pow", {-1, -1.00000024f, -0.999999881f, -1, -1}, {0x1p24f + 2, 0x1p24f + 4, 1e8f, 0x1p24f, -0x1p24f - 2}},
      {"atan2", {1e-25f, 1e25f, -3e38f, 1e-30f, 0.0f, 1e-38f}, {1e-25f, -1e25f, 3e38f, 1e20f, 2.0f, -1.0f}},
      {"logaddexp", {-20, -17, -10, 0, 3, -kInf, kInf, kNan, 1}, {0, 0, 0, 0, 3, -kInf, 1, 0, kNan}},
  };
  for (const auto& [name, x, y] : pairs)
    for (int d = -1; d < 2; ++d) expect_exact(function(name), d, x, y);
}

// Where an argument is all but a multiple of pi/2 what is left of it has few digits: the floats next to each of the first
// 600 multiples.
TEST(Accuracy, BesideMultiplesOfAQuarterTurn) {
  Floats x;
  for (int n = 1; n <= 600; ++n) {
    const auto nearest = static_cast<float>(n * (std::numbers::pi / 2));
    const float before = std::nextafter(nearest, 0.0f), behind = std::nextafter(nearest, kInf);
    x.insert(x.end(), {before, nearest, behind, -nearest});
  }
  for (const char* name : {"sin", "cos", "tan"})
    for (int d = -1; d < 1; ++d) expect_exact(function(name), d, x, x);
}

// ---- programs as text, on the host evaluator -------------------------------------------------------------------------

std::vector<std::vector<double>> run(const Program& p, const std::vector<std::vector<double>>& inputs) {
  std::vector<HostArray> in;
  for (size_t j = 0; j < inputs.size(); ++j) in.emplace_back(p.params[j].type, inputs[j]);
  std::vector<std::vector<double>> out;
  const Program simple = rewrite::optimise_for_lowering(p, {.verify = true});
  for (const HostArray& a : lower::evaluate(lower::lower(simple, cli::plain_target()), in)) out.push_back(a.values());
  return out;
}

// (-1)^(n + 1) n! (1 / x^(n + 1) + 1 / (x + 1)^(n + 1) + ..), n = 1 or 2, whatever the sign of x: the terms up to 1000, then
// an integral with two corrections.
double polygamma(int n, double x) {
  long double sum = 0, y = x;
  for (; y < 1000; y += 1) sum += 1 / std::pow(y, n + 1.0L);
  sum += 1 / (n * std::pow(y, static_cast<long double>(n))) + 1 / (2 * std::pow(y, n + 1.0L)) +
         (n + 1) / (12 * std::pow(y, n + 2.0L));
  return static_cast<double>(n == 1 ? sum : -2 * sum);
}

TEST(Accuracy, SecondDerivativesDoNotCollapse) {
  struct Case {
    std::string name;
    double (*exact)(double);
    std::vector<double> x;
  };
  const std::vector<double> middle = {-20, -9, -4.5, -1, -0.25, 0, 0.25, 1, 4.5, 9, 20};
  const std::vector<Case> cases = {
      {"tanh", [](double x) { return -2 * std::tanh(x) / (std::cosh(x) * std::cosh(x)); }, middle},
      {"logistic", [](double x) { return -std::tanh(x / 2) / (4 * std::cosh(x / 2) * std::cosh(x / 2)); }, middle},
      {"softplus", [](double x) { return 1 / (4 * std::cosh(x / 2) * std::cosh(x / 2)); }, middle},
      {"asinh", [](double x) { return -x / std::pow(1 + x * x, 1.5); }, {-1e12, -5, -1, 0, 1, 5, 1e8, 1e12}},
      {"atan", [](double x) { return -2 * x / std::pow(1 + x * x, 2); }, {-1e9, -5, -1, 0, 1, 5, 1e9, 1e12}},
      {"erf", [](double x) { return -4 / std::sqrt(std::numbers::pi) * x * std::exp(-x * x); }, {-8, -5, -1, 0, 0.5, 3, 8}},
      {"erfc", [](double x) { return 4 / std::sqrt(std::numbers::pi) * x * std::exp(-x * x); }, {-8, -5, -1, 0, 0.5, 3, 8}},
      {"lgamma", [](double x) { return polygamma(1, x); }, {-3.7, -2.5, -0.5, 0.01, 0.5, 1, 1.46, 2, 7, 100, 1e15}},
      {"digamma", [](double x) { return polygamma(2, x); }, {-3.7, -0.4, 0.01, 0.5, 1, 1.46, 2, 5, 7, 100, 1e15}},
      {"log1p", [](double x) { return -1 / ((1 + x) * (1 + x)); }, {-0.999, 0, 1e-9, 5, 1e15}},
      {"expm1", [](double x) { return std::exp(x); }, {-50, -1, 0, 1e-9, 5, 80}},
      {"tan", [](double x) { return 2 * std::tan(x) / std::pow(std::cos(x), 2); }, {-1.5, -1, 0, 0.5, 1.5}},
  };
  for (const Case& c : cases)
    for (const bool wide : {false, true}) {
      const std::string t = wide ? "f64" : "f32", of = "(x: " + t + "[" + std::to_string(c.x.size()) + "]) -> " + t;
      const Program p = jvp(grad(parsed("def main" + of + " = sum(" + c.name + "(x))")).value()).value();
      const auto out = run(p, {c.x, std::vector<double>(c.x.size(), 1)});
      for (size_t i = 0; i < c.x.size(); ++i) {
        const double want = c.exact(wide ? c.x[i] : static_cast<float>(c.x[i])), near = wide ? 4e-15 : 2e-6;
        EXPECT_NEAR(out[1][i], want, near * std::abs(want)) << c.name << "'' at " << c.x[i] << " in " << t;
      }
    }
}

// A slope that is written with |x| must not lose what is odd in x at 0.
TEST(Accuracy, ThirdDerivativesAtZero) {
  for (const auto& [name, want] : std::vector<std::pair<std::string, double>>{
           {"tanh", -2}, {"logistic", -0.125}, {"softplus", 0}, {"asinh", -1}, {"atan", -2}}) {
    const Program p = jvp(jvp(grad(parsed("def main(x: f32) -> f32 = " + name + "(x)")).value()).value(), {"x"}).value();
    const auto out = run(p, {{0}, {1}, {1}});
    EXPECT_NEAR(out.back()[0], want, 1e-6) << name;
  }
}

TEST(Accuracy, NothingIsLostBesideALargeMaximum) {
  const auto one = [](const std::string& body, const std::vector<double>& x) {
    return run(parsed("def main(x: f32[" + std::to_string(x.size()) + "]) = " + body), {x})[0];
  };
  const auto large = one("log_softmax(x)", {1000.3, 1001.7, 999.9});
  std::vector<double> x;
  double sum = 0;
  for (double v : {1000.3, 1001.7, 999.9}) x.push_back(static_cast<float>(v) - static_cast<double>(1001.7f));
  for (double v : x) sum += std::exp(v);
  for (size_t i = 0; i < 3; ++i) EXPECT_LE(ulps(static_cast<float>(large[i]), x[i] - std::log(sum)), 4);
  const auto spread = one("log_softmax(x)", {0, 20.006});
  EXPECT_EQ(spread[0], -static_cast<double>(20.006f));
  EXPECT_NEAR(spread[1], -std::exp(-static_cast<double>(20.006f)), 0x1p-24);
  const auto equal = grad(parsed("def main(x: f32, y: f32) -> f32 = logaddexp(x, y)")).value();
  EXPECT_EQ(run(equal, {{3}, {3}}), (std::vector<std::vector<double>>{{0.5}, {0.5}}));
}

// Sums in loops: the error of all partial sums, and of their gradient, does not grow with the number of steps.
TEST(Accuracy, LoopsThatOnlyAddAreCompensated) {
  const size_t n = 100000;
  std::vector<double> x, ones(n + 1, 1), partial{0}, adjoint(n + 1, 0);
  for (size_t i = 0; i < n; ++i) x.push_back(static_cast<float>(0.3 + 0.29 * std::sin(static_cast<double>(i))));
  for (double v : x) partial.push_back(partial.back() + v);
  for (size_t i = n; i-- > 0;) adjoint[i] = adjoint[i + 1] + partial[i + 1];
  const auto near = [](double have, double want) { return std::abs(have - want) <= 2e-7 * std::abs(want); };

  const auto sums = run(parsed("def main(x: f32[100000]) = scan(fn(s, e) => s + e, 0.0, x)"), {x})[0];
  for (size_t i = 0; i <= n; ++i) ASSERT_TRUE(near(sums[i], partial[i])) << i << ": " << sums[i] << ", not " << partial[i];

  const Program energy =
      parsed("def main(x: f32[100000]) -> f32 { let c = scan(fn(s, e) => s + e, 0.0, x)\n sum(c * c) / 2.0 }");
  const auto gradient = run(grad(energy).value(), {x})[0];
  for (size_t i = 0; i < n; ++i) ASSERT_TRUE(near(gradient[i], adjoint[i])) << i << ": " << gradient[i];

  // Several sums at once, terms on both sides, subtractions, and a body that also reads its sum.
  const auto several =
      run(parsed("def main(x: f32[100000]) { let ((a, b, i), y) = map_accum_l(fn((a, b, i), e) => ((e + a - 0.1, b "
                 "- e + 0.25, i + 1), a + b), (0.0, 1.0, 0), x)\n (a, b, i) }"),
          {x});
  const double total = partial[n], tenth = static_cast<double>(0.1f) * n;
  EXPECT_TRUE(near(several[0][0], total - tenth)) << several[0][0];
  EXPECT_TRUE(near(several[1][0], 1 - total + 0.25 * n)) << several[1][0];
  EXPECT_EQ(several[2][0], n);
  const auto steps = run(parsed("def main(a: f32) -> f32 = fori(100000, fn(i, s) => s + 0.1, a)"), {{0}})[0][0];
  EXPECT_TRUE(near(steps, tenth)) << steps;

  x[500] = INFINITY;
  EXPECT_EQ(run(parsed("def main(x: f32[100000]) -> f32 = fold(fn(s, e) => s + e, 0.0, x)"), {x})[0][0], INFINITY);
}

// Each of n - 1 multiplications is off by half a unit in the last place at most, in whatever order.
// Wherever the sum leaves the range: at a term, inside of a part, between parts. Back from there it does not come.
TEST(Accuracy, CompensatedSumsOverflowToInfinity) {
  for (const char* body : {"sum(x)", "fold(fn(s, e) => s + e, 0.0, x)", "max(scan(fn(s, e) => s + e, 0.0, x)[999:])"}) {
    const Program p = parsed("def main(x: f32[1000]) -> f32 = " + std::string(body));
    for (const double each : {3e38, 6e36, 7e35, 4e35})
      for (const int sign : {1, -1}) {
        const std::vector<double> x(1000, sign * each);
        EXPECT_EQ(run(p, {x})[0][0], sign * std::numeric_limits<double>::infinity()) << body << each;
      }
    std::vector<double> x(1000, 1);
    x[400] = kInf;
    EXPECT_EQ(run(p, {x})[0][0], kInf) << body;
  }
}

TEST(Accuracy, ProductsAreOffByHalfAUnitPerFactor) {
  for (const size_t n : {31, 1009, 20011}) {
    std::vector<double> x;
    long double exact = 1;
    for (size_t i = 0; i < n; ++i) {
      x.push_back(static_cast<float>(std::exp(std::sin(static_cast<double>(i)))));
      exact *= x.back();
    }
    const auto have = run(parsed("def main(x: f32[" + std::to_string(n) + "]) -> f32 = prod(x)"), {x})[0][0];
    EXPECT_LE(std::abs(have / exact - 1), static_cast<long double>(n) * 0x1p-24L) << n;
  }
}

// A reduction over nothing is a constant: in every mode its derivative is 0.
TEST(Accuracy, ReductionsOverNothingHaveNoDerivative) {
  for (const std::string name : {"sum", "prod", "mean", "max", "min", "logsumexp"}) {
    for (const std::string axes : {"axis=1", "axis=[0, 1]"}) {
      const Program p = parsed("def main(x: f32[2,0], s: f32) = " + name + "(x * s, " + axes + ") * 1.0");
      const auto forward = run(jvp(p).value(), {{}, {2}, {}, {1}});
      for (double v : forward[1]) EXPECT_EQ(v, 0) << name << " " << axes;
      const auto backward = run(vjp(p).value(), {{}, {2}, std::vector<double>(forward[1].size(), 1)});
      EXPECT_EQ(backward.back(), std::vector<double>{0}) << name << " " << axes;
    }
  }
  for (const std::string name : {"softmax", "log_softmax"}) {
    const Program p = parsed("def main(x: f32[2,0], s: f32) = sum(" + name + "(x * s))");
    EXPECT_EQ(run(jvp(p).value(), {{}, {2}, {}, {1}})[1], std::vector<double>{0}) << name;
  }
}

}  // namespace accuracy_test
}  // namespace spirograd
