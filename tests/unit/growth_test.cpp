// Programs whose code would grow beyond all bounds: each compiles into kernels of bounded size, with the interpreter's
// values, or is refused by name. None of these ends in reasonable time where a budget is missing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "frontend/ir/algebra.h"
#include "frontend/rewrite/passes.h"
#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "support/lowered.h"

namespace spirograd {
namespace growth_test {

constexpr size_t kMostCode = 6000;  // instructions of a kernel

Program program(const std::string& text) { return text::instantiate(text::parse(text, "test.sg").value()).value(); }

std::string repeated(int count, const std::function<std::string(int)>& line) {
  std::string out;
  for (int i = 0; i < count; ++i) out += "  " + line(i) + "\n";
  return out;
}
std::string t(int i) { return "t" + std::to_string(i); }

std::vector<double> ramp(int64_t n) {
  std::vector<double> out;
  for (int64_t i = 0; i < n; ++i) out.push_back(static_cast<float>(0.9 + 0.2 * std::sin(static_cast<double>(i))));
  return out;
}

// Lowered into small kernels with the right values.
testing::AssertionResult bounded(const Program& given, const std::vector<std::vector<double>>& inputs,
                                 lower::Plan* out = nullptr) {
  try {
    const Program p = rewrite::optimise_for_lowering(given, {.verify = true});
    const lower::Plan plan = lower::lower(p, test::cpu_target());
    for (const kernel::Kernel& k : plan.kernels)
      if (k.body.size() > kMostCode)
        return testing::AssertionFailure() << k.name << " has " << k.body.size() << " instructions";
    if (const auto same = test::same_as_interpreter(p, plan, inputs); !same) return same;
    if (out) *out = plan;
  } catch (const Error& e) {
    return testing::AssertionFailure() << e.str();
  }
  return testing::AssertionSuccess();
}

TEST(Growth, ArraysJoinedWithThemselves) {
  const std::string lines = repeated(17, [](int i) { return "let " + t(i + 1) + " = concat(" + t(i) + ", " + t(i) + ")"; });
  const Program p = program("def main(t0: f32[2]) -> (y: f32) {\n" + lines + "  sum(t17) / 131072.0\n}\n");
  EXPECT_TRUE(bounded(p, {ramp(2)}));
  EXPECT_TRUE(bounded(grad(p, {"t0"}).value(), {ramp(2)}));
}

TEST(Growth, ArraysJoinedWithOthersAgainAndAgain) {
  const std::string lines =
      repeated(14, [](int i) { return "let " + t(i + 1) + " = concat(" + t(i) + " * 0.5, " + t(i) + " + 1.0)"; });
  const Program p = program("def main(t0: f32[2]) -> (y: f32) {\n" + lines + "  sum(t14) / 16384.0\n}\n");
  EXPECT_TRUE(bounded(p, {ramp(2)}));
  EXPECT_TRUE(bounded(grad(p, {"t0"}).value(), {ramp(2)}));
}

TEST(Growth, ElementsReadAtTwoPlacesPerLine) {
  const std::string lines =
      repeated(24, [](int i) { return "let " + t(i + 1) + " = 0.5 * (" + t(i) + "[k] + " + t(i) + "[l])"; });
  const Program p = program("def main(t0: f32[64], k: i32[64], l: i32[64]) -> (y: f32[64]) {\n" + lines + "  t24\n}\n");
  std::vector<double> k, l;
  for (int i = 0; i < 64; ++i) k.push_back((i * 7 + 3) % 64), l.push_back((i * 11 + 5) % 64);
  EXPECT_TRUE(bounded(p, {ramp(64), k, l}));
}

TEST(Growth, ChainsOfFunctionsShareTheirKernels) {
  const std::string lines = repeated(250, [](int i) { return "let " + t(i + 1) + " = sin(" + t(i) + ")"; });
  lower::Plan plan;
  EXPECT_TRUE(bounded(program("def main(t0: f32[4]) -> (y: f32[4]) {\n" + lines + "  t250\n}\n"), {ramp(4)}, &plan));
  EXPECT_LE(plan.kernels.size(), 6u) << "equal kernels are made once";
}

size_t largest(const lower::Plan& plan) {
  size_t out = 0;
  for (const kernel::Kernel& k : plan.kernels) out = std::max(out, k.body.size());
  return out;
}

// Each level of a product reads the one before at two places, and is stored before there are many.
TEST(Growth, GradientsOfLongProducts) {
  const Program p = program("def main(x: f32[4099]) -> (y: f32) = prod(x * 1.01)\n");
  lower::Plan plan;
  EXPECT_TRUE(bounded(grad(p, {"x"}).value(), {std::vector<double>(4099, 0.99)}, &plan));
  EXPECT_LE(largest(plan), 1000u);
}

TEST(Growth, SumsOfWhatIsShiftedFurtherAndFurther) {
  const std::string lines = repeated(8, [](int i) {
    return "let " + t(i + 1) + " = " + t(i) + " + window(" + t(i) + ", " + std::to_string(-(1 << i)) + ", 500)";
  });
  const Program p = program("def main(t0: f32[500]) -> (y: f32) {\n" + lines + "  sum(square(t8))\n}\n");
  lower::Plan plan;
  EXPECT_TRUE(bounded(grad(p, {"t0"}).value(), {ramp(500)}, &plan));
  EXPECT_LE(largest(plan), 1000u) << "256 places of the first";
}

TEST(Growth, TenThousandStatementsCompile) {
  const std::string lines = repeated(10000, [](int i) {
    return "let " + t(i + 1) + " = " + (i % 3 ? "sin(" + t(i) + ") * z + 0.5 * t0" : t(i) + " * 0.5 + z");
  });
  const Program p = program("def main(t0: f32, z: f32) -> (y: f32) {\n" + lines + "  t10000\n}\n");
  EXPECT_TRUE(compile(value_and_grad(p, {"t0"}).value(), test::cpu_target()));
}

TEST(Growth, PlacesThatAreReversedAgainAndAgain) {
  const std::string lines = repeated(60, [](int i) { return "let " + t(i + 1) + " = reverse(" + t(i) + ") * " + t(i); });
  const Program p = program("def main(t0: f32[100]) -> (y: f32) {\n" + lines + "  sum(t60)\n}\n");
  lower::Plan plan;
  EXPECT_TRUE(bounded(grad(p, {"t0"}).value(), {std::vector<double>(100, 1.0)}, &plan));
  size_t code = 0;
  for (const kernel::Kernel& k : plan.kernels) code += k.body.size();
  EXPECT_LE(code, 1000u) << "there are two places, not one more in every line";
}

// Each line is stored or has a loop: what is looked at for one of them must not be the whole program before it.
TEST(Growth, LongProgramsOfArraysCompile) {
  const auto compiles = [](int lines, const std::string& before, const std::string& after) {
    const std::string text = repeated(
        lines, [&](int i) { return "let " + t(i + 1) + " = " + before + "sin(" + t(i) + ")" + after + " + " + t(i); });
    const Program p = program("def main(t0: f32[100], w: f32[100, 100], k: i32[100]) -> (y: f32) {\n" + text + "  sum(" +
                              t(lines) + ")\n}\n");
    EXPECT_TRUE(compile(p, test::cpu_target())) << before;
    EXPECT_TRUE(compile(grad(p, {"t0"}).value(), test::cpu_target())) << before;
  };
  compiles(1000, "matmul(w, ", ")");
  compiles(1000, "scatter([100], ", ", k)");
  compiles(1000, "cumsum(", ")");
  compiles(500, "fold(fn(s, j) => s + w[j, 0], 0.0, iota(100)) * ", "");
  compiles(200, "sort(", ")");
}

TEST(Growth, FunctionsThatCallEachOtherTwice) {
  std::string text = "def f0(x: f32) -> f32 = x * 0.5\n";
  for (int i = 1; i <= 40; ++i)
    text += "def f" + std::to_string(i) + "(x: f32) -> f32 = f" + std::to_string(i - 1) + "(x) + f" + std::to_string(i - 1) +
            "(x + 1.0)\n";
  EXPECT_TRUE(text::instantiate(text::parse(text + "def main(x: f32) -> (y: f32) = f40(x)\n", "test.sg").value()));
}

TEST(Growth, WhatGrowsWithoutEndIsRefused) {
  std::string text = "def f0(x: f32) -> f32 = x * 0.5\n";
  for (int i = 1; i <= 40; ++i)
    text += "def f" + std::to_string(i) + "(x: f32) -> f32 = f" + std::to_string(i - 1) + "(x * 2.0) + f" +
            std::to_string(i - 1) + "(x * 2.0 + 1.0)\n";
  const auto p = text::instantiate(text::parse(text + "def main(x: f32) -> (y: f32) = f40(x)\n", "test.sg").value());
  ASSERT_FALSE(p);
  EXPECT_EQ(p.error().code, "SG0603");
}

}  // namespace growth_test
}  // namespace spirograd
