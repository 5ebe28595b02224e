// What the tables choose is legal, for every length up to some thousands and whatever else is drawn at random.
#include <gtest/gtest.h>

#include <random>

#include "spirograd/result.h"
#include "spirv/schedule/cost.h"
#include "spirv/schedule/legal.h"
#include "spirv/schedule/rules.h"
#include "support/lowered.h"

namespace spirograd::schedule {
namespace legal_rules_test {

using test::gpu;

std::vector<Target> targets() {
  Target few = test::cpu_target(), wide = test::cpu_target(), lanes = gpu(), alone = gpu();
  few.price.lanes = 4;
  wide.price.unroll = 16;
  lanes.subgroup_operations |= kSubgroupShuffle;
  alone.shared_memory = false;
  return {test::cpu_target(), few, wide, gpu(), lanes, alone};
}

template <class Schedule>
::testing::AssertionResult is_legal(const Schedule& s, const std::optional<Error>& broken) {
  if (!broken) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << to_string(s) << ": " << broken->message;
}

// Lengths whose only divisors are odd are where copies of a body do not fit into blocks.
TEST(LegalRules, ReductionsOfAnyLength) {
  const Scheduler scheduler;
  for (const Target& t : targets())
    for (const DType dtype : {DType::F32, DType::F64})
      for (const int64_t plain : {int64_t{0}, kPlainSum})
        for (const int64_t code : {10, 29, 30, 60})
          for (const int64_t group : {0, 64})
            for (const int64_t points : {1, 5}) {
              if (group > 0 && !t.shared_memory) continue;
              ReduceFacts f{dtype, {2}, points, code, plain, group};
              for (int64_t& n = f.extents[0]; n <= 4200; ++n) {
                const ReduceSchedule s = scheduler.reduction(f, t);
                ASSERT_TRUE(is_legal(s, check(f, s, t))) << n << " elements of code " << code;
              }
            }
  const ReduceFacts odd{DType::F32, {31 * 33}, 1, 30, kPlainSum};
  EXPECT_EQ(to_string(scheduler.reduction(odd, targets()[2])), "k = serial 29 serial 9 unroll 4; accumulators 4");
}

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  bool chance() { return below(2) == 0; }
  // As often a few as a million.
  int64_t length() { return 1 + below(int64_t{1} << (1 + below(20))); }
  int64_t code() { return 1 + below(int64_t{1} << (1 + below(10))); }
  DType dtype() {
    const DType all[] = {DType::F32, DType::I32, DType::U32, DType::F64};
    return all[below(4)];
  }
  std::vector<int64_t> extents(int64_t most) {
    std::vector<int64_t> out;
    for (int64_t left = 1 + below(most); left > 0; --left) out.push_back(1 + (left > 1 ? below(12) : length() - 1));
    return out;
  }

 private:
  std::mt19937_64 random_;
};

TEST(LegalRules, WhateverIsDrawn) {
  const Scheduler scheduler;
  Draw d(7);
  for (int round = 0; round < 6000; ++round) {
    for (const Target& t : targets()) {
      MapFacts m;
      m.domain = {};
      for (const int64_t n : d.extents(4)) m.domain.push_back(n);
      const auto axes = static_cast<uint32_t>(d.below(int64_t{1} << m.domain.rank()));
      m.reads = {{0, axes, d.chance(), d.chance(), d.chance(), axes & static_cast<uint32_t>(d.below(16)), d.chance()},
                 {1, static_cast<uint32_t>(d.below(int64_t{1} << m.domain.rank())), d.chance(), d.chance()}};
      m.code = d.code(), m.reduces = d.chance(), m.alone = d.chance(), m.stores = m.reduces && d.chance();
      if (m.reduces) m.reductions = {{axes, static_cast<double>(d.length()), d.chance()}};
      const MapSchedule map = scheduler.map(m, t);
      ASSERT_TRUE(is_legal(map, check(m, map, t))) << "map, round " << round;

      const ReduceFacts r{d.dtype(),
                          d.extents(3),
                          1 + d.below(40),
                          d.code(),
                          d.chance() ? kPlainSum : 0,
                          t.shared_memory && d.chance() ? int64_t{1} << d.below(9) : 0};
      const ReduceSchedule reduction = scheduler.reduction(r, t);
      ASSERT_TRUE(is_legal(reduction, check(r, reduction, t))) << "reduction, round " << round;

      PartialFacts p{d.extents(4), d.length(), d.chance(), false, static_cast<int>(d.below(4)), d.chance(), d.length()};
      p.position = p.extents.size() == 1 && d.chance();
      p.read = d.chance() ? d.length() * 1000 : 0;
      const PartialSchedule partial = scheduler.partial(p, t);
      ASSERT_TRUE(is_legal(partial, check(p, partial, t))) << "partial results, round " << round;

      const ScanFacts s{d.dtype(), d.length(), d.length(), d.code(), d.chance(), d.chance()};
      const ScanSchedule scan = scheduler.scan(s, t);
      ASSERT_TRUE(is_legal(scan, check(s, scan, t))) << "scan, round " << round;

      const ScatterFacts u{d.dtype(), d.length(), d.length(), 1 + d.below(100), d.code(), d.chance(), d.chance()};
      const ScatterSchedule scatter = scheduler.scatter(u, t);
      ASSERT_TRUE(is_legal(scatter, check(u, scatter, t))) << "scatter, round " << round;
    }
  }
}

}  // namespace legal_rules_test
}  // namespace spirograd::schedule
