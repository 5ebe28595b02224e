// What several kernels are made of is computed once, where that takes no more kernels. Values agree with the interpreter.
#include <gtest/gtest.h>

#include <algorithm>

#include "frontend/rewrite/passes.h"
#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "support/lowered.h"

namespace spirograd {
namespace shared_parts_test {

lower::Plan plan_of(const std::string& text, const Target& target) {
  const Program p =
      rewrite::optimise_for_lowering(text::instantiate(text::parse(text, "test.sg").value()).value(), {.verify = true});
  lower::Plan plan = lower::lower(p, target);
  EXPECT_TRUE(test::same_as_interpreter(p, plan, test::sines(p, 0.7), 1e-4)) << text;
  return plan;
}

// How many kernels read the first parameter.
size_t readers(const lower::Plan& plan) {
  size_t out = 0;
  for (const Step& s : plan.steps)
    out += std::any_of(s.uses.begin(), s.uses.end(), [](const BufferUse& u) { return u.buffer == 0 && u.read; });
  return out;
}

constexpr const char* kNormalised = "def f(a: f32[300, 200], v: f32[200]) -> f32[300] { let w = a @ v\n  w / norm(w) }";

TEST(SharedParts, AProductWhoseNormIsTakenIsComputedOnce) {
  for (const Target& target : {test::cpu_target(), test::gpu_target(), test::gpu()}) {
    const lower::Plan plan = plan_of(kNormalised, target);
    EXPECT_EQ(readers(plan), 1u);
    EXPECT_EQ(runs(plan.steps, Step::Kind::Dispatch), 2u);
  }
}

TEST(SharedParts, EachStepOfALoopComputesItOnce) {
  const lower::Plan plan =
      plan_of("def f(a: f32[200, 200], v: f32[200]) -> f32[200] = fori(4, fn(t, v) => { let w = a @ v\n  w / norm(w) }, v)",
              test::cpu_target());
  EXPECT_EQ(readers(plan), 4u);
}

TEST(SharedParts, WhatIsNotCheapByItselfKeepsItsBuffer) {
  const lower::Plan plan =
      plan_of("def f(a: f32[300, 200], v: f32[200]) -> f32[300] { let w = a @ v\n  w + sum(lgamma(lgamma(w))) }",
              test::cpu_target());
  EXPECT_EQ(readers(plan), 2u) << "of 300 lanes each would compute all of them";
}

TEST(SharedParts, WhatAUserWantsComputedAgainIs) {
  const lower::Plan plan =
      plan_of("def f(a: f32[300, 200], v: f32[200]) -> f32[300] { let w = prefer_recompute(a @ v)\n  w / norm(w) }",
              test::cpu_target());
  EXPECT_EQ(readers(plan), 2u);
}

double operations(const Executable& e) {
  double out = 0;
  for (const Step& s : e.steps)
    if (s.kind == Step::Kind::Dispatch) out += e.kernels[s.kernel].operations * s.groups * e.kernels[s.kernel].workgroup;
  return out;
}

// A chain that is more than one kernel: its way back does not compute the way there again from the beginning of each kernel.
TEST(SharedParts, TheGradientOfALongChainIsAFewTimesItsWork) {
  for (const int steps : {6, 12, 24}) {
    std::string text = "def f(x: f32[4000000]) = {\nlet y0 = x\n";
    for (int k = 0; k < steps; ++k) {
      const std::string y = "y" + std::to_string(k);
      text += "let y" + std::to_string(k + 1) + " = sin(" + y + ") * 0.9 + sqrt(abs(" + y + ") + 0.1)\n";
    }
    const Program value =
        text::instantiate(text::parse(text + "sum(y" + std::to_string(steps) + ")\n}", "t.sg").value()).value();
    const Program both = value_and_grad(value, {"x"}).value();
    for (const Target& target : {test::cpu_target(), test::gpu()})
      EXPECT_LT(operations(compile(both, target).value()), 2.5 * operations(compile(value, target).value()))
          << steps << ", coalesces: " << target.price.coalesces;
  }
}

// The parts of an array that are alike have one kernel, in which each element is computed once.
TEST(SharedParts, PartsThatAreAlikeAreComputedAtTheSamePoints) {
  const lower::Plan plan = plan_of(
      "def f(a: f32[32, 64], b: f32[32, 64]) -> f32[32, 192] {\n let s = tanh(a) * exp(b)\n"
      " concat(s * a, exp(s), logistic(s) + b, axis=1) }",
      test::cpu_target());
  EXPECT_EQ(runs(plan.steps, Step::Kind::Dispatch), 1u);
  EXPECT_EQ(plan.scratch_bytes, 0u);
}

}  // namespace shared_parts_test
}  // namespace spirograd
