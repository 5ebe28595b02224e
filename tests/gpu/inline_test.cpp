// Little work on drivers that have threads of their own: on lavapipe it runs where it is submitted.
#include <cstdlib>

#include "tests/gpu/fixture.h"
#include "vk_runtime/inline_device.h"
#include "vk_runtime/session_impl.h"

namespace spirograd::vk {
namespace inline_test {

using namespace testing;

constexpr int64_t kElements = 1000;

class Inline : public Gpu {
 protected:
  void SetUp() override {
    Gpu::SetUp();
    if (device) Device::Impl::of(*device).options.inline_little_work = true;
    is_lavapipe = device && on_lavapipe();
  }
  Executable program(double work, BindingForm form = BindingForm::Address) {
    Executable e = chain_program(form, kElements, 3);
    for (Step& s : e.steps) s.work = work;
    return e;
  }
  bool is_inline(Session& s) { return Session::Impl::of(s).owner != device; }
  int64_t wrong(Session& s) {
    const auto y = s.run(std::vector{ramp(kElements)});
    return y ? first_wrong(ramp(kElements), (*y)[0], 8, 7) : 0;
  }
  bool is_lavapipe = false;
};

TEST_F(Inline, LittleWorkRunsWhereItIsSubmitted) {
  for (const BindingForm form : kForms) {
    const auto little = session(program(1, form)), much = session(program(1e12, form));
    EXPECT_EQ(is_inline(*little), is_lavapipe);
    EXPECT_FALSE(is_inline(*much));
    for (int again = 0; again < 2; ++again) {
      EXPECT_EQ(wrong(*little), -1);
      EXPECT_EQ(wrong(*much), -1);
      EXPECT_TRUE(little->replay());
    }
  }
  EXPECT_GT(device->trim(), 0u);
  EXPECT_EQ(device->trim(), 0u);
}

TEST_F(Inline, ItOutlivesItsDevice) {
  const auto little = session(program(1));
  Device::Impl& d = Device::Impl::of(*device);
  EXPECT_EQ(is_lavapipe, d.without_threads.has_value() && *d.without_threads);
  if (is_lavapipe) device.reset();
  EXPECT_EQ(wrong(*little), -1);
}

TEST_F(Inline, LostDevicesAreLost) {
  const auto before = session(program(1));
  Device::Impl::of(*device).lost = true;
  EXPECT_EQ(Session::create(device, program(1)).error().code, "SG0310");
  Device::Impl::of(*device).lost = false;
}

TEST_F(Inline, OptionsAndTheEnvironmentDecide) {
  Device::Impl::of(*device).options.inline_little_work = false;
  EXPECT_FALSE(is_inline(*session(program(1))));
  Device::Impl::of(*device).options.inline_little_work = true;
  ::setenv("LP_NUM_THREADS", "2", 1);
  const auto chosen = session(program(1));
  EXPECT_FALSE(is_inline(*chosen));
  EXPECT_EQ(wrong(*chosen), -1);
  ::unsetenv("LP_NUM_THREADS");
}

TEST_F(Inline, TheEnvironmentIsAsItWas) {
  const auto little = session(program(1));
  EXPECT_EQ(std::getenv("LP_NUM_THREADS"), nullptr);
}

}  // namespace inline_test
}  // namespace spirograd::vk
