// The library on devices: values and gradients of every function, also at its edges, against the interpreter.
#include "frontend/ir/eval.h"
#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "tests/gpu/fixture.h"
#include "tests/support/library_cases.h"

namespace spirograd::vk::testing {
namespace device_library_test {

using Values = std::vector<double>;
constexpr double kSingle = 2e-6;

class DeviceLibrary : public Gpu {
 protected:
  // The value of the one result and what reverse mode makes of it.
  void expect(const std::string& call, const std::string& source, std::vector<Values> inputs, double error) {
    const Program p = vjp(text::instantiate(text::parse(source, "test.sg").value()).value()).value();
    inputs.push_back({1});
    const std::unique_ptr<Session> s = session(compile(p, device->target()).value());
    ASSERT_TRUE(s) << call;
    std::vector<HostArray> arrays;
    for (size_t j = 0; j < inputs.size(); ++j) arrays.emplace_back(p.params[j].type, inputs[j]);
    const std::vector<HostArray> have = s->run(arrays).value();
    const std::vector<ir::Array> want = ir::evaluate(p, inputs);
    for (size_t r = 0; r < want.size(); ++r)
      for (size_t i = 0; i < want[r].data.size(); ++i)
        EXPECT_TRUE(test::near(have[r].values()[i], want[r].data[i], error))
            << call << ", " << p.results[r].name << "[" << i << "]: " << have[r].values()[i] << ", not " << want[r].data[i];
  }

  void expect_all(const std::string& type, double error) {
    for (const test::LibraryCase& c : test::kLibraryCases) {
      // random_normal is computed in f32, whatever it becomes.
      const bool single = std::string(c.call).find("normal_sample(") != std::string::npos;
      expect(c.call, test::source_of(c.call, type), test::kAt, single ? kSingle : error);
    }
    for (const char* call : test::kCurvedCalls) expect(call, test::source_of(call, type), test::kAt, error);
    for (const test::LibraryEdge& e : test::kLibraryEdges)
      expect(std::string(e.call) + " at " + std::to_string(e.x), test::source_of_edge(e.call, type), {{e.x}}, error);
  }
};

TEST_F(DeviceLibrary, HasTheInterpretersValuesAndGradients) { expect_all("f32", kSingle); }

TEST_F(DeviceLibrary, HasThemInDoublePrecision) {
  if (!device->target().float64) GTEST_SKIP() << device->info().name << " has no f64";
  expect_all("f64", 1e-13);
}

TEST_F(DeviceLibrary, DrawsTheSameBits) {
  const Program p =
      text::instantiate(text::parse("import sampling\ndef f(seed: i32) { let keys = random_split(random_key(seed), 5)\n"
                                    "  let bits = random_bits(keys[0], [1000])\n"
                                    "  (keys, bits, random_uniform(keys[1], [300]), open_unit(bits),\n"
                                    "   random_permutation(keys[2], 100), for i: 3 => random_bits(keys[i], [4])) }",
                                    "test.sg")
                            .value())
          .value();
  const std::vector<ir::Array> want = ir::evaluate(p, std::vector<Values>{{12345}});
  for (const BindingForm form : kForms) {
    const std::unique_ptr<Session> s = session(compile(p, device->target(), {.form = form}).value());
    ASSERT_TRUE(s);
    const std::vector<HostArray> have = s->run({{HostArray(p.params[0].type, {12345})}}).value();
    for (size_t r = 0; r < want.size(); ++r) EXPECT_EQ(have[r].values(), want[r].data) << r << ", " << form_name(form);
  }
}

}  // namespace device_library_test
}  // namespace spirograd::vk::testing
