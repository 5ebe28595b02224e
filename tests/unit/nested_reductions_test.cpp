// Reductions inside of reductions: copies of the outer one run side by side in the loops of the inner one, and what they
// read in common is read once.
#include <gtest/gtest.h>

#include "frontend/rewrite/passes.h"
#include "spirograd/text.h"
#include "support/golden_plans.h"
#include "support/lowered.h"

namespace spirograd {
namespace nested_reductions_test {

struct Case {
  const char* name;
  const char* text;
  double loads;  // of x for each (i, k, d), on a driver for processors; 0: not asked
};

#define X(k, d) "def main(c: f32[" #k ", " #d "], x: f32[300, " #d "]) = "

const Case kCases[] = {
    {"nearest", X(100, 16) "for i: 300 => min(for k: 100 => sum(square(x[i] - c[k])))", 0.2},
    {"place_of_the_nearest", X(100, 16) "for i: 300 => argmin(for k: 100 => sum(square(x[i] - c[k])))", 0.2},
    {"what_is_left", X(101, 16) "for i: 300 => min(for k: 101 => sum(square(x[i] - c[k])))", 0},
    {"odd_rows", X(100, 7) "for i: 300 => max(for k: 100 => sum(abs(x[i] - c[k])))", 0.2},
    {"compensated", X(200, 10) "for i: 300 => sum(for k: 200 => exp(-sum(square(x[i] - c[k]))))", 0.125},
    {"both_long", X(200, 100) "for i: 300 => sum(for k: 200 => exp(-sum(square(x[i] - c[k]))))", 0},
    {"written_out", X(100, 3) "for i: 300 => min(for k: 100 => sum(square(x[i] - c[k])))", 0},
    {"beside_each_other", X(64, 9) "for i: 300 => { let d = for k: 64 => sum(x[i] * c[k])\n sum(exp(d)) * sum(square(d)) }",
     0},
    {"inside_of_two", X(8, 9) "for i: 300 => max(for k: 8 => sum(for j: 8 => exp(-sum(abs(x[i] + c[k] - c[j])))))", 0},
    {"of_all", X(20, 40) "sum(for i: 300 => max(for k: 20 => sum(x[i] * c[k])))", 0},
    {"same_for_all", X(100, 16) "for i: 300 => min(for k: 100 => sum(c[k])) * x[i, 0]", 0},
};

#undef X

class NestedReductions : public ::testing::TestWithParam<Case> {};

// Of an array, by all invocations.
double loads(const kernel::Kernel& k, uint32_t array) {
  double out = 0;
  std::vector<double> times = {static_cast<double>(k.invocations)};
  for (const kernel::Inst& i : k.body) {
    if (i.op == kernel::KOp::Loop) times.push_back(times.back() * static_cast<double>(k.body[i.in[0]].imm));
    if (i.op == kernel::KOp::EndLoop) times.pop_back();
    if (i.op == kernel::KOp::Load && i.in[0] == array) out += times.back();
  }
  return out;
}

TEST_P(NestedReductions, ReadOnceWhatCopiesHaveInCommon) {
  const Program p = rewrite::optimise_for_lowering(
      text::instantiate(text::parse(GetParam().text, "test.sg").value()).value(), {.verify = true});
  const std::vector<std::vector<double>> inputs = test::sines(p, 0.7);
  for (const Target& t : {test::cpu_target(), test::gpu_target()}) {
    const lower::Plan plan = lower::lower(p, t);
    EXPECT_TRUE(test::same_as_interpreter(p, plan, inputs, 1e-5));
    if (t.price.coalesces || GetParam().loads == 0) continue;
    ASSERT_EQ(plan.kernels.size(), 1u);
    const Shape &c = p.params[0].type.shape, &x = p.params[1].type.shape;
    const auto meetings = static_cast<double>(x.count() * c[0]);
    EXPECT_NEAR(loads(plan.kernels[0], 0) / meetings, GetParam().loads, 0.05 * GetParam().loads);
  }
}

// Where subgroups compute neighbouring points, inner reductions are written out: a short row stays in registers.
TEST(NestedReductions, ARowThatStaysTheSameIsLoadedOnce) {
  for (const char* least : {"min", "argmin"}) {
    const std::string text = "def main(c: f32[100, 16], x: f32[1920, 16]) = for i: 1920 => " + std::string(least) +
                             "(for k: 100 => sum(square(x[i] - c[k])))";
    const Program p =
        rewrite::optimise_for_lowering(text::instantiate(text::parse(text, "test.sg").value()).value(), {.verify = true});
    const lower::Plan plan = lower::lower(p, test::lane_cpu());
    EXPECT_TRUE(test::same_as_interpreter(p, plan, test::sines(p, 0.7), 1e-5));
    ASSERT_EQ(plan.kernels.size(), 1u);
    EXPECT_EQ(loads(plan.kernels[0], 1), 1920 * 16) << least;
  }
}

INSTANTIATE_TEST_SUITE_P(Reductions, NestedReductions, ::testing::ValuesIn(kCases),
                         [](const auto& c) { return std::string(c.param.name); });

}  // namespace nested_reductions_test
}  // namespace spirograd
