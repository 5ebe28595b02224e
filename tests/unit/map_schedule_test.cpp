// Schedules of maps with reductions inside of them, and of these, where extents or work are not those of large powers of
// two.
#include <gtest/gtest.h>

#include "spirv/schedule/legal.h"
#include "spirv/schedule/rules.h"
#include "support/lowered.h"

namespace spirograd::schedule {
namespace map_schedule_test {

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
  EXPECT_EQ(map(4096, 8), "i = grid 2048 register 2; j = grid 1 register 8; k = grid 1 lane 8");
  EXPECT_EQ(map(4095, 8), "i = grid 4095; j = grid 1 register 8; k = grid 1 lane 8");
  EXPECT_EQ(map(4096, 16), "i = grid 4096; j = grid 1 register 8; k = grid 1 lane 8") << "long enough";
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

// Where another reduction runs for each element, copies are side by side in its loops, like points: what these share and
// what copies share is weighed.
TEST(MapSchedule, ReductionsOfReductionsAreTiles) {
  const Scheduler scheduler;
  Target t = test::cpu_target();
  t.subgroup_operations = kSubgroupBasic | kSubgroupBallot;
  const auto map = [&](bool loops, bool outer, int64_t code = 20) {
    MapFacts f{{10000}, {{0, 1, false, true, true, 0, true}, {1, 0, false, true, true, 0, true, outer}}, code, true};
    f.reductions = {{1, 100, true, false, loops}};
    f.alone = true;
    return tile(scheduler.map(f, t));
  };
  EXPECT_EQ(map(false, false), 7);
  EXPECT_EQ(map(true, true), 4) << "by eight copies";
  EXPECT_EQ(map(true, false), 4);
  t.price = software_prices(4, 2);
  EXPECT_EQ(map(true, true), 4);
  EXPECT_EQ(map(true, true, 301), map(false, false, 301)) << "more than the few registers there are";
  t.price = software_prices(8, 2);
  const auto reduction = [&](int64_t length, int64_t points, bool loops) {
    ReduceFacts f{DType::F32, {length}, points, 12};
    f.loops = loops;
    const ReduceSchedule s = scheduler.reduction(f, t);
    EXPECT_FALSE(check(f, s, t)) << to_string(s);
    EXPECT_EQ(jams_loops(f, s), loops && extent(s.axes[0], Bind::Unroll) > 1) << to_string(s);
    return to_string(s);
  };
  EXPECT_EQ(reduction(100, 4, true), "k = serial 20 unroll 5") << "a divisor";
  EXPECT_EQ(reduction(96, 4, true), "k = serial 12 unroll 8");
  EXPECT_EQ(reduction(97, 4, true), "k = serial 13 unroll 8") << "what is left is a loop";
  EXPECT_EQ(reduction(7, 4, true), "k = serial 1 unroll 7");
  EXPECT_EQ(reduction(23, 4, true), "k = serial 5 unroll 5");
  EXPECT_EQ(reduction(7, 8, true), "k = serial 7") << "as much code as all";
  EXPECT_EQ(reduction(96, 8, true), "k = serial 24 unroll 4");
  EXPECT_EQ(reduction(96, 8, false), "k = serial 24 unroll 4");
  EXPECT_EQ(reduction(96, 17, true), "k = serial 96") << "as many results as there should be";
}

// Devices whose workgroups have fewer get one invocation per element.
TEST(MapSchedule, AWorkgroupPerElementHasAtLeast64Invocations) {
  const Scheduler scheduler;
  const auto total = [&](uint32_t most) {
    Target t = test::gpu();
    t.max_invocations = most;
    return to_string(scheduler.map({{2}, {}, 10, true, {{1, 512, true}}, true}, t));
  };
  EXPECT_EQ(total(63), "i = grid 2");
  EXPECT_EQ(total(64), "i = grid 2; group 64");
  EXPECT_EQ(total(127), "i = grid 2; group 64");
  EXPECT_EQ(total(128), "i = grid 2; group 128");
}

// A plain sum is of 64 elements at most, which is what 64 lanes hold at a time.
TEST(MapSchedule, LanesAsManyAsElementsOfAPlainSumLeaveOneBlockInEach) {
  const Scheduler scheduler;
  Target t = test::cpu_target();
  t.subgroup_operations = kSubgroupBasic | kSubgroupBallot;
  const auto reduction = [&](int64_t n, uint32_t lanes) {
    ReduceFacts f{DType::F32, {n}, 1, 1, kPlainSum};
    t.subgroup_size = lanes;
    f.lanes = lanes;
    f.common = 1;
    return to_string(scheduler.reduction(f, t));
  };
  EXPECT_EQ(reduction(256, 32), "k = serial 4 serial 2 unroll 32; accumulators 4; broadcast 32");
  EXPECT_EQ(reduction(256, 64), "k = serial 4 serial 1 unroll 64; accumulators 4; broadcast 64");
}

}  // namespace map_schedule_test
}  // namespace spirograd::schedule
