// Arrays of f16 on devices that have them: the values of the evaluator, which rounds as they do, in both binding forms.
// Other devices refuse by name.
#include <cmath>

#include "frontend/rewrite/passes.h"
#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "spirv/lower/evaluate.h"
#include "support/f16_programs.h"
#include "support/lowered.h"
#include "tests/gpu/fixture.h"

namespace spirograd::vk::testing {
namespace device_f16_test {

class DeviceF16 : public Gpu {
 protected:
  void expect(const Program& p, const std::string& where);
};

// Sums in another order may differ in the last bits, which rounding to f16 makes one place of that.
void expect_near(const HostArray& have, const HostArray& want, const std::string& where) {
  const bool halves = want.type.dtype == DType::F16;
  const std::vector<double> a = have.values(), b = want.values();
  ASSERT_EQ(a.size(), b.size()) << where;
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], (halves ? 0x1p-10 : 2e-4) * std::max(halves ? 0x1p-14 : 1.0, std::abs(b[i])))
        << where << ", element " << i;
}

void DeviceF16::expect(const Program& p, const std::string& where) {
  std::vector<HostArray> inputs;
  for (const std::vector<double>& x : test::sines(p, 0.7)) inputs.emplace_back(p.params[inputs.size()].type, x);
  for (const BindingForm form : kForms) {
    const auto executable = compile(p, device->target(), {.form = form});
    if (!device->target().float16_storage) {
      const bool uses =
          std::any_of(p.params.begin(), p.params.end(), [](const Param& q) { return q.type.dtype == DType::F16; });
      if (!uses) continue;
      ASSERT_FALSE(executable) << where;
      EXPECT_EQ(executable.error().code, "SG0303");
      EXPECT_NE(executable.error().str().find("f16"), std::string::npos);
      continue;
    }
    ASSERT_TRUE(executable) << where << ": " << executable.error().str();
    const auto have = session(*executable)->run(inputs);
    ASSERT_TRUE(have) << where << ": " << have.error().str();
    const std::vector<HostArray> want =
        lower::evaluate(lower::lower(rewrite::optimise_for_lowering(p, {}), device->target()), inputs);
    for (size_t r = 0; r < want.size(); ++r)
      expect_near((*have)[r], want[r], where + ", " + form_name(form) + ", " + p.results[r].name);
  }
}

TEST_F(DeviceF16, ProgramsHaveTheirValuesAndDerivatives) {
  for (const test::F16Program& given : test::kF16Programs) {
    const Program p = text::instantiate(text::parse(given.text, "test.sg").value()).value();
    expect(p, given.name);
    if (!is_float(p.params[0].type.dtype)) continue;
    expect(vjp(p).value(), std::string(given.name) + ", vjp");
    expect(jvp(p).value(), std::string(given.name) + ", jvp");
  }
}

// Neighbours share a word, and the last of an odd number of elements has one for itself.
TEST_F(DeviceF16, EveryPatternIsReadAndWrittenAsItIs) {
  if (!device->target().float16_storage) return;  // refused above
  constexpr int64_t kAll = 63489;                 // from -infinity to infinity, NaN left out: 2 * 0x7c01, less one zero
  const Program p =
      text::instantiate(text::parse("def main(x: f16[n]) -> (a: f16[n], b: f32[n]) = (-x, x)", "test.sg").value(), "",
                        {{"n", kAll}})
          .value();
  std::vector<Half> halves;
  for (uint32_t bits = 0; halves.size() < static_cast<size_t>(kAll); ++bits)
    if ((bits & 0x7fff) <= 0x7c00 && bits != 0x8000) halves.emplace_back().bits = static_cast<uint16_t>(bits);
  const HostArray x = HostArray::of<Half>(std::span<const Half>(halves));
  for (const BindingForm form : kForms) {
    const auto have = session(compile(p, device->target(), {.form = form}).value())->run(std::vector{x});
    ASSERT_TRUE(have) << have.error().str();
    const auto negated = (*have)[0].as<Half>().value();
    const auto wide = (*have)[1].as<float>().value();
    for (size_t i = 0; i < halves.size(); ++i) {
      ASSERT_EQ(negated[i].bits, halves[i].bits ^ 0x8000) << i;
      ASSERT_EQ(wide[i], static_cast<float>(halves[i])) << i;
    }
  }
}

}  // namespace device_f16_test
}  // namespace spirograd::vk::testing
