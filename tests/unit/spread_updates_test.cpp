// Scatters that give each row one element are choices by position where they are added to something; values stay the same.
#include "frontend/rewrite/spread_updates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "frontend/rewrite/vectorise.h"
#include "spirograd/grad.h"
#include "support/lowered.h"
#include "support/text_programs.h"

namespace spirograd {
namespace spread_updates_test {

using test::count_ops;
using test::program;
using test::Values;

Values numbers(int64_t n, double scale) {
  Values out;
  for (int64_t i = 0; i < n; ++i) out.push_back(static_cast<float>(scale * std::sin(1.3 * static_cast<double>(i) + 0.4)));
  return out;
}

// How many scatters are left; values before and after, and of kernels, are equal.
int scatters_left(const Program& p, const std::vector<Values>& inputs) {
  const Program bulk = rewrite::simplify(rewrite::vectorise(p)), made = rewrite::spread_updates(bulk);
  EXPECT_GT(count_ops(bulk, ir::Op::Scatter), 0);
  const Values before = test::run(bulk, inputs), after = test::run(made, inputs);
  EXPECT_EQ(before.size(), after.size());
  for (size_t i = 0; i < before.size(); ++i)
    EXPECT_TRUE(before[i] == after[i] || (std::isnan(before[i]) && std::isnan(after[i]))) << i;
  const Program lowered = rewrite::optimise_for_lowering(p, {.verify = true});
  for (const Target& t : {test::cpu_target(), Target{}})
    EXPECT_TRUE(test::same_as_interpreter(lowered, lower::lower(lowered, t), inputs));
  return count_ops(made, ir::Op::Scatter);
}

TEST(SpreadUpdates, TheGradientOfACrossEntropyIsOnePass) {
  const Program loss = program("def f(x: f32[6,9], t: i32[6]) = sum(for i: 6 => logsumexp(x[i]) - x[i, t[i]])");
  const Program both = value_and_grad(loss, {"x"}).value();
  for (const Values& labels : {Values{0, 8, 3, 3, 1, 2}, Values{-1, 9, 2147483647, -2147483648.0, 5, 5}})
    EXPECT_EQ(scatters_left(both, {numbers(54, 3), labels}), 0);
}

TEST(SpreadUpdates, RowsMayBeOfAnyAxesAndHaveFurtherOnes) {
  const std::string of = "(x: f32[5,4,3], u: f32[4,3], t: i32[4]) = ";
  const std::vector<Values> inputs = {numbers(60, 2), numbers(12, 2), {4, 0, 7, 0}};
  EXPECT_EQ(scatters_left(program("def f" + of + "x + scatter([5,4], u, t, iota(4))"), inputs), 0);
  EXPECT_EQ(scatters_left(program("def f" + of + "scatter([5,4], u, t, iota(4)) - x"), inputs), 0);
  EXPECT_EQ(scatters_left(
                program("def f(x: f32[2,7,3], u: f32[2,3], t: i32[2,3]) = x + scatter([2,7,3], u, iota([2,3], axis=0), t, "
                        "iota([2,3], axis=1))"),
                {numbers(42, 2), {1, std::numeric_limits<double>::infinity(), 2, std::nan(""), 3, 4}, {0, 6, 7, -1, 3, 3}}),
            0);
}

TEST(SpreadUpdates, StayWhereARowMayGetSeveralOrNothingIsAdded) {
  const std::vector<Values> inputs = {numbers(20, 2), numbers(4, 2), {4, 0, 7, 0}};
  const std::string of = "(x: f32[5,4], u: f32[4], t: i32[4]) = ";
  EXPECT_EQ(scatters_left(program("def f" + of + "x + scatter([5,4], u, t, t)"), inputs), 1) << "two at one place";
  EXPECT_EQ(scatters_left(program("def f" + of + "x[:, 0] + scatter([5], u, t)"), inputs), 1) << "one row";
  EXPECT_EQ(scatters_left(program("def f" + of + "(x, scatter([5,4], u, t, iota(4)))"), inputs), 1) << "a result";
  EXPECT_EQ(scatters_left(program("def f(x: f32[5,6], u: f32[4], t: i32[4]) = x + scatter([5,6], u, t, iota(4))"),
                          {numbers(30, 2), numbers(4, 2), {4, 0, 7, 0}}),
            1)
      << "rows beyond them";
}

TEST(SpreadUpdates, InLoopsToo) {
  const Program p = program(
      "def f(x: f32[5,4], u: f32[4], t: i32[4]) = fori(3, fn(i, s) => s * 0.5 + scatter([5,4], u, (t + i) % 5, iota(4)), "
      "x)");
  EXPECT_EQ(scatters_left(p, {numbers(20, 2), numbers(4, 2), {4, 0, 3, 0}}), 0);
}

}  // namespace spread_updates_test
}  // namespace spirograd
