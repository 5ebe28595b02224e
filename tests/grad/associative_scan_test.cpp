// Scans by steps that may be grouped: of any length they are what one step after the other gives, interpreted and lowered,
// and so are their derivatives.
#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/rewrite/passes.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "support/lowered.h"
#include "tests/grad/grad_support.h"

namespace spirograd::grad_test {
namespace associative_scan_test {

const std::vector<int64_t> kLengths = {0, 1, 2, 31, 33, 256, 257, 288, 319, 1024, 1057, 5000};

Program parsed(const std::string& text) { return text::instantiate(text::parse(text, "test").value()).value(); }

struct Case {
  const char *name, *type, *grouped, *in_order;
};

// `in_order` in the words of `scan`, without its first row.
const Case kCases[] = {
    {"sums", "f64[N]", "associative_scan(fn(a, b) => a + b, x)", "cumsum(x)"},
    {"from the end", "f64[N]", "associative_scan(fn(a, b) => a + b, x, reverse=true)", "reverse(cumsum(reverse(x)))"},
    {"products of matrices", "f64[N,2,2]", "associative_scan(fn(a, b) => a @ b, 0.1 * x + eye(2))",
     "scan(fn(a, b) => a @ (0.1 * b + eye(2)), eye(2), x)[1:]"},
    {"recurrences", "f64[N]", "associative_scan(fn((a, b), (c, d)) => (c * a, c * b + d), (0.5 * x, x))[1]",
     "scan(fn(s, x) => 0.5 * x * s + x, 0.0, x)[1:]"},
    {"the greatest with its place", "f64[N]",
     "{ let (m, at) = associative_scan(fn((a, i), (b, j)) => (select(b > a, b, a), select(b > a, j, i)), (x, iota(N)))\n"
     "  m + f64(at) }",
     "cummax(x) + f64(scan(fn((m, i), (x, j)) => (select(x > m, x, m), select(x > m, j, i)), (-9.0, 0),\n"
     "                     (x, iota(N)))[1][1:])"},
};

Program of(const Case& c, const std::string& expression, int64_t n) {
  std::string text = "def main(x: " + std::string(c.type) + ") = " + expression;
  for (size_t at; (at = text.find('N')) != std::string::npos;) text.replace(at, 1, std::to_string(n));
  return parsed(text);
}

TEST(AssociativeScan, IsWhatOneStepAfterTheOtherGives) {
  std::mt19937 rng(1);
  for (const Case& c : kCases)
    for (const int64_t n : kLengths) {
      SCOPED_TRACE(std::string(c.name) + " of " + std::to_string(n));
      const Program grouped = of(c, c.grouped, n);
      const Values x = random_values(rng, grouped.params[0].type.shape.count(), -1, 1);
      expect_near(run(grouped, {x})[0], run(of(c, c.in_order, n), {x})[0], 1e-10, c.name);
      for (const Target& t : {test::cpu_target(), test::gpu_target()}) {
        lower::Plan plan;
        EXPECT_TRUE(test::lowers_right(grouped, {x}, t, &plan));
        EXPECT_EQ(test::dispatched_loops(plan), 0);
      }
    }
}

TEST(AssociativeScan, DerivativesAreThoseOfOneStepAfterTheOther) {
  std::mt19937 rng(2);
  for (const Case& c : kCases)
    for (const int64_t n : {3, 300, 1057}) {
      SCOPED_TRACE(std::string(c.name) + " of " + std::to_string(n));
      const auto loss = [&](const char* what) { return of(c, "sum(sin(" + std::string(what) + "))", n); };
      const Values x = random_values(rng, loss(c.grouped).params[0].type.shape.count(), -1, 1);
      expect_near(gradient(loss(c.grouped), {x})[0], gradient(loss(c.in_order), {x})[0], 1e-9, c.name);
    }
  check_derivatives(parsed("def main(x: f64[261]) = associative_scan(fn(a, b) => a * b + 0.0 * a, 1.0 + 0.01 * x)[255:]"),
                    {random_values(rng, 261, -1, 1)}, rng, 2);
}

// What loops keep in the order that others want has buffers of its own, as long as there are so many.
TEST(AssociativeScan, DerivativesRunOnDevicesOfFewBuffers) {
  std::mt19937 rng(3);
  for (const Case& c : kCases)
    for (const uint32_t buffers : {16, 8, 4}) {
      SCOPED_TRACE(std::string(c.name) + " with " + std::to_string(buffers) + " buffers");
      const Program p = value_and_grad(of(c, "sum(sin(" + std::string(c.grouped) + "))", 3100)).value();
      Target t = test::cpu_target();
      t.max_buffers = buffers;
      lower::Plan plan;
      EXPECT_TRUE(test::lowers_right(p, {random_values(rng, p.params[0].type.shape.count(), -1, 1)}, t, &plan));
    }
}

// The derivative of a long running extreme goes to where it stands, the last place among equals, and nowhere for NaN and
// before the first number: the one that a loop of max has.
TEST(AssociativeScan, RunningExtremesHaveTheDerivativesOfTheirLoop) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  std::mt19937 rng(4);
  for (const bool greatest : {true, false}) {
    const std::string name = greatest ? "cummax" : "cummin";
    const auto pulled = [&](const std::string& expression) {
      return vjp(parsed("def main(x: f64[600,2]) = " + expression)).value();
    };
    const Program ruled = pulled(name + "(x)"),
                  loop = pulled("scan(fn(s, x) => " + std::string(greatest ? "max" : "min") + "(x, s), full([2], " +
                                (greatest ? "-inf" : "inf") + "), x)[1:]");
    Values x = random_values(rng, 1200, -1, 1);
    for (double& v : x) v = std::floor(v * 20);  // many are equal
    x[0] = nan, x[1] = greatest ? -inf : inf, x[200] = nan, x[300] = inf, x[401] = -inf;
    const Values weights = random_values(rng, 1200, -1, 1);
    expect_near(run(ruled, {x, weights})[1], run(loop, {x, weights})[1], 1e-13, name.c_str());
  }
  check_derivatives(parsed("def main(x: f64[300]) = cummax(x)[250:] * cummin(x, axis=0)[250:]"),
                    {random_values(rng, 300, -1, 1)}, rng, 2);
}

// Long ones take few steps one after another, whatever they are scanned by.
TEST(AssociativeScan, LongOnesRunInParts) {
  const Program p = parsed("def main(x: f32[500000]) = logcumsumexp(x)");
  lower::Plan plan = lower::lower(rewrite::optimise_for_lowering(p), test::gpu());
  uint64_t longest = 0;
  for (const kernel::Kernel& k : plan.kernels) longest = std::max(longest, kernel::loop_iterations(k));
  EXPECT_LE(longest, 32u);
  EXPECT_LE(plan.steps.size(), 10u);
  const Program rows = rewrite::optimise_for_lowering(parsed("def main(x: f32[500, 5000]) = logcumsumexp(x)"));
  plan = lower::lower(rows, test::gpu());
  EXPECT_LE(plan.steps.size(), 2u) << "many rows keep a device busy as they are";
}

// Where a part's product is out of range, and those from the beginning on are not.
TEST(AssociativeScan, ProductsStayInRangeWhereTheyAreOneAfterAnother) {
  const auto blocks = [](std::vector<std::pair<int, double>> parts) {
    Values out;
    while (out.size() < 1500)
      for (const auto& [count, factor] : parts) out.insert(out.end(), static_cast<size_t>(count), factor);
    out.resize(1500);
    return out;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<Values> inputs = {
      blocks({{1, 0}, {1499, 1e30}}),             // stays 0
      blocks({{3, 1e-9}, {70, 1e-1}, {1, 1e9}}),  // ends as 0
      blocks({{60, 2}, {60, 0.5}}),
      blocks({{20, 1e-2}, {20, 1e2}}),  // loses what is below the range, or does not
      blocks({{700, 0.999}, {1, nan}, {799, 1}}),
      blocks({{1500, -1.0001}}),
      blocks({{100, 0.5}, {1, 0}, {100, 0.5}}),
  };
  const Program p = parsed("def main(x: f32[1500]) = cumprod(x)");
  for (const Values& x : inputs) {
    lower::Plan plan;
    EXPECT_TRUE(test::lowers_right(p, {x}, test::cpu_target(), &plan));
    const Program in_order = parsed("def main(x: f32[1500]) = scan(fn(p, x) => p * x, 1.0, x)[1:]");
    lower::Plan other;
    ASSERT_TRUE(test::lowers_right(in_order, {x}, test::cpu_target(), &other));
    const HostArray given[] = {HostArray(p.params[0].type, x)};
    const Values have = lower::evaluate(plan, given)[0].values(), want = lower::evaluate(other, given)[0].values();
    for (size_t j = 0; j < want.size(); ++j) {
      if (std::isnan(want[j])) {
        EXPECT_TRUE(std::isnan(have[j])) << j;
      } else {
        EXPECT_NEAR(have[j], want[j], 1e-37 + 1e-4 * std::abs(want[j])) << j << " of " << x[0] << ", " << x[1] << ", ..";
      }
    }
  }
}

TEST(AssociativeScan, MistakesAreTold) {
  const auto tells = [](const std::string& arguments, const std::string& why) {
    const auto made = text::instantiate(
        text::parse("def main(x: f32[5,3], y: f32[4], z: f32) = associative_scan(" + arguments + ")", "test.sg").value());
    ASSERT_FALSE(made) << arguments;
    EXPECT_NE(made.error().str().find(why), std::string::npos) << made.error().str();
  };
  tells("fn(a, b) => sum(a + b), x", "rows of f32[3] are combined to f32");
  tells("fn((a, b), (c, d)) => (a, d, c), (y, y)", "are combined to");
  tells("fn(a, b) => a, z", "rows of an array");
  tells("fn((a, b), (c, d)) => (c, d), (x, y)", "different numbers of rows");
}

}  // namespace associative_scan_test
}  // namespace spirograd::grad_test
