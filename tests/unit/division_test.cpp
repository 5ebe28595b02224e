// How an axis is divided among devices: numbers alone.
#include "vk_runtime/shards/division.h"

#include <gtest/gtest.h>

#include <numeric>

namespace spirograd::shards {
namespace division_test {

using Counts = std::vector<int64_t>;

Counts of(int64_t count, std::vector<double> shares) { return divided(count, shares); }
std::optional<Counts> better(const Counts& counts, std::vector<double> seconds) { return better_division(counts, seconds); }

TEST(Division, EqualSharesDifferByOneAtMost) {
  EXPECT_EQ(of(1000, {1, 1}), (Counts{500, 500}));
  EXPECT_EQ(of(1001, {3, 3, 3}), (Counts{334, 334, 333}));
  EXPECT_EQ(of(10, {0, 0}), (Counts{5, 5})) << "shares of nothing are equal ones";
}

TEST(Division, FewerElementsThanDevicesLeaveSomeWithout) {
  EXPECT_EQ(of(2, {1, 1, 1}), (Counts{1, 1, 0}));
  EXPECT_EQ(of(0, {1, 1}), (Counts{0, 0}));
  EXPECT_EQ(of(1, {1, 5}), (Counts{0, 1}));
}

TEST(Division, SharesAreInProportionAndAddUp) {
  EXPECT_EQ(of(6400, {1, 3}), (Counts{1600, 4800}));
  EXPECT_EQ(of(6400, {1, 0}), (Counts{6400, 0}));
  for (int64_t count = 0; count < 700; ++count)
    for (const double share : {0.0, 1e-9, 0.3, 1.0, 17.0}) {
      const Counts c = of(count, {1, share, 2});
      EXPECT_EQ(std::accumulate(c.begin(), c.end(), int64_t{0}), count);
      EXPECT_GE(*std::min_element(c.begin(), c.end()), 0);
      if (share == 0) {
        EXPECT_EQ(c[1], 0) << count;
      }
    }
}

// Else each measurement would be another program to compile.
TEST(Division, SharesNearEachOtherAreTheSameDivision) {
  EXPECT_EQ(of(100000, {1, 3.01}), of(100000, {1, 2.99}));
  EXPECT_EQ(of(100000, {1000, 1}), (Counts{100000, 0})) << "less than half of a 64th";
}

TEST(Division, ASlowDeviceGetsLess) {
  EXPECT_EQ(better({3200, 3200}, {1, 3}), (Counts{4800, 1600}));
  EXPECT_EQ(better({3200, 3200}, {3, 1}), (Counts{1600, 4800}));
}

TEST(Division, WhatIsHardlyBetterIsLeftAsItIs) {
  EXPECT_EQ(better({3200, 3200}, {1, 1}), std::nullopt);
  EXPECT_EQ(better({3200, 3200}, {1, 1.2}), std::nullopt);
  EXPECT_TRUE(better({3200, 3200}, {1, 1.5}));
}

TEST(Division, TimesThatAreNotKnownTellNothing) {
  EXPECT_EQ(better({3200, 3200}, {0, 3}), std::nullopt);
  EXPECT_EQ(better({0, 3200}, {0, 3}), std::nullopt) << "one without elements stays so";
  EXPECT_EQ(better({0, 0}, {0, 0}), std::nullopt);
}

TEST(Division, StepsInProportionToSpeedsComeToRest) {
  const std::vector<double> speeds = {100, 310, 47};
  Counts counts = of(10007, {1, 1, 1});
  int changes = 0;
  for (; changes < 10; ++changes) {
    std::vector<double> seconds;
    for (size_t d = 0; d < 3; ++d) seconds.push_back(static_cast<double>(counts[d]) / speeds[d]);
    const auto next = better_division(counts, seconds);
    if (!next) break;
    counts = *next;
  }
  EXPECT_EQ(changes, 1);
}

}  // namespace division_test
}  // namespace spirograd::shards
