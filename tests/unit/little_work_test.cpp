// Which programs one thread runs sooner than several that have to be woken.
#include <gtest/gtest.h>

#include "vk_runtime/inline_device.h"

namespace spirograd::vk {
namespace {

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

TEST(LittleWork, IsWhatTakesLessTimeThanWakingThreads) {
  const Prices two = software_prices(8, 2), eight = software_prices(8, 8), one = software_prices(8, 1);
  const auto little = [](const std::vector<Step>& steps, const Prices& p) { return is_little(steps, p); };
  EXPECT_TRUE(little({dispatch(0.9 * two.dispatch)}, two));
  EXPECT_FALSE(little({dispatch(1.1 * two.dispatch)}, two));
  EXPECT_TRUE(little({dispatch(1.1 * two.dispatch), dispatch(0.7 * two.dispatch)}, two)) << "two are woken for";
  EXPECT_FALSE(little({dispatch(0.2 * eight.dispatch)}, eight)) << "one of eight threads takes eight times as long";
  EXPECT_TRUE(little({dispatch(0.1 * eight.dispatch)}, eight));
  EXPECT_TRUE(little({dispatch(1e12)}, one)) << "nothing is lost where there is one thread";
  EXPECT_TRUE(little({repeat(1000, 1), dispatch(0.9 * two.dispatch)}, two));
  EXPECT_FALSE(little({dispatch(0.5 * two.dispatch), repeat(1000, 1), dispatch(1.1 * two.dispatch)}, two));
}

TEST(LittleWork, IsWhatThreadsCouldNotShare) {
  const Prices two = software_prices(8, 2);
  EXPECT_TRUE(is_little(std::vector{dispatch(1e12, 1)}, two));
  EXPECT_FALSE(is_little(std::vector{dispatch(1e12, 2)}, two));
  EXPECT_TRUE(is_little(std::vector{dispatch(1.4 * two.dispatch, 3)}, two)) << "two of three are not shared";
  EXPECT_FALSE(is_little(std::vector{dispatch(1.6 * two.dispatch, 3)}, two));
}

TEST(LittleWork, IsNotWhatNobodyHasEstimated) {
  const Prices two = software_prices(8, 2);
  EXPECT_FALSE(is_little(std::vector{dispatch(0)}, two));
  Step idle = dispatch(0), fill;
  idle.groups = 0;
  fill.kind = Step::Kind::Fill;
  EXPECT_TRUE(is_little(std::vector{idle, fill, dispatch(1)}, two));
  EXPECT_FALSE(is_little(std::vector{fill}, two)) << "nobody is woken";
}

}  // namespace
}  // namespace spirograd::vk
