#include "frontend/base/flat_index.h"

#include <gtest/gtest.h>

#include <vector>

namespace spirograd {
namespace flat_index_test {

// Numbers that stand for themselves modulo 1000, under a hash with as many collisions as wanted.
class FlatIndexOf : public ::testing::TestWithParam<uint64_t> {
 protected:
  static uint32_t meaning(uint32_t number) { return number % 1000; }
  uint64_t hash(uint32_t m) const { return m % GetParam() * 0x9e3779b97f4a7c15u; }
  uint32_t find(uint32_t m) const {
    return index.find(hash(m), [&](uint32_t number) { return meaning(number) == m; });
  }
  FlatIndex index;
};

TEST_P(FlatIndexOf, FindsWhatWasInsertedFirstAndNothingElse) {
  for (uint32_t n = 1; n <= 3000; ++n) index.insert(hash(meaning(n)), n);
  for (uint32_t m = 0; m < 1000; ++m) EXPECT_EQ(find(m), m == 0 ? 1000 : m);
  EXPECT_EQ(find(1000), 0u);
}

TEST_P(FlatIndexOf, WhatIsTakenBackInReverseOrderLeavesTheRest) {
  for (uint32_t n = 1; n <= 999; ++n) index.insert(hash(meaning(n)), n);
  for (uint32_t n = 999; n > 300; --n) index.take_back(hash(meaning(n)), n);
  for (uint32_t m = 1; m < 1000; ++m) EXPECT_EQ(find(m), m <= 300 ? m : 0) << m;
  for (uint32_t n = 301; n <= 900; ++n) index.insert(hash(meaning(n)), n);
  for (uint32_t m = 1; m < 1000; ++m) EXPECT_EQ(find(m), m <= 900 ? m : 0) << m;
}

TEST_P(FlatIndexOf, ReservingChangesNothing) {
  for (uint32_t n = 1; n <= 100; ++n) index.insert(hash(meaning(n)), n);
  index.reserve(5000);
  for (uint32_t m = 1; m <= 100; ++m) EXPECT_EQ(find(m), m);
  EXPECT_EQ(find(101), 0u);
}

INSTANTIATE_TEST_SUITE_P(Collisions, FlatIndexOf, ::testing::Values(1000, 7, 1));

}  // namespace flat_index_test
}  // namespace spirograd
