// Which schedules a tuner tries in place of a given one, and how a compiler is told what it has found.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "spirv/schedule/chooser.h"
#include "spirv/schedule/cost.h"
#include "spirv/schedule/facts_text.h"
#include "spirv/schedule/legal.h"
#include "spirv/schedule/neighbours.h"
#include "support/lowered.h"

namespace spirograd::schedule {
namespace neighbours_test {

template <class Facts, class Schedule>
std::set<std::string> texts(const Facts& f, const Schedule& given, const Target& t) {
  std::set<std::string> out;
  for (const Schedule& s : neighbours(f, given, t)) {
    EXPECT_NE(s, given) << to_string(s);
    EXPECT_TRUE(out.insert(to_string(s)).second) << to_string(s);
  }
  return out;
}

void expect_has(const std::set<std::string>& have, std::initializer_list<const char*> wanted) {
  for (const char* s : wanted) {
    std::string all;
    for (const std::string& h : have) all += h + "\n";
    EXPECT_TRUE(have.contains(s)) << s << " is missing in\n" << all;
  }
}

TEST(Neighbours, OfAMapAreOtherTilesOrdersAndGroups) {
  MapFacts f;
  f.domain = {512, 512};
  f.code = 4;
  f.reduces = f.alone = true;
  f.reductions = {{3, 512, true}};
  const auto have = texts(f, parse_map("i = grid 128 register 4; j = grid 16 register 4 lane 8"), test::cpu_target());
  expect_has(
      have,
      {"i = grid 512; j = grid 512", "i = grid 64 register 8; j = grid 16 register 4 lane 8",
       "i = grid 256 register 2; j = grid 16 register 4 lane 8", "i = grid 128 register 4; j = grid 16 lane 8 register 4",
       "i = grid 128 register 4; j = grid 8 register 8 lane 8",
       "i = grid 128 register 4; j = grid 16 register 4 lane 8; outer j", "i = grid 512; j = grid 512; group 64"});
  EXPECT_FALSE(have.contains("i = grid 128 register 4; j = grid 16 register 4 lane 8; outer i")) << "it is so anyway";

  const auto tiles = texts(f, parse_map("i = grid 32 local 16; j = grid 8 register 4 local 16; group 256"), test::gpu());
  expect_has(tiles, {"i = grid 64 local 8; j = grid 4 register 4 local 32; group 256",
                     "i = grid 64 local 8; j = grid 8 register 4 local 16; group 128",
                     "i = grid 32 local 16; j = grid 16 register 2 local 16; group 256"});
  f.reductions = {{1, 512, true}};
  Target lanes = test::gpu();
  lanes.subgroup_operations |= kSubgroupShuffle;
  expect_has(texts(f, parse_map("i = grid 64 local 8; j = register 16 lane 32; group 256; team 32"), lanes),
             {"i = grid 128 local 4; j = register 16 lane 32; group 128; team 32",
              "i = grid 32 register 2 local 8; j = register 16 lane 32; group 256; team 32"});
  expect_has(texts(f, parse_map("i = grid 16 register 4 local 8; j = grid 16 local 32; group 256; staged"), lanes),
             {"i = grid 16 register 4 local 8; j = grid 16 local 32; group 256",
              "i = grid 32 register 2 local 8; j = grid 16 local 32; group 256; staged"});
  f.domain = {511, 512};
  expect_has(texts(f, parse_map("i = grid 511; j = grid 512"), test::cpu_target()),
             {"i = grid 256 register 2; j = grid 512; tail recompute"});
  f.code = kTileCode;
  for (const std::string& s : texts(f, parse_map("i = grid 511; j = grid 512"), test::cpu_target()))
    EXPECT_EQ(s.find("register"), std::string::npos) << "drivers would compile it for minutes: " << s;
}

TEST(Neighbours, OfAReductionAreOtherLoopsAndJoins) {
  ReduceFacts f;
  f.extents = {4096};
  f.code = 2;
  f.plain = 64;
  const auto have = texts(f, parse_reduction("k = serial 64 serial 16 unroll 4; accumulators 4"), test::cpu_target());
  expect_has(have, {"k = serial 64 serial 8 unroll 8; accumulators 4", "k = serial 128 serial 8 unroll 4; accumulators 4",
                    "k = serial 64 serial 32 unroll 2; accumulators 2", "k = serial 64 serial 16 unroll 4; accumulators 2"});
  EXPECT_FALSE(have.contains("k = serial 32 serial 32 unroll 4; accumulators 4"))
      << "plain sums of 128 are less exact than promised";
  ReduceFacts large = f;
  large.code = kTileCode / 4 + 1;
  for (const std::string& s : texts(large, parse_reduction("k = serial 128 serial 32"), test::cpu_target()))
    EXPECT_EQ(s.find("unroll 4"), std::string::npos) << "drivers would compile it for minutes: " << s;
  f.group = 64;
  const auto shared = texts(f, parse_reduction("k = serial 16 unroll 4 local 64; lanes 32"), test::gpu());
  Target shuffles = test::gpu();
  shuffles.subgroup_operations |= kSubgroupShuffle;
  expect_has(texts(f, parse_reduction("k = serial 16 unroll 4 local 64"), shuffles),
             {"k = serial 16 unroll 4 local 64; lanes 32", "k = serial 8 unroll 8 local 64"});
  expect_has(shared, {"k = serial 16 unroll 4 local 64"});
  expect_has(texts(f, parse_reduction("k = serial 16 unroll 4 local 64; lanes 32"), shuffles),
             {"k = serial 8 unroll 8 local 64; lanes 32", "k = serial 16 unroll 4 local 64", "k = serial 1024 unroll 4"});
}

TEST(Neighbours, OfPartsAreOtherCounts) {
  const Target cpu = test::cpu_target();
  expect_has(texts(PartialFacts{{4096}, 1, false, false, 2}, parse_partial("k = grid 16 serial 256"), cpu),
             {"k = serial 4096", "k = grid 32 serial 128", "k = grid 8 serial 512", "k = serial 256 grid 16"});
  const std::set<std::string> enough_and_spare = {"k = grid 16 serial 256", "k = serial 256 grid 16",
                                                  "k = grid 128 serial 32", "k = serial 32 grid 128",
                                                  "k = grid 32 serial 128"};
  EXPECT_EQ(texts(PartialFacts{{4096}, 1, false, false, 2}, parse_partial("k = serial 4096"), cpu), enough_and_spare);
  EXPECT_EQ(texts(PartialFacts{{4096}, 1 << 20, false, false, 2}, parse_partial("k = serial 4096"), cpu),
            std::set<std::string>{})
      << "a part of one is none";
  expect_has(texts(ScanFacts{DType::F32, 100'000, 1, 2}, parse_scan("k = grid 100 serial 1000"), cpu),
             {"k = grid 1 serial 100000", "k = grid 50 serial 2000", "k = grid 200 serial 500"});
  expect_has(texts(ScanFacts{DType::F32, 4096, 1, 2}, parse_scan("k = grid 4 serial 4 local 64 register 4"), test::gpu()),
             {"k = grid 2 serial 4 local 128 register 4", "k = grid 4 serial 4 local 128 register 2",
              "k = grid 8 serial 2 local 64 register 4"});
  const ScatterFacts s{DType::F32, 4096, 100, 1, 4};
  expect_has(texts(s, parse_scatter("u = grid 4096; atomic"), cpu),
             {"u = grid 64 serial 64; atomic", "u = grid 16 serial 256; p = serial 100"});
  expect_has(texts(s, parse_scatter("u = grid 16 serial 256; p = serial 100"), cpu),
             {"u = grid 4096; atomic", "u = grid 8 serial 512; p = serial 100", "u = serial 256 grid 16; p = serial 100",
              "u = grid 16 serial 64 unroll 4; p = serial 100", "u = grid 16 serial 256; p = grid 2 serial 50"});
  ScatterFacts none = s;
  none.atomic = false;
  for (const std::string& text : texts(none, plain_scatter(none), cpu)) EXPECT_EQ(text.find("atomic"), std::string::npos);
  PackFacts p;
  p.elements = 1000, p.width = 32;
  EXPECT_EQ(texts(p, PackSchedule{32}, cpu), (std::set<std::string>{"in place", "panels of 16", "panels of 64"}));
  EXPECT_EQ(parse_pack("in place"), PackSchedule{});
  EXPECT_EQ(parse_pack("panels of 64"), PackSchedule{64});
  for (const char* wrong : {"", "panels", "panels of", "panels of 0", "panels of 4 x", "in"})
    EXPECT_THROW(parse_pack(wrong), Error) << wrong;
}

// Each field of the facts, changed alone, is other work.
TEST(Facts, EveryFieldIsInTheLine) {
  std::set<std::string> lines;
  const auto add = [&](const auto& f) { EXPECT_TRUE(lines.insert(to_string(f)).second) << to_string(f); };
  const MapFacts m{{4, 5}, {{}}, 1, false, {{}}};
  add(m);
  const auto map = [&](auto change) {
    MapFacts f = m;
    change(f);
    add(f);
  };
  map([](MapFacts& f) { f.domain = {20}; });
  map([](MapFacts& f) { f.code = 2; });
  map([](MapFacts& f) { f.reduces = true; });
  map([](MapFacts& f) { f.alone = true; });
  map([](MapFacts& f) { f.stores = true; });
  map([](MapFacts& f) { f.reads[0].axes = 1; });
  map([](MapFacts& f) { f.reads[0].last = 1; });
  map([](MapFacts& f) { f.reads[0].own = true; });
  map([](MapFacts& f) { f.reads[0].reduced = true; });
  map([](MapFacts& f) { f.reads[0].sums = true; });
  map([](MapFacts& f) { f.reads[0].along = true; });
  map([](MapFacts& f) { f.reads.clear(); });
  map([](MapFacts& f) { f.reductions[0].axes = 1; });
  map([](MapFacts& f) { f.reductions[0].length = 2; });
  map([](MapFacts& f) { f.reductions[0].contiguous = false; });
  map([](MapFacts& f) { f.reductions[0].loops = true; });
  const ReduceFacts r{DType::F32, {7}};
  add(r);
  ReduceFacts team = r;
  team.team = true;
  add(team);
  ReduceFacts loops = r;
  loops.loops = true;
  add(loops);
  for (int64_t ReduceFacts::*field :
       {&ReduceFacts::points, &ReduceFacts::code, &ReduceFacts::plain, &ReduceFacts::group, &ReduceFacts::members,
        &ReduceFacts::shared, &ReduceFacts::lanes, &ReduceFacts::common, &ReduceFacts::copies, &ReduceFacts::results}) {
    ReduceFacts f = r;
    f.*field = 99;
    add(f);
  }
  add(ReduceFacts{DType::F64, {7}});
  add(ReduceFacts{DType::F32, {7, 7}});
  ReduceFacts staged = r;
  staged.leaves = {{DType::F32, {{1, 0}}, 1}};
  add(staged);
  staged.leaves[0].own = 2;
  add(staged);
  staged.leaves[0].place[0].step = 1;
  add(staged);
  staged.leaves[0].place[0].tile = 2;
  add(staged);
  staged.leaves[0].dtype = DType::F64;
  add(staged);
  add(PartialFacts{{8}});
  add(PartialFacts{{8}, 2});
  add(PartialFacts{{8}, 1, true});
  add(PartialFacts{{8}, 1, false, true});
  add(PartialFacts{{8}, 1, false, false, 3});
  add(PartialFacts{{8}, 1, false, false, 0, false});
  add(PartialFacts{{8}, 1, false, false, 0, true, 2});
  add(PackFacts{});
  add(PackFacts{9});
  add(PackFacts{0, 8});
  add(PackFacts{0, 4, 2});
  add(PackFacts{0, 4, 1, true});
  add(PackFacts{0, 4, 1, false, 2});
  add(PackFacts{0, 4, 1, false, 1, 2});
  add(ScanFacts{});
  add(ScanFacts{DType::F64});
  add(ScanFacts{DType::F32, 2});
  add(ScanFacts{DType::F32, 1, 2});
  add(ScanFacts{DType::F32, 1, 1, 1});
  add(ScanFacts{DType::F32, 1, 1, 0, false});
  add(ScanFacts{DType::F32, 1, 1, 0, true, false});
  add(ScatterFacts{});
  add(ScatterFacts{DType::I32});
  add(ScatterFacts{DType::F32, 2});
  add(ScatterFacts{DType::F32, 1, 2});
  add(ScatterFacts{DType::F32, 1, 1, 2});
  add(ScatterFacts{DType::F32, 1, 1, 1, 1});
  add(ScatterFacts{DType::F32, 1, 1, 1, 0, false});
  add(ScatterFacts{DType::F32, 1, 1, 1, 0, true, false});
}

TEST(Facts, BuffersAreNumberedAsTheyCome) {
  const MapFacts one{{4}, {{.buffer = 7}, {.buffer = 3}, {.buffer = 7}}},
      other{{4}, {{.buffer = 1}, {.buffer = 2}, {.buffer = 1}}}, third{{4}, {{.buffer = 1}, {.buffer = 2}, {.buffer = 2}}};
  EXPECT_EQ(to_string(one), to_string(other));
  EXPECT_NE(to_string(one), to_string(third));
}

TEST(Chooser, TakesWhatIsLegalAndNothingElse) {
  const Target cpu = test::cpu_target();
  const ScanFacts f{DType::F32, 1000, 1, 2};
  const std::string key = to_string(f);
  const auto chosen = [&](const std::string& text) {
    const Choices choices = {{key, text}};
    return to_string(Chooser(choices).scan(f, cpu));
  };
  const std::string usual = to_string(Scheduler().scan(f, cpu));
  ASSERT_NE(usual, "k = grid 3 serial 400");
  EXPECT_EQ(chosen("k = grid 3 serial 400"), "k = grid 3 serial 400");
  for (const char* wrong :
       {"", "k", "k = grid 3 serial 300", "k = serial 1000 grid 1", "u = grid 4096; atomic", "k = grid -1 serial 2",
        "k = grid 99999999999999999999 serial 1", "k = grid 4611686018427387904 serial 4", "\x01\xff"})
    EXPECT_EQ(chosen(wrong), usual) << wrong;
  const Choices foreign = {{"scan of something else", "k = grid 3 serial 400"}};
  EXPECT_EQ(to_string(Chooser(foreign).scan(f, cpu)), usual);
  std::vector<Asked> asked;
  const Choices choices = {{key, "k = grid 3 serial 400"}};
  const Chooser chooser(choices, &asked);
  chooser.scan(f, cpu);
  chooser.scan(f, cpu);
  ASSERT_EQ(asked.size(), 1u) << "equal work is one question";
  EXPECT_EQ(asked[0].facts, key);
  EXPECT_EQ(asked[0].schedule, "k = grid 3 serial 400");
  EXPECT_EQ(asked[0].usual, usual);
  EXPECT_EQ(std::count(asked[0].neighbours.begin(), asked[0].neighbours.end(), usual), 1) << "there is a way back";
}

// Schedules of other work, and damaged ones, for every kind of work.
TEST(Chooser, WhateverTextIsGivenTheScheduleIsLegal) {
  const Target cpu = test::cpu_target();
  const std::vector<std::string> texts = {"i = grid 4",
                                          "e = grid 1 register 64",
                                          "i = grid 2 lane 2; j = grid 5; outer j",
                                          "once",
                                          "i = local 4; j = grid 5; group 4",
                                          "k = serial 8",
                                          "k = serial 2 unroll 4; accumulators 4",
                                          "k = grid 4 serial 2",
                                          "k = unroll 8; broadcast 8",
                                          "k = serial 8; stage A",
                                          "in place",
                                          "panels of 9223372036854775807",
                                          "u = grid 8; atomic",
                                          "u = serial 8; p = serial 8",
                                          "u = grid 4294967296 serial 4294967296; atomic",
                                          "k = local 1 local 1"};
  const MapFacts m{{4, 5}};
  const ReduceFacts r{DType::F32, {8}};
  const PartialFacts p{{8}};
  const PackFacts k{8};
  const ScanFacts s{DType::F32, 8};
  const ScatterFacts u{DType::F32, 8, 8};
  for (const std::string& text : texts) {
    const Choices choices = {{to_string(m), text}, {to_string(r), text}, {to_string(p), text},
                             {to_string(k), text}, {to_string(s), text}, {to_string(u), text}};
    const Chooser c(choices);
    EXPECT_FALSE(check(m, c.map(m, cpu), cpu)) << text;
    EXPECT_FALSE(check(r, c.reduction(r, cpu), cpu)) << text;
    EXPECT_FALSE(check(p, c.partial(p, cpu), cpu)) << text;
    EXPECT_FALSE(check(k, c.pack(k, cpu), cpu)) << text;
    EXPECT_FALSE(check(s, c.scan(s, cpu), cpu)) << text;
    EXPECT_FALSE(check(u, c.scatter(u, cpu), cpu)) << text;
  }
}

}  // namespace neighbours_test
}  // namespace spirograd::schedule
