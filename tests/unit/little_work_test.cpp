// Which programs one thread runs sooner than several that have to be woken.
#include <gtest/gtest.h>

#include "vk_runtime/inline_device.h"

namespace spirograd::vk {
namespace little_work_test {

Step dispatch(double work, uint32_t groups = 1 << 20) {
  Step s;
  s.work = work;
  s.groups = groups;
  return s;
}

Step repeat(uint32_t count, uint32_t body) {
  Step s;
  s.kind = Step::Kind::Repeat;
  s.count = count;
  s.body = body;
  return s;
}

constexpr double kWaking = 1e6;
const Prices two = software_prices(8, 2);

bool little(const std::vector<Step>& steps, const Prices& p = two) { return is_little(steps, p, kWaking); }

// Two threads save half of the work, eight seven parts of eight. They are woken for each dispatch, and another one for all.
TEST(LittleWork, IsWhatTakesLessTimeThanWakingThreads) {
  const Prices eight = software_prices(8, 8), one = software_prices(8, 1);
  EXPECT_TRUE(little({dispatch(3.9 * kWaking)}));
  EXPECT_FALSE(little({dispatch(4.1 * kWaking)}));
  EXPECT_TRUE(little({dispatch(4.1 * kWaking), dispatch(1.7 * kWaking)}));
  EXPECT_FALSE(little({dispatch(2.4 * kWaking)}, eight));
  EXPECT_TRUE(little({dispatch(2.2 * kWaking)}, eight));
  EXPECT_TRUE(little({dispatch(1e12)}, one)) << "nothing is lost where there is one thread";
  EXPECT_TRUE(little({repeat(1000, 1), dispatch(1.9 * kWaking)}));
  EXPECT_FALSE(little({dispatch(kWaking), repeat(1000, 1), dispatch(2.1 * kWaking)}));
}

// What a dispatch costs is told in operations of all threads together.
TEST(LittleWork, ADispatchCostsAsMuchTimeWithManyThreads) {
  EXPECT_EQ(software_prices(8, 1).dispatch, software_prices(8, 0).dispatch);
  EXPECT_EQ(software_prices(8, 6).dispatch, 6 * software_prices(8, 1).dispatch);
  EXPECT_EQ(software_prices(8, 6).busy, 6 * software_prices(8, 1).busy);
}

TEST(LittleWork, IsWhatThreadsCouldNotShare) {
  EXPECT_TRUE(little({dispatch(1e12, 1)}));
  EXPECT_FALSE(little({dispatch(1e12, 2)}));
  EXPECT_TRUE(little({dispatch(5.9 * kWaking, 3)})) << "two of three are not shared";
  EXPECT_FALSE(little({dispatch(6.1 * kWaking, 3)}));
}

TEST(LittleWork, IsNotWhatNobodyHasEstimated) {
  EXPECT_FALSE(little({dispatch(0)}));
  Step idle = dispatch(0), fill;
  idle.groups = 0;
  fill.kind = Step::Kind::Fill;
  EXPECT_TRUE(little({idle, fill, dispatch(1)}));
  EXPECT_FALSE(little({fill})) << "nobody is woken";
}

TEST(LittleWork, WakingIsMeasuredOnce) {
  const double here = waking(two);
  EXPECT_GE(here, 10 * 4600 * 8) << "ten microseconds at least";
  EXPECT_LE(here, 300 * 4600 * 8);
  EXPECT_EQ(waking(two), here);
  EXPECT_EQ(waking(software_prices(16, 2)), 2 * here) << "so much more is done meanwhile";
}

}  // namespace little_work_test
}  // namespace spirograd::vk
