// The library on devices: values and gradients of every function, also at its edges, against the interpreter.
#include "frontend/ir/eval.h"
#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "tests/gpu/fixture.h"
#include "tests/support/library_cases.h"

namespace spirograd::vk::testing {
namespace {

using Values = std::vector<double>;

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
    for (const test::LibraryCase& c : test::kLibraryCases) expect(c.call, test::source_of(c.call, type), test::kAt, error);
    for (const char* call : test::kCurvedCalls) expect(call, test::source_of(call, type), test::kAt, error);
    for (const test::LibraryEdge& e : test::kLibraryEdges)
      expect(std::string(e.call) + " at " + std::to_string(e.x), test::source_of_edge(e.call, type), {{e.x}}, error);
  }
};

TEST_F(DeviceLibrary, HasTheInterpretersValuesAndGradients) { expect_all("f32", 2e-6); }

TEST_F(DeviceLibrary, HasThemInDoublePrecision) {
  if (!device->target().float64) GTEST_SKIP() << device->info().name << " has no f64";
  expect_all("f64", 1e-13);
}

}  // namespace
}  // namespace spirograd::vk::testing
