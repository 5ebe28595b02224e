// Repeats on devices: results are those of the steps written out, bit for bit, in both binding forms;
// validation sees no hazard.
#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "support/dispatch_loops.h"
#include "support/unrolled.h"
#include "tests/gpu/fixture.h"

namespace spirograd::vk::testing {
namespace device_repeat_test {

class DeviceRepeat : public Gpu {
 protected:
  void expect_like_written_out(const Program& p, const std::string& name) {
    std::vector<HostArray> inputs;
    for (const std::vector<double>& x : test::inputs_of(p)) inputs.emplace_back(p.params[inputs.size()].type, x);
    for (BindingForm form : kForms) {
      CompileOptions options;
      options.form = form;
      Target target = device->target();
      target.price.dispatch = 0;  // else one workgroup would run them
      const auto executable = compile(p, target, options);
      ASSERT_TRUE(executable) << executable.error().str();
      const auto run = [&](const Executable& e) {
        const auto s = session(e);
        auto out = s->run(inputs);
        EXPECT_TRUE(out) << out.error().str();
        EXPECT_TRUE(s->replay());
        return out ? *out : std::vector<HostArray>{};
      };
      const std::vector<HostArray> have = run(*executable), want = run(test::unrolled(*executable).executable);
      ASSERT_EQ(have.size(), want.size());
      for (size_t r = 0; r < want.size(); ++r)
        EXPECT_EQ(have[r].bytes, want[r].bytes) << name << ", " << form_name(form) << ", result " << r;
    }
  }
};

TEST_F(DeviceRepeat, LoopsOfAnyLengthGiveWhatTheirStepsWrittenOutGive) {
  for (int n : {0, 1, 2, 3, 6, 7})
    for (const test::DispatchLoop& loop : test::dispatch_loops(n))
      expect_like_written_out(loop.program, loop.name + " of " + std::to_string(n));
}

TEST_F(DeviceRepeat, AThousandSteps) {
  for (const test::DispatchLoop& loop : test::dispatch_loops(1000)) {
    if (loop.name == "mapAccumL" || loop.name == "gradient of mapAccumR") expect_like_written_out(loop.program, loop.name);
  }
}

// y[r] = 2 x[R - 1 - r] + 1 in rows of 16, two rows per iteration of the inner Repeat.
TEST_F(DeviceRepeat, RowsMoveInBothDirections) {
  for (BindingForm form : kForms) {
    Executable e = affine_program(form, 16 * 24);
    e.buffers[2] = constant(16);
    Step outer, inner, one = e.steps[0];
    outer.kind = inner.kind = Step::Kind::Repeat;
    outer.count = 4, outer.body = 3;
    inner.count = 3, inner.body = 2;
    one.groups = 1;
    one.uses[0] = {0, 23 * 64, 64, true, false, {-384, -128}};
    one.uses[2] = {1, 0, 64, false, true, {384, 128}};
    Step two = one;
    two.uses[0].offset -= 64;
    two.uses[2].offset += 64;
    e.steps = {outer, inner, one, two};
    const auto y = session(e)->run(std::vector{ramp(16 * 24)});
    ASSERT_TRUE(y) << y.error().str();
    for (int i = 0; i < 16 * 24; ++i)
      ASSERT_EQ((*y)[0].values()[static_cast<size_t>(i)], 2 * (16 * (23 - i / 16) + i % 16) + 1) << i << form_name(form);
  }
}

}  // namespace device_repeat_test
}  // namespace spirograd::vk::testing
