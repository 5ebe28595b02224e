// cumsum and cumprod, which are made of loops, long sums in parts: values on both surfaces, interpreted and lowered,
// and derivatives, where factors are 0 too.
#include "tests/grad/grad_support.h"

#include "frontend/rewrite/passes.h"
#include "spirograd/ops.h"
#include "spirograd/text.h"
#include "spirograd/trace.h"
#include "support/lowered.h"

namespace spirograd::grad_test {
namespace cumulative_test {

using spirograd::Array;

Program parsed(const std::string& text) { return text::instantiate(text::parse(text, "test").value()).value(); }

Program cumulative(const std::string& name, const Type& type, int axis) {
  return parsed("def main(x: " + to_string(type) + ") = " + name + "(x, axis=" + std::to_string(axis) + ")");
}

Values expected(bool product, const Shape& s, int axis, const Values& x) {
  Values y = x;
  const int64_t inner = s.stride(axis), extent = s[axis];
  for (int64_t i = 0; i < s.count(); ++i) {
    const auto at = static_cast<size_t>(i), before = static_cast<size_t>(i - inner);
    if (i / inner % extent > 0) y[at] = product ? y[before] * x[at] : y[before] + x[at];
  }
  return y;
}

// Lengths beside those at which the parts change.
const std::vector<int64_t> kLengths = {0, 1, 2, 63, 64, 65, 127, 128, 129, 191, 192, 193, 1000, 4096, 8191, 8321};

TEST(Cumulative, ValuesOfEveryLength) {
  std::mt19937 rng(1);
  for (const int64_t n : kLengths) {
    const Shape s{n};
    const Values x = random_values(rng, n, 0.9, 1.1);
    for (const bool product : {false, true}) {
      const Program p = cumulative(product ? "cumprod" : "cumsum", f64(s), 0);
      const Values want = expected(product, s, 0, x);
      expect_near(run(p, {x})[0], want, 1e-11, p.results[0].name.c_str());
      const Program bulk = rewrite::optimise_for_lowering(p, {.verify = true});
      EXPECT_TRUE(test::same_as_interpreter(bulk, lower::lower(bulk, test::cpu_target()), {x}, 1e-11)) << n;
    }
  }
}

TEST(Cumulative, ValuesAlongEveryAxis) {
  std::mt19937 rng(2);
  for (const Shape& s :
       {Shape{3, 4, 5}, Shape{2, 300, 3}, Shape{150, 2, 2}, Shape{2, 2, 150}, Shape{2, 0, 3}, Shape{130, 4096}})
    for (int axis = -s.rank(); axis < s.rank(); ++axis) {
      const Values x = random_values(rng, s.count(), 0.9, 1.1);
      const int from_front = axis < 0 ? axis + s.rank() : axis;
      for (const bool product : {false, true}) {
        const Program p = cumulative(product ? "cumprod" : "cumsum", f64(s), axis);
        expect_near(run(p, {x})[0], expected(product, s, from_front, x), 1e-11, to_string(s).c_str());
      }
    }
}

TEST(Cumulative, BothSurfacesMakeTheSameProgram) {
  for (const int64_t n : {5, 500}) {
    const Type type = f32({n, 2});
    const auto named = [&](const std::string& body) {
      return text::print(parsed("def f(x: " + to_string(type) + ") = " + body));
    };
    const Program sums = trace("f", {{"x", type}}, [](Array x) { return cumsum(x); }).value();
    const Program products = trace("f", {{"x", type}}, [](Array x) { return cumprod(x, -1); }).value();
    EXPECT_EQ(text::print(sums), named("cumsum(x)"));
    EXPECT_EQ(text::print(products), named("cumprod(x, -1)"));
  }
}

TEST(Cumulative, IntegersWrapAndOthersAreRefused) {
  const Program p = parsed("def main(x: i32[3]) = (cumsum(x), cumprod(x))");
  const Values x = {2147483647, 2, 3};
  EXPECT_EQ(run(p, {x}), (Inputs{{2147483647, -2147483647, -2147483644}, {2147483647, -2, -6}}));
  const auto refused = [](const std::string& text) { return !text::instantiate(text::parse(text, "test").value()); };
  EXPECT_TRUE(refused("def main(x: bool[3]) = cumsum(x)"));
  EXPECT_TRUE(refused("def main(x: f32) = cumprod(x)"));
  EXPECT_TRUE(refused("def main(x: f32[3]) = cumsum(x, axis=1)"));
  EXPECT_FALSE(trace("f", {{"x", f32({3})}}, [](Array a) { return cumprod(a, 1); }));
}

// What comes later does not reach back, however long the array is.
TEST(Cumulative, ProductsStayZeroAfterAZeroAndInRangeAfterALargeFactor) {
  const Program p = rewrite::optimise_for_lowering(cumulative("cumprod", f32({400}), 0), {.verify = true});
  Values x(400, 1e30);
  x[0] = 0;
  EXPECT_EQ(run(p, {x})[0][399], 0);
  EXPECT_TRUE(test::same_as_interpreter(p, lower::lower(p, test::cpu_target()), {x}));
  x.assign(400, 0.75);
  for (size_t j = 0; j < 64; ++j) x[j] = 2;
  EXPECT_TRUE(test::same_as_interpreter(p, lower::lower(p, test::cpu_target()), {x}));
}

TEST(Cumulative, DerivativesInBothModesToSecondOrder) {
  std::mt19937 rng(3);
  for (const int64_t n : {0, 1, 3, 9, 131}) {
    Values x = random_values(rng, n, 0.7, 1.2);
    for (const int zeros : {0, 1, 2}) {
      if (zeros > n) continue;
      for (int z = 0; z < zeros; ++z) x[static_cast<size_t>((2 * z + 1) * n / 4)] = 0;
      for (const std::string name : {"cumsum", "cumprod"}) {
        SCOPED_TRACE(name + " of " + std::to_string(n) + ", zeros: " + std::to_string(zeros));
        const std::string shape = std::to_string(n);
        check_derivatives(parsed("def main(x: f64[" + shape + "]) = " + name + "(x) * x"), {x}, rng, 2);
        check_derivatives(parsed("def main(x: f64[" + shape + ",2]) = for i: 2 => " + name + "(x * x)[:, i]"),
                          {random_values(rng, 2 * n, 0.7, 1.1)}, rng, n > 9 ? 1 : 2);
      }
    }
  }
}

TEST(Cumulative, TheGradientOfAProductIsExactAtZeros) {
  const Program p = parsed("def main(x: f64[4]) -> f64 = sum(cumprod(x))");
  // y = a + a b + a b c + a b c d
  EXPECT_EQ(gradient(p, {{2, 0, 3, 5}}), (Inputs{{1, 2 + 2 * 3 + 2 * 15, 0, 0}}));
  EXPECT_EQ(gradient(p, {{2, 3, 0, 5}}), (Inputs{{1 + 3, 2, 6 + 6 * 5, 0}}));
  EXPECT_EQ(gradient(p, {{0, 0, 3, 5}}), (Inputs{{1, 0, 0, 0}}));
}

}  // namespace cumulative_test
}  // namespace spirograd::grad_test
