// Contractions: tiles of subgroups that broadcast, of workgroups that share memory, and copies of what many tiles read.
#include <gtest/gtest.h>

#include "spirv/schedule/legal.h"
#include "spirv/schedule/rules.h"
#include "support/lowered.h"

namespace spirograd::schedule {
namespace contraction_schedule_test {

TEST(ContractionSchedule, TallContractionsAreCutIntoPartsThatStayInTheCache) {
  const Scheduler scheduler;
  const auto chosen = [&](PartialFacts f, const Target& target) {
    f.axes_left = 3;
    const PartialSchedule s = scheduler.partial(f, target);
    EXPECT_FALSE(check(f, s, target)) << to_string(s);
    return to_string(s);
  };
  Target cpu;
  cpu.price = software_prices(8, 2);
  PartialFacts facts{{100000}, 64 * 64};
  facts.contiguous = false;
  facts.columns = 64;
  facts.read = 100000 * 128;
  EXPECT_EQ(chosen(facts, cpu), "k = grid 100 serial 1000") << "1,000 rows of 128 elements";
  EXPECT_EQ(chosen(facts, test::gpu()), "k = serial 12500 grid 8") << "for all of its lanes to have something to do";
  facts.read /= 8;
  EXPECT_EQ(chosen(facts, cpu), "k = serial 100000") << "which the cache of all holds";
  facts.read = 100000 * 128, facts.results = 512;
  EXPECT_EQ(chosen(facts, cpu), "k = grid 2 serial 50000") << "two tiles, one for each processor";
  facts = {{10000}, 1000 * 1000};
  facts.read = 10000 * 2000;
  EXPECT_EQ(chosen(facts, cpu), "k = grid 5 serial 2000") << "what parts leave is a fourth of what they read";
  facts.extents = {4000}, facts.read = 4000 * 2000;
  EXPECT_EQ(chosen(facts, cpu), "k = serial 4000");
  facts.extents = {20, 5000}, facts.results = 64 * 64, facts.read = 100000 * 128;
  EXPECT_EQ(chosen(facts, cpu), "k = serial 20; a = grid 100 serial 50");
  facts.extents = {9}, facts.read = int64_t{9} << 20;
  EXPECT_EQ(chosen(facts, cpu), "k = serial 9") << "what each element reads is more than stays";
}

TEST(ContractionSchedule, ContractionsAreTilesOfSubgroups) {
  const Scheduler scheduler;
  Target target = test::cpu_target();
  target.subgroup_size = target.price.lanes = 8;
  target.subgroup_operations = kSubgroupBasic | kSubgroupBallot;
  const auto product = [](int64_t n, int64_t m, double k) {
    return MapFacts{{n, m}, {{0, 1, false, true, true, 0}, {1, 2, false, true, true, 2}}, 8, true, {{3, k, true}}, true};
  };
  const auto map = [&](const MapFacts& f) { return to_string(scheduler.map(f, target)); };
  EXPECT_EQ(map(product(512, 512, 512)), "i = grid 64 register 8; j = grid 16 register 2 lane 8 register 2; outer j");
  EXPECT_EQ(map(product(512, 8, 512)), "i = grid 16 register 2 lane 8 register 2; j = grid 1 register 8")
      << "a tile of 32 points, if far apart";
  EXPECT_EQ(map(product(512, 512, 4)).find("lane"), std::string::npos) << "written out";
  MapFacts merged = product(512, 512, 512);
  merged.alone = false;
  EXPECT_EQ(map(merged).find("lane"), std::string::npos) << "in a kernel of others";
  const auto matrix_vector = [&](double length) {
    return map(
        {{4096}, {{0, 1, false, true, true, 0, true}, {1, 0, false, true, true}}, 8, true, {{1, length, true}}, true});
  };
  EXPECT_EQ(matrix_vector(4000), "i = grid 64 register 4 lane 8 register 2");
  EXPECT_EQ(matrix_vector(4096), "i = grid 256 lane 8 register 2") << "rows fall into the same sets of a cache";
  EXPECT_EQ(matrix_vector(512), "i = grid 64 register 4 lane 8 register 2") << "into enough of them";
  const auto reduction = [&](int64_t n, int64_t points, int64_t results = 1 << 20) {
    ReduceFacts f{DType::F32, {n}, points, 7, kPlainSum};
    f.lanes = 8;
    f.common = 1;
    f.results = results;
    const ReduceSchedule s = scheduler.reduction(f, target);
    EXPECT_FALSE(check(f, s, target)) << to_string(s);
    return to_string(s);
  };
  EXPECT_EQ(reduction(512, 32), "k = serial 8 serial 4 unroll 16; broadcast 8");
  EXPECT_EQ(reduction(10, 32), "k = serial 1 unroll 10; broadcast 8");
  EXPECT_EQ(reduction(500, 32), "k = serial 10 serial 5 unroll 10; broadcast 8") << "a divisor";
  EXPECT_EQ(reduction(37, 32), "k = serial 5 unroll 8; broadcast 8") << "what is left is a loop";
  EXPECT_EQ(reduction(64, 32), "k = serial 4 unroll 16; broadcast 8") << "as long as plain sums may be";
  EXPECT_EQ(reduction(41, 32), "k = serial 6 unroll 8; broadcast 8") << "of one element, too";
  EXPECT_EQ(reduction(997, 32), "k = serial 16 serial 8 unroll 8; broadcast 8");
  EXPECT_EQ(reduction(512, 4), "k = serial 8 serial 4 unroll 16; accumulators 4; broadcast 8")
      << "few points, one chain each";
  EXPECT_EQ(reduction(512, 5), "k = serial 8 serial 4 unroll 16; broadcast 8");
  EXPECT_EQ(reduction(16, 32, 1000), "k = serial 16")
      << "over before its code would be compiled: one at a time, most lanes would hold nothing";
  EXPECT_EQ(reduction(16, 8, 1000), "k = serial 4 unroll 4; broadcast 8");
  const auto points = [&](int64_t n, double k) {
    MapFacts f = product(n, n, k);
    f.code = 50;
    return tile(scheduler.map(f, target));
  };
  EXPECT_GT(points(512, 512), 16);
  EXPECT_LE(points(32, 8), 8) << "likewise";
  ReduceFacts inner{DType::F32, {16}, 32, 7};
  inner.lanes = 8;
  inner.common = 1;
  inner.copies = 4;
  inner.results = 1 << 20;
  EXPECT_EQ(to_string(scheduler.reduction(inner, target)), "k = serial 4 unroll 4; broadcast 8") << "written out 4 times";
  target.price.coalesces = true;
  EXPECT_EQ(map(product(512, 512, 512)).find("lane"), std::string::npos) << "neighbours' loads are one";
}

// sum_n w[n, i] (x[n, j] - m[i, j]) (x[n, k] - m[i, k]): a tile over j and k subtracts as often as over j alone.
TEST(ContractionSchedule, TilesShareWhatFactorsAreComputedFrom) {
  const Scheduler scheduler;
  Target target = test::cpu_target();
  target.subgroup_size = target.price.lanes = 8;
  target.subgroup_operations = kSubgroupBasic | kSubgroupBallot;
  const std::vector<Read> reads = {
      {0, 1, false, true, true, 1}, {1, 2, false, true, true}, {1, 4, false, true, true}, {2, 3}, {2, 5}};
  MapFacts f = {{48, 20, 20}, reads, 20, true, {{7, 1000, true}}, true, false, {{7, 2}, {3, 1}, {5, 2}}};
  EXPECT_EQ(to_string(scheduler.map(f, target)),
            "i = grid 3 lane 8 register 2; j = grid 5 register 4; k = grid 5 register 4");
  f.operations = {{7, 20}};
  EXPECT_EQ(extent(scheduler.map(f, target).axes[2], Bind::Register), 1) << "nothing is shared: rather full vectors";
}

TEST(ContractionSchedule, InsideOfOthersAreWrittenOutWhole) {
  const Scheduler scheduler;
  Target target = test::cpu_target();
  target.subgroup_size = target.price.lanes = 8;
  target.subgroup_operations = kSubgroupBasic | kSubgroupBallot;
  ReduceFacts f{DType::F32, {20}, 32, 8};
  f.lanes = 8;
  f.common = 1;
  f.results = 1 << 20;
  EXPECT_EQ(to_string(scheduler.reduction(f, target)), "k = serial 2 unroll 10; broadcast 8");
  f.inside = true;
  EXPECT_EQ(to_string(scheduler.reduction(f, target)), "k = serial 1 unroll 20; broadcast 8");
  f.extents = {40};
  EXPECT_EQ(to_string(scheduler.reduction(f, target)), "k = serial 5 unroll 8; broadcast 8") << "longer, in parts";
}

TEST(ContractionSchedule, WhatLoopsKeepIsWrittenOutWholeWhereThereIsRoom) {
  const Scheduler scheduler;
  Target target = test::cpu_target();
  target.subgroup_size = target.price.lanes = 8;
  target.subgroup_operations = kSubgroupBasic | kSubgroupBallot;
  ReduceFacts f{DType::F32, {64}, 8, 5, kPlainSum};
  f.lanes = 8;
  f.common = 1;
  f.results = 1 << 20;
  EXPECT_EQ(to_string(scheduler.reduction(f, target)), "k = serial 4 unroll 16; broadcast 8");
  f.staying = 1;
  EXPECT_EQ(to_string(scheduler.reduction(f, target)), "k = serial 1 unroll 64; broadcast 8");
  f.kept = 1;
  EXPECT_EQ(to_string(scheduler.reduction(f, target)), "k = serial 4 unroll 16; broadcast 8")
      << "another keeps one too many";
  f.kept = 0;
  f.results = 64;
  EXPECT_EQ(to_string(scheduler.reduction(f, target)), "k = serial 8 unroll 8; broadcast 8") << "for a moment";
  f.results = 1 << 20;
  f.extents = {100};
  f.points = 4;
  EXPECT_EQ(to_string(scheduler.reduction(f, target)), "k = serial 2 serial 5 unroll 10; broadcast 8") << "compensated";
  f = {DType::F32, {8}, 8, 2, kPlainSum};
  f.lanes = 8;
  f.common = 1;
  EXPECT_EQ(to_string(scheduler.reduction(f, target)), "k = serial 1 unroll 8; broadcast 8");
  f.changing = 1;
  EXPECT_EQ(to_string(scheduler.reduction(f, target)), "k = serial 8") << "a load of shared memory is code for each lane";
}

TEST(ContractionSchedule, OperandsThatManyTilesReadFarApartAreCopiedIntoPanels) {
  const Scheduler scheduler;
  Target target = test::cpu_target();
  target.subgroup_size = target.price.lanes = 8;
  const auto pack = [&](int64_t n, int64_t row, bool neighbours, int64_t readers) {
    const PackFacts f{n * row, 4, row, neighbours, 32, readers};
    const PackSchedule s = scheduler.pack(f, target);
    EXPECT_FALSE(check(f, s, target));
    return to_string(s);
  };
  EXPECT_EQ(pack(512, 512, true, 64), "panels of 32") << "rows of 2048 bytes fall into the same sets";
  EXPECT_EQ(pack(512, 500, true, 64), "in place");
  EXPECT_EQ(pack(512, 500, false, 64), "panels of 32") << "neighbours are a row apart";
  EXPECT_EQ(pack(512, 500, false, 2), "in place") << "nobody reads it often enough";
  EXPECT_EQ(pack(16, 16, false, 64), "in place") << "a dispatch takes longer";
  EXPECT_EQ(pack(512, 32, true, 100000), "in place") << "it is a panel";
  EXPECT_TRUE(check(PackFacts{1 << 20}, PackSchedule{1 << 20}, target)) << "elements without number";
}

TEST(ContractionSchedule, ContractionsAreTilesOfWorkgroups) {
  const Scheduler scheduler;
  const auto product = [](int64_t n, int64_t m, double length) {
    MapFacts f{{n, m}, {{0, 1, false, true, true, 0, true}, {1, 2, false, true, true, 0, true}}, 20, true};
    f.reductions = {{3, length, true}};
    f.alone = true;
    return f;
  };
  const auto map = [&](const MapFacts& f, const Target& t) { return to_string(scheduler.map(f, t)); };
  EXPECT_EQ(map(product(512, 512, 512), test::gpu()),
            "i = grid 8 local 16 register 4; j = grid 8 register 4 local 16; group 256");
  EXPECT_EQ(map(product(256, 256, 256), test::gpu()),
            "i = grid 8 local 16 register 2; j = grid 8 register 2 local 16; group 256");
  EXPECT_EQ(map(product(128, 128, 32), test::gpu()), "i = grid 8 local 8 register 2; j = grid 4 local 32; group 256");
  EXPECT_EQ(map(product(128, 128, 31), test::gpu()), "i = grid 128; j = grid 128") << "too short a reduction";
  EXPECT_EQ(map(product(64, 64, 64), test::gpu()), "i = grid 4 local 16; j = grid 4 local 16; group 256");
  EXPECT_EQ(map(product(56, 56, 64), test::gpu()), "i = grid 4 local 16; j = grid 4 local 16; tail recompute; group 256");
  Target large = test::gpu();
  large.price = gpu_prices(132 * 2048);
  EXPECT_EQ(map(product(512, 512, 512), large),
            "i = grid 16 local 16 register 2; j = grid 16 register 2 local 16; group 256")
      << "one for each of 132 cores, about";
  EXPECT_EQ(map(product(10007, 8, 64), test::gpu()),
            "i = grid 79 local 64 register 2; j = grid 1 register 2 local 4; tail recompute; group 256");
  EXPECT_EQ(map(product(512, 512, 512), test::cpu_target()), "i = grid 128 register 4; j = grid 64 register 8");
  MapFacts f = product(512, 512, 512);
  f.alone = false;
  EXPECT_EQ(map(f, test::gpu()), "i = grid 64 register 8; j = grid 512");
  f = product(512, 512, 512);
  f.reads[0].axes = 3;
  EXPECT_EQ(map(f, test::gpu()).find("local"), std::string::npos) << "each row is an element's own";
  f = product(512, 512, 512);
  f.reads[0].sums = false;
  EXPECT_EQ(map(f, test::gpu()).find("group"), std::string::npos) << "its places are not known";
  f = product(512, 512, 512);
  f.reductions.push_back({3, 512, true});
  EXPECT_EQ(map(f, test::gpu()), "i = grid 16 local 8 register 4; j = grid 8 register 2 local 32; group 256")
      << "two sums' registers";
  f.reductions.assign(7, {3, 512, true});
  EXPECT_EQ(tile(scheduler.map(f, test::gpu())), 2) << "four points of seven sums leave no room for what they read";
  f = product(512, 512, 512);
  f.code = 150;
  EXPECT_EQ(tile(scheduler.map(f, test::gpu())), 8) << "code";
  Target small = test::gpu();
  small.max_invocations = 128;
  EXPECT_EQ(scheduler.map(product(512, 512, 512), small).group, 64);
}

// An image's rows against filters: over rows and columns alike, tiles save the same loads.
TEST(ContractionSchedule, TilesOfWorkgroupsLieAlongWhatIsSideBySideInMemory) {
  const auto tile_of_image = [](uint32_t side_by_side) {
    MapFacts f{{8, 32, 64, 64}, {{0, 13, false, true, true, side_by_side}, {1, 2, false, true, true}}, 20, true};
    f.reductions = {{15, 144, true}};
    f.alone = true;
    return to_string(Scheduler().map(f, test::gpu()));
  };
  EXPECT_EQ(tile_of_image(8),
            "i = grid 8; j = grid 2 local 4 register 4; k = grid 64; l = grid 1 local 16 register 4; group 64");
  EXPECT_EQ(tile_of_image(4),
            "i = grid 8; j = grid 2 local 4 register 4; k = grid 1 local 16 register 4; l = grid 64; group 64");
}

}  // namespace contraction_schedule_test
}  // namespace spirograd::schedule
