// Reductions of one kernel that share their loops: which do, and that values are those of the interpreter.
#include <gtest/gtest.h>

#include <cmath>

#include "frontend/rewrite/passes.h"
#include "spirograd/text.h"
#include "support/lowered.h"

namespace spirograd {
namespace together_test {

struct Case {
  const char* name;
  const char* text;
  int beside;  // reductions in the loops of others
};

#define X "def main(x: f32[64, 300], y: f32[64, 300]) = "

const Case kCases[] = {
    {"two_results", X "(sum(x, axis=1), sum(exp(x), axis=1))", 1},
    {"one_result", X "for i: 64 => sum(x[i]) * sum(exp(x[i]))", 1},
    {"four", X "for i: 64 => sum(x[i]) * sum(exp(x[i])) + sum(sin(x[i])) * sum(cos(x[i]))", 3},
    {"a_fifth_is_alone",
     X "for i: 64 => sum(x[i]) * sum(exp(x[i])) + sum(sin(x[i])) * sum(cos(x[i])) + sum(sqrt(abs(x[i])))", 3},
    {"extremes", X "for i: 64 => max(x[i]) - min(x[i])", 1},
    {"columns", X "(sum(x, axis=0), sum(exp(x), axis=0))", 1},
    {"of_two_arrays_with_one_in_common", X "(sum(x * y, axis=1), sum(exp(y), axis=1))", 1},
    {"behind_reshapes", X "(sqrt(reshape(sum(exp(x), axis=1), [64, 1])), sum(x, axis=1))", 1},
    {"reshapes_on_the_way", X "for i: 64 => reshape(sqrt(reshape(sum(exp(x[i])), [1])), []) * sum(x[i])", 1},
    {"a_sum_and_an_extreme", X "for i: 64 => max(x[i]) - sum(x[i])", 0},
    {"of_other_arrays", X "for i: 64 => sum(x[i]) * sum(y[i])", 0},
    {"of_other_lengths", X "for i: 64 => sum(x[i]) * sum(x[i, 7:250])", 0},
    {"one_waits_for_the_other", X "for i: 64 => { let m = mean(x[i])\n m + sum(square(x[i] - m)) }", 0},
    {"one_waits_one_does_not", X "for i: 64 => { let m = mean(x[i])\n m + sum(square(x[i] - m)) + sum(exp(x[i])) }", 1},
    {"of_rows_in_another_order", X "for i: 64 => sum(x[i]) * sum(exp(x[63 - i]))", 1},
    {"short", "def main(x: f32[64, 4]) = for i: 64 => sum(x[i]) * sum(exp(x[i]))", 0},
};

#undef X

class Together : public ::testing::TestWithParam<Case> {};

TEST_P(Together, ShareLoopsWhereTheyReadTheSame) {
  const Program p = rewrite::optimise_for_lowering(
      text::instantiate(text::parse(GetParam().text, "test.sg").value()).value(), {.verify = true});
  std::vector<std::vector<double>> inputs;
  for (const Param& param : p.params) {
    inputs.emplace_back();
    for (int64_t i = 0; i < param.type.shape.count(); ++i)
      inputs.back().push_back(static_cast<double>(static_cast<float>(1.5 + std::sin(0.7 * static_cast<double>(i)))));
  }
  for (const Target& t : {test::cpu_target(), test::gpu_target()}) {
    const lower::Plan plan = lower::lower(p, t);
    int beside = 0;
    for (const auto& kernel : plan.schedules)
      for (const lower::ScheduleLine& line : kernel) beside += line.what.find(" beside it") != std::string::npos;
    if (!t.price.coalesces) {
      EXPECT_EQ(beside, GetParam().beside);
    }
    EXPECT_TRUE(test::same_as_interpreter(p, plan, inputs, 1e-5));
  }
}

INSTANTIATE_TEST_SUITE_P(Reductions, Together, ::testing::ValuesIn(kCases),
                         [](const auto& c) { return std::string(c.param.name); });

}  // namespace together_test
}  // namespace spirograd
