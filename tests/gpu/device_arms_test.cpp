// An `if` on a scalar whose arms are work, on devices: values and gradients are those of the interpreter, whichever arm is
// taken, in both binding forms; validation sees no hazard.
#include <cmath>

#include "frontend/ir/eval.h"
#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "support/arms_programs.h"
#include "tests/gpu/fixture.h"

namespace spirograd::vk::testing {
namespace device_arms_test {

class DeviceArms : public Gpu {};

void expect_close(const HostArray& have, const ir::Array& want, const std::string& where) {
  const std::vector<double> values = have.values();
  ASSERT_EQ(values.size(), want.data.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (!(std::abs(want.data[i]) < 1e37)) continue;  // what f32 does not hold
    ASSERT_NEAR(values[i], want.data[i], 1e-4 * std::max(1.0, std::abs(want.data[i]))) << where << ", element " << i;
  }
}

TEST_F(DeviceArms, RunTheOneThatIsTaken) {
  Target target = device->target();
  target.price.dispatch = 0;  // so that it is asked for little work, too
  for (const test::ArmsProgram& given : test::kArmsPrograms) {
    const Program p =
        value_and_grad(text::instantiate(text::parse(test::text_of(given), "test.sg").value()).value(), {"x", "y"}).value();
    for (const BindingForm form : kForms) {
      const auto executable = compile(p, target, {.form = form});
      ASSERT_TRUE(executable) << given.name << ": " << executable.error().str();
      const auto s = session(*executable);
      for (const double flag : {1.0, 0.0, 1.0}) {
        std::vector<std::vector<double>> inputs;
        std::vector<HostArray> arrays;
        for (const Param& param : p.params) {
          auto& x = inputs.emplace_back();
          for (int64_t i = 0; i < param.type.shape.count(); ++i)
            x.push_back(param.name == "flag"
                            ? flag
                            : static_cast<double>(static_cast<float>(std::sin(0.7 * static_cast<double>(i) + 1))));
          arrays.emplace_back(param.type, x);
        }
        const auto have = s->run(arrays);
        ASSERT_TRUE(have) << given.name << ": " << have.error().str();
        const std::vector<ir::Array> want = ir::evaluate(p, inputs);
        for (size_t r = 0; r < want.size(); ++r)
          expect_close((*have)[r], want[r],
                       std::string(given.name) + ", " + form_name(form) + ", flag " + std::to_string(flag));
      }
    }
  }
}

}  // namespace device_arms_test
}  // namespace spirograd::vk::testing
