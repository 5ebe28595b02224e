// Where arrays that a plan needs for a while are placed: never two that are alive at once over each other, in little memory.
#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

#include "spirv/lower/memory.h"

namespace spirograd::lower {
namespace scratch_test {

struct Life {
  uint64_t bytes;
  size_t first, last;
};

Plan placed(const std::vector<Life>& lives, size_t steps) {
  Plan plan;
  plan.steps.resize(steps);
  for (const Life& l : lives) {
    const auto buffer = static_cast<uint32_t>(plan.buffers.size());
    BufferDesc d;
    d.role = Role::Scratch;
    d.bytes = l.bytes;
    plan.buffers.push_back(d);
    for (size_t step : {l.first, l.last}) plan.steps[step].uses.push_back({.buffer = buffer, .bytes = l.bytes});
  }
  place_scratch(plan);
  return plan;
}

void expect_apart(const Plan& plan, const std::vector<Life>& lives) {
  for (size_t i = 0; i < lives.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const Life &a = lives[i], &b = lives[j];
      const uint64_t at = plan.buffers[i].scratch_offset, other = plan.buffers[j].scratch_offset;
      const bool together = a.first <= b.last && b.first <= a.last, over = at < other + b.bytes && other < at + a.bytes;
      ASSERT_FALSE(together && over) << i << " and " << j;
      ASSERT_LE(at + a.bytes, plan.scratch_bytes);
      ASSERT_EQ(at % 256, 0u);
    }
}

TEST(Scratch, ThousandsOfNumbersTakeAsMuchAsIsAlive) {
  std::vector<Life> lives;  // as a reverse sweep reads them: the last one first
  for (size_t j = 0; j < 3000; ++j) lives.push_back({4, j, 6000 - j});
  const Plan plan = placed(lives, 6001);
  expect_apart(plan, lives);
  EXPECT_EQ(plan.scratch_bytes, 3000u * 256);
  EXPECT_EQ(plan.scratch_bytes, scratch_lower_bound(plan));
}

TEST(Scratch, NumbersAfterEachOtherShareAPlace) {
  std::vector<Life> lives;
  for (size_t j = 0; j < 2000; ++j) lives.push_back({8, j, j + 1});
  const Plan plan = placed(lives, 2001);
  expect_apart(plan, lives);
  EXPECT_EQ(plan.scratch_bytes, 2u * 256);
}

TEST(Scratch, ArraysOfAnySizeStayApart) {
  std::mt19937 random(1);
  const auto draw = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  for (size_t count : {5u, 60u, 1500u}) {
    std::vector<Life> lives;
    for (size_t j = 0; j < count; ++j) {
      const size_t first = draw(900);
      lives.push_back({draw(4) == 0 ? 1 + draw(100'000) : 4, first, first + draw(100)});
    }
    const Plan plan = placed(lives, 1000);
    expect_apart(plan, lives);
    EXPECT_LE(static_cast<double>(plan.scratch_bytes), 1.1 * static_cast<double>(scratch_lower_bound(plan))) << count;
  }
}

TEST(Scratch, NothingTakesNothing) { EXPECT_EQ(placed({}, 3).scratch_bytes, 0u); }

}  // namespace scratch_test
}  // namespace spirograd::lower
