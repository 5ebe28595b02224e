// Sums in which one element of each row is chosen by its place become reads and scatters of what is chosen; values stay the
// same, wherever the places are.
#include "frontend/rewrite/read_chosen.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "frontend/rewrite/vectorise.h"
#include "spirograd/grad.h"
#include "support/lowered.h"
#include "support/text_programs.h"

namespace spirograd {
namespace read_chosen_test {

using ir::Op;
using test::count_ops;
using test::program;
using test::Values;

constexpr double kGreatest = 2147483647, kLeast = -2147483648.0;

Values numbers(int64_t n, double scale) {
  Values out;
  for (int64_t i = 0; i < n; ++i) out.push_back(static_cast<float>(scale * std::sin(1.3 * static_cast<double>(i) + 0.4)));
  return out;
}

// The program after the pass; values before and after are equal, and so are those of kernels.
Program chosen(const Program& p, const std::vector<Values>& inputs) {
  const Program bulk = rewrite::simplify(rewrite::vectorise(p));
  Program made = rewrite::read_chosen(bulk);
  const Values before = test::run(bulk, inputs), after = test::run(made, inputs);
  EXPECT_EQ(before.size(), after.size());
  for (size_t i = 0; i < before.size(); ++i)
    EXPECT_TRUE(std::abs(before[i] - after[i]) <= 1e-12 * std::abs(before[i]) ||
                (std::isnan(before[i]) && std::isnan(after[i])))
        << i << ": " << before[i] << ", then " << after[i];
  const Program lowered = rewrite::optimise_for_lowering(p, {.verify = true});
  for (const Target& t : {test::cpu_target(), Target{}})
    EXPECT_TRUE(test::same_as_interpreter(lowered, lower::lower(lowered, t), inputs));
  return made;
}

const std::string kNearest =
    "def f(c: f32[40,3], x: f32[6,3]) = sum(for i: 6 => min(for k: 40 => sum(for d: 3 => square(x[i, d] - c[k, d]))))";

TEST(ReadChosen, TheGradientOfANearestDistanceLooksForItOnce) {
  const Program made = chosen(value_and_grad(program(kNearest), {"c", "x"}).value(), {numbers(120, 2), numbers(18, 3)});
  EXPECT_EQ(count_ops(made, Op::ArgMin), 1);
  EXPECT_EQ(count_ops(made, Op::ReduceMin), 0);
  EXPECT_EQ(count_ops(made, Op::Select), 0);
  EXPECT_EQ(count_ops(made, Op::Scatter), 1) << "the centres'; the points' is a read";
  chosen(value_and_grad(program(kNearest), {"c", "x"}).value(), {Values(120, 1), Values(18, 2)});  // the first of equals
}

TEST(ReadChosen, TheGreatestOfLeastDistancesIsARead) {
  const Program p = program(
      "def f(a: f32[5,2], b: f32[7,2]) = max(for i: 5 => min(for j: 7 => sum(for d: 2 => square(a[i, d] - b[j, d]))))");
  const Program made = chosen(value_and_grad(p, {"a", "b"}).value(), {numbers(10, 2), numbers(14, 3)});
  EXPECT_EQ(count_ops(made, Op::ReduceMin) + count_ops(made, Op::ReduceMax), 0);
}

TEST(ReadChosen, ASumOverTheAxisOfTheChoiceIsARead) {
  const std::vector<Values> inputs = {numbers(20, 2), {3, -1, 4, kGreatest, kLeast}};
  const Program made = chosen(
      program("def f(x: f32[5,4], t: i32[5]) = for i: 5 => sum(for j: 4 => where(j == t[i], exp(x[i, j]) + 1.0, 0.0))"),
      inputs);
  EXPECT_EQ(count_ops(made, Op::Sum), 0);
  EXPECT_EQ(count_ops(made, Op::Gather), 1);
  const Program product =
      chosen(program("def f(x: f32[5,4], t: i32[5]) = for i: 5 => sum(for j: 4 => f32(t[i] == j) * x[i, j])"), inputs);
  EXPECT_EQ(count_ops(product, Op::Sum), 0);
  const Program one =
      chosen(program("def f(x: f32[4], t: i32) = sum(for j: 4 => where(j == t, square(x[j]), 0.0))"), {numbers(4, 2), {2}});
  EXPECT_EQ(count_ops(one, Op::Sum), 0);
  chosen(program("def f(x: f32[4], t: i32) = sum(for j: 4 => where(j == t, square(x[j]) + 3.0, 0.0))"),
         {numbers(4, 2), {4}});
}

TEST(ReadChosen, OtherSummedAxesStaySums) {
  const Program made = chosen(program("def f(x: f32[5,3,4], w: f32[3], t: i32[5]) = for i: 5 => sum(for a: 3, j: 4 => "
                                      "where(j == t[i], w[a] * x[i, a, j], 0.0))"),
                              {numbers(60, 2), numbers(3, 1), {3, -1, 4, 0, 2}});
  EXPECT_EQ(count_ops(made, Op::Sum), 1);
  EXPECT_EQ(count_ops(made, Op::Gather), 1);
}

TEST(ReadChosen, ASumOverWhatTheChoiceIsMadeForIsAScatter) {
  const Program made = chosen(program("def f(x: f32[2,6,3], t: i32[2,6]) = for b: 2, k: 40, d: 3 => "
                                      "sum(for i: 6 => where(k == t[b, i], x[b, i, d], 0.0))"),
                              {numbers(36, 2), {0, 39, 40, 5, 5, -1, 5, 7, 39, kGreatest, kLeast, 0}});
  EXPECT_EQ(count_ops(made, Op::Scatter), 1);
  EXPECT_EQ(count_ops(made, Op::Sum), 0);
  const Program summed = chosen(program("def f(x: f32[6,3,4], t: i32[6]) = for d: 3, k: 40 => "
                                        "sum(for i: 6, e: 4 => where(k == t[i], f32(k) * x[i, d, e], 0.0))"),
                                {numbers(72, 2), {0, 39, 40, 5, 5, -1}});
  EXPECT_EQ(count_ops(summed, Op::Scatter), 1);
  EXPECT_EQ(count_ops(summed, Op::Sum), 1) << "over e";
}

TEST(ReadChosen, WhatMasksMultiplyIsChosenToo) {
  const Program p = program(
      "def f(c: f32[40], x: f32[6,40], t: i32[6]) = sum(for i: 6 => exp(sum(for k: 40 => where(k == t[i], c[k] * x[i, k], "
      "0.0))))");
  const Program g = grad(p, {"c"}).value();
  EXPECT_GT(count_ops(rewrite::simplify(rewrite::vectorise(g)), Op::MaskedMul), 0);
  EXPECT_EQ(count_ops(chosen(g, {numbers(40, 1), numbers(240, 1), {0, 39, 40, 5, 5, -1}}), Op::Scatter), 1);
}

TEST(ReadChosen, AShortAxisIsComparedFaster) {
  const Program made =
      chosen(program("def f(x: f32[6,3], t: i32[6]) = for k: 8, d: 3 => sum(for i: 6 => where(k == t[i], x[i, d], 0.0))"),
             {numbers(18, 2), {0, 7, 8, 5, 5, -1}});
  EXPECT_EQ(count_ops(made, Op::Scatter), 0);
  EXPECT_EQ(count_ops(made, Op::Sum), 1);
}

TEST(ReadChosen, WhatIsReadMayBeAnything) {
  const std::string of = "def f(x: f32[5,4], y: f32[4,5], t: i32[5]) = for i: 5 => sum(for j: 4 => where(j == t[i], ";
  const std::vector<Values> inputs = {numbers(20, 2), numbers(20, 3), {3, -1, 4, 0, 2}};
  for (const char* what :
       {"y[j, i]", "x[4 - i, 3 - j]", "max(y[j]) * x[i, j]", "prod(x[i])", "f32(argmax(y[j]))", "cumsum(x[i])[j]",
        "f32(j * i)", "x[t[i], j]", "sum(for a: 5 => y[j, a] * x[a, j])", "concat(x[i][0:2], y[2:4, i])[j]"})
    EXPECT_NE(text::print(chosen(program(of + what + ", 0.0))"), inputs)),
              text::print(rewrite::simplify(rewrite::vectorise(program(of + what + ", 0.0))")))))
        << what;
}

TEST(ReadChosen, NothingElseChanges) {
  const auto same = [](const std::string& source, const std::vector<Values>& inputs) {
    const Program bulk = rewrite::simplify(rewrite::vectorise(program(source)));
    EXPECT_EQ(text::print(chosen(program(source), inputs)), text::print(bulk));
  };
  const std::vector<Values> inputs = {numbers(20, 2), {3, -1, 4, 0, 2}};
  const std::string of = "def f(x: f32[5,4], t: i32[5]) = for i: 5 => ";
  same(of + "sum(for j: 4 => where(j == t[i], x[i, j], 1.0))", inputs);
  same(of + "sum(for j: 4 => where(j == t[j], x[i, j], 0.0))", inputs);
  same(of + "sum(for j: 4 => where(j == t[i], x[i, j], 0.0) + x[i, j])", inputs);
  same(of + "sum(for j: 4 => where(j < t[i], x[i, j], 0.0))", inputs);
  same(of + "max(for j: 4 => where(j == t[i], x[i, j], 0.0))", inputs);
  same("def f(x: f32[5,4]) = for i: 5 => max(x[i]) + f32(argmax(x[i]))", {numbers(20, 2)});
  same(
      "def f(x: f32[5,4]) = (for i: 5 => max(for j: 4 => sum(x[i] * x[j])), "
      "for j: 4 => argmax(for i: 5 => sum(x[i] * x[j])))",
      {numbers(20, 2)});
}

TEST(ReadChosen, InLoopsToo) {
  const Program p = program(
      "def f(x: f32[6,3], c: f32[40,3]) = fori(3, fn(s, c) => {\n"
      "  let near = for i: 6 => argmin(for k: 40 => sum(for d: 3 => square(x[i, d] - c[k, d])))\n"
      "  for k: 40, d: 3 => c[k, d] * 0.5 + sum(for i: 6 => where(near[i] == k, x[i, d], 0.0)) }, c)");
  chosen(p, {numbers(18, 2), numbers(120, 2)});
}

}  // namespace read_chosen_test
}  // namespace spirograd
