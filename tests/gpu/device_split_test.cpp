// The halves of reverse mode on devices: two sessions, between which arrays stay where they are.
#include "spirograd/split.h"

#include <cmath>

#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "tests/gpu/fixture.h"

namespace spirograd::vk {
namespace device_split_test {

class SplitOnDevices : public testing::Gpu {
 protected:
  std::unique_ptr<Session> made(const Program& p, BindingForm form) {
    CompileOptions how;
    how.form = form;
    return session(compile(p, device->target(), how).value());
  }
};

// Numbers from -1 to 1 that depend on the place; of integers places.
HostArray numbers(const Type& type, size_t seed) {
  std::vector<double> values;
  for (int64_t i = 0; i < type.shape.count(); ++i)
    values.push_back(is_float(type.dtype) ? std::sin(1.3 * static_cast<double>(i) + static_cast<double>(seed))
                                          : static_cast<double>(i * 7 % 5));
  return HostArray(type, values);
}

const char* const kPrograms[] = {
    "def f(x: f32[40,30]) -> (y: f32[40]) = exp(0.1 * sum(x, axis=1))\n",
    "def f(w: f32[20,30], v: f32[10,20], x: f32[30]) -> (y: f32[10], n: i32) = (v @ tanh(w @ x), 7)\n",
    "def f(x: f32[70]) -> (y: f32[70]) = fori(50, fn(i, s) => sin(s) * 0.9 + s * 0.1, x)\n",
    "def f(x: f32[70]) -> (y: f32[70]) = fori(50, fn(i, s) => sin(s) * 0.9 + s * 0.1, x, keep=sqrt)\n",
    "def f(x: f32[9], k: i32[4]) -> (y: f32[4]) = square(x[k])\n",
    "def f(x: f32[5,4]) -> (s: f32[5], y: f32[5]) { let s = sum(x, axis=1)\n (s, exp(s)) }\n",
    "def f(x: f32[6,5], m: f32[6,5]) -> (y: f32[6]) = max(where(m > 0.0, x, -x) * x, axis=1)\n",
};

TEST_F(SplitOnDevices, HalvesInTwoSessionsAreVjp) {
  for (const char* source : kPrograms) {
    SCOPED_TRACE(source);
    const Program p = text::instantiate(text::parse(source, "test.sg").value()).value(), both = vjp(p).value();
    const Split halves = split(p).value();
    for (const BindingForm form : testing::kForms) {
      const auto whole = made(both, form), forward = made(halves.forward, form), backward = made(halves.backward, form);
      for (const Residual& r : halves.residuals) {
        DeviceArray kept = DeviceArray::create(device, r.type).value();
        ASSERT_TRUE(forward->bind(r.name, kept));
        ASSERT_TRUE(backward->bind(r.name, kept));
      }
      for (size_t j = 0; j < both.params.size(); ++j) {
        const Param& q = both.params[j];
        const HostArray value = numbers(q.type, j);
        ASSERT_TRUE(whole->write(q.name, value));
        ASSERT_TRUE((j < p.params.size() ? forward : backward)->write(q.name, value));
      }
      ASSERT_TRUE(whole->run(1));
      ASSERT_TRUE(forward->run(1));
      ASSERT_TRUE(backward->run(1));
      for (size_t j = 0; j < both.results.size(); ++j) {
        const std::string& name = both.results[j].name;
        const auto want = whole->read(name), have = (j < p.results.size() ? forward : backward)->read(name);
        ASSERT_TRUE(want && have) << name;
        const std::vector<double> a = want->values(), b = have->values();
        for (size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(a[k], b[k], 2e-6 * std::max(1.0, std::abs(a[k]))) << name << k;
      }
    }
  }
}

}  // namespace device_split_test
}  // namespace spirograd::vk
