// Schedules of scatters as values, as schedule_test.cpp has the others.
#include <gtest/gtest.h>

#include "spirograd/result.h"
#include "spirv/schedule/legal.h"
#include "spirv/schedule/rules.h"
#include "support/lowered.h"

namespace spirograd::schedule {
namespace scatter_schedule_test {

using test::gpu;

void expect_in(const std::string& whole, const std::string& part) {
  EXPECT_NE(whole.find(part), std::string::npos) << whole;
}

TEST(Scatter, SchedulesPrintAndParse) {
  for (const std::string text :
       {"u = grid 4096 serial 1024; atomic", "u = serial 4 grid 100; p = serial 7",
        "u = grid 128 serial 8192 unroll 4; p = serial 1000", "u = serial 4194304; p = grid 16 serial 62500",
        "u = grid 1024; atomic among 64", "u = grid 1024; atomic; lanes 32", "u = grid 1024; atomic among 8; lanes 32",
        "u = serial 9000; p = serial 500; r = grid 2 register 4 lane 8",
        "u = grid 2 serial 100 unroll 2 lane 8; p = serial 7"})
    EXPECT_EQ(to_string(parse_scatter(text)), text);
  EXPECT_THROW(parse_scatter("u = grid 4"), Error);
  EXPECT_THROW(parse_scatter("u = grid 4; p serial 3"), Error);
  EXPECT_THROW(parse_scatter("u = grid 4; p = serial 3; atomic"), Error);
  EXPECT_THROW(parse_scatter("u = grid 4; p = serial 3; lanes 4"), Error);
  EXPECT_THROW(parse_scatter("u = grid 4; atomic; among 4"), Error);
  EXPECT_THROW(parse_scatter("u = grid 4; atomic; r = grid 4"), Error);
  EXPECT_THROW(parse_scatter("u = grid 4; p = serial 3; r = "), Error);
  EXPECT_EQ(apart(parse_scatter("u = serial 4; p = serial 3; r = grid 2 register 4 lane 8 register 2"), 128), 16);
  EXPECT_EQ(apart(parse_scatter("u = serial 4; p = serial 3"), 128), 128);
  EXPECT_THROW(parse_scatter("u = grid 4; atomic among 0"), Error);
  EXPECT_EQ(copies(parse_scatter("u = grid 1024; atomic among 8")), 8);
  EXPECT_THROW(parse_scatter("k = grid 4; atomic"), Error);
  EXPECT_EQ(copies(parse_scatter("u = grid 128 serial 2; p = grid 3 serial 4")), 128);
  EXPECT_EQ(invocations(parse_scatter("u = grid 128 serial 2; p = grid 3 serial 4")), 384);
  EXPECT_EQ(copies(parse_scatter("u = grid 128 serial 2; atomic")), 1);
  EXPECT_EQ(invocations(parse_scatter("u = grid 128 serial 2; atomic")), 128);
  const ScatterSchedule teams = parse_scatter("u = grid 2 serial 100 unroll 2 lane 8; p = serial 7");
  EXPECT_EQ(copies(teams), 2);
  EXPECT_EQ(team(teams), 8);
  EXPECT_EQ(apart(teams, 3), 1) << "elements are counted with the updates";
  EXPECT_EQ(team(parse_scatter("u = grid 2 serial 100; p = serial 7")), 0);
}

TEST(Scatter, IllegalSchedulesSayWhichRuleTheyBreak) {
  ScatterFacts facts{.dtype = DType::F32, .updates = 1000, .places = 50, .row = 3};
  const auto broken = [&](const std::string& text) {
    const auto e = check(facts, parse_scatter(text), gpu());
    return e ? e->message : "";
  };
  for (const std::string text :
       {"u = grid 1000; atomic", "u = serial 26 grid 39; atomic", "u = grid 5 serial 51 unroll 4; p = serial 50",
        "u = grid 2 serial 500; p = grid 7 serial 8", "u = serial 1000; p = grid 50 serial 1"})
    EXPECT_EQ(broken(text), "") << text;
  expect_in(broken("u = grid 999; atomic"), "its parts count 999 elements, the axis has 1000");
  expect_in(broken("u = grid 300 lane 10; atomic"), "lanes that have an element each put it to any place, alone");
  expect_in(broken("u = grid 100 register 10; atomic"), "on the grid, serial, unrolled or in lanes, not register");
  expect_in(broken("u = grid 100 unroll 10; atomic"), "and not if it is atomic");
  expect_in(broken("u = unroll 10 grid 100; p = serial 50"), "only the innermost part is unrolled");
  expect_in(broken("u = grid 10 unroll 200; p = serial 50"), "200 copies of the body, at most 128");
  expect_in(broken("u = grid 10 grid 100; atomic"), "one part on the grid");
  expect_in(broken("u = grid 1000000000; atomic"), "more invocations than can be numbered");
  expect_in(broken("u = grid 4000000000; atomic"), "no extent that can be counted");
  expect_in(broken("u = grid 10 serial 100; p = serial 49"), "its parts count 49 elements, the axis has 50");
  expect_in(broken("u = grid 10 serial 100; p = serial 10 grid 5"), "places are serial, or ranges of them on the grid");
  expect_in(broken("u = serial 1001; p = serial 50"), "what is added to the result itself is one serial part");
  const std::string alone = "u = serial 1000; p = serial 50; r = ", ranges = "u = serial 1000; p = grid 5 serial 10; r = ";
  for (const std::string row : {"grid 3", "register 3", "grid 1 register 2 lane 2", "lane 4 register 1"})
    EXPECT_EQ(broken(alone + row), "") << row;
  expect_in(broken(ranges + "register 3"), "who has several elements of a row puts them to any place, alone");
  expect_in(broken(alone + "serial 3"), "elements of a row are on the grid, in registers or lanes, not serial");
  expect_in(broken(alone + "grid 2 register 1 grid 2"), "a row has one part on the grid, and one in lanes");
  expect_in(broken(alone + "lane 2 lane 2"), "a row has one part on the grid, and one in lanes");
  expect_in(broken(alone + "register 2"), "its parts count 2 elements, the axis has 3");
  expect_in(broken(alone + "lane 6"), "its parts count 6 elements, the axis has 3");
  facts.row = 40;
  expect_in(broken("u = grid 500 unroll 2; p = serial 50; r = register 40"), "80 elements side by side, at most 64");
  facts.row = 3;
  expect_in(broken("u = grid 1024; atomic; lanes 32"), "which may not be able to add");
  Target lanes = gpu();
  lanes.subgroup_size = 32, lanes.subgroup_operations = kSubgroupBasic | kSubgroupArithmetic;
  const auto broken_by_lanes = [&](const std::string& text, int64_t row) {
    ScatterFacts f = facts;
    f.row = row;
    const auto e = check(f, parse_scatter(text), lanes);
    return e ? e->message : "";
  };
  EXPECT_EQ(broken_by_lanes("u = grid 1024; atomic among 2; lanes 32", 1), "");
  expect_in(broken_by_lanes("u = grid 1024; atomic; lanes 16", 1), "subgroups of 32 lanes");
  expect_in(broken_by_lanes("u = grid 1024; atomic; lanes 32", 3), "an update each, of one element");
  expect_in(broken_by_lanes("u = grid 512 serial 2; atomic; lanes 32", 1), "an update each");
  expect_in(broken_by_lanes("u = grid 1000; atomic; lanes 32", 1), "lanes would be missing");
  lanes.max_groups = 3;
  expect_in(broken_by_lanes("u = grid 1024; atomic; lanes 32", 1), "lanes would be missing");
  facts.places = 10'000'000;
  expect_in(broken("u = grid 1000 serial 1; p = serial 10000000"), "more places than can be numbered");
  facts.places = 50;
  facts.copyable = false;
  expect_in(broken("u = grid 2 serial 500; p = serial 50"), "there is no axis left for copies");
  facts.atomic = false;
  expect_in(broken("u = grid 1000; atomic"), "the device does not add such elements atomically");
  EXPECT_EQ(check(facts, plain_scatter(facts), gpu()), std::nullopt);
}

TEST(Scatter, LanesOfAProcessorHaveACopyTogether) {
  Target cpu = test::cpu_target();
  cpu.subgroup_size = 8, cpu.subgroup_operations = kSubgroupBasic | kSubgroupShuffle;
  cpu.quirks = kGatheredLoads, cpu.device_address = cpu.shared_memory = true;
  ScatterFacts facts{.dtype = DType::F32, .updates = 100, .places = 50, .row = 3};
  const auto broken = [&](const std::string& text, const Target& t) {
    const auto e = check(facts, parse_scatter(text), t);
    return e ? e->message : "";
  };
  const std::string places = "; p = serial 50";
  for (const std::string text : {"u = grid 2 serial 21 lane 8", "u = grid 2 serial 9 unroll 3 lane 8",
                                 "u = grid 13 serial 3 lane 8", "u = serial 3 grid 13 lane 8"})
    EXPECT_EQ(broken(text + places, cpu), "") << text;
  expect_in(broken("u = grid 2 serial 18 lane 8" + places, cpu), "its parts count 288 elements, the axis has 300");
  expect_in(broken("u = grid 2 serial 20 lane 8" + places, cpu), "copies whole updates");
  expect_in(broken("u = grid 2 serial 21 lane 8" + places + "; r = grid 3", cpu), "lanes have an element each");
  expect_in(broken("u = grid 2 lane 8 serial 21" + places, cpu), "only the innermost part is in lanes");
  expect_in(broken("u = grid 2 unroll 3 serial 7 lane 8" + places, cpu), "only the innermost part is unrolled");
  expect_in(broken("u = grid 2 serial 42 lane 4" + places, cpu), "for the 8 lanes of a subgroup");
  expect_in(broken("u = grid 2 serial 21 lane 8; p = grid 5 serial 10", cpu), "put it to any place, alone");
  expect_in(broken("u = serial 39 lane 8" + places, cpu), "one serial part");
  Target silent = cpu;
  silent.subgroup_operations = kSubgroupBasic;
  expect_in(broken("u = grid 2 serial 21 lane 8" + places, silent), "vectors of a processor, whose lanes read");
  Target lanes = gpu();
  lanes.subgroup_size = 8, lanes.subgroup_operations = cpu.subgroup_operations;
  expect_in(broken("u = grid 2 serial 21 lane 8" + places, lanes), "subgroups may not be vectors of a processor");

  const Scheduler scheduler;
  const auto on = [&](const Target& t, int64_t updates, int64_t elements, int64_t row = 1, bool atomic = true) {
    facts = {.dtype = DType::F32, .updates = updates, .places = elements, .row = row, .code = 6, .atomic = atomic};
    return to_string(scheduler.scatter(facts, t));
  };
  EXPECT_EQ(on(cpu, 1 << 22, 1 << 20), "u = grid 2 serial 262144 lane 8; p = serial 1048576");
  EXPECT_EQ(on(cpu, 1 << 22, 1 << 20, 1, false), on(cpu, 1 << 22, 1 << 20)) << "with atomics or without";
  EXPECT_EQ(on(cpu, 100'000, 50'000, 3), "u = grid 2 serial 18750 lane 8; p = serial 50000");
  EXPECT_EQ(on(cpu, 1 << 22, 1024).find("lane"), std::string::npos) << "copies of invocations are near";
  EXPECT_EQ(on(cpu, 1 << 22, 1 << 22).find("lane"), std::string::npos) << "copies take more memory than that";
  EXPECT_EQ(on(cpu, 1 << 14, 1 << 20).find("lane"), std::string::npos) << "adding them up takes longer";
  facts = {.dtype = DType::F32, .updates = 1 << 22, .places = 1 << 19, .code = 9, .gathers = true};
  EXPECT_EQ(to_string(scheduler.scatter(facts, cpu)), "u = grid 2 serial 262144 lane 8; p = serial 524288");
  facts.places = 1 << 20;
  EXPECT_EQ(to_string(scheduler.scatter(facts, cpu)).find("lane"), std::string::npos)
      << "another array needs the caches, too";
  EXPECT_EQ(on(silent, 1 << 22, 1 << 20).find("lane"), std::string::npos);
  EXPECT_EQ(on(lanes, 1 << 22, 1 << 20).find("lane"), std::string::npos);
  cpu.max_loop_iterations = 1000;
  EXPECT_EQ(on(cpu, 1 << 22, 1 << 20).find("lane"), std::string::npos) << "loops are longer than they may be";
}

TEST(Scatter, CopiesWhereTheyStayNearAndAtomicsElsewhere) {
  const Scheduler scheduler;
  const auto on = [&](const Target& t, int64_t updates, int64_t places, int64_t row = 1, bool atomic = true) {
    const ScatterFacts facts{
        .dtype = DType::F32, .updates = updates, .places = places, .row = row, .code = 6, .atomic = atomic};
    return to_string(scheduler.scatter(facts, t));
  };
  const Target cpu = test::cpu_target();
  EXPECT_EQ(on(cpu, 1 << 22, 1024), "u = grid 128 serial 8196 unroll 4; p = serial 1024");
  EXPECT_EQ(on(cpu, 1 << 22, 8192), "u = grid 64 serial 16388 unroll 4; p = serial 8192");
  EXPECT_EQ(on(cpu, 1 << 22, 1 << 20), "u = grid 4033 serial 1040; atomic");
  EXPECT_EQ(on(cpu, 1 << 22, 100'000), "u = grid 16 serial 65540 unroll 4; p = serial 100000");
  EXPECT_EQ(on(cpu, 100, 10), "u = grid 100; atomic");
  EXPECT_EQ(on(cpu, 1 << 16, 100, 8), "u = grid 16 serial 1024 unroll 4; p = serial 100");
  EXPECT_EQ(on(cpu, 1 << 16, 100, 64), "u = serial 65536; p = serial 100; r = grid 2 register 2 lane 8 register 2");
  EXPECT_EQ(on(cpu, 1 << 16, 100, 100), "u = serial 65536; p = serial 100; r = grid 2 register 4 lane 8 register 2");
  EXPECT_EQ(on(cpu, 10, 1 << 20, 300), "u = serial 10; p = serial 1048576; r = grid 4 register 5 lane 8 register 2");
  Target alone = cpu;
  alone.float64 = false;
  EXPECT_EQ(on(alone, 1 << 16, 100, 100), "u = serial 65536; p = serial 100; r = grid 2 register 7 lane 8") << "no pairs";
  EXPECT_EQ(on(gpu(), 1 << 16, 100, 64), "u = grid 65536; atomic among 8");
  EXPECT_EQ(on(cpu, 1 << 22, 1 << 20, 1, false), "u = grid 2 serial 524292 unroll 4; p = grid 8 serial 131072");
  EXPECT_EQ(on(cpu, 1 << 22, 1 << 22, 1, false), "u = serial 4194304; p = grid 16 serial 262144");
  EXPECT_EQ(on(gpu(), 1 << 22, 1024), "u = grid 4194304; atomic among 64");
  EXPECT_EQ(on(gpu(), 1 << 22, 8192), "u = grid 4194304; atomic among 8");
  EXPECT_EQ(on(gpu(), 1 << 22, 1 << 16), "u = grid 4194304; atomic");
  EXPECT_EQ(on(gpu(), 1 << 15, 1024), "u = grid 32768; atomic among 8") << "as many as there are updates for";
  EXPECT_EQ(on(gpu(), 1000, 10), "u = grid 1000; atomic");
  Target lanes = gpu();
  lanes.subgroup_size = 32, lanes.subgroup_operations = kSubgroupBasic | kSubgroupArithmetic;
  EXPECT_EQ(on(lanes, 1 << 22, 1024), "u = grid 4194304; atomic among 64; lanes 32");
  EXPECT_EQ(on(lanes, 1000, 1000), "u = grid 1024; atomic; lanes 32");
  EXPECT_EQ(on(lanes, 255, 1000), "u = grid 255; atomic") << "not worth it";
  EXPECT_EQ(on(lanes, 1000, 1000, 2), "u = grid 1000; atomic") << "neighbours have elements of one row";
}
}  // namespace scatter_schedule_test
}  // namespace spirograd::schedule
