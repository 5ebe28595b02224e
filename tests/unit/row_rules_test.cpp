// Rows of which the lanes of a subgroup read neighbours at a time, where drivers gather what lanes load else.
#include "spirv/schedule/row_rules.h"

#include <gtest/gtest.h>

#include "spirv/schedule/legal.h"
#include "spirv/schedule/rules.h"
#include "support/golden_plans.h"
#include "support/lowered.h"
#include "support/text_programs.h"

namespace spirograd::schedule {
namespace row_rules_test {

PartialFacts row(int64_t results, int64_t n, int64_t code = 4) {
  PartialFacts f;
  f.extents = {n};
  f.results = results;
  f.axes_left = 4;
  f.rows = f.streams = true;
  f.code = code;
  return f;
}

std::string parts(const PartialFacts& f, const Target& t = test::lane_cpu()) {
  const PartialSchedule s = Scheduler().partial(f, t);
  if (const auto wrong = check(f, s, t)) ADD_FAILURE() << wrong->str();
  return to_string(s);
}

TEST(RowRules, LongRowsBecomePartsOfWhatALaneMayAddPlainly) {
  EXPECT_EQ(parts(row(1, 1 << 24)), "k = grid 16384 serial 1024") << "by chains";
  EXPECT_EQ(parts(row(4096, 4096)), "k = grid 4 serial 1024");
  EXPECT_EQ(parts(row(1, 1 << 21)), "k = grid 4096 serial 512") << "caches keep it";
  EXPECT_EQ(parts(row(900, 4096)), "k = grid 8 serial 512");
  EXPECT_EQ(parts(row(3000, 1003)), "k = grid 2 serial 496") << "11 are left over";
  EXPECT_EQ(parts(row(4096, 512)), "k = serial 512") << "whole";
  EXPECT_EQ(parts(row(4096, 301)), "k = serial 301") << "some lanes have one less";
  EXPECT_EQ(parts(row(4096, 4096, 80)), "k = grid 16 serial 256") << "less of what takes longer";
  EXPECT_EQ(parts(row(1, 1 << 24, 105)), "k = grid 87381 serial 192");
  EXPECT_EQ(parts(row(4096, 4096, 201)), "k = serial 4096") << "reading is the smaller part";
  EXPECT_EQ(parts(row(1, 1 << 16, 70)), "k = grid 256 serial 256") << "short, but much to compute";
}

TEST(RowRules, PartsAreEvenWhereOtherArraysAreComputedBeside) {
  const auto beside = [](PartialFacts f) {
    f.even = f.beside = true;
    return parts(f);
  };
  EXPECT_EQ(beside(row(1, 1 << 24)), "k = grid 32768 serial 512");
  EXPECT_EQ(parts(row(1, 1'000'000)), "k = grid 1953 serial 512");
  EXPECT_EQ(beside(row(1, 1'000'000)), "k = grid 5000 serial 200");
  EXPECT_EQ(beside(row(3000, 1003)), "k = grid 2 serial 496") << "rather none beside than no parts";
  EXPECT_EQ(beside(row(1, 1'000'003)), "k = grid 1952 serial 512") << "workgroups full of them, and a rest";
  EXPECT_EQ(beside(row(7, 100'003)), "k = grid 19 serial 5312") << "a rest of each row: not by lanes";
  PartialFacts dear = row(1, 1'000'000);
  dear.code = 113;
  EXPECT_EQ(beside(dear), "k = grid 7808 serial 128") << "few, as others are as dear";
  EXPECT_EQ(beside(row(3000, 1008)), "k = grid 2 serial 504");
  EXPECT_EQ(beside(row(7, 100'800)), "k = grid 200 serial 504") << "workgroups full of them";
  EXPECT_EQ(beside(row(3000, 301)), "k = serial 301");
  EXPECT_EQ(beside(row(3000, 512, 60)), "k = serial 512") << "they join whole rows";
  EXPECT_EQ(beside(row(3000, 512, 82)), "k = grid 4 serial 128") << "as long as code allows";
  EXPECT_EQ(parts(row(3000, 512, 60)), "k = serial 512");
}

TEST(RowRules, ReductionsOverSeveralAxesHaveRowsAlongTheLast) {
  PartialFacts f = row(1, 1024);
  f.extents = {2000, 1024};
  EXPECT_EQ(parts(f), "k = grid 2000; a = grid 2 serial 512");
  f.extents = {4000, 300};
  EXPECT_EQ(parts(f), "k = grid 4000; a = serial 300");
  f.extents = {100'000, 16};
  EXPECT_EQ(parts(f), "k = grid 100000; a = serial 16") << "short rows, of which a subgroup takes several";
  f.extents = {100'000, 12};
  EXPECT_EQ(parts(f), "k = grid 100000; a = serial 12") << "some lanes have one less";
  f.extents = {100'000, 8};
  EXPECT_EQ(parts(f), "k = grid 160 serial 625; a = serial 8") << "as fast by lanes on their own";
  f.extents = {4000, 40};
  EXPECT_FALSE(of_whole_rows(parse_partial(parts(f)))) << "few";
}

TEST(RowRules, OnlyWhereDriversGatherAndAnotherDispatchIsWorthIt) {
  Target other = test::lane_cpu();
  other.quirks = 0;
  EXPECT_EQ(parts(row(4096, 4096), other), "k = serial 4096");
  Target descriptors = test::lane_cpu();
  descriptors.device_address = false;
  EXPECT_EQ(parts(row(4096, 4096), descriptors), "k = serial 4096");
  EXPECT_EQ(parts(row(100, 1000)), "k = serial 1000") << "few elements";
  PartialFacts apart = row(4096, 4096);
  apart.rows = false;
  EXPECT_EQ(parts(apart), "k = serial 4096");
  PartialFacts place = row(4096, 4096);
  place.position = true;
  EXPECT_EQ(parts(place), "k = serial 4096") << "the place of an element";
}

TEST(RowRules, WhatIsLeftOverIsLessThanAPartAndOfRowsAlone) {
  const PartialSchedule s = parse_partial("k = grid 2 serial 496");
  const Target t = test::lane_cpu();
  EXPECT_FALSE(check(row(3000, 1003), s, t));
  EXPECT_TRUE(check(row(3000, 2 * 496 + 496), s, t)) << "another part";
  PartialFacts beside = row(3000, 10 * 496 - 1);
  EXPECT_TRUE(check(beside, s, t));
  beside.beside = true;
  EXPECT_FALSE(check(beside, s, t)) << "parts that fill no workgroup";
  beside.extents[0] = 10 * 496;
  EXPECT_TRUE(check(beside, s, t));
  PartialFacts other = row(3000, 1003);
  other.rows = other.streams = false;
  EXPECT_TRUE(check(other, s, t));
}

MapFacts sums(const Shape& domain, double length) {
  MapFacts f{domain, {{0, (1u << domain.rank()) - 1, false, true}}, 6, true, {{1, length, true}}};
  f.alone = true;
  return f;
}

std::string map(const MapFacts& f) {
  const MapSchedule s = Scheduler().map(f, test::lane_cpu());
  if (const auto wrong = check(f, s, test::lane_cpu())) ADD_FAILURE() << wrong->str();
  return to_string(s);
}

PartialFacts column(int64_t columns, int64_t n) {
  PartialFacts f = row(columns, n);
  f.rows = f.contiguous = false;
  f.columns = f.row = columns;
  return f;
}

MapFacts column_sums(const Shape& domain, double length) {
  MapFacts f = sums(domain, length);
  f.reads[0].last = 1u << (domain.rank() - 1);
  f.reads[0].sums = true;
  f.reductions[0].contiguous = false;
  return f;
}

TEST(RowRules, ColumnsAreWhatLanesAreNeighboursOf) {
  EXPECT_EQ(parts(column(4096, 4096)), "k = grid 64 serial 64") << "in memory";
  EXPECT_EQ(parts(column(4095, 4096)), "k = grid 128 serial 32");
  EXPECT_EQ(parts(column(1000, 4096)), "k = grid 128 serial 32");
  EXPECT_EQ(parts(column(4095, 2001)), "k = grid 69 serial 29") << "none is left over";
  EXPECT_EQ(parts(column(65536, 50)), "k = serial 50");
  EXPECT_EQ(parts(column(65537, 50)), "k = serial 50") << "rows begin anywhere";
  EXPECT_EQ(map(column_sums({64, 4096}, 64)), "i = grid 64; j = grid 32 local 8 lane 8 register 2; group 64; team 8");
  EXPECT_EQ(map(column_sums({60, 102}, 33)), "i = grid 60; j = local 7 lane 8 register 2; tail recompute; group 56; team 8")
      << "all columns";
  EXPECT_EQ(map(column_sums({61, 46}, 64)),
            "i = grid 8 local 8; j = grid 3 lane 8 register 2; tail recompute; group 64; team 8")
      << "teams below each other";
  const auto by_rows = [](const MapFacts& f) { return map(f).find("team") != std::string::npos; };
  EXPECT_EQ(map(column_sums({64, 4096}, 32)), "i = grid 64; j = grid 32 local 8 register 2 lane 8; group 64; team 8")
      << "of so few rows no pairs";
  EXPECT_EQ(map(column_sums({64, 4097}, 64)),
            "i = grid 64; j = grid 33 local 8 register 2 lane 8; tail recompute; group 64; team 8")
      << "rows begin anywhere";
  EXPECT_FALSE(by_rows(column_sums({64, 4096}, 65)));
  EXPECT_FALSE(by_rows(column_sums({7, 64}, 64))) << "few";
  MapFacts scattered = column_sums({64, 4096}, 64);
  scattered.reads[0].last = 0;
  EXPECT_FALSE(by_rows(scattered));
}

MapFacts elements(const Shape& domain, int64_t code = 8) {
  const uint32_t all = (1u << domain.rank()) - 1;
  MapFacts f{domain, {{0, all, true}, {1, 0}}, code, false};
  f.alone = true;
  return f;
}

TEST(RowRules, ElementsOfLargeArraysAreTakenInRows) {
  EXPECT_EQ(map(elements({1 << 22})), "e = grid 2048 local 8 register 32 lane 8; group 64; team 8");
  EXPECT_EQ(map(elements({3000, 1002})), "e = grid 1468 local 8 register 32 lane 8; tail recompute; group 64; team 8");
  EXPECT_EQ(map(elements({1 << 22}, 105)), "e = grid 4096 local 8 register 16 lane 8; group 64; team 8")
      << "fewer of what takes longer";
  Target scatters = test::lane_cpu();
  scatters.quirks &= ~uint32_t{kScatteredStores};
  EXPECT_EQ(schedule::to_string(Scheduler().map(elements({1 << 22}), scatters)),
            "e = grid 1024 local 8 register 32 lane 8 register 2; group 64; team 8")
      << "in pairs";
  const auto by_rows = [](const MapFacts& f) { return map(f).find("team") != std::string::npos; };
  EXPECT_FALSE(by_rows(elements({1 << 18}))) << "small";
  EXPECT_FALSE(by_rows(elements({1 << 22}, 221))) << "much code";
  EXPECT_TRUE(by_rows(elements({(1 << 22) + 1}))) << "odd: the last one is in no row";
  EXPECT_EQ(schedule::to_string(Scheduler().map(elements({(1 << 22) + 1}), scatters)).find("team"), std::string::npos)
      << "of pairs";
  const auto but = [&](const std::function<void(MapFacts&)>& change) {
    MapFacts f = elements({2048, 2048});
    change(f);
    return by_rows(f);
  };
  EXPECT_FALSE(but([](MapFacts& f) { f.reads.erase(f.reads.begin()); })) << "nothing is read";
  EXPECT_FALSE(but([](MapFacts& f) { f.alone = false; }));
}

TEST(RowRules, SquaresOfWhatIsReadAlongAnotherAxis) {
  const auto turned = [](const Shape& domain, int64_t code = 4, const Target& t = test::lane_cpu()) {
    MapFacts f{domain, {{.buffer = 0, .axes = 3, .sums = true, .last = 1}}, code, false};
    f.alone = true;
    const MapSchedule s = Scheduler().map(f, t);
    if (const auto wrong = check(f, s, t)) ADD_FAILURE() << wrong->str();
    return to_string(s);
  };
  EXPECT_EQ(turned({4096, 2048}), "i = grid 32 local 8 register 2 lane 8; j = grid 128 register 16; group 64; team 8");
  EXPECT_EQ(turned({1500, 1402}),
            "i = grid 12 local 8 register 2 lane 8; j = grid 88 register 16; tail recompute; group 64; team 8");
  EXPECT_EQ(turned({4096, 2049}).find("team"), std::string::npos) << "odd";
  EXPECT_EQ(turned({1000, 1000}).find("team"), std::string::npos) << "small";
  EXPECT_EQ(turned({4096, 4096}, 28).find("team"), std::string::npos) << "much code";
  Target scatters = test::lane_cpu();
  scatters.quirks &= ~uint32_t{kScatteredStores};
  EXPECT_EQ(turned({4096, 4096}, 4, scatters).find("team"), std::string::npos);
}

TEST(RowRules, RowsOfElementsBesideWhatOtherAxesHaveInCommon) {
  const auto with = [](const Shape& domain, const Read& read, int64_t code = 8) {
    MapFacts f = elements(domain, code);
    f.reads[1] = read;
    return map(f);
  };
  const Read of_row = {1, 1}, of_columns = {.buffer = 1, .axes = 2, .sums = true, .last = 2};
  EXPECT_EQ(with({2048, 2048}, of_row), "i = grid 2048; j = grid 1 local 8 register 32 lane 8; group 64; team 8");
  EXPECT_EQ(with({2048, 2048}, of_columns), with({2048, 2048}, of_row));
  EXPECT_EQ(with({2048, 2048}, of_row, 105), "i = grid 2048; j = grid 2 local 8 register 16 lane 8; group 64; team 8");
  EXPECT_EQ(with({16400, 66}, of_row),
            "i = grid 1025 local 8 register 2; j = register 9 lane 8; tail recompute; group 64; team 8")
      << "short rows, two of them whole";
  EXPECT_EQ(with({4099, 1000}, of_row), "i = grid 4099; j = local 4 register 32 lane 8; tail recompute; group 32; team 8");
  EXPECT_EQ(with({4099, 300}, of_row),
            "i = grid 513 local 8; j = grid 2 register 19 lane 8; tail recompute; group 64; team 8")
      << "tiles that are equal";
  EXPECT_EQ(with({2048, 2048}, {.buffer = 1, .axes = 2, .last = 2}).find("team"), std::string::npos) << "at any places";
  EXPECT_EQ(with({4096, 2049}, of_row),
            "i = grid 4096; j = grid 2 local 8 register 29 lane 8; tail recompute; group 64; team 8")
      << "odd, read as rows";
  EXPECT_EQ(with({1 << 16, 62}, of_row),
            "i = grid 2048 local 8 register 4; j = register 8 lane 8; tail recompute; group 64; team 8")
      << "the last lanes begin earlier";
  EXPECT_EQ(with({1 << 17, 12}, of_row),
            "i = grid 1024 local 8 register 16; j = register 2 lane 8; tail recompute; group 64; team 8");
  EXPECT_EQ(with({1 << 17, 10}, of_row).find("team"), std::string::npos) << "too much would be computed twice";
  EXPECT_EQ(with({1 << 18, 7}, of_row).find("team"), std::string::npos) << "shorter than lanes";
}

TEST(RowRules, TeamsTakeWhatLiesTogether) {
  using schedule::whole_rows_of_teams;
  EXPECT_EQ(whole_rows_of_teams(1, 4096), 0) << "neighbours are rows";
  EXPECT_EQ(whole_rows_of_teams(8, 4096), 0) << "there are enough in a row";
  EXPECT_EQ(whole_rows_of_teams(2, 4096), 4);
  EXPECT_EQ(whole_rows_of_teams(2, 4097), 0) << "at least half as many teams as usual, in every workgroup";
  EXPECT_EQ(whole_rows_of_teams(2, 4095), 3) << "as near to them as rows allow";
  EXPECT_EQ(whole_rows_of_teams(3, 4096), 2);
  EXPECT_EQ(whole_rows_of_teams(3, 4095), 3);
  EXPECT_EQ(whole_rows_of_teams(5, 4096), 2);
  EXPECT_EQ(whole_rows_of_teams(7, 4096), 1);
}

TEST(RowRules, ShortRowsAreTakenSeveralAtATime) {
  const auto with = [](const Shape& domain, int64_t code = 8) {
    MapFacts f = elements(domain, code);
    f.reads[1] = {.buffer = 1, .axes = 1u << (domain.rank() - 1), .sums = true, .last = 1u << (domain.rank() - 1)};
    return map(f);
  };
  EXPECT_EQ(with({1 << 17, 32}), "i = grid 2048 local 8 register 8; j = register 4 lane 8; group 64; team 8");
  EXPECT_EQ(with({1 << 17, 8}), "i = grid 512 local 8 register 32; j = lane 8; group 64; team 8");
  EXPECT_EQ(with({1 << 17, 32}, 105), "i = grid 4096 local 8 register 4; j = register 4 lane 8; group 64; team 8")
      << "fewer of what takes longer";
  EXPECT_EQ(with({131071, 24}), "i = grid 1639 local 8 register 10; j = register 3 lane 8; tail recompute; group 64; team 8")
      << "the last ones begin earlier";
  EXPECT_EQ(with({16, 112, 56, 48}),
            "i = grid 16; j = grid 112; k = grid 2 local 8 register 4; l = register 6 lane 8; tail recompute; group "
            "64; team 8")
      << "a part of the rows divides the axis";
  EXPECT_EQ(with({1 << 16, 7, 16}), "i = grid 8192 local 8; j = grid 1 register 7; k = register 2 lane 8; group 64; team 8");
  EXPECT_EQ(with({1 << 17, 2, 16}), "i = grid 1024 local 8 register 16; j = grid 2; k = register 2 lane 8; group 64; team 8")
      << "along the first axis that is long enough";
  EXPECT_EQ(with({1 << 18, 20}),
            "i = grid 4096 local 8 register 8; j = register 3 lane 8; tail recompute; group 64; team 8");
  EXPECT_EQ(with({6, 3, 1 << 14, 4}).find("team"), std::string::npos);
}

TEST(RowRules, WindowsAreWrittenOut) {
  const auto with = [](const Shape& domain, double length, bool one_axis = false, uint32_t last = 4) {
    MapFacts f{domain, {{.buffer = 0, .axes = 7, .reduced = true, .sums = true, .last = last}}, 20, true};
    f.reductions = {{.axes = 7, .length = length, .one_axis = one_axis}};
    f.operations = {{.axes = 7, .count = 1}};
    f.alone = true;
    return map(f);
  };
  EXPECT_EQ(with({64, 126, 126}, 9),
            "i = grid 64; j = grid 8 local 8 register 2; k = register 16 lane 8; tail recompute; group 64; team 8");
  EXPECT_EQ(with({64, 126, 126}, 25),
            "i = grid 64; j = grid 42 local 3; k = local 2 register 8 lane 8; tail recompute; group 48; team 8")
      << "fewer of more";
  const auto in_rows = [](const std::string& how) { return how.find("team") != std::string::npos; };
  EXPECT_FALSE(in_rows(with({64, 126, 126}, 26))) << "too many";
  EXPECT_FALSE(in_rows(with({64, 126, 126}, 9, true))) << "points share a loop over one axis";
  EXPECT_FALSE(in_rows(with({64, 126, 126}, 9, false, 1))) << "neighbours are not neighbours in memory";
  EXPECT_TRUE(in_rows(with({16, 64, 64}, 9)));
  EXPECT_FALSE(in_rows(with({8, 64, 64}, 9))) << "little work";
}

TEST(RowRules, ColumnsOfAFewAreWrittenOut) {
  const auto with = [](int64_t columns, double length, int arrays = 1, bool contiguous = false) {
    MapFacts f{{columns}, {}, 6, true};
    for (int j = 0; j < arrays; ++j)
      f.reads.push_back({.buffer = static_cast<uint32_t>(j), .axes = 1, .reduced = true, .sums = true, .last = 1});
    f.reductions = {{.axes = 1, .length = length, .contiguous = contiguous, .one_axis = true}};
    f.operations = {{.axes = 1, .count = 1}};
    f.alone = true;
    return map(f);
  };
  EXPECT_EQ(with(1 << 20, 2), "i = grid 1024 local 8 register 16 lane 8; group 64; team 8");
  EXPECT_EQ(with(1 << 18, 5), "i = grid 512 local 8 register 8 lane 8; group 64; team 8") << "as many loads";
  EXPECT_EQ(with(1 << 20, 2, 2), "i = grid 2048 local 8 register 8 lane 8; group 64; team 8") << "of more arrays";
  const std::string lanes_of_columns = "register 2 lane 8";
  EXPECT_NE(with(1 << 18, 5, 2).find(lanes_of_columns), std::string::npos) << "too many loads for that";
  EXPECT_NE(with(1 << 15, 8).find(lanes_of_columns), std::string::npos) << "long enough for pairs of columns";
  EXPECT_EQ(with(1 << 15, 4).find("team"), std::string::npos) << "little work";
  EXPECT_EQ(with(1 << 20, 2, 1, true).find("register 16 lane 8"), std::string::npos) << "a row in memory";
}

TEST(RowRules, ReductionsOfWindowsAreStraight) {
  ReduceFacts f{DType::F32, {3, 3}, 1, 10, kPlainSum};
  f.rows = f.alone = true;
  const Target t = test::lane_cpu();
  EXPECT_EQ(to_string(Scheduler().reduction(f, t)), "k = unroll 3; a = unroll 3");
  const auto broken = [&](const std::string& text) {
    const auto e = check(f, parse_reduction(text), t);
    return e ? e->message : "";
  };
  EXPECT_EQ(broken("k = unroll 3; a = unroll 3"), "");
  EXPECT_NE(broken("k = unroll 3; a = serial 3").find("only the innermost part is unrolled"), std::string::npos);
  f.rows = false;
  EXPECT_NE(broken("k = unroll 3; a = unroll 3").find("only the innermost part is unrolled"), std::string::npos);
  f.rows = true, f.alone = false;
  EXPECT_NE(broken("k = unroll 3; a = unroll 3").find("only the innermost part is unrolled"), std::string::npos)
      << "what is reduced beside it needs its loops";
  EXPECT_FALSE(is_straight(Scheduler().reduction(f, t)));
  f.alone = true, f.extents = {8, 9};
  EXPECT_FALSE(is_straight(Scheduler().reduction(f, t))) << "too many";
}

TEST(RowRules, WindowsGiveTheInterpretersValues) {
  for (const std::string text :
       {"(x: f32[9, 62, 130]) = for c: 9, i: 60, j: 128 => sum(for a: 3, b: 3 => x[c, i + a, j + b])",
        "(x: f32[9, 62, 131]) = for c: 9, i: 60, j: 129 => max(for a: 3, b: 3 => x[c, i + a, j + b]) -"
        " min(for a: 3, b: 3 => x[c, i + a, j + b])",
        "(x: f32[9, 62, 130], w: f32[9, 3, 3]) = for c: 9, i: 60, j: 128 =>"
        " sum(for a: 3, b: 3 => x[c, i + a, j + b] * w[c, a, b])",
        "(x: f32[9, 3, 3, 8192], w: f32[3]) = for c: 9, m: 8192 => max(for a: 3, b: 3 => x[c, a, b, m] * w[a]) -"
        " min(for a: 3, b: 3 => x[c, a, b, m] * w[a])",
        "(x: f32[3, 175003]) = sqrt(sum(x * x, axis=0))", "(x: f32[2, 262144], y: f32[2, 262144]) = min(x - y, axis=0)",
        "(x: f32[403, 501]) = for i: 403, j: 501 => sum(for a: 3 => x[i + a - 1, j])"}) {
    const Program p = test::program("def f" + text);
    lower::Plan plan;
    EXPECT_TRUE(test::lowers_right(p, test::sines(p, 7.5), test::lane_cpu(), &plan)) << text;
    EXPECT_NE(plan.schedules[0][0].how.find("team 8"), std::string::npos) << text;
  }
}

TEST(RowRules, MaximaAndTheSumsOfWhatIsShiftedByThemAreOnePass) {
  const auto dispatches = [](const std::string& text) {
    const Program p = test::program("def f" + text);
    lower::Plan plan;
    EXPECT_TRUE(test::lowers_right(p, test::sines(p, 7.5), test::lane_cpu(), &plan)) << text;
    return plan.steps.size();
  };
  EXPECT_EQ(dispatches("(x: f32[64, 4096]) = logsumexp(x, axis=1)"), 2u) << "and what combines the parts";
  EXPECT_EQ(dispatches("(x: f32[8, 32768]) = for i: 8 => sum(for j: 32768 => exp(x[i, j] - 2.0 * max(x[i])))"), 2u)
      << "whatever is made of the maximum";
  EXPECT_EQ(dispatches("(x: f32[8, 32768], y: f32[8, 32768]) = for i: 8 => sum(for j: 32768 => exp(x[i, j] - max(y[i])))"),
            4u)
      << "of something else";
  EXPECT_EQ(dispatches("(x: f32[63, 4096]) = logsumexp(x, axis=1)"), 2u) << "eight parts of each row";
  EXPECT_GT(dispatches("(x: f32[63, 4099]) = logsumexp(x, axis=1)"), 2u) << "parts would be left over";
}

// As the same sums of as many elements along one axis are, with what is stored beside them.
TEST(RowRules, SumsOverAllAxesAreCountedThrough) {
  const auto kernels = [](const std::string& text) {
    const Program p = test::program("def f" + text);
    return test::hows(lower::lower(p, test::lane_cpu()));
  };
  const auto flat = kernels("(x: f32[262144], y: f32[262144]) = sum(square(x - y))");
  EXPECT_EQ(flat[0], "i = grid 64 local 8; group 64; team 8");
  EXPECT_EQ(kernels("(x: f32[4096, 64], y: f32[4096, 64]) = sum(square(x - y))"), flat);
  EXPECT_EQ(kernels("(x: f32[64, 2, 32, 64], y: f32[64, 2, 32, 64]) = sum(square(x - y))"), flat);
  EXPECT_EQ(kernels("(x: f32[4, 64, 1024]) = sum(square(x), axis=[1, 2])"),
            kernels("(x: f32[4, 65536]) = sum(square(x), axis=1)"));
  EXPECT_EQ(kernels("(x: f32[4096, 300], y: f32[4096, 300]) = (sum(square(x - y)), 2.0 * (x - y))"),
            kernels("(x: f32[1228800], y: f32[1228800]) = (sum(square(x - y)), 2.0 * (x - y))"));
  EXPECT_NE(kernels("(x: f32[4096, 64], v: f32[64]) = sum(x * v)"), flat) << "what other axes have in common is not";
}

// Many rows are reduced by lanes even where few numbers are made of the results.
TEST(RowRules, ReductionsOfRowsAreStoredForOthers) {
  const auto first = [](const std::string& text) {
    return test::hows(lower::lower(test::program("def f" + text), test::lane_cpu()))[0];
  };
  const std::string rows = "group 64; team 8";
  EXPECT_NE(first("(x: f32[20000, 64]) = sum(square(sum(x, axis=1)))").find(rows), std::string::npos);
  EXPECT_NE(first("(x: f32[3000, 333], y: f32[3000]) = max(y * max(x, axis=1))").find(rows), std::string::npos);
  EXPECT_EQ(first("(x: f32[20000, 12]) = sum(square(sum(x, axis=1)))").find(rows), std::string::npos) << "short rows";
}

// Whoever reduces an array finds in memory what is stretched to it, whatever that is made of.
TEST(RowRules, WhatIsStretchedFromAReductionIsNoneOfTheWork) {
  const auto kernels = [](const std::string& text) {
    return test::hows(lower::lower(test::program("def f" + text), test::lane_cpu()));
  };
  const auto has = [](const std::vector<std::string>& all, std::string_view part) {
    return std::ranges::any_of(all, [&](const std::string& how) { return how.find(part) != std::string::npos; });
  };
  const std::string columns = "j = grid 8 local 8 register 2 lane 8";
  EXPECT_TRUE(has(kernels("(x: f32[1000, 1000], r: f32[1000]) = r @ x"), columns));
  EXPECT_TRUE(has(kernels("(x: f32[1000, 1000], w: f32[1000], y: f32[1000]) = (x @ w - y) @ x"), columns));
  const auto loss = kernels("(x: f32[1024, 1024], y: f32[1024, 1024]) = mean(y * log_softmax(x))");
  EXPECT_EQ(std::ranges::count(loss, "i = grid 256 local 4; j = local 2; group 64; team 8"), 2)
      << "maxima with sums of exponentials, and the sum of what they are subtracted from";
}

TEST(RowRules, KernelsGiveTheInterpretersValues) {
  for (const std::string text : {"(x: f32[70001]) = sum(x)",
                                 "(x: f32[200003]) = sum(x * x)",
                                 "(x: f32[300, 501]) = max(x, axis=1)",
                                 "(x: f32[1000, 67]) = logsumexp(x, axis=1)",
                                 "(x: f32[200, 1003]) = prod(x * 0.001 + 1.0, axis=1)",
                                 "(x: f32[400, 777]) = sum(x[:, 3:777], axis=1)",
                                 "(x: f32[1501, 1402]) = sum(x, axis=0)",
                                 "(x: f32[130, 33], y: f32[33, 258]) = x @ y",
                                 "(x: f32[300, 24], y: f32[150, 24]) = for i: 300, j: 150 => sum(abs(x[i] - y[j]))",
                                 "(x: f32[5, 64, 32], y: f32[5, 32, 130]) = for b: 5 => x[b] @ y[b]",
                                 "(x: f32[725, 725]) = x * x",
                                 "(x: f32[20000, 32], v: f32[32]) = x * v",
                                 "(x: f32[4001, 67], y: f32[4001, 67]) = sum(abs(x - y))",
                                 "(x: f32[700, 3, 125]) = max(2.0 * x)",
                                 "(x: f32[70, 35, 125]) = sum(x * x, axis=[1, 2])",
                                 "(x: f32[401, 700]) = (sum(x * x), x * 2.0)",
                                 "(x: f32[200003]) = (sum(sin(x)), cos(x))",
                                 "(x: f32[331, 607], y: f32[331, 607]) = (sum(square(x - y)), 2.0 * (x - y), 2.0 * (y - x))",
                                 "(x: f32[801, 703], w: f32[703], y: f32[801]) = (x @ w - y) @ x",
                                 "(x: f32[401, 603], y: f32[401, 603]) = mean(y * log_softmax(x))",
                                 "(x: f32[401, 503]) { let z = x * 0.5\n (z, sum(z), max(z * z)) }"}) {
    const Program p = test::program("def f" + text);
    lower::Plan plan;
    EXPECT_TRUE(test::lowers_right(p, test::sines(p, 0.37), test::lane_cpu(), &plan)) << text;
  }
}

}  // namespace row_rules_test
}  // namespace spirograd::schedule
