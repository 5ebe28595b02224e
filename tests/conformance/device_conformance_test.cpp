// Every line of the conformance tables on the device: in f32 at 1e-4, both surfaces in both binding forms, and in f64 at
// 1e-8 where the device has it.
#include <iostream>
#include <set>

#include "spirograd/compile.h"
#include "tests/conformance/conformance.h"
#include "tests/gpu/fixture.h"

namespace spirograd::conformance {
namespace device_conformance_test {

constexpr double kTolerance = 1e-4;

class DeviceConformance : public vk::testing::Gpu {
 protected:
  std::vector<Values> run(const Check& c, BindingForm form, size_t& kernels) {
    const Executable executable = compile(c.program, device->target(), {.form = form, .validate = true}).value();
    const std::unique_ptr<vk::Session> s = session(executable);
    if (!s) return {};
    kernels += executable.kernels.size();
    std::vector<HostArray> inputs;
    for (size_t j = 0; j < c.inputs.size(); ++j) inputs.emplace_back(c.program.params[j].type, c.inputs[j]);
    std::vector<Values> out;
    for (const HostArray& a : s->run(inputs).value()) out.push_back(a.values());
    return out;
  }

  void expect_all(Surface surface, DType dtype, BindingForm form) {
    double worst = 0;
    size_t kernels = 0;
    std::string worst_name;
    std::set<std::string> lines;
    const std::vector<Check> all = checks(surface, dtype);
    for (const Check& c : all) {
      const double tolerance = dtype == DType::F64 ? 1e-8 : c.f32_tolerance;
      const std::vector<Values> results = run(c, form, kernels);
      for (const Part& part : c.parts) {
        double error = 0;
        EXPECT_EQ(disagreement(part, results, tolerance, &error), "")
            << c.line << " " << c.name << " (" << name(surface) << ", " << vk::testing::form_name(form) << ")";
        if (c.f32_tolerance > kTolerance || error <= worst) continue;
        worst = error;
        worst_name = c.line + " " + c.name;
      }
      lines.insert(c.line);
    }
    EXPECT_EQ(lines, std::set<std::string>(all_lines().begin(), all_lines().end()));
    std::cout << device->info().name << ", " << spirograd::name(dtype) << ", " << name(surface) << ", "
              << vk::testing::form_name(form) << ": " << lines.size() << " lines, " << all.size() << " programs, " << kernels
              << " kernels, largest relative error " << worst << " (" << worst_name << ")\n";
  }
};

TEST_F(DeviceConformance, EveryLineAsText) {
  for (BindingForm form : vk::testing::kForms) expect_all(Surface::Text, DType::F32, form);
}

TEST_F(DeviceConformance, EveryLineThroughCpp) {
  for (BindingForm form : vk::testing::kForms) expect_all(Surface::Cpp, DType::F32, form);
}

TEST_F(DeviceConformance, EveryLineInDoublePrecision) {
  if (!device->target().float64) GTEST_SKIP() << device->info().name << " has no f64";
  expect_all(Surface::Text, DType::F64, BindingForm::Address);
}

}  // namespace device_conformance_test
}  // namespace spirograd::conformance
