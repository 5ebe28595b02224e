// Programs as they are compiled for devices on which exactness is costly, where only our own formulas are exact: by a
// compiler that leaves the rest alone, as those of these drivers do, and by one that reorders sums where it may.
#include <cmath>

#include "frontend/ir/eval.h"
#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "tests/gpu/fixture.h"
#include "tests/pretend/patch.h"

namespace spirograd::vk {
namespace free_arithmetic_test {

using namespace testing;
using Values = std::vector<double>;

class FreeArithmetic : public Gpu {
 protected:
  static Program program(const std::string& text) { return text::instantiate(text::parse(text, "test.sg").value()).value(); }
  std::vector<Values> run(const Program& p, const std::vector<Values>& inputs, bool reorders) {
    Target t = device->target();
    t.quirks |= kCostlyExactness;
    std::vector<HostArray> arrays;
    for (size_t j = 0; j < inputs.size(); ++j) arrays.emplace_back(p.params[j].type, inputs[j]);
    Executable e = compile(p, t, {.form = device->preferred_form(), .validate = true}).value();
    for (KernelBinary& k : e.kernels)
      if (reorders) k.words = pretend::reassociate(k.words, true);
    const auto s = session(e);
    std::vector<Values> out;
    if (s)
      for (const HostArray& y : s->run(arrays).value()) out.push_back(y.values());
    return out;
  }
};

// Denormals, which drivers may flush, aside.
double largest_error(const Values& have, const Values& want) {
  double worst = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    if (!std::isfinite(want[i]) || std::abs(want[i]) < 1.2e-38) continue;
    worst = std::max(worst, std::abs(have[i] - want[i]) / std::ldexp(1.0, std::ilogb(want[i]) - 23));
  }
  return worst;
}

TEST_F(FreeArithmetic, FunctionsAndTheirDerivativesKeepTheirAccuracy) {
  struct Function {
    const char* body;
    double least, most;
  };
  // clang-format off
  constexpr Function kFunctions[] = {
      {"exp(x)", -80, 80},      {"log(x)", 1e-3, 1e3},   {"sin(x)", -100, 100},  {"cos(x)", -100, 100},    {"tan(x)", -10, 10},
      {"asin(x)", -0.99, 0.99}, {"acos(x)", -0.99, 0.99}, {"atan(x)", -50, 50},  {"sinh(x)", -10, 10},     {"cosh(x)", -10, 10},
      {"tanh(x)", -5, 5},       {"asinh(x)", -50, 50},   {"acosh(x)", 1.01, 50}, {"atanh(x)", -0.9, 0.9},  {"erf(x)", -3, 3},
      {"erfc(x)", -3, 8},       {"lgamma(x)", 2.5, 50},  {"digamma(x)", 2, 50},  {"logistic(x)", -50, 50}, {"log1p(x)", -0.9, 10},
      {"expm1(x)", -10, 10},    {"x ** 2.3", 1e-3, 1e3}, {"1.7 ** x", -50, 50},  {"sqrt(x)", 1e-3, 1e3},
  };
  // clang-format on
  constexpr int kPoints = 4001;
  for (const Function& f : kFunctions) {
    const Program p = program("def main(x: f32[4001]) -> f32[4001] = " + std::string(f.body)), slope = jvp(p).value();
    Values x;
    for (int i = 0; i < kPoints; ++i) {
      const auto point = static_cast<float>(f.least + (f.most - f.least) * i / (kPoints - 1));
      x.push_back(static_cast<double>(point));
    }
    const std::vector<Values> inputs = {x, Values(kPoints, 1)};
    const std::vector<ir::Array> want = ir::evaluate(slope, inputs);
    for (const bool reorders : {false, true}) {
      const std::vector<Values> have = run(slope, inputs, reorders);
      ASSERT_EQ(have.size(), want.size());
      for (size_t r = 0; r < want.size(); ++r) EXPECT_LE(largest_error(have[r], want[r].data), 4) << f.body << " " << r;
    }
  }
}

TEST_F(FreeArithmetic, SumsStayCompensated) {
  constexpr int64_t kLength = 300'000;
  Values x;
  double sum = 0;
  std::vector<double> running;
  for (int64_t i = 0; i < kLength; ++i) {
    x.push_back(static_cast<double>(0.1f + static_cast<float>(i % 7) / 3.0f));
    running.push_back(sum += x.back());
  }
  const std::string n = std::to_string(kLength);
  for (const char* body : {"sum(x)", "fold(fn(s, x) => s + x, 0.0, x)", "cumsum(x)"}) {
    for (const bool reorders : {false, true}) {
      const bool all = std::string(body) == "cumsum(x)";
      const Program p = program("def main(x: f32[" + n + "]) = " + body);
      const Values have = run(p, {x}, reorders).at(0), want = all ? running : Values{sum};
      ASSERT_EQ(have.size(), want.size());
      double worst = 0;
      for (size_t i = 0; i < want.size(); ++i) worst = std::max(worst, std::abs(have[i] - want[i]) / want[i]);
      EXPECT_LE(worst, 1e-7) << body;
    }
  }
}

// What a mask hides contributes exactly nothing, whatever it is.
TEST_F(FreeArithmetic, MasksGiveExactZeros) {
  const Program p = program(
      "def main(x: f32[8], y: f32[8]) -> f32 = sum(where(x > 0.0, log(x) * y + sqrt(x) / y, 0.0)) + sum(where(y > 1.0, x / "
      "y, 0.0))");
  const Program gradient = vjp(p).value();
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<Values> inputs = {{0, -1, -inf, 2, 0, 3, -4, 5}, {0, 0, 1, 2, inf, 4, 0, 0.5}, {1}};
  const std::vector<ir::Array> want = ir::evaluate(gradient, inputs);
  for (const bool reorders : {false, true}) {
    const std::vector<Values> have = run(gradient, inputs, reorders);
    for (size_t r = 0; r < want.size(); ++r)
      for (size_t i = 0; i < want[r].data.size(); ++i) {
        const double w = want[r].data[i], h = have[r][i];
        if (w == 0 || !std::isfinite(w))
          EXPECT_TRUE(h == w || (std::isnan(h) && std::isnan(w))) << r << " " << i << ": " << h << ", not " << w;
        else
          EXPECT_NEAR(h, w, 1e-6 * std::abs(w)) << r << " " << i;
      }
  }
}

TEST_F(FreeArithmetic, ConversionsAndRemaindersAreExact) {
  const Program p = program("def main(n: u32[8], x: f32[8]) = (f32(n), u32(x), i32(x), rem(x, 3.0))");
  const std::vector<Values> inputs = {{0, 1, 16777217, 2147483648, 2147483777, 4294967295, 4294967167, 3221225473},
                                      {-1, 0.5, 3e9, 4294967040, 0x1p70, -3e9, 7.25, 16777216}};
  std::vector<Values> want;
  for (const ir::Array& a : ir::evaluate(p, inputs)) want.push_back(a.data);
  for (Values& of : want)
    for (double& v : of) v = static_cast<double>(static_cast<float>(v));
  for (const bool reorders : {false, true}) {
    const std::vector<Values> have = run(p, inputs, reorders);
    for (size_t r = 0; r < want.size(); ++r)
      for (size_t i = 0; i < want[r].size(); ++i)
        EXPECT_EQ(static_cast<double>(static_cast<float>(have.at(r).at(i))), want[r][i]) << r << " " << i;
  }
}

}  // namespace free_arithmetic_test
}  // namespace spirograd::vk
