// Schedules as values: what prints parses back, what is not legal says which rule it breaks, and the tables choose what is
// legal.
#include <gtest/gtest.h>

#include "spirograd/result.h"
#include "spirv/schedule/cost.h"
#include "spirv/schedule/legal.h"
#include "spirv/schedule/rules.h"
#include "support/lowered.h"

namespace spirograd::schedule {
namespace schedule_test {

using test::gpu;

std::string refusal(const std::string& text) {
  try {
    parse_map(text);
  } catch (const Error& e) {
    EXPECT_EQ(e.code, "SG0306");
    return e.message;
  }
  return "";
}

void expect_in(const std::string& whole, const std::string& part) {
  EXPECT_NE(whole.find(part), std::string::npos) << whole;
}

TEST(Schedule, WhatPrintsParsesBack) {
  for (const std::string text :
       {"once", "i = grid 128 register 4; j = grid 64 register 8", "e = grid 3 register 8 lane 8; tail recompute",
        "i = grid 2 local 8 lane 4 serial 3 register 2", "i = grid 3; j = serial 2 local 64; group 64",
        "i = grid 7; tail recompute; group 128", "i = grid 8 local 16 register 4; j = grid 8 register 4 local 16; group 256",
        "i = grid 64 register 8; j = grid 16 register 4 lane 8; outer j",
        "i = grid 2; j = grid 4; tail recompute; outer i; group 64"})
    EXPECT_EQ(to_string(parse_map(text)), text);
  for (const std::string text :
       {"k = serial 512", "k = serial 64 unroll 8; accumulators 4", "k = serial 3; a = serial 8 serial 4 unroll 4",
        "k = serial 4 serial 16; stage A pad 1, B", "k = serial 4 serial 4 unroll 4; accumulators 4; stage Z",
        "k = serial 2 unroll 4 local 64; accumulators 4; lanes 32", "k = serial 8 serial 8 unroll 8; broadcast 8",
        "k = serial 4 unroll 2; broadcast 2"})
    EXPECT_EQ(to_string(parse_reduction(text)), text);
  ReduceSchedule unknown = parse_reduction("k = serial 4; stage A");
  unknown.stages[0].leaf = 26;
  EXPECT_EQ(to_string(unknown), "k = serial 4; stage ?");
  const MapSchedule tile = parse_map(" i=grid 5 register 2;j = grid 7 ");
  EXPECT_EQ(invocations(tile), 35);
  EXPECT_EQ(schedule::tile(tile), 2);
}

TEST(Schedule, WhatIsNotUnderstoodIsNamed) {
  expect_in(refusal("i = grid"), "a number of at least 1 expected, at the end");
  expect_in(refusal("i = grid 0"), "a number of at least 1 expected, at '0'");
  expect_in(refusal("i = warp 32"), "one of grid, local, lane, serial, unroll and register expected, at 'warp'");
  expect_in(refusal("j = grid 2"), "'i' expected as the name of the next axis, at 'j'");
  expect_in(refusal("i = grid 2; tail guess"), "'recompute' expected after 'tail', at 'guess'");
  expect_in(refusal("i grid 2"), "'=' expected after the name of an axis, at 'grid'");
  expect_in(refusal("i = grid 2 j = grid 3"), "nothing more expected, at 'j'");
  const auto refused = [](const std::string& text) {
    try {
      parse_reduction(text);
    } catch (const Error& e) {
      return e.message;
    }
    return std::string();
  };
  expect_in(refused("k = serial 4; stage a"), "an array, A to Z, expected, at 'a'");
  expect_in(refused("k = serial 4; stage AB"), "an array, A to Z, expected, at 'AB'");
  expect_in(refused("k = serial 4; stage A,"), "an array, A to Z, expected, at the end");
  expect_in(refused("k = serial 4; stage A B"), "nothing more expected, at 'B'");
  expect_in(refused("k = serial 4; stage A pad"), "a number of at least 1 expected, at the end");
  expect_in(refused("k = serial 4; stage A; accumulators 2"), "nothing more expected, at ';'");
  EXPECT_THROW(parse_reduction("k = serial 4; accumulators"), Error);
  EXPECT_THROW(parse_reduction("k serial 4"), Error);
}

TEST(Schedule, IllegalMapsSayWhichRuleTheyBreak) {
  const MapFacts facts{{512, 96}, {}, 10, false};
  const auto broken = [&](const std::string& text) {
    const auto e = check(facts, parse_map(text), gpu());
    return e ? e->message : "";
  };
  EXPECT_EQ(broken("i = grid 128 register 4; j = grid 12 register 8"), "");
  EXPECT_EQ(broken("i = grid 64 local 8; j = grid 6 lane 16"), "");
  EXPECT_EQ(broken("e = grid 48 serial 2 register 16 lane 32"), "");
  expect_in(broken("i = grid 512"), "it has 1 axes, the domain has 2");
  expect_in(broken("i = grid 512; j = grid 95"), "its parts count 95 elements, the axis has 96");
  expect_in(broken("i = grid 512; j = grid 97"), "its parts count 97 elements, the axis has 96");
  EXPECT_EQ(broken("i = grid 512; j = grid 97; tail recompute"), "");
  expect_in(broken("i = grid 512; j = grid 95; tail recompute"), "its parts count 95 elements, the axis has 96");
  expect_in(broken("i = grid 512; j = grid 24 unroll 4"), "not unrolled");
  expect_in(broken("i = local 512; j = grid 32 lane 3"), "1536 invocations in a workgroup, the device allows 1024");
  EXPECT_EQ(broken("i = grid 64 register 8; j = grid 12 register 8"), "") << "64 elements side by side";
  expect_in(broken("i = grid 64 register 8; j = grid 6 register 16"), "128 elements side by side, at most 64");
  MapFacts alone = facts;
  alone.alone = true;
  const auto in_groups = [&](const std::string& text) {
    const auto e = check(alone, parse_map(text), gpu());
    return e ? e->message : "";
  };
  EXPECT_EQ(in_groups("i = grid 512; j = grid 96; group 64"), "");
  EXPECT_EQ(in_groups("i = grid 512; j = serial 3 local 32; group 32"), "");
  expect_in(broken("i = grid 512; j = grid 96; group 64"), "need a kernel of its own");
  expect_in(in_groups("i = grid 512; j = grid 96; group 48"), "no power of two");
  expect_in(in_groups("i = grid 512; j = grid 96; group 2048"), "2048 invocations in a workgroup, the device allows 1024");
  expect_in(in_groups("i = grid 512; j = grid 6 local 16; group 32"),
            "its local parts count 16 of the 32 invocations of a group");
  expect_in(in_groups("i = grid 512; j = grid 6 lane 16; group 16"), "a group without teams has no lanes");
  expect_in(in_groups("i = grid 512; j = grid 96; team 32"), "teams and what is staged are parts of a group");
  expect_in(in_groups("i = grid 512; j = grid 96; staged"), "teams and what is staged are parts of a group");
  expect_in(in_groups("i = grid 256 local 2; j = grid 96; group 64; team 32"), "a team is a subgroup whose lanes see");
  const auto in_teams = [&](const std::string& text) {
    Target t = gpu();
    t.subgroup_operations |= kSubgroupShuffle;
    const auto e = check(alone, parse_map(text), t);
    return e ? e->message : "";
  };
  EXPECT_EQ(in_teams("i = grid 256 local 2; j = grid 96; group 64; team 32"), "");
  EXPECT_EQ(in_teams("i = grid 256 local 2; j = register 3 lane 32; group 64; team 32"), "");
  EXPECT_EQ(in_teams("i = grid 512; j = grid 32 local 3; group 96; team 32"), "") << "any number of teams";
  expect_in(in_teams("i = grid 256 local 2; j = grid 96; group 64; team 16"), "a team is a subgroup");
  expect_in(in_teams("i = grid 512; j = grid 6 lane 16; group 32; team 32"), "its lanes are 16, those of a team 32");
  expect_in(in_teams("i = grid 256 local 2; j = grid 96; group 128; team 32"),
            "its local parts count 2 of the 4 teams of a group");
  EXPECT_EQ(in_groups("i = grid 128 register 4; j = grid 3 local 32; group 32; staged"), "");
  expect_in(in_groups("i = grid 512; j = grid 96; group 64; staged"), "what a group stages is a tile of two axes");
  expect_in(in_groups("i = grid 8 register 64; j = grid 3 local 32; group 32; staged"), "copies 32 elements at most");
  MapFacts many = alone;
  many.reads.assign(17, {0, 3, false, false, false, 1});
  const auto large = check(many, parse_map("i = grid 128 register 4; j = grid 3 local 32; group 32; staged"), gpu());
  expect_in(large ? large->message : "", "17 arrays do not fit into shared memory");
  expect_in(broken("i = grid 4000000000; j = grid 96; tail recompute"), "no extent that can be counted");
  expect_in(broken("i = grid 2000000; j = grid 2000000; tail recompute"), "more invocations than can be numbered");
  MapFacts stores = alone;
  stores.stores = true;
  for (const std::string text : {"i = grid 512; j = grid 97; tail recompute", "i = grid 512; j = grid 96; group 64"}) {
    EXPECT_EQ(in_groups(text), "");
    const auto e = check(stores, parse_map(text), gpu());
    expect_in(e ? e->message : "", "arrays are stored in the loops of its reductions");
  }
  Target shuffling = gpu();
  shuffling.subgroup_operations |= kSubgroupShuffle;
  const MapSchedule by_teams = parse_map("i = grid 256 local 2; j = grid 96; group 64; team 32");
  stores.reductions = {{.axes = 1, .length = 320}};
  EXPECT_FALSE(check(stores, by_teams, shuffling));
  stores.reductions[0].length = 321;
  EXPECT_TRUE(check(stores, by_teams, shuffling)) << "lanes would have the last elements twice";
  MapSchedule named = plain_map({{4, 4}, {}, 8});
  for (const int axis : {-2, 2, 3}) {
    named.outer = axis;
    const auto e = check({{4, 4}, {}, 8}, named, gpu());
    expect_in(e ? e->message : "", "there is no axis of that name");
  }
}

TEST(Schedule, IllegalReductionsSayWhichRuleTheyBreak) {
  ReduceFacts facts{DType::F32, {10, 512}, 1, 10, kPlainSum};
  const auto broken = [&](const std::string& text) {
    const auto e = check(facts, parse_reduction(text), gpu());
    return e ? e->message : "";
  };
  EXPECT_EQ(broken("k = serial 10; a = serial 16 serial 8 unroll 4; accumulators 4"), "");
  EXPECT_EQ(broken("k = serial 5 serial 2; a = serial 8 serial 64"), "");
  EXPECT_EQ(broken("k = serial 10; a = serial 9 serial 60"), "") << "the last block is shorter";
  facts.extents = {10, kPlainSum};
  EXPECT_EQ(broken("k = serial 10; a = serial 8 unroll 9"), "") << "what is left is a loop of its own, beside a plain sum";
  facts.extents = {10, kPlainSum + 1};
  EXPECT_NE(broken("k = serial 10; a = serial 8 unroll 9"), "") << "of a sum that is compensated";
  facts.extents = {10, 512};
  expect_in(broken("k = serial 512"), "it has 1 axes, the reduction 2");
  expect_in(broken("k = serial 10; a = serial 511"), "its parts count 511 elements, the axis has 512");
  expect_in(broken("k = serial 10; a = serial 11 serial 60"), "its parts count 660 elements, the axis has 512");
  expect_in(broken("k = serial 10; a = serial 9 serial 64"), "its parts count 576 elements, the axis has 512");
  EXPECT_EQ(broken("k = serial 10; a = serial 9 serial 15 unroll 4"), "") << "and what is left of the copies is a loop";
  expect_in(broken("k = serial 10; a = serial 10 serial 15 unroll 4"), "its parts count 600");
  expect_in(broken("k = grid 10; a = serial 512"), "are serial, unrolled or local, not grid");
  expect_in(broken("k = unroll 10; a = serial 512"), "only the innermost part is unrolled");
  expect_in(broken("k = serial 10; a = unroll 4 serial 128"), "only the innermost part is unrolled");
  expect_in(broken("k = serial 10; a = serial 2 unroll 256"), "256 copies of the body, at most 128");
  expect_in(broken("k = serial 10; a = serial 128 unroll 4; accumulators 8"), "8 accumulators are more than 4 copies");
  facts.extents = {10, 72};
  EXPECT_EQ(broken("k = serial 10; a = serial 12 unroll 6; accumulators 2"), "");
  EXPECT_EQ(broken("k = serial 10; a = serial 12 unroll 6; accumulators 4"), "") << "some of them have one more";
  expect_in(broken("k = serial 10; a = serial 12 unroll 6; accumulators 3"), "3 accumulators are no power of two");
  facts.extents = {10, 512};
  expect_in(broken("k = serial 10; a = serial 2 serial 256"), "partial sums of more than 64 elements");
  facts.plain = 0;
  EXPECT_EQ(broken("k = serial 10; a = serial 2 serial 256"), "");
  expect_in(broken("k = serial 10; a = serial 8 local 64"), "64 invocations share it, no group computes it together");
  facts.group = 64;
  EXPECT_EQ(broken("k = serial 10; a = serial 2 unroll 4 local 64"), "");
  Target apart = gpu();
  apart.shared_memory = false;
  const ReduceSchedule joined = parse_reduction("k = serial 10; a = serial 2 unroll 4 local 64");
  const auto alone = check(facts, joined, apart);
  expect_in(alone ? alone->message : "", "do not work together");
  ReduceSchedule nothing = joined;
  nothing.axes[0][0].extent = 0;
  const auto uncounted = check(facts, nothing, gpu());
  expect_in(uncounted ? uncounted->message : "", "a part has no extent that can be counted");
  facts.group = 1;
  expect_in(broken("k = serial 10; a = serial 8 local 64"), "64 invocations share it, the group has 1");
  facts.group = 64;
  facts.extents = {10, 500};
  EXPECT_EQ(broken("k = serial 10; a = serial 2 unroll 4 local 64"), "") << "what is beyond the end counts as nothing";
  expect_in(broken("k = serial 10; a = serial 3 unroll 4 local 64"), "its parts count 768 elements, the axis has 500");
  expect_in(broken("k = serial 10; a = serial 16 local 32"), "32 invocations share it, the group has 64");
  expect_in(broken("k = serial 10; a = local 64 serial 8"), "only the innermost part is local");
  facts.extents = {10, 512};
  const auto on = [&](uint32_t lanes, uint32_t operations, const std::string& text) {
    Target t = gpu();
    t.subgroup_size = lanes;
    t.subgroup_operations = operations;
    const auto e = check(facts, parse_reduction(text), t);
    return e ? e->message : "";
  };
  constexpr uint32_t shuffle = kSubgroupBasic | kSubgroupShuffle;
  const std::string by_lanes = "k = serial 10; a = serial 2 unroll 4 local 64; lanes 32";
  EXPECT_EQ(on(32, shuffle, by_lanes), "");
  EXPECT_EQ(on(64, shuffle, "k = serial 10; a = serial 2 unroll 4 local 64; lanes 64"), "");
  expect_in(on(64, shuffle, by_lanes), "the device has subgroups of 64 lanes");
  expect_in(on(32, kSubgroupBasic, by_lanes), "do not see each other's values");
  expect_in(on(128, shuffle, "k = serial 10; a = serial 2 unroll 4 local 64; lanes 128"),
            "128 lanes do not divide the group of 64");
  expect_in(on(32, shuffle, "k = serial 10; a = serial 8 serial 64; lanes 32"),
            "lanes combine what is local, and nothing is");
  facts.extents = {10, 500};
  facts.points = 32;
  expect_in(broken("k = serial 10; a = serial 2 unroll 4 local 64"),
            "it shares 8192 bytes of memory, a quarter of the device's are 4096");
  facts.points = 1;
  facts.plain = kPlainSum;
  facts.extents = {10, 64 * 100};
  EXPECT_EQ(broken("k = serial 10; a = serial 2 serial 50 local 64"), "");
  expect_in(broken("k = serial 10; a = serial 1 serial 100 local 64"), "partial sums of more than 64");
  facts.extents = {10, 64 * 128};
  EXPECT_EQ(broken("k = serial 10; a = unroll 128 local 64; accumulators 4"), "") << "chains of 32";
  expect_in(broken("k = serial 10; a = unroll 128 local 64"), "partial sums of more than 64");
}

TEST(Schedule, LanesShareOnlyWhatASubgroupHasInCommon) {
  ReduceFacts facts{DType::F32, {10, 512}, 32, 7, kPlainSum};
  facts.lanes = 32;
  facts.common = 1;
  Target target = gpu();
  target.subgroup_operations = kSubgroupBasic | kSubgroupBallot;
  const auto broken = [&](const std::string& text) {
    const auto e = check(facts, parse_reduction(text), target);
    return e ? e->message : "";
  };
  const std::string by_lanes = "k = serial 10; a = serial 16 serial 2 unroll 16; broadcast 32";
  EXPECT_EQ(broken(by_lanes), "");
  EXPECT_EQ(broken("k = serial 10; a = serial 13 serial 1 unroll 40; broadcast 32"), "") << "more copies than lanes";
  expect_in(broken("k = serial 10; a = serial 16 serial 2 unroll 16; broadcast 16"), "has subgroups of 32 lanes");
  expect_in(broken("k = serial 10; a = serial 16 serial 32; broadcast 32"), "and nothing is");
  facts.common = 0;
  expect_in(broken(by_lanes), "nothing in common");
  facts.common = 1;
  facts.lanes = 0;
  expect_in(broken(by_lanes), "no subgroup computes neighbouring points");
  target.subgroup_operations = kSubgroupBasic | kSubgroupShuffle;
  expect_in(broken(by_lanes), "do not broadcast");
}

TEST(Schedule, PartialResultsPrintParseAndSayWhichRuleTheyBreak) {
  for (const std::string text : {"k = grid 64 serial 100", "k = serial 3; a = serial 20 grid 5; b = grid 2"})
    EXPECT_EQ(to_string(parse_partial(text)), text);
  EXPECT_THROW(parse_partial("k = grid 2 serial 3; accumulators 2"), Error);
  EXPECT_THROW(parse_partial("k = grid 2;"), Error);
  EXPECT_EQ(partial_results(parse_partial("k = serial 3; a = serial 20 grid 5; b = grid 2")), 10);

  PartialFacts facts{{3, 100, 2}, 7};
  facts.axes_left = 1;
  const auto broken = [&](const std::string& text) {
    const auto e = check(facts, parse_partial(text), gpu());
    return e ? e->message : "";
  };
  for (const char* text :
       {"k = serial 3; a = serial 100; b = serial 2", "k = grid 3; a = serial 100; b = grid 2",
        "k = serial 3; a = serial 20 grid 5; b = serial 2", "k = grid 3; a = grid 12 serial 9; b = grid 2",
        "k = serial 3; a = grid 21 serial 5; b = serial 2"})
    EXPECT_EQ(broken(text), "") << text;
  expect_in(broken("k = serial 3; a = serial 100"), "it has 2 axes, the reduction 3");
  expect_in(broken("k = serial 3; a = serial 100; b = serial 3"), "its parts count 3 elements, the axis has 2");
  expect_in(broken("k = serial 3; a = grid 9 serial 11; b = serial 2"), "its parts count 99 elements, the axis has 100");
  expect_in(broken("k = serial 3; a = grid 20 serial 6; b = serial 2"), "its parts count 120 elements, the axis has 100");
  expect_in(broken("k = serial 3; a = serial 21 grid 5; b = serial 2"), "its parts count 105 elements, the axis has 100");
  expect_in(broken("k = lane 3; a = serial 100; b = serial 2"), "not lane");
  expect_in(broken("k = serial 3; a = grid 10 grid 10; b = serial 2"), "an axis is whole, or cut into");
  expect_in(broken("k = serial 3; a = grid 10 serial 5 grid 2; b = serial 2"), "an axis is whole, or cut into");
  expect_in(broken("k = grid 1 serial 3; a = grid 10 serial 10; b = serial 2"), "it cuts 2 axes, the operand may get 1");
  expect_in(broken("k = grid 3; a = grid 100; b = grid 2"), "each partial result is one element");
  expect_in(broken("k = serial 4000000000; a = serial 100; b = serial 2"), "no extent that can be counted");
  facts.results = 1 << 30;
  EXPECT_EQ(broken("k = serial 3; a = serial 100; b = serial 2"), "");
  expect_in(broken("k = serial 3; a = serial 100; b = grid 2"), "more partial results than can be numbered");
  facts = {{100}};
  facts.axes_left = 1;
  facts.position = true;
  EXPECT_EQ(broken("k = grid 10 serial 10"), "");
  expect_in(broken("k = serial 10 grid 10"), "are ranges");
}

TEST(Schedule, ReductionsAreCutWhereInvocationsWouldBeIdleOrLoopsTooLong) {
  const Scheduler scheduler;
  const auto chosen = [&](const PartialFacts& facts, const Target& target) {
    const PartialSchedule s = scheduler.partial(facts, target);
    EXPECT_FALSE(check(facts, s, target)) << to_string(s);
    return to_string(s);
  };
  Target cpu;
  cpu.price = software_prices(8, 2);
  PartialFacts facts{{1'000'000}};
  facts.axes_left = 3;
  EXPECT_EQ(chosen(facts, cpu), "k = grid 160 serial 6250") << "ranges";
  EXPECT_EQ(chosen(facts, gpu()), "k = serial 32 grid 31250") << "neighbours are neighbours in memory";
  facts.rows = true;
  EXPECT_EQ(chosen(facts, gpu()), "k = grid 160 serial 6250") << "of a workgroup, which has a range";
  EXPECT_EQ(chosen(facts, cpu), "k = grid 160 serial 6250");
  facts.rows = false;
  facts.results = 100'000;
  EXPECT_EQ(chosen(facts, cpu), "k = serial 1000000") << "there are results enough";
  cpu.max_loop_iterations = 65'535;
  EXPECT_EQ(chosen(facts, cpu), "k = grid 64 serial 15625") << "as many as loops demand";
  cpu.max_loop_iterations = 5;
  facts.extents = {2};
  EXPECT_EQ(chosen(facts, cpu), "k = serial 2") << "parts of one element reduce nothing";
  cpu.max_loop_iterations = kNoLoopLimit;
  facts.results = 1;
  facts.extents = {101 * 10'007};
  EXPECT_EQ(chosen(facts, cpu), "k = grid 101 serial 10007") << "a divisor, though it is less than was wanted";
  facts.extents = {1'000'000};
  facts.axes_left = 0;
  EXPECT_EQ(chosen(facts, cpu), "k = serial 1000000") << "there is no axis left";
  facts.extents = {30, 40'000};
  EXPECT_EQ(chosen(facts, cpu), "k = grid 30; a = serial 40000");
  facts = {{10'000}, 1, true};
  facts.axes_left = 1;
  EXPECT_EQ(chosen(facts, gpu()), "k = serial 28 grid 358") << "one invocation would take long";
  facts.extents = {255};
  EXPECT_EQ(chosen(facts, gpu()), "k = serial 255") << "what is combined already";
  facts.extents = {10'000}, facts.rows = true;
  EXPECT_EQ(chosen(facts, gpu()), "k = grid 10 serial 1000") << "by workgroups";
  facts.extents = {4096};
  EXPECT_EQ(chosen(facts, gpu()), "k = serial 4096") << "one is soon done with it";
  facts.extents = {10'000}, facts.rows = false;
  facts.position = true;
  EXPECT_NE(chosen(facts, gpu()), "k = serial 10000") << "single invocations look for positions";
  facts = {{5003}, 16'384};
  facts.axes_left = 1;
  EXPECT_EQ(chosen(facts, gpu()), "k = serial 2502 grid 2") << "two halves, though nothing divides it";
}

TEST(Schedule, RowsThatArePagesApartAreAddedUpInBlocks) {
  const Scheduler scheduler;
  Target cpu;
  cpu.price = software_prices(8, 2);
  const auto chosen = [&](PartialFacts f, const Target& target) {
    f.contiguous = false;
    f.columns = f.results;
    f.axes_left = kMaxRank - static_cast<int>(f.extents.size()) - 1;
    const PartialSchedule s = scheduler.partial(f, target);
    EXPECT_FALSE(check(f, s, target)) << to_string(s);
    return to_string(s);
  };
  PartialFacts facts{{4096}, 4096};
  facts.row = 4096;
  facts.streams = true;
  EXPECT_EQ(chosen(facts, cpu), "k = grid 64 serial 64");
  EXPECT_EQ(chosen(facts, gpu()), "k = serial 512 grid 8") << "as many as keep it busy: its lanes read rows side by side";
  facts.extents = {4001};
  EXPECT_EQ(chosen(facts, cpu), "k = grid 63 serial 64") << "nothing divides a prime";
  facts.extents = {64, 8};
  EXPECT_EQ(chosen(facts, cpu), "k = grid 8 serial 8; a = serial 8") << "the last axis is whole";
  facts.extents = {8, 64};
  EXPECT_EQ(chosen(facts, cpu), "k = grid 8; a = serial 64");
  facts.extents = {300, 32};
  EXPECT_EQ(chosen(facts, cpu), "k = grid 150 serial 2; a = serial 32");
  facts.extents = {255};
  EXPECT_EQ(chosen(facts, cpu), "k = serial 255") << "few rows";
  facts.extents = {4096};
  facts.row = 512;
  EXPECT_EQ(chosen(facts, cpu), "k = serial 4096") << "two rows on a page";
  facts.row = 4096;
  facts.streams = false;
  EXPECT_EQ(chosen(facts, cpu), "k = serial 4096") << "of a product of matrices each element is read many times";
}

TEST(Schedule, ScansPrintParseAndSayWhichRuleTheyBreak) {
  for (const std::string text : {"k = grid 1 serial 9", "k = grid 25 serial 4 local 128 register 8"})
    EXPECT_EQ(to_string(parse_scan(text)), text);
  EXPECT_THROW(parse_scan("k = grid 2 serial 3; accumulators 2"), Error);
  EXPECT_THROW(parse_scan("i = grid 2 serial 3"), Error);
  EXPECT_THROW(parse_scan("k grid 2 serial 3"), Error);
  const ScanSchedule alone = parse_scan("k = grid 25 serial 40"),
                     together = parse_scan("k = grid 25 serial 4 local 16 register 8");
  EXPECT_EQ(chunks(alone), 25);
  EXPECT_EQ(chunk_length(alone), 40);
  EXPECT_EQ(group(alone), 0);
  EXPECT_EQ(chunk_length(together), 512);
  EXPECT_EQ(group(together), 16);
  EXPECT_TRUE(is_serial(serial_scan({DType::F32, 9})));
  EXPECT_FALSE(is_serial(parse_scan("k = grid 2 serial 9")));
  EXPECT_FALSE(is_serial(parse_scan("k = grid 1 serial 1 local 1 register 9")));

  ScanFacts facts{DType::F32, 1000, 3, 10};
  const auto broken = [&](const std::string& text) {
    const auto e = check(facts, parse_scan(text), gpu());
    return e ? e->message : "";
  };
  for (const char* text : {"k = grid 1 serial 1000", "k = grid 10 serial 100", "k = grid 9 serial 120",
                           "k = grid 1 serial 1001", "k = grid 2 serial 2 local 64 register 4"})
    EXPECT_EQ(broken(text), "") << text;
  EXPECT_EQ(broken("k = grid 1 serial 16 local 1 register 64"), "") << "64 elements side by side";
  EXPECT_EQ(broken("k = grid 1 serial 1 local 512 register 2"), "");
  expect_in(broken("k = grid 1 serial 8 local 1 register 128"), "128 elements side by side, at most 64");
  expect_in(broken("k = grid 10 serial 99"), "its parts count 990 elements, the axis has 1000");
  expect_in(broken("k = grid 10 serial 112"), "its parts count 1120 elements, the axis has 1000");
  EXPECT_EQ(broken("k = grid 10 serial 111"), "") << "the last chunk has one step";
  expect_in(broken("k = serial 1000"), "the parts of a scan are chunks and steps");
  expect_in(broken("k = grid 5 serial 10 local 20"), "the parts of a scan are chunks and steps");
  expect_in(broken("k = serial 10 grid 100"), "part 1 of a scan is grid, not serial");
  expect_in(broken("k = grid 10 lane 100"), "part 2 of a scan is serial, not lane");
  expect_in(broken("k = grid 1 serial 4 register 16 local 16"), "part 3 of a scan is local, not register");
  expect_in(broken("k = grid 1 serial 4 local 16 lane 16"), "part 4 of a scan is register, not lane");
  expect_in(broken("k = grid 4000000000 serial 1"), "no extent that can be counted");
  expect_in(broken("k = grid 1 serial 7 local 48 register 3"), "no power of two");
  expect_in(broken("k = grid 1 serial 1 local 2048 register 1"), "2048 invocations in a workgroup, the device allows 1024");
  expect_in(broken("k = grid 1 serial 1 local 1024 register 1"), "it shares 24576 bytes of memory, the device has 16384");
  Target target = gpu();
  target.shared_bytes = 14336;  // of terms 512 * 3, of totals and what they have lost 512 * 2 each
  EXPECT_FALSE(check(facts, parse_scan("k = grid 1 serial 1 local 512 register 2"), target));
  target.shared_bytes -= 1;
  EXPECT_TRUE(check(facts, parse_scan("k = grid 1 serial 1 local 512 register 2"), target));
  target = gpu();
  target.shared_memory = false;
  const auto refusal = check(facts, parse_scan("k = grid 1 serial 1 local 512 register 2"), target);
  expect_in(refusal ? refusal->message : "", "invocations of a workgroup do not work together");
  EXPECT_FALSE(check(facts, parse_scan("k = grid 1 serial 1000"), target));
  facts.dtype = DType::F64;
  expect_in(broken("k = grid 1 serial 1 local 512 register 2"), "it shares 20480 bytes");
  facts.dtype = DType::F32;
  facts.chunkable = false;
  EXPECT_EQ(broken("k = grid 1 serial 1000"), "");
  expect_in(broken("k = grid 2 serial 500"), "there is no axis left");
  facts.chunkable = true;
  facts.rows = 3000000;
  expect_in(broken("k = grid 1000 serial 1"), "more invocations than can be numbered");
  EXPECT_EQ(broken("k = grid 500 serial 2"), "");
  expect_in(broken("k = grid 500 serial 1 local 2 register 1"), "more invocations than can be numbered");
}

TEST(Schedule, TheTableOfScansChoosesByCounting) {
  const Scheduler scheduler;
  const auto on_cpu = [&](const ScanFacts& f) { return to_string(scheduler.scan(f, test::cpu_target())); };
  const auto on_gpu = [&](const ScanFacts& f) { return to_string(scheduler.scan(f, gpu())); };
  EXPECT_EQ(on_cpu({DType::F32, 1000000, 1, 2}), "k = grid 128 serial 7824");
  EXPECT_EQ(on_cpu({DType::F32, 1000000, 20, 2}), "k = grid 7 serial 142864");
  EXPECT_EQ(on_cpu({DType::F32, 512, 1, 2}), "k = grid 16 serial 32");
  EXPECT_EQ(on_cpu({DType::F32, 511, 1, 2}), "k = grid 1 serial 511");
  EXPECT_EQ(on_cpu({DType::F32, 1000, 32, 2}), "k = grid 4 serial 250");
  EXPECT_EQ(on_cpu({DType::F32, 1000, 33, 2}), "k = grid 1 serial 1000");
  EXPECT_EQ(on_cpu({DType::F32, 1000, 1, 2, true, false}), "k = grid 1 serial 1000");
  EXPECT_EQ(on_gpu({DType::F32, 1000000, 1, 2}), "k = grid 123 serial 4 local 256 register 8");
  EXPECT_EQ(on_gpu({DType::F32, 1000000, 1, 100}), "k = grid 123 serial 8 local 256 register 4");
  EXPECT_EQ(on_gpu({DType::F64, 1000000, 1, 2}), "k = grid 123 serial 8 local 256 register 4");
  EXPECT_EQ(on_gpu({DType::F32, 100, 1, 2}), "k = grid 1 serial 1 local 128 register 1");
  EXPECT_EQ(on_gpu({DType::F32, 256, 1, 2}), "k = grid 1 serial 1 local 256 register 1");
  EXPECT_EQ(on_gpu({DType::F32, 300, 1, 2}), "k = grid 1 serial 1 local 256 register 2");
  EXPECT_EQ(on_gpu({DType::F32, 2048, 1, 2}), "k = grid 1 serial 1 local 256 register 8");
  EXPECT_EQ(on_gpu({DType::F32, 2049, 1, 2}), "k = grid 9 serial 1 local 256 register 1");
  EXPECT_EQ(on_gpu({DType::F32, 65535, 1, 2}), "k = grid 128 serial 2 local 256 register 1");
  EXPECT_EQ(on_gpu({DType::F32, 65536, 1, 2}), "k = grid 128 serial 1 local 256 register 2");
  EXPECT_EQ(on_gpu({DType::F32, 32, 1, 2}), "k = grid 1 serial 1 local 32 register 1");
  EXPECT_EQ(on_gpu({DType::F32, 31, 1, 2}), "k = grid 1 serial 31");
  EXPECT_EQ(on_gpu({DType::F32, 10000, 1024, 2}), "k = grid 1 serial 5 local 256 register 8");
  EXPECT_EQ(on_gpu({DType::F32, 10000, 1025, 2}), "k = grid 32 serial 313");
  EXPECT_EQ(on_gpu({DType::F32, 10000, 3, 2, false}), "k = grid 313 serial 32");
  Target limited = test::cpu_target();
  limited.max_loop_iterations = 100;
  EXPECT_EQ(to_string(scheduler.scan({DType::F32, 300, 1000, 2}, limited)), "k = grid 12 serial 25");
  EXPECT_EQ(to_string(scheduler.scan({DType::F32, 25, 1000, 2}, limited)), "k = grid 1 serial 25");
  Target small = gpu();
  small.max_invocations = 16;
  EXPECT_EQ(to_string(scheduler.scan({DType::F32, 300, 1, 2}, small)), "k = grid 1 serial 300");
}

// The facts of a product of matrices in tiles of 64 x 64 by 256 invocations with 4 x 4 points each.
ReduceFacts tiled_product(int64_t length) {
  ReduceFacts f{DType::F32, {length}, 16, 6, kPlainSum};
  f.members = 256;
  f.leaves = {{DType::F32, {{64, 0}, {1, 1}}, 4}, {DType::F32, {{1, 1}, {64, 0}}, 4}};
  return f;
}

TEST(Schedule, IllegalStagesSayWhichRuleTheyBreak) {
  ReduceFacts facts = tiled_product(512);
  Target target = gpu();
  const auto broken = [&](const std::string& text) {
    const auto e = check(facts, parse_reduction(text), target);
    return e ? e->message : "";
  };
  EXPECT_EQ(broken("k = serial 8 serial 4 serial 4 unroll 4; stage A pad 1, B"), "");
  EXPECT_EQ(broken("k = serial 8 serial 4 serial 16; stage B"), "");
  expect_in(broken("k = serial 8 serial 64; stage C"), "the reduction has 2 arrays that can be staged");
  expect_in(broken("k = serial 8 serial 4 serial 16; stage A, A"), "staged arrays stand once each, in order");
  expect_in(broken("k = serial 8 serial 4 serial 16; stage B, A"), "staged arrays stand once each, in order");
  // 64 * 17 * 4 + 16 * 64 * 4 bytes
  target.shared_bytes = 8448;
  EXPECT_EQ(broken("k = serial 8 serial 4 serial 16; stage A pad 1, B"), "");
  target.shared_bytes = 8447;
  expect_in(broken("k = serial 8 serial 4 serial 16; stage A pad 1, B"),
            "it and what else the kernel shares take 8448 bytes of shared memory, the device has 8447");
  target.shared_bytes = 8460;
  facts.shared = 16;
  expect_in(broken("k = serial 8 serial 4 serial 16; stage A pad 1, B"), "take 8464 bytes");
  facts.shared = 0;
  target.shared_bytes = 16384;
  facts.leaves[0].place[0].tile = 1;  // rows of 65 elements are rounded to 272 bytes
  facts.leaves[0].place[1].step = 0;
  facts.leaves[0].place[1].tile = 65;
  target.shared_bytes = 272;
  EXPECT_EQ(broken("k = serial 8 serial 4 serial 16; stage A"), "");
  target.shared_bytes = 271;
  expect_in(broken("k = serial 8 serial 4 serial 16; stage A"), "take 272 bytes");
  expect_in(broken("k = serial 8 serial 4 serial 16; stage A pad 9000000000000000000"), "the device has 271");
  target.shared_bytes = 1 << 20;
  facts = tiled_product(512);
  facts.plain = 0;
  EXPECT_EQ(broken("k = serial 4 serial 128; stage A"), "") << "32 elements for each invocation";
  expect_in(broken("k = serial 2 serial 256; stage A"),
            "16384 elements of an array at a time, more than 32 for each of 256 invocations");
  facts.leaves[0].place[1].step = 2;
  expect_in(broken("k = serial 4 serial 128; stage A"), "16320 elements of an array at a time");
  expect_in(broken("k = unroll 512; stage A"), "copies of the body");
  facts.extents = {64};
  expect_in(broken("k = unroll 64; stage A"), "before a serial loop of the last axis, it has none");
  facts.group = 256;
  facts.extents = {512};
  facts.points = 1;
  expect_in(broken("k = serial 2 local 256; stage A"), "what is local is not staged");
  facts.members = 0;
  expect_in(broken("k = serial 512; stage A"), "no workgroup computes a tile of points together");
  EXPECT_EQ(broken("k = serial 512"), "");
}

TEST(Schedule, TheLastBlocksMayBeShorterThroughAllLoops) {
  const ReduceFacts facts = tiled_product(509);
  const auto broken = [&](const std::string& text) {
    const auto e = check(facts, parse_reduction(text), gpu());
    return e ? e->message : "";
  };
  EXPECT_EQ(broken("k = serial 8 serial 4 serial 16; stage A"), "");
  EXPECT_EQ(broken("k = serial 9 serial 3 serial 19"), "") << "the last of the 9 begins at 456";
  expect_in(broken("k = serial 10 serial 3 serial 19"), "its parts count 570 elements, the axis has 509");
  EXPECT_EQ(broken("k = serial 8 serial 16 unroll 4"), "") << "the last copy would be beyond the end: a loop takes the rest";
  expect_in(broken("k = serial 8 serial 16 unroll 4; stage A"), "its parts count 512 elements, the axis has 509");
  expect_in(broken("k = serial 128 unroll 4"), "its parts count 512 elements, the axis has 509");
}

TEST(Schedule, ReductionsOfTilesAreStaged) {
  const Scheduler scheduler;
  const auto reduction = [&](const ReduceFacts& f) { return to_string(scheduler.reduction(f, gpu())); };
  EXPECT_EQ(reduction(tiled_product(512)), "k = serial 8 serial 4 serial 2 unroll 8; stage A pad 4, B");
  EXPECT_EQ(reduction(tiled_product(96)), "k = serial 2 serial 3 serial 2 unroll 8; stage A pad 4, B");
  EXPECT_EQ(reduction(tiled_product(80)), "k = serial 5 serial 1 serial 2 unroll 8; stage A pad 4, B");
  EXPECT_EQ(reduction(tiled_product(64)), "k = serial 4 serial 2 unroll 8; stage A pad 4, B");
  EXPECT_EQ(reduction(tiled_product(40)), "k = serial 5 serial 1 unroll 8; stage A pad 4, B");
  EXPECT_EQ(reduction(tiled_product(16)), "k = serial 1 serial 2 unroll 8; stage A pad 4, B");
  EXPECT_EQ(reduction(tiled_product(15)), "k = serial 15");
  EXPECT_EQ(reduction(tiled_product(100)), "k = serial 2 serial 5 serial 10; stage A pad 4, B");
  EXPECT_EQ(reduction(tiled_product(509)), "k = serial 8 serial 4 serial 16; stage A pad 4, B");
  ReduceFacts f = tiled_product(512);
  f.plain = 0;
  EXPECT_EQ(reduction(f), "k = serial 32 serial 2 unroll 8; stage A pad 4, B");
  f.points = 4;
  EXPECT_EQ(reduction(f), "k = serial 32 serial 2 unroll 8; accumulators 4; stage A pad 4, B");
  f.dtype = DType::F64;
  EXPECT_EQ(reduction(f), "k = serial 32 serial 16; stage A pad 4, B");
  f = tiled_product(512);
  f.code = 26;
  EXPECT_EQ(reduction(f), "k = serial 8 serial 4 serial 16; stage A pad 4, B");
  f.leaves[0].place[0].tile = 512;  // nobody else reads what an invocation reads: 512 * 16 elements for 256 * 4 * 16 uses
  Target large = gpu();
  large.shared_bytes = 65536;
  EXPECT_EQ(to_string(scheduler.reduction(f, large)), "k = serial 8 serial 4 serial 16; stage A pad 4, B");
  f.leaves[0].place[0].tile = 513;
  EXPECT_EQ(to_string(scheduler.reduction(f, large)), "k = serial 8 serial 4 serial 16; stage B");
  Target small = gpu();
  small.shared_bytes = 4096;
  EXPECT_EQ(to_string(scheduler.reduction(tiled_product(512), small)), "k = serial 8 serial 16 unroll 4") << "no memory";
  EXPECT_DOUBLE_EQ(loads_per_element(tiled_product(512), parse_reduction("k = serial 32 serial 16; stage A pad 4, B")),
                   2.0 / 64);
  EXPECT_DOUBLE_EQ(loads_per_element(tiled_product(512), parse_reduction("k = serial 32 serial 16; stage A")),
                   1.0 / 64 + 1.0 / 4);
  EXPECT_DOUBLE_EQ(loads_per_element(tiled_product(512), parse_reduction("k = serial 512")), 2.0 / 4);
}

TEST(Schedule, TheTablesChooseByFactsAndLegally) {
  const Scheduler scheduler;
  const MapFacts product{{512, 512}, {{0, 1, false}, {1, 2, false}}, 20, true}, chain{{100000}, {{0, 1, true}}, 10, false},
      small{{1000}, {{0, 1, true}}, 10, false};
  EXPECT_EQ(to_string(scheduler.map(product, test::cpu_target())), "i = grid 128 register 4; j = grid 64 register 8");
  EXPECT_EQ(to_string(scheduler.map(product, gpu())), "i = grid 64 register 8; j = grid 512");
  EXPECT_EQ(to_string(scheduler.map(chain, test::cpu_target())),
            "e = grid 782 register 8 lane 8 register 2; tail recompute");
  EXPECT_EQ(to_string(scheduler.map(chain, gpu())), "i = grid 100000");
  EXPECT_EQ(to_string(scheduler.map(small, test::cpu_target())), "i = grid 1000");
  for (const int64_t e : {1, 2, 4, 8, 16}) {
    const Target t = test::cpu_target();
    MapFacts just = chain;
    just.domain = {e * 64 * static_cast<int64_t>(t.price.busy)};
    EXPECT_EQ(tile(scheduler.map(just, t)), e);
    just.domain[0] -= 1;
    EXPECT_EQ(tile(scheduler.map(just, t)), std::max<int64_t>(1, e / 2));
  }
  Target dear = test::cpu_target();
  dear.price.invocation = 50;
  MapFacts code = chain;
  code.code = 100;
  EXPECT_EQ(tile(scheduler.map(code, dear)), 4);
  code.code = 101;
  EXPECT_EQ(tile(scheduler.map(code, dear)), 2) << "the others one after the other";
  const auto total = [&](double length) {
    return to_string(scheduler.map({{2}, {}, 10, true, {{1, length, true}}, true}, gpu()));
  };
  EXPECT_EQ(total(63), "i = grid 2");
  EXPECT_EQ(total(64), "i = grid 2; group 64");
  EXPECT_EQ(total(255), "i = grid 2; group 64");
  EXPECT_EQ(total(256), "i = grid 2; group 128");
  EXPECT_EQ(total(512), "i = grid 2; group 256");
  EXPECT_EQ(total(1e6), "i = grid 2; group 256");
  for (const int64_t surplus : {0, 1}) {
    const MapFacts totals{{wanted_invocations(gpu()) / 64 + surplus}, {}, 10, true, {{1, 1e6, true}}, true};
    EXPECT_EQ(scheduler.map(totals, gpu()).group, surplus == 0 ? 64 : 0);
  }
  MapFacts rows{{100'000}, {{0, 1, false, true}}, 10, true, {{1, 4096, true}}, true};
  EXPECT_EQ(to_string(scheduler.map(rows, gpu())), "i = grid 100000; group 64") << "however many there are";
  rows.reads.push_back({1, 0, false, true});
  EXPECT_EQ(scheduler.map(rows, gpu()).group, 64) << "with weights, too";
  rows.reductions[0].contiguous = false;
  EXPECT_EQ(scheduler.map(rows, gpu()).group, 0);
  rows.reductions = {{1, 4096, true, true}};
  EXPECT_EQ(scheduler.map(rows, gpu()).group, 64) << "and positions";
  const auto reduction = [&](ReduceFacts f) { return to_string(scheduler.reduction(f, gpu())); };
  EXPECT_EQ(reduction({DType::F32, {512}, 1, 10, kPlainSum}), "k = serial 8 serial 16 unroll 4; accumulators 4");
  EXPECT_EQ(reduction({DType::F32, {512}, 32, 10, kPlainSum}), "k = serial 8 serial 64");
  EXPECT_EQ(reduction({DType::F32, {512}, 16, 10, kPlainSum}), "k = serial 8 serial 16 unroll 4");
  EXPECT_EQ(reduction({DType::F32, {512}, 17, 9, kPlainSum}), "k = serial 8 serial 64");
  EXPECT_EQ(reduction({DType::F32, {7, 521}, 1, 10, kPlainSum}), "k = serial 7; a = serial 17 serial 32");
  EXPECT_EQ(reduction({DType::F32, {512}, 1, 10, 0}), "k = serial 128 unroll 4; accumulators 4");
  EXPECT_EQ(reduction({DType::F64, {512}, 1, 10, 0}), "k = serial 512");
  EXPECT_EQ(reduction({DType::F32, {512}, 1, 500, 0}), "k = serial 512");
  EXPECT_EQ(reduction({DType::F32, {512}, 8, 50, kPlainSum}), "k = serial 8 serial 16 unroll 4");
  EXPECT_EQ(reduction({DType::F32, {512}, 8, 51, kPlainSum}), "k = serial 8 serial 64");
  EXPECT_EQ(reduction({DType::F32, {64}, 1, 10, kPlainSum, 64}), "k = unroll 1 local 64");
  EXPECT_EQ(reduction({DType::F32, {33}, 1, 10, kPlainSum, 64}), "k = unroll 1 local 64") << "some have no element";
  EXPECT_EQ(reduction({DType::F32, {32}, 1, 10, kPlainSum, 64}), "k = serial 8 unroll 4; accumulators 4");
  EXPECT_EQ(reduction({DType::F32, {64 * 4}, 1, 10, kPlainSum, 64}), "k = unroll 4 local 64; accumulators 4");
  EXPECT_EQ(reduction({DType::F32, {64 * 5}, 4, 10, kPlainSum, 64}), "k = unroll 5 local 64") << "stays in registers";
  EXPECT_EQ(reduction({DType::F32, {64 * 16}, 1, 75, kPlainSum, 64}), "k = unroll 16 local 64; accumulators 4");
  EXPECT_EQ(reduction({DType::F32, {64 * 16}, 1, 76, kPlainSum, 64}), "k = serial 4 unroll 4 local 64; accumulators 4");
  EXPECT_EQ(reduction({DType::F32, {64 * 17}, 5, 10, kPlainSum, 64}), "k = serial 5 unroll 4 local 64");
  EXPECT_EQ(reduction({DType::F32, {64}, 1, 10, kPlainSum, 1}), "k = serial 16 unroll 4 local 1; accumulators 4");
  EXPECT_EQ(reduction({DType::F32, {3, 64 * 300}, 1, 10, kPlainSum, 64}),
            "k = serial 3; a = serial 10 serial 8 unroll 4 local 64; accumulators 4");
  EXPECT_EQ(reduction({DType::F32, {64 * 300}, 1, 10, 0, 64}), "k = serial 75 unroll 4 local 64; accumulators 4");
  EXPECT_EQ(reduction({DType::F32, {64 * 300}, 1, 500, 0, 64}), "k = serial 300 local 64");
  Target with_lanes = gpu();
  with_lanes.subgroup_operations |= kSubgroupShuffle;
  const ReduceFacts spread{DType::F32, {64}, 1, 10, kPlainSum, 64};
  EXPECT_EQ(to_string(scheduler.reduction(spread, with_lanes)), "k = unroll 1 local 64; lanes 32");
  with_lanes.subgroup_size = 128;
  EXPECT_EQ(to_string(scheduler.reduction(spread, with_lanes)), "k = unroll 1 local 64") << "a group of half a subgroup";
  for (int64_t n = 5; n < 3000; n += 7)
    for (int64_t plain : {int64_t{0}, kPlainSum})
      for (int64_t points : {1, 8, 32}) {
        const ReduceFacts f{DType::F32, {3, n}, points, 10, plain};
        EXPECT_FALSE(check(f, scheduler.reduction(f, gpu()), gpu()))
            << check(f, scheduler.reduction(f, gpu()), gpu())->message;
        for (const Target& t : {gpu(), test::cpu_target()}) {
          const MapFacts m{{n, 64}, {{0, 1, false}, {1, 2, false}}, 10, points > 1};
          EXPECT_FALSE(check(m, scheduler.map(m, t), t)) << check(m, scheduler.map(m, t), t)->message;
        }
      }
}

}  // namespace schedule_test
}  // namespace spirograd::schedule
