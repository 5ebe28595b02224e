// Symmetric arrays: how they are found, and how half of one is computed.
#include <gtest/gtest.h>

#include "frontend/ir/symmetric.h"
#include "frontend/rewrite/passes.h"
#include "spirograd/text.h"
#include "spirv/kernel/verify.h"
#include "spirv/schedule/legal.h"
#include "support/lowered.h"

namespace spirograd {
namespace symmetric_test {

using Axes = std::optional<std::pair<int, int>>;

Program program_of(const std::string& source) {
  return rewrite::optimise_for_lowering(text::instantiate(text::parse(source, "symmetric").value(), "f").value(), {});
}

Axes axes_of(const std::string& source) {
  const Program p = program_of(source);
  return ir::symmetric_axes(*p.graph, {p.results[0].node});
}

TEST(Symmetric, ProductsOfAnArrayWithItself) {
  EXPECT_EQ(axes_of("def f(x: f32[7, 5]) -> f32[5, 5] = transpose(x) @ x"), Axes({0, 1}));
  EXPECT_EQ(axes_of("def f(x: f32[7, 5]) -> f32[7, 7] = x @ transpose(x)"), Axes({0, 1}));
  EXPECT_EQ(
      axes_of("def f(x: f32[7, 5, 4]) -> f32[5, 4, 4] = for b: 5, i: 4, j: 4 => sum(for n: 7 => x[n, b, i] * x[n, b, j])"),
      Axes({1, 2}));
  EXPECT_EQ(axes_of("def f(x: f32[5, 5]) -> f32[5, 5] = x @ x"), Axes());
  EXPECT_EQ(axes_of("def f(x: f32[7, 5], y: f32[7, 5]) -> f32[5, 5] = transpose(x) @ y"), Axes());
  EXPECT_EQ(axes_of("def f(x: f32[5, 5]) -> f32[5, 5] = x + 1.0"), Axes()) << "whatever the inputs are";
  EXPECT_EQ(axes_of("def f(x: f32[5, 5]) -> f32[5, 5] = x + transpose(x)"), Axes({0, 1}));
}

TEST(Symmetric, FactorsStandInAnyOrder) {
  EXPECT_EQ(
      axes_of("def f(x: f32[7, 5], w: f32[7]) -> f32[5, 5] = for i: 5, j: 5 => sum(for n: 7 => w[n] * x[n, i] * x[n, j])"),
      Axes({0, 1}));
  EXPECT_EQ(axes_of("def f(x: f32[7, 5], w: f32[7, 5]) -> f32[5, 5] = "
                    "for i: 5, j: 5 => sum(for n: 7 => w[n, i] * x[n, i] * x[n, j])"),
            Axes())
      << "one factor too many on one side";
  EXPECT_EQ(axes_of("def f(x: f32[7, 5], m: f32[5], s: f32[7]) -> f32[5, 5] = "
                    "for i: 5, j: 5 => sum(for n: 7 => (s[n] * (x[n, i] - m[i])) * (x[n, j] - m[j]))"),
            Axes({0, 1}));
}

TEST(Symmetric, DifferencesTurnTheirSign) {
  const auto pairs = [](const std::string& of) {
    return axes_of("def f(x: f32[6, 3], y: f32[6, 3]) -> f32[6, 6] = for i: 6, j: 6 => " + of);
  };
  EXPECT_EQ(pairs("sum(for k: 3 => square(x[i, k] - x[j, k]))"), Axes({0, 1}));
  EXPECT_EQ(pairs("exp(-sum(for k: 3 => abs(x[i, k] - x[j, k])))"), Axes({0, 1}));
  EXPECT_EQ(pairs("sum(for k: 3 => x[i, k] - x[j, k])"), Axes()) << "the opposite";
  EXPECT_EQ(pairs("sum(for k: 3 => (x[i, k] - x[j, k]) * (y[i, k] - y[j, k]))"), Axes({0, 1}));
  EXPECT_EQ(pairs("sum(for k: 3 => (x[i, k] - x[j, k]) * (x[i, k] + x[j, k]))"), Axes());
  EXPECT_EQ(pairs("sum(for k: 3 => x[i, k] - x[j, k]) / sum(for k: 3 => y[j, k] - y[i, k])"), Axes())
      << "where the denominator is 0 both are infinities of opposite signs";
  EXPECT_EQ(pairs("abs(sum(for k: 3 => x[i, k] - x[j, k]) / (y[i, 0] * y[j, 0]))"), Axes({0, 1}));
  EXPECT_EQ(pairs("max(for k: 3 => x[i, k] - x[j, k])"), Axes());
  EXPECT_EQ(pairs("max(for k: 3 => x[i, k] * x[j, k])"), Axes({0, 1}));
  EXPECT_EQ(pairs("exp(x[i, 0] - x[j, 0])"), Axes());
}

TEST(Symmetric, WhatIsReducedIsAsLong) {
  const auto with_sums = [](const std::string& rows, const std::string& columns) {
    return axes_of("def f(x: f32[6]) -> f32[6, 6] = for i: 6, j: 6 => (x[i] + sum(for k: " + rows +
                   " => exp(f32(k)))) * (x[j] + sum(for k: " + columns + " => exp(f32(k))))");
  };
  EXPECT_EQ(with_sums("7", "7"), Axes({0, 1}));
  EXPECT_EQ(with_sums("7", "9"), Axes());
}

TEST(Symmetric, MasksAndPositions) {
  EXPECT_EQ(axes_of("def f(x: f32[6]) -> f32[6, 6] = for i: 6, j: 6 => where(i == j, 2.0, x[i] * x[j])"), Axes({0, 1}));
  EXPECT_EQ(axes_of("def f(x: f32[6]) -> f32[6, 6] = for i: 6, j: 6 => where(i < j, 2.0, x[i] * x[j])"), Axes());
  EXPECT_EQ(axes_of("def f(x: f32[6]) -> f32[6, 6] = for i: 6, j: 6 => where(i == 2, 2.0, x[i] * x[j])"), Axes());
}

// What a scheduler is told of the only map with a reduction.
class Listener : public schedule::Scheduler {
 public:
  schedule::MapSchedule map(const schedule::MapFacts& f, const Target& t) const override {
    const schedule::MapSchedule s = Scheduler::map(f, t);
    if (f.reduces && f.symmetric) half.push_back(s.half);
    return s;
  }
  mutable std::vector<bool> half;
};

TEST(Symmetric, HalfOfLongWorkIsComputed) {
  const auto halves = [](const std::string& source) {
    const Program p = program_of(source);
    const Listener listener;
    const lower::Plan plan = lower::lower(p, test::cpu_target(), listener);
    for (const kernel::Kernel& k : plan.kernels)
      if (const auto defect = kernel::verify(k)) ADD_FAILURE() << defect->str();
    EXPECT_TRUE(test::same_as_interpreter(p, plan, test::sines(p, 0.1), 1e-5)) << source;
    return listener.half;
  };
  using Halves = std::vector<bool>;
  EXPECT_EQ(halves("def f(x: f32[90, 40]) -> f32[40, 40] = transpose(x) @ x"), Halves{true});
  EXPECT_EQ(halves("def f(x: f32[90, 37]) -> f32[37, 37] = transpose(x) @ x"), Halves{true}) << "tiles reach over the edge";
  EXPECT_EQ(halves("def f(x: f32[3, 40]) -> f32[40, 40] = transpose(x) @ x"), Halves{false}) << "stores take as long";
  EXPECT_EQ(halves("def f(x: f32[90, 2]) -> f32[2, 2] = transpose(x) @ x"), Halves{true}) << "three of four elements";
  EXPECT_EQ(halves("def f(x: f32[3, 90, 64]) -> f32[3, 64, 64] = for b: 3 => transpose(x[b]) @ x[b]"), Halves{true});
}

TEST(Symmetric, OnlySymmetricMapsAreComputedByHalves) {
  schedule::MapFacts f{{40, 40}, {}, 20, true};
  f.alone = true;
  const auto broken = [&f](const std::string& text) {
    const auto error = schedule::check(f, schedule::parse_map(text), test::gpu_target());
    return error ? error->str() : "";
  };
  const std::string refused = "half is computed of a symmetric map";
  EXPECT_NE(broken("i = grid 40; j = grid 40; half").find(refused), std::string::npos);
  f.symmetric = {0, 1};
  EXPECT_EQ(broken("i = grid 40; j = grid 40; half"), "");
  EXPECT_EQ(broken("i = grid 5 local 8; j = grid 5 local 8; group 64; half"), "");
  EXPECT_NE(broken("e = grid 1600; half").find(refused), std::string::npos);
  f.stores = true;
  EXPECT_NE(broken("i = grid 40; j = grid 40; half").find(refused), std::string::npos);
  const std::string text = "i = grid 5 local 8; j = grid 5 local 8; group 64; half";
  EXPECT_EQ(to_string(schedule::parse_map(text)), text);
}

}  // namespace symmetric_test
}  // namespace spirograd
