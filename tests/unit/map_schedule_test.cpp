// Schedules of maps with reductions inside of them, and of these, where extents or work are not those of large powers of
// two.
#include <gtest/gtest.h>

#include "spirv/schedule/legal.h"
#include "spirv/schedule/rules.h"
#include "support/lowered.h"

namespace spirograd::schedule {
namespace {

// A product of 8 x 8 matrices is done before a subgroup has well begun; so is one of 4 x 4, of which two axes are left.
TEST(MapSchedule, SmallProductsAreTakenSeveralAtOnce) {
  const Scheduler scheduler;
  const auto map = [&](int64_t many, double length) {
    MapFacts f{{many, 8, 8}, {{0, 3, false, true, true, 2}, {1, 5, false, true, true, 4}}, 20, true};
    f.reductions = {{7, length, true}};
    f.alone = true;
    Target t = test::cpu_target();
    t.subgroup_operations = kSubgroupBasic | kSubgroupBallot;
    return to_string(scheduler.map(f, t));
  };
  EXPECT_EQ(map(4096, 8), "i = grid 2048 register 2; j = grid 1 register 8; k = grid 1 lane 8; outer k");
  EXPECT_EQ(map(4095, 8), "i = grid 4095; j = grid 1 register 8; k = grid 1 lane 8; outer k");
  EXPECT_EQ(map(4096, 16), "i = grid 4096; j = grid 1 register 8; k = grid 1 lane 8; outer k") << "long enough";
  EXPECT_EQ(map(2, 8), "i = grid 2; j = grid 8; k = grid 1 lane 8; outer k") << "too few";
}

TEST(MapSchedule, DearReductionsAreWrittenOutWithALoopForTheRest) {
  const Scheduler scheduler;
  const auto reduction = [&](int64_t length, int64_t code, uint32_t lanes) {
    Target t = test::cpu_target();
    t.price = software_prices(lanes, 2);
    ReduceFacts f;
    f.dtype = DType::F32;
    f.extents = {length};
    f.code = code;
    const ReduceSchedule s = scheduler.reduction(f, t);
    EXPECT_FALSE(check(f, s, t)) << to_string(s);
    return to_string(s);
  };
  EXPECT_EQ(reduction(100, 40, 8), "k = serial 25 unroll 4; accumulators 4");
  EXPECT_EQ(reduction(101, 40, 8), "k = serial 26 unroll 4; accumulators 4");
  EXPECT_EQ(reduction(101, 29, 8), "k = serial 101") << "cheap";
  EXPECT_EQ(reduction(101, 40, 4), "k = serial 101") << "few registers";
  EXPECT_EQ(reduction(100, 100, 4), "k = serial 25 unroll 4; accumulators 4");
  EXPECT_EQ(reduction(100, 101, 4), "k = serial 100") << "too few for all copies";
  EXPECT_EQ(reduction(100, 101, 8), "k = serial 25 unroll 4; accumulators 4");
}

}  // namespace
}  // namespace spirograd::schedule
