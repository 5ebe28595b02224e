// An `if` on a scalar runs one arm: values and derivatives are those of the arm alone, whatever the other one would have
// been, and what only the other one uses costs next to nothing.
#include "spirv/lower/arms.h"

#include <gtest/gtest.h>

#include <cmath>

#include "frontend/rewrite/passes.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "spirv/kernel/verify.h"
#include "support/arms_programs.h"
#include "support/lowered.h"

namespace spirograd {
namespace arms_test {

using Inputs = std::vector<std::vector<double>>;
using test::ArmsProgram;

Program program(const std::string& text) { return text::instantiate(text::parse(text, "test.sg").value()).value(); }

enum class What { Value, Gradient, Slope };

Program derived(const Program& p, What what) {
  return what == What::Value      ? p
         : what == What::Gradient ? value_and_grad(p, {"x", "y"}).value()
                                  : jvp(p, {"x", "y"}).value();
}

// For the program of both, `flag` stands behind its arguments.
Inputs inputs(const Program& p, std::optional<double> flag) {
  Inputs out = test::sines(p, 0.7);
  for (size_t j = 0; j < p.params.size(); ++j)
    if (p.params[j].name == "flag") out[j] = {*flag};
  return out;
}

std::vector<Target> targets() {
  return {test::cpu_target(), test::gpu_target(), test::with_cheap_dispatches(test::cpu_target()),
          test::with_cheap_dispatches(test::gpu_target())};
}

Program simplified(const Program& p) { return rewrite::optimise_for_lowering(p, {.verify = true}); }

uint64_t instructions(const Program& p, const lower::Plan& plan, double flag) {
  uint64_t n = 0;
  std::vector<HostArray> arrays;
  const Inputs given = inputs(p, flag);
  for (size_t j = 0; j < given.size(); ++j) arrays.emplace_back(p.params[j].type, given[j]);
  lower::evaluate(plan, arrays, &n);
  return n;
}

class ArmsOf : public ::testing::TestWithParam<ArmsProgram> {};

TEST_P(ArmsOf, AreTheArmThatIsTaken) {
  for (const What what : {What::Value, What::Gradient, What::Slope})
    for (const bool taken : {true, false}) {
      const Program both = derived(program(text_of(GetParam())), what),
                    one = derived(program(text_of(GetParam(), taken)), what);
      const std::vector<ir::Array> have = ir::evaluate(both, inputs(both, taken)), want = ir::evaluate(one, inputs(one, {}));
      ASSERT_EQ(have.size(), want.size());
      for (size_t r = 0; r < have.size(); ++r)
        for (size_t i = 0; i < have[r].data.size(); ++i)
          EXPECT_TRUE(have[r].data[i] == want[r].data[i] || (std::isnan(have[r].data[i]) && std::isnan(want[r].data[i])))
              << have[r].data[i] << ", " << want[r].data[i] << ": result " << r << "[" << i << "], taken " << taken;
    }
}

TEST_P(ArmsOf, AreRightOnEveryTarget) {
  for (const What what : {What::Value, What::Gradient, What::Slope}) {
    const Program p = simplified(derived(program(text_of(GetParam())), what));
    for (const Target& t : targets()) {
      const lower::Plan plan = lower::lower(p, t);
      for (const kernel::Kernel& k : plan.kernels)
        if (const auto complaint = kernel::verify(k)) ADD_FAILURE() << complaint->str();
      for (const double flag : {1.0, 0.0})
        EXPECT_TRUE(test::same_as_interpreter(p, plan, inputs(p, flag))) << static_cast<int>(what) << ", flag " << flag;
    }
  }
}

TEST_P(ArmsOf, CostNothingWhereTheyAreNotTaken) {
  const ArmsProgram& given = GetParam();
  for (const auto& [what, most] : {std::pair{What::Value, given.other_costs}, std::pair{What::Gradient, given.gradient}}) {
    const Program p = simplified(derived(program(text_of(given)), what));
    const lower::Plan plan = lower::lower(p, test::with_cheap_dispatches(test::cpu_target()));
    const auto taken = static_cast<double>(instructions(p, plan, 1)), other = static_cast<double>(instructions(p, plan, 0));
    EXPECT_LE(other, most * taken) << static_cast<int>(what) << ": " << other << " instructions of " << taken;
  }
}

INSTANTIATE_TEST_SUITE_P(Arms, ArmsOf, ::testing::ValuesIn(test::kArmsPrograms),
                         [](const auto& c) { return std::string(c.param.name); });

}  // namespace arms_test
}  // namespace spirograd
