// Subgroups that reduce rows, several of a short one, and maps over the rows that they reduce.
#include "spirv/schedule/lane_row_rules.h"

#include <gtest/gtest.h>

#include <limits>

#include "spirv/schedule/legal.h"
#include "spirv/schedule/rules.h"
#include "support/golden_plans.h"
#include "support/lowered.h"
#include "support/text_programs.h"

namespace spirograd::schedule {
namespace lane_row_rules_test {

std::string map(const MapFacts& f, const Target& t = test::lane_cpu()) {
  const MapSchedule s = Scheduler().map(f, t);
  if (const auto wrong = check(f, s, t)) ADD_FAILURE() << wrong->str();
  return to_string(s);
}

bool by_subgroups(const MapFacts& f, const Target& t = test::lane_cpu()) {
  return map(f, t).find("team") != std::string::npos;
}

// Sums of the rows of an array with one more axis.
MapFacts sums(const Shape& domain, double length, int64_t code = 6) {
  const Read rows{.axes = (1u << domain.rank()) - 1, .reduced = true, .along = true};
  MapFacts f{domain, {rows}, code, true, {{1, length, true}}};
  f.alone = true;
  return f;
}

TEST(LaneRowRules, ASubgroupTakesEachRow) {
  EXPECT_EQ(map(sums({32768}, 512)), "i = grid 4096 local 8; group 64; team 8");
  EXPECT_EQ(map(sums({4099}, 300)), "i = grid 513 local 8; tail recompute; group 64; team 8");
  EXPECT_EQ(map(sums({4096, 10}, 408)), "i = grid 512 local 8; j = grid 10; group 64; team 8") << "none in vain";
  EXPECT_EQ(map(sums({4096, 16}, 256)), "i = grid 4096; j = grid 2 local 8; group 64; team 8");
  EXPECT_EQ(map(sums({100, 100}, 100)), "i = grid 100; j = grid 4 local 8 register 4; tail recompute; group 64; team 8")
      << "several short ones, though some lie beyond the end";
  EXPECT_EQ(map(sums({4096, 4}, 1024)), "i = grid 2048 local 2; j = local 4; group 64; team 8") << "rows beside each other";
  EXPECT_EQ(map(sums({4097, 4}, 1024)), "i = grid 4097; j = local 4; group 32; team 8") << "few, and none in vain";
  EXPECT_EQ(map(sums({4096, 5}, 1024)), "i = grid 2048 local 2; j = local 5; group 80; team 8") << "rows that are whole";
  EXPECT_EQ(map(sums({4097, 3}, 1024)), "i = grid 513 local 8; j = grid 3; tail recompute; group 64; team 8");
  EXPECT_FALSE(by_subgroups(sums({4096}, 513))) << "more than a lane adds plainly";
  EXPECT_TRUE(by_subgroups(sums({4096}, 544))) << "in four chains";
  EXPECT_FALSE(by_subgroups(sums({4096}, 1056)));
  EXPECT_FALSE(by_subgroups(sums({8}, 512))) << "few";
  const auto but = [&](const std::function<void(MapFacts&)>& change) {
    MapFacts f = sums({32768}, 512);
    change(f);
    return by_subgroups(f);
  };
  EXPECT_FALSE(but([](MapFacts& f) { f.alone = false; }));
  EXPECT_TRUE(but([](MapFacts& f) { f.stores = true; })) << "each point is computed once";
  EXPECT_FALSE(but([](MapFacts& f) { f.stores = true, f.domain = Shape({32769}); }));
  EXPECT_FALSE(but([](MapFacts& f) { f.stores = true, f.reductions[0].length = 509; }));
  EXPECT_FALSE(but([](MapFacts& f) { f.code = 90; })) << "code";
  EXPECT_FALSE(but([](MapFacts& f) { f.reductions[0].contiguous = false; }));
  EXPECT_FALSE(but([](MapFacts& f) { f.reductions[0].one_axis = false; }));
  EXPECT_FALSE(but([](MapFacts& f) { f.reads[0].along = false; })) << "nothing lies along the rows";
  EXPECT_FALSE(but([](MapFacts& f) { f.reads[0].axes = 0; })) << "one row for all: it stays in the cache";
}

TEST(LaneRowRules, ASubgroupTakesSeveralShortRows) {
  EXPECT_EQ(map(sums({1 << 17}, 32)), "i = grid 2048 local 8 register 8; group 64; team 8");
  EXPECT_EQ(map(sums({131073}, 32)), "i = grid 2049 local 8 register 8; tail recompute; group 64; team 8");
  EXPECT_EQ(map(sums({1 << 17}, 50)), "i = grid 2048 local 8 register 8; group 64; team 8") << "some lanes have one less";
  EXPECT_EQ(map(sums({1 << 17}, 128)), "i = grid 4096 local 8 register 4; group 64; team 8") << "64 elements of a lane";
  EXPECT_EQ(map(sums({1 << 17}, 32, 250)), "i = grid 8192 local 8 register 2; group 64; team 8") << "code";
  MapFacts single = sums({1 << 17}, 64);
  single.single = true;
  EXPECT_EQ(map(single), "i = grid 16384 local 8; group 64; team 8");
  EXPECT_EQ(map(sums({1024}, 64)), "i = grid 16 local 8 register 8; group 64; team 8");
  EXPECT_EQ(map(sums({1000}, 64)), "i = grid 32 local 8 register 4; tail recompute; group 64; team 8")
      << "a workgroup for each lane of the processors";
  EXPECT_EQ(map(sums({64, 4096}, 32)), "i = grid 64; j = grid 64 local 8 register 8; group 64; team 8");
  MapFacts products = sums({1 << 17}, 64);
  products.reads.push_back({1, 1, false, true});
  EXPECT_EQ(map(products), "i = grid 4096 local 8 register 4; group 64; team 8") << "two loads for each";
  products.reads[1].axes = 0;
  EXPECT_EQ(map(products), map(sums({1 << 17}, 64))) << "what all rows have in common is loaded once";
  EXPECT_FALSE(by_subgroups(sums({1 << 17}, 15))) << "gathered as fast";
  EXPECT_FALSE(by_subgroups(sums({300}, 32))) << "little";
  Target scatters = test::lane_cpu();
  scatters.quirks &= ~uint32_t{kScatteredStores};
  EXPECT_FALSE(by_subgroups(sums({1 << 17}, 32), scatters)) << "lanes could not store a row of results";
}

// Of each row, a value for each element.
MapFacts maps(const Shape& domain, int64_t code = 20) {
  const int last = domain.rank() - 1;
  const uint32_t all = (1u << domain.rank()) - 1, rows = all & ~(1u << last);
  MapFacts f{domain, {{0, all, true}, {0, rows, false, true}}, code, true};
  f.reductions.push_back({rows, static_cast<double>(domain[last]), true});
  f.alone = true;
  return f;
}

TEST(LaneRowRules, MapsOverTheRowsThatTheyReduce) {
  EXPECT_EQ(map(maps({1 << 17, 32})), "i = grid 2048 local 8 register 8; j = register 4 lane 8; group 64; team 8");
  EXPECT_EQ(map(maps({1 << 17, 16})), "i = grid 2048 local 8 register 8; j = register 2 lane 8; group 64; team 8");
  EXPECT_EQ(map(maps({80001, 50})),
            "i = grid 1251 local 8 register 8; j = register 7 lane 8; tail recompute; group 64; team 8");
  EXPECT_EQ(map(maps({8192, 512})), "i = grid 1024 local 8; j = register 64 lane 8; group 64; team 8");
  EXPECT_EQ(map(maps({1 << 17, 32}, 100)), "i = grid 4096 local 8 register 4; j = register 4 lane 8; group 64; team 8")
      << "code keeps a subgroup busy";
  EXPECT_EQ(map(maps({4, 1024, 64})), "i = grid 4; j = grid 16 local 8 register 8; k = register 8 lane 8; group 64; team 8");
  EXPECT_EQ(map(maps({1024, 4, 64})), "i = grid 16 local 8 register 8; j = grid 4; k = register 8 lane 8; group 64; team 8");
  const auto by_lanes = [](const MapFacts& f) { return map(f).find("team") != std::string::npos; };
  EXPECT_FALSE(by_lanes(maps({1 << 17, 31}))) << "rows of odd length begin anywhere";
  EXPECT_FALSE(by_lanes(maps({1 << 17, 14}))) << "short";
  EXPECT_FALSE(by_lanes(maps({8192, 514}))) << "long";
  EXPECT_FALSE(by_lanes(maps({8192, 512}, 82))) << "code";
  EXPECT_FALSE(by_lanes(maps({64, 512}, 40))) << "work that is not worth so much of it";
  EXPECT_FALSE(by_lanes(maps({512, 32}))) << "little";
  EXPECT_FALSE(by_lanes(maps({7, 1 << 13}))) << "few rows";
  const auto but = [&](const std::function<void(MapFacts&)>& change) {
    MapFacts f = maps({1 << 17, 32});
    change(f);
    return by_lanes(f);
  };
  EXPECT_FALSE(but([](MapFacts& f) { f.alone = false; }));
  EXPECT_FALSE(but([](MapFacts& f) { f.reductions[0].contiguous = false; }));
  EXPECT_FALSE(but([](MapFacts& f) { f.reductions[0].loops = true; }));
  EXPECT_FALSE(but([](MapFacts& f) { f.reductions[0].length = 24; })) << "another row";
}

using Hows = std::vector<std::string>;

// How the kernels of a function run, which computes what the interpreter does.
Hows kernels(const std::string& text) {
  const Program p = test::program("def f" + text);
  lower::Plan plan;
  EXPECT_TRUE(test::lowers_right(p, test::sines(p, 0.37), test::lane_cpu(), &plan)) << text;
  return test::hows(plan);
}

// What is computed of each row is one kernel, whether elements of it are stored or only its values.
TEST(LaneRowRules, RowsAreOneKernel) {
  EXPECT_EQ(kernels("(x: f32[4096, 32]) = softmax(x, axis=1)"),
            Hows{"i = grid 128 local 8 register 4; j = register 4 lane 8; group 64; team 8"});
  EXPECT_EQ(kernels("(x: f32[4099, 30]) = softmax(x, axis=1)"),
            Hows{"i = grid 129 local 8 register 4; j = register 4 lane 8; tail recompute; group 64; team 8"});
  EXPECT_EQ(kernels("(x: f32[4099, 18], g: f32[18]) = {\n  let m = mean(x, axis=1)[:, None]\n"
                    "  let s = sqrt(mean(square(x - m), axis=1) + 0.01)\n  ((x - m) / s[:, None] * g, s, m)\n}"),
            Hows{"i = grid 65 local 8 register 8; j = register 3 lane 8; tail recompute; group 64; team 8"});
  EXPECT_EQ(kernels("(x: f32[4096, 33], t: f32[4096, 33]) = sum(softmax(x, axis=1) * t, axis=1)"),
            Hows{"i = grid 128 local 8 register 4; group 64; team 8"})
      << "nothing but values of rows";
  EXPECT_EQ(kernels("(x: f32[4099, 25]) = logsumexp(x, axis=1)"),
            Hows{"i = grid 65 local 8 register 8; tail recompute; group 64; team 8"});
  EXPECT_EQ(kernels("(x: f32[400, 512]) = softmax(x, axis=1)"),
            (Hows{"i = grid 50 local 8; group 64; team 8", "i = grid 50 local 8; j = register 64 lane 8; group 64; team 8"}))
      << "long rows are whole, too";
  EXPECT_EQ(kernels("(x: f32[1024, 256]) = {\n  let e = exp(x - max(x, axis=1)[:, None])\n"
                    "  (e, sum(tanh(e / sum(e, axis=1)[:, None])))\n}"),
            (Hows{"i = grid 128 local 8; j = register 32 lane 8; group 64; team 8", "once; group 8; team 8"}))
      << "parts of another sum read values of rows";
  EXPECT_EQ(kernels("(x: f32[4100, 24], t: f32[4100]) = (for i: 4100 => t[i] * max(x[i]) - sqrt(sum(x[i] * x[i])))").size(),
            1u);
  EXPECT_EQ(
      kernels("(x: f32[4100, 24], y: f32[4100, 24]) = (for i: 4100 => sum(x[i32(4000.0 * abs(y[i, 3]))] * y[i]))").size(),
      1u)
      << "rows anywhere are gathered";
}

TEST(LaneRowRules, LanesShareAFewLongRows) {
  EXPECT_EQ(map(sums({}, 4096)), "once; group 8; team 8");
  EXPECT_EQ(map(sums({7}, 512)), "i = grid 7; group 8; team 8");
  EXPECT_EQ(map(sums({3, 2}, 1000)), "i = grid 3; j = grid 2; group 8; team 8");
  EXPECT_FALSE(by_subgroups(sums({}, 511))) << "short";
  EXPECT_FALSE(by_subgroups(sums({8}, 1000))) << "each lane has one of its own";
  EXPECT_FALSE(by_subgroups(sums({}, 4096), test::plain_cpu())) << "no lanes";
  const auto but = [&](const std::function<void(MapFacts&)>& change) {
    MapFacts f = sums({2}, 4096);
    f.reductions.push_back(f.reductions[0]);
    change(f);
    return by_subgroups(f);
  };
  EXPECT_TRUE(but([](MapFacts&) {}));
  EXPECT_TRUE(but([](MapFacts& f) { f.reads[0].along = false, f.reads[0].axes = 0; })) << "whatever they read";
  EXPECT_FALSE(but([](MapFacts& f) { f.alone = false; }));
  EXPECT_FALSE(but([](MapFacts& f) { f.stores = true; }));
  EXPECT_FALSE(but([](MapFacts& f) { f.reductions.clear(); }));
  EXPECT_FALSE(but([](MapFacts& f) { f.reductions[1].one_axis = false; }));
  EXPECT_FALSE(but([](MapFacts& f) { f.reductions[1].contiguous = false; }));
  EXPECT_FALSE(but([](MapFacts& f) { f.reductions[1].position = true; }));
  EXPECT_FALSE(but([](MapFacts& f) { f.reductions[1].loops = true; }));
  EXPECT_FALSE(but([](MapFacts& f) { f.reductions[1].inner = 4; }));
  EXPECT_FALSE(but([](MapFacts& f) { f.reductions[1].length = 100; }));
}

// Long code for what runs once would take drivers longer than it saves.
TEST(LaneRowRules, AFewRowsAreLoops) {
  const auto how = [](int64_t n, int64_t rows) {
    ReduceFacts f{.extents = {n}, .code = 6, .group = 8, .team = true, .results = rows};
    const ReduceSchedule s = Scheduler().reduction(f, test::lane_cpu());
    if (const auto wrong = check(f, s, test::lane_cpu())) ADD_FAILURE() << wrong->str();
    return to_string(s);
  };
  EXPECT_EQ(how(512, 7), "k = serial 16 unroll 4 local 8; accumulators 4; lanes 8");
  EXPECT_EQ(how(512, 8), "k = unroll 64 local 8; accumulators 4; lanes 8");
  EXPECT_EQ(how(64, 1), "k = unroll 8 local 8; accumulators 4; lanes 8") << "short";
}

// What is left of a long row is one kernel, that goes through the parts twice.
TEST(LaneRowRules, PartsOfARowAreCombinedInOneKernel) {
  const Hows parts = kernels("(x: f32[1048576]) = logsumexp(x)");
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1], "once; group 8; team 8");
  EXPECT_EQ(kernels("(x: f32[262144]) = softmax(x)").size(), 3u) << "and what is computed of each element";
  EXPECT_EQ(kernels("(x: f32[4000]) = logsumexp(x)").back(), "once") << "few parts";
}

// Each result is that of its row, as the interpreter has it.
TEST(LaneRowRules, RowsWithoutNumbersAndWithInfinities) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const std::string text :
       {"(x: f32[2048, 20]) = (max(x, axis=1), min(x, axis=1))", "(x: f32[2048, 20]) = logsumexp(x, axis=1)",
        "(x: f32[2048, 20]) = softmax(x, axis=1)", "(x: f32[2048, 20]) = x - max(x, axis=1)[:, None]",
        "(x: f32[2048, 20]) = prod(x, axis=1)"}) {
    const Program p = test::program("def f" + text);
    std::vector<std::vector<double>> x = test::sines(p, 0.37);
    for (size_t k = 0; k < 20; ++k) {
      x[0][20 + k] = nan, x[0][40 + k] = -inf, x[0][60 + k] = k == 19 ? 3 : nan;
      x[0][80 + k] = k == 4 ? inf : x[0][80 + k], x[0][20 * 2047 + k] = k < 8 ? nan : -inf;
    }
    EXPECT_TRUE(test::same_as_interpreter(p, lower::lower(p, test::lane_cpu()), x, 1e-4)) << text;
  }
}

}  // namespace lane_row_rules_test
}  // namespace spirograd::schedule
