// Session::profile on each driver: every step gets its time, whatever submissions the run takes.
#include <algorithm>

#include "tests/gpu/fixture.h"
#include "vk_runtime/device.h"

namespace spirograd::vk {
namespace profile_test {

using namespace testing;

class ProfileTest : public Gpu {
 protected:
  void SetUp() override {
    Gpu::SetUp();
    if (Device::Impl::of(*device).plan.timestamp_bits == 0) GTEST_SKIP() << "the queue has no timestamps";
  }
};

TEST_F(ProfileTest, EveryStepHasItsTimeAndTheResultsStay) {
  for (BindingForm form : kForms) {
    const Executable e = chain_program(form, 100'000, 5);
    const auto s = session(e);
    ASSERT_TRUE(s->run(std::vector{ramp(100'000)}));
    const auto seconds = s->profile();
    ASSERT_TRUE(seconds) << seconds.error().str();
    ASSERT_EQ(seconds->size(), e.steps.size());
    for (const double t : *seconds) {
      EXPECT_GT(t, 0);
      EXPECT_LT(t, 60);
    }
    const auto y = s->run(std::vector{ramp(100'000)});
    ASSERT_TRUE(y) << y.error().str();
    EXPECT_EQ(first_wrong(ramp(100'000), (*y)[0], 32, 31), -1);
  }
}

TEST_F(ProfileTest, RunsOfStepsFollowEachOther) {
  const auto s = session(chain_program(BindingForm::Address, 1000, 5));
  ASSERT_TRUE(s->run(std::vector{ramp(1000)}));
  const auto runs = s->profile_runs();
  ASSERT_TRUE(runs) << runs.error().str();
  ASSERT_EQ(runs->size(), 5u);
  for (size_t k = 0; k < runs->size(); ++k) {
    EXPECT_EQ((*runs)[k].step, k);
    EXPECT_EQ((*runs)[k].begin, k == 0 ? 0 : (*runs)[k - 1].end);
    EXPECT_GE((*runs)[k].end, (*runs)[k].begin);
  }
}

// A profile writes as many timestamps as one submission has room for, and goes on in the next; a Repeat itself takes none.
TEST_F(ProfileTest, LongRunsAreProfiledInParts) {
  Executable e = affine_program(BindingForm::Address, 64);
  Step repeat;
  repeat.kind = Step::Kind::Repeat;
  repeat.count = 3000;
  repeat.body = 1;
  e.steps.insert(e.steps.begin(), repeat);
  e.steps[1].uses[0] = e.steps[1].uses[2];  // y = 2 y + 1, again and again
  e.steps[1].uses[0].read = e.steps[1].uses[2].written = true;
  e.steps.push_back(affine_program(BindingForm::Address, 64).steps[0]);
  const auto s = session(e);
  ASSERT_TRUE(s->run(std::vector{ramp(64)}));
  const auto seconds = s->profile();
  ASSERT_TRUE(seconds) << seconds.error().str();
  ASSERT_EQ(seconds->size(), 3u);
  EXPECT_EQ((*seconds)[0], 0);
  EXPECT_GT((*seconds)[1], (*seconds)[2]) << "3000 runs take longer than one";
  const auto runs = s->profile_runs();
  ASSERT_TRUE(runs) << runs.error().str();
  ASSERT_EQ(runs->size(), 3001u);
  EXPECT_EQ(runs->back().step, 2u);
  EXPECT_TRUE(std::is_sorted(runs->begin(), runs->end(), [](const StepRun& a, const StepRun& b) { return a.end < b.end; }));
}

TEST_F(ProfileTest, QueuesWithoutTimestampsSaySo) {
  Device::Impl::of(*device).plan.timestamp_bits = 0;
  const auto seconds = session(affine_program(BindingForm::Address, 64))->profile();
  ASSERT_FALSE(seconds);
  EXPECT_EQ(seconds.error().code, "SG0303");
  EXPECT_NE(seconds.error().str().find("timestamps"), std::string::npos);
}

}  // namespace profile_test
}  // namespace spirograd::vk
