// Kernels of one's own on devices: their values are those of the expressions that they stand for, in both binding forms, in
// loops and in parts of arrays; it is they that run.
#include <cmath>

#include "frontend/ir/eval.h"
#include "spirograd/grad.h"
#include "support/own_kernels.h"
#include "tests/gpu/fixture.h"

namespace spirograd::vk::testing {
namespace device_own_kernel_test {

constexpr const char* kKernel = "def k(a: f32, x: f32[100]) -> f32[100] = a * x + 1.0";

class OwnKernels : public Gpu {
 protected:
  Program program(const std::string& stands_for, const std::string& expression) {
    const std::string text = "def s(a: f32, x: f32[100]) -> f32[100] = by_kernel((\"address.spv\", \"descriptors.spv\"), " +
                             stands_for + ", (a, x), invocations=100)\ndef main(a: f32, x: f32[100]) = " + expression;
    return text::instantiate(text::parse(text, "test.sg", test::modules_of(kKernel, device->target())).value()).value();
  }

  // Of the device's own form and, where it has them, of the other one.
  std::vector<std::vector<HostArray>> run(const Program& p, const std::vector<std::vector<double>>& inputs) {
    std::vector<HostArray> arrays;
    for (size_t j = 0; j < inputs.size(); ++j) arrays.emplace_back(p.params[j].type, inputs[j]);
    std::vector<std::vector<HostArray>> out;
    for (const BindingForm form : kForms) {
      const auto executable = compile(p, device->target(), {.form = form});
      EXPECT_TRUE(executable) << executable.error().str();
      if (!executable) continue;
      auto results = session(*executable)->run(arrays);
      EXPECT_TRUE(results) << results.error().str();
      if (results) out.push_back(*std::move(results));
    }
    return out;
  }
};

std::vector<std::vector<double>> inputs() {
  std::vector<double> x;
  for (int i = 0; i < 100; ++i) x.push_back(static_cast<float>(std::sin(0.7 * i)));
  return {{0.75}, x};
}

TEST_F(OwnKernels, ComputeWhatTheyStandFor) {
  for (const char* expression :
       {"s(a, x)", "sum(sin(s(a, x)))", "fori(5, fn(i, y) => s(a, y) * 0.5, x)",
        "scan(fn(y, k) => s(k, y) * 0.5, x, [a, 0.5, a])", "concat(x[0:7], s(a, x), s(2.0, x), axis=0)",
        "s(sum(s(a, x)), reverse(x))", "for i: 3 => s(a * f32(i), x)"}) {
    const Program p = program("a * x + 1.0", expression);
    std::vector<Program> all = {p};
    if (p.results[0].type.shape.rank() == 0) all.push_back(value_and_grad(p).value());
    for (const Program& q : all) {
      const std::vector<ir::Array> want = ir::evaluate(q, inputs());
      for (const std::vector<HostArray>& have : run(q, inputs()))
        for (size_t r = 0; r < want.size(); ++r) {
          const std::vector<double> values = have[r].values();
          ASSERT_EQ(values.size(), want[r].data.size());
          for (size_t i = 0; i < values.size(); ++i)
            ASSERT_NEAR(values[i], want[r].data[i], 1e-5 * std::max(1.0, std::abs(want[r].data[i])))
                << expression << ", " << i;
        }
    }
  }
}

TEST_F(OwnKernels, AreWhatRuns) {
  const std::vector<std::vector<double>> given = inputs();
  for (const std::vector<HostArray>& have : run(program("a * x + 7.0", "s(a, x)"), given)) {
    const std::vector<double> values = have[0].values();
    for (size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], given[0][0] * given[1][i] + 1, 1e-6);
  }
}

}  // namespace device_own_kernel_test
}  // namespace spirograd::vk::testing
