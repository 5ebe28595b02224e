// Schedules of maps that share nothing with their neighbours, and of reductions on processors.
#include <gtest/gtest.h>

#include "spirv/schedule/legal.h"
#include "spirv/schedule/rules.h"
#include "support/lowered.h"

namespace spirograd::schedule {
namespace stream_rules_test {

using test::gpu;

TEST(StreamRules, ProcessorsReadRowsStretchesOfColumnsAndTilesOfTwoAxes) {
  const Scheduler scheduler;
  const Target cpu = test::cpu_target();
  const auto map = [&](const MapFacts& f) {
    const MapSchedule s = scheduler.map(f, cpu);
    EXPECT_FALSE(check(f, s, cpu)) << to_string(s);
    return to_string(s);
  };
  MapFacts chain{{1 << 20}, {{0, 1, true}}, 100, false};
  EXPECT_EQ(map(chain), "e = grid 8192 serial 4 register 2 lane 8 register 2");
  chain.code = 401;
  EXPECT_EQ(map(chain), "e = grid 8192 serial 16 lane 8");
  chain.domain = {2047};
  EXPECT_EQ(map(chain), "i = grid 2047");
  Target without = gpu();
  without.price.coalesces = false;
  without.price.invocation = 0;
  EXPECT_EQ(to_string(scheduler.map({{1 << 20}, {{0, 1, true}}, 10, false}, without)), "i = grid 1048576")
      << "starting one costs nothing";

  const auto reduction = [](const Shape& domain, double length, bool contiguous) {
    return MapFacts{domain, {{0, 1, false, true}}, 4, true, {{1, length, contiguous}}};
  };
  EXPECT_EQ(map(reduction({4096}, 64, true)), "i = grid 4096");
  EXPECT_EQ(map(reduction({4096}, 63, true)), "i = grid 512 register 8");
  EXPECT_EQ(map(reduction({4099}, 63, true)), "i = grid 513 register 8; tail recompute") << "a prime";
  MapFacts kept = reduction({4099}, 63, true);
  kept.stores = true;
  EXPECT_EQ(map(kept), "i = grid 4099") << "each is computed once";
  MapFacts shared = reduction({4096}, 64, true);
  shared.reads.push_back({1, 0, false, true});
  EXPECT_NE(map(shared), "i = grid 4096") << "tiles share loads";
  MapFacts unit = reduction({4096, 1}, 64, true);
  EXPECT_EQ(map(unit), "i = grid 4096; j = grid 1");
  MapFacts one_row = reduction({1, 4096}, 64, true);
  one_row.reads[0].axes = 2;
  EXPECT_EQ(map(one_row), "i = grid 1; j = grid 4096") << "nobody shares an axis of one";

  EXPECT_EQ(map(reduction({4096}, 32, false)), "i = grid 16 register 16 lane 8 register 2");
  EXPECT_EQ(map(reduction({4096}, 4096, false)), "i = grid 256 lane 8 register 2") << "one line of each row at a time";
  EXPECT_EQ(map(reduction({1000}, 4096, false)), "i = grid 63 lane 8 register 2; tail recompute");
  EXPECT_EQ(map(reduction({512}, 4096, false)), "i = grid 16 register 2 lane 8 register 2") << "two rows on a page";
  EXPECT_EQ(map(reduction({16, 256}, 4096, false)).find("lane"), std::string::npos) << "j is read by several";
  MapFacts chunks = reduction({16, 256}, 4096, false);
  chunks.reads[0].axes = 3;
  EXPECT_EQ(map(chunks), "i = grid 16; j = grid 1 register 16 lane 8 register 2");
  Target subgroups = cpu;
  subgroups.subgroup_size = 8;
  subgroups.subgroup_operations = kSubgroupBasic | kSubgroupBallot;
  MapFacts weighted = chunks;
  weighted.alone = true;
  weighted.reads.push_back({1, 1, false, true, true, 0});
  EXPECT_EQ(to_string(scheduler.map(weighted, subgroups)), "i = grid 16; j = grid 1 register 16 lane 8 register 2")
      << "weights of rows are loaded once for 32 columns";
  weighted.reads[1].axes = 2;
  EXPECT_NE(to_string(scheduler.map(weighted, subgroups)), "i = grid 16; j = grid 1 register 16 lane 8 register 2")
      << "those of columns are shared by rows";
  chunks.domain = {60, 24};
  EXPECT_EQ(map(chunks), "i = grid 60; j = grid 1 register 3 lane 8");
  chunks.domain = {60, 19};
  EXPECT_EQ(map(chunks), "i = grid 60; j = grid 1 register 3 lane 8; tail recompute") << "five lanes in vain";
  chunks.domain = {40, 100};
  EXPECT_EQ(map(chunks), "i = grid 40; j = grid 2 register 4 lane 8 register 2; tail recompute");
  chunks.domain = {600, 12};
  EXPECT_EQ(map(chunks).find("lane"), std::string::npos) << "a third in vain";
  chunks.domain = {16, 256};
  chunks.code = 600;
  EXPECT_EQ(map(chunks), "i = grid 16; j = grid 8 register 2 lane 8 register 2") << "code";

  const auto turned = [](const Shape& domain) {
    MapFacts f{domain, {{0, 3, false}}, 2, false};
    f.reads[0].last = 1;
    return f;
  };
  EXPECT_EQ(map(turned({4096, 4096})), "i = grid 64 serial 4 register 16; j = grid 256 lane 8 register 2");
  EXPECT_EQ(map(turned({1001, 1000})), "i = grid 16 serial 4 register 16; j = grid 63 lane 8 register 2; tail recompute");
  EXPECT_EQ(map(turned({64, 64})), "i = grid 4 register 16; j = grid 4 lane 8 register 2");
  EXPECT_EQ(map(turned({63, 64})).find("register 16"), std::string::npos) << "little work";
  EXPECT_EQ(map(turned({15, 4096})).find("register 16; j"), std::string::npos) << "a short axis";
  EXPECT_EQ(map(turned({4096, 15})).find("register 16; j"), std::string::npos) << "a short axis";
  MapFacts heavy = turned({4096, 4096});
  heavy.code = 25;
  EXPECT_EQ(map(heavy), "i = grid 64 serial 4 register 16; j = grid 512 lane 8");
  heavy.code = 26;
  EXPECT_EQ(map(heavy).find("register 16"), std::string::npos);
  MapFacts row = turned({4096, 4096});
  row.reads[0].axes = 1;
  EXPECT_EQ(map(row).front(), 'e') << "what is read is the same for neighbours";
  EXPECT_EQ(to_string(scheduler.map(turned({4096, 4096}), gpu())), "i = grid 512 register 8; j = grid 64 lane 64")
      << "a sector of 32 bytes for each invocation";
  EXPECT_EQ(to_string(scheduler.map(turned({128, 128}), gpu())), "i = grid 128; j = grid 128") << "too few";

  const auto reduce = [&](ReduceFacts f) { return to_string(scheduler.reduction(f, cpu)); };
  EXPECT_EQ(reduce({DType::F32, {512}, 1, 25, kPlainSum}), "k = serial 8 serial 4 unroll 16; accumulators 4");
  EXPECT_EQ(reduce({DType::F32, {512}, 1, 26, kPlainSum}), "k = serial 8 serial 8 unroll 8; accumulators 4");
  EXPECT_EQ(reduce({DType::F32, {520}, 1, 2, kPlainSum}), "k = serial 10 serial 13 unroll 4; accumulators 4");

  const auto partial = [&](PartialFacts f) {
    f.axes_left = 1;
    const PartialSchedule s = scheduler.partial(f, cpu);
    EXPECT_FALSE(check(f, s, cpu)) << to_string(s);
    return to_string(s);
  };
  const auto columns = [](int64_t n) { return PartialFacts{{65536}, n, false, false, 1, false, n}; };
  EXPECT_EQ(partial(columns(4096)), "k = serial 65536");
  EXPECT_EQ(partial(columns(2048)), "k = grid 2 serial 32768");
  EXPECT_EQ(partial(columns(256)), "k = grid 16 serial 4096");
  EXPECT_EQ(partial(columns(7)), "k = grid 32 serial 2048") << "too few to be neighbours";
  PartialFacts rows = columns(256);
  rows.contiguous = true;
  EXPECT_EQ(partial(rows), "k = serial 65536");
}

TEST(StreamRules, FewShortColumnsAreAWorkgroupEach) {
  const auto members = [](int64_t columns, double length, const Target& t, bool contiguous = false) {
    MapFacts f{{columns}, {{0, 1, false, true, true, 1}}, 20, true, {{1, length, contiguous}}, true};
    return Scheduler().map(f, t).group;
  };
  EXPECT_GE(members(200, 200, test::gpu()), 64);
  EXPECT_EQ(members(5000, 100, test::gpu()), 0) << "enough of them";
  EXPECT_EQ(members(500, 60, test::gpu()), 0) << "soon done";
  EXPECT_EQ(members(400, 1000, test::gpu()), 0) << "no cache has room for a line of each element";
  EXPECT_GE(members(400, 1000, test::gpu(), true), 64) << "rows";
  EXPECT_EQ(members(200, 200, test::cpu_target()), 0);
}

TEST(StreamRules, PartsOfContractionsAreWholeRowsForWorkgroups) {
  const auto partial = [](bool streams, bool contiguous, int64_t row) {
    PartialFacts f{{8, 62, row}, 4608, false, false, 2, contiguous};
    f.streams = streams;
    return to_string(Scheduler().partial(f, test::gpu()));
  };
  EXPECT_EQ(partial(false, true, 62), "k = grid 8; a = serial 62; b = serial 62");
  EXPECT_EQ(partial(true, true, 62), "k = serial 8; a = serial 62; b = serial 8 grid 8") << "neighbours read neighbours";
  EXPECT_EQ(partial(false, false, 62), "k = serial 8; a = serial 62; b = serial 8 grid 8") << "rows lie apart";
  EXPECT_EQ(partial(false, true, 8), "k = serial 8; a = serial 62; b = grid 8") << "too short to be copied";
}

}  // namespace stream_rules_test
}  // namespace spirograd::schedule
