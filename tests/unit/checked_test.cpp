// Arithmetic that stops at the ends of 64 bits.
#include "frontend/base/checked.h"

#include <gtest/gtest.h>

namespace spirograd {
namespace checked_test {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kGreatest = std::numeric_limits<int64_t>::max();

TEST(Checked, WhatFitsIsExact) {
  for (int64_t a : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{7}, int64_t{-3037000499}, int64_t{3037000499}})
    for (int64_t b : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{5}, int64_t{-3037000499}, int64_t{3037000499}}) {
      EXPECT_EQ(saturating_add(a, b), a + b);
      EXPECT_EQ(saturating_mul(a, b), a * b);
    }
  EXPECT_EQ(saturating_mul(int64_t{1} << 32, -(int64_t{1} << 31)), kLeast);
  EXPECT_EQ(saturating_mul(kLeast, 1), kLeast);
  EXPECT_EQ(saturating_mul(kGreatest, -1), -kGreatest);
  EXPECT_EQ(saturating_add(kGreatest, kLeast), -1);
}

TEST(Checked, WhatDoesNotFitIsTheEndOnItsSide) {
  EXPECT_EQ(saturating_add(kGreatest, 1), kGreatest);
  EXPECT_EQ(saturating_add(kLeast, -1), kLeast);
  EXPECT_EQ(saturating_mul(int64_t{1} << 32, int64_t{1} << 31), kGreatest);
  EXPECT_EQ(saturating_mul(int64_t{1} << 32, -(int64_t{1} << 32)), kLeast);
  EXPECT_EQ(saturating_mul(kLeast, -1), kGreatest);
  EXPECT_EQ(saturating_mul(kLeast, kLeast), kGreatest);
  EXPECT_EQ(saturating_mul(kLeast, kGreatest), kLeast);
}

}  // namespace checked_test
}  // namespace spirograd
