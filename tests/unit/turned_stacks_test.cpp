// Stacks that are wanted in another order of their axes: loops store them so, in one kernel, with the values of the
// interpreter.
#include <gtest/gtest.h>

#include "frontend/rewrite/passes.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "support/lowered.h"

namespace spirograd {
namespace turned_stacks_test {

struct Case {
  const char* name;
  const char* text;
  size_t kernels;  // of a processor, whose loops run in one
};

constexpr Case kCases[] = {
    {"columns", "def f(x: f32[37, 90]) -> f32[37, 90] = cumsum(x, axis=0)", 1},
    {"rows", "def f(x: f32[37, 90]) -> f32[37, 90] = cumsum(x, axis=1)", 1},
    {"middle_axis", "def f(x: f32[3, 37, 9]) -> f32[3, 37, 9] = cumsum(x, axis=1)", 1},
    {"products", "def f(x: f32[37, 90]) -> f32[37, 90] = cumprod(x, axis=1)", 1},
    {"asked_for_both_ways",
     "def f(x: f32[37, 90]) -> (f32[37, 90], f32[90, 37]) = {\n  let y = cumsum(x, axis=1)\n  (y, transpose(y, [1, 0]))\n}",
     2},
    {"read_in_both_orders",
     "def f(x: f32[37, 37]) -> f32[37, 37] = {\n  let y = cumsum(x, axis=1)\n  y * transpose(y, [1, 0])\n}", 2},
};

class TurnedStacks : public ::testing::TestWithParam<Case> {};

TEST_P(TurnedStacks, MeanTheSame) {
  const Program whole = text::instantiate(text::parse(GetParam().text, "test.sg").value()).value();
  const Program p = rewrite::optimise_for_lowering(whole, {.verify = true});
  EXPECT_EQ(lower::lower(p, test::cpu_target()).steps.size(), GetParam().kernels);
  for (const Program& q : {p, rewrite::optimise_for_lowering(vjp(whole).value(), {.verify = true})})
    for (const Target& t : {test::cpu_target(), test::gpu_target()})
      EXPECT_TRUE(test::same_as_interpreter(q, lower::lower(q, t), test::sines(q, 0.7), 1e-4));
}

INSTANTIATE_TEST_SUITE_P(Of, TurnedStacks, ::testing::ValuesIn(kCases),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace turned_stacks_test
}  // namespace spirograd
