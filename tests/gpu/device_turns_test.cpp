// Rows in turns on devices: values are those of the interpreter, in both binding forms; validation sees no hazard.
#include <cmath>

#include "frontend/ir/eval.h"
#include "spirograd/compile.h"
#include "spirograd/text.h"
#include "support/turns_programs.h"
#include "tests/gpu/fixture.h"

namespace spirograd::vk::testing {
namespace device_turns_test {

class DeviceTurns : public Gpu {};

TEST_F(DeviceTurns, GiveWhatAllRowsAtOnceGive) {
  Target target = device->target();
  target.price.resident = 4096;
  target.price.dispatch = 0;  // so that small arrays are stored
  for (const test::TurnsProgram& given : test::kTurnsPrograms) {
    const Program p = text::instantiate(text::parse(given.text, "test.sg").value()).value();
    std::vector<std::vector<double>> inputs;
    std::vector<HostArray> arrays;
    for (const Param& param : p.params) {
      const bool real = is_float(param.type.dtype);
      auto& x = inputs.emplace_back();
      for (int64_t i = 0; i < param.type.shape.count(); ++i)
        x.push_back(real ? static_cast<double>(static_cast<float>(std::sin(0.7 * static_cast<double>(i) + 1)))
                         : i * 5 % 9 - 1);
      arrays.emplace_back(param.type, x);
    }
    const std::vector<ir::Array> want = ir::evaluate(p, inputs);
    for (const BindingForm form : kForms) {
      const auto executable = compile(p, target, {.form = form});
      ASSERT_TRUE(executable) << given.name << ": " << executable.error().str();
      const auto s = session(*executable);
      const auto have = s->run(arrays);
      ASSERT_TRUE(have) << given.name << ": " << have.error().str();
      ASSERT_EQ(have->size(), want.size());
      for (size_t r = 0; r < want.size(); ++r) {
        const std::vector<double> values = (*have)[r].values();
        ASSERT_EQ(values.size(), want[r].data.size());
        for (size_t i = 0; i < values.size(); ++i)
          ASSERT_NEAR(values[i], want[r].data[i], 1e-5 * std::max(1.0, std::abs(want[r].data[i])))
              << given.name << ", " << form_name(form) << ", result " << r << ", element " << i;
      }
    }
  }
}

}  // namespace device_turns_test
}  // namespace spirograd::vk::testing
