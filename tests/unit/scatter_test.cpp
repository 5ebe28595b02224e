// Scatters on devices of every kind, on the host: any indices, sizes beside every limit, and which schedules are chosen.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "frontend/rewrite/passes.h"
#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "spirv/kernel/iterations.h"
#include "spirv/kernel/verify.h"
#include "spirv/lower/split_scatter.h"
#include "spirv/schedule/cost.h"
#include "spirv/schedule/legal.h"
#include "spirv/schedule/rules.h"
#include "support/lowered.h"

namespace spirograd {
namespace scatter_test {

using test::gpu_target;

Program program(const std::string& text) {
  return rewrite::optimise_for_lowering(text::instantiate(text::parse(text, "test.sg").value()).value(), {.verify = true});
}

// Processors and GPUs; without atomics on floats, without any; and where loops end early.
std::vector<Target> targets() {
  std::vector<Target> out;
  for (Target t : {test::cpu_target(), gpu_target()}) {
    out.push_back(t);
    out.push_back(deterministic(t));
    t.integer_atomics = false;
    out.push_back(deterministic(t));
    t.max_loop_iterations = 40;
    out.push_back(deterministic(t));
    out.push_back(t);
  }
  return out;
}

std::vector<double> values(int64_t n) {
  std::vector<double> out;
  for (int64_t i = 0; i < n; ++i) out.push_back(static_cast<double>((i * 7919 + 13) % 33 - 16));
  return out;
}

// All the same; sorted; anywhere inside and outside; far outside.
std::vector<std::vector<double>> indices(int64_t n, int64_t places) {
  std::vector<std::vector<double>> out(4);
  for (int64_t i = 0; i < n; ++i) {
    out[0].push_back(static_cast<double>(places / 2));
    out[1].push_back(static_cast<double>(i * places / n));
    out[2].push_back(static_cast<double>(i * 7907 % (places + 4) - 2));
    out[3].push_back(i % 3 == 0 ? -2147483648.0 : i % 3 == 1 ? 2147483647.0 : -1.0);
  }
  return out;
}

testing::AssertionResult right(const Program& p, const Target& target, const std::vector<std::vector<double>>& inputs,
                               const schedule::Scheduler& scheduler = schedule::Scheduler()) {
  const lower::Plan plan = lower::lower(p, target, scheduler);
  for (const kernel::Kernel& k : plan.kernels) {
    if (auto complaint = kernel::verify(k)) return testing::AssertionFailure() << complaint->str();
    if (kernel::loop_iterations(k) > loop_limit(target))
      return testing::AssertionFailure() << k.name << " runs " << kernel::loop_iterations(k) << " iterations";
  }
  return test::same_as_interpreter(p, plan, inputs, 0);  // small whole numbers: sums are exact
}

TEST(Scatter, AnyIndicesOnAnyDevice) {
  for (const char* type : {"f32", "i32", "u32", "f64"})
    for (const auto& [n, places] : {std::pair<int64_t, int64_t>{1, 1}, {37, 1}, {1, 5}, {311, 13}, {4099, 3}, {6151, 997}}) {
      const Program p = program("def f(x: " + std::string(type) + "[" + std::to_string(n) + "], i: i32[" +
                                std::to_string(n) + "]) = scatter([" + std::to_string(places) + "], x, i)");
      std::vector<double> x = values(n);
      if (std::string(type) == "u32")
        for (double& v : x) v = std::abs(v);
      for (const Target& t : targets())
        for (const std::vector<double>& i : indices(n, places)) EXPECT_TRUE(right(p, t, {x, i})) << type << " " << n;
    }
}

TEST(Scatter, TheGreatestOfWhatArrivesOnAnyDevice) {
  for (const auto& [n, places] : {std::pair<int64_t, int64_t>{1, 1}, {37, 1}, {1, 5}, {311, 13}, {4099, 3}, {6151, 997}}) {
    const std::string rows = std::to_string(n), all = std::to_string(places);
    const Program p = program("def f(x: u32[" + rows + "], i: i32[" + rows + "]) = scatter_max([" + all + "], x, i)");
    const Program q = program("def f(x: u32[" + rows + ",3], i: i32[" + rows + "]) = scatter_max([" + all + "], x, i)");
    std::vector<double> x = values(3 * n);
    for (double& v : x) v = v < 0 ? 4294967296.0 + v : v;
    for (const Target& t : targets())
      for (const std::vector<double>& i : indices(n, places)) {
        EXPECT_TRUE(right(p, t, {{x.begin(), x.begin() + n}, i})) << n;
        EXPECT_TRUE(right(q, t, {x, i})) << n;
      }
  }
  const Program batch = program("def f(x: u32[7,90], i: i32[7,90]) = for b: 7 => scatter_max([11], x[b], i[b])");
  std::vector<double> x = values(630);
  for (double& v : x) v += 16;
  for (const Target& t : targets()) EXPECT_TRUE(right(batch, t, {x, indices(630, 11)[2]}));
}

TEST(Scatter, RowsAndSeveralIndices) {
  for (const Target& t : targets()) {
    const Program rows = program("def f(x: f32[613, 3, 5], i: i32[613]) = scatter([7], x, i)");
    for (const std::vector<double>& i : indices(613, 7)) EXPECT_TRUE(right(rows, t, {values(613 * 15), i}));
    const Program wide = program("def f(x: f32[113, 3, 19], i: i32[113], j: i32[113]) = scatter([7, 5], 2.0 * x, i, j)");
    for (const std::vector<double>& i : indices(113, 7)) EXPECT_TRUE(right(wide, t, {values(113 * 57), i, i}));
    const Program grid = program("def f(x: f32[41, 61, 2], i: i32[41, 61], j: i32[41, 61]) = scatter([3, 11], x, i, j)");
    for (const std::vector<double>& i : indices(41 * 61, 3))
      for (const std::vector<double>& j : indices(41 * 61, 11)) EXPECT_TRUE(right(grid, t, {values(41 * 61 * 2), i, j}));
    const Program one = program("def f(x: f32[9], i: i32) = scatter([4], x, i)");
    for (const double i : {-1, 0, 3, 4}) EXPECT_TRUE(right(one, t, {values(9), {i}}));
  }
}

// All scatters to copies that subgroups share, of which an iteration takes so many elements for each lane.
struct Teams : schedule::Scheduler {
  int64_t copies, unroll;
  Teams(int64_t c, int64_t u) : copies(c), unroll(u) {}
  schedule::ScatterSchedule scatter(const schedule::ScatterFacts& f, const Target& t) const override {
    using schedule::Bind;
    const int64_t lanes = t.subgroup_size,
                  each = schedule::divided_up(schedule::divided_up(f.updates, copies), unroll * lanes);
    schedule::ScatterSchedule s{.atomic = false, .places = {{Bind::Serial, f.places}}};
    s.updates = {{Bind::Grid, copies}, {Bind::Serial, each * f.row}, {Bind::Unroll, unroll}, {Bind::Lane, lanes}};
    EXPECT_EQ(schedule::check(f, s, t), std::nullopt);
    return s;
  }
};

TEST(Scatter, FactsTellWhetherArraysAreReadAnywhere) {
  const auto gathers = [](const std::string& updates, const std::string& index = "j", bool stored = false) {
    const Program p =
        program("def f(x: f32[13], y: f32[411], i: i32[411], j: i32[411]) = scatter([13], " + updates + ", " + index + ")");
    lower::NodeSet scatters;
    const ir::NodeId id = {p.results[0].node};
    if (stored) scatters.insert((*p.graph)[id].in[0].v);
    lower::ExtentWalk extent(*p.graph, scatters);
    return lower::scatter_facts(*p.graph, id, extent, test::cpu_target()).gathers;
  };
  EXPECT_TRUE(gathers("2.0 * x[i]"));
  EXPECT_TRUE(gathers("y", "j[i]"));
  EXPECT_FALSE(gathers("2.0 * y"));
  EXPECT_FALSE(gathers("y + sum(x)"));
  EXPECT_FALSE(gathers("scatter([411], x[i], i)", "j", true)) << "that is done before";
}

TEST(Scatter, LanesThatShareACopy) {
  const Program one = program("def f(x: f32[411], i: i32[411]) = scatter([13], x, i)");
  const Program wide = program("def f(x: f64[999], i: i32[999]) = scatter([997], x, i)");
  const Program few = program("def f(x: i32[5], i: i32[5]) = scatter([3], x, i)");
  const Program rows = program("def f(x: f32[211, 3], i: i32[211], j: i32[211]) = scatter([7, 5], 2.0 * x, i, j)");
  const Program most = program("def f(x: u32[411], i: i32[411]) = scatter_max([13], x, i)");
  const Program read = program("def f(x: f32[13], i: i32[411]) = scatter([13], x[i], i)");
  std::vector<double> positive = values(411);
  for (double& v : positive) v += 16;
  for (const int64_t lanes : {4, 8})
    for (const auto& [copies, unroll] : {std::pair<int64_t, int64_t>{2, 1}, {3, 2}, {2, 5}}) {
      Target t = test::cpu_target();
      t.subgroup_size = static_cast<uint32_t>(lanes),
      t.subgroup_operations = kSubgroupBasic | kSubgroupBallot | kSubgroupShuffle;
      const Teams teams(copies, unroll);
      // Only lanes that are half of a subgroup apart meet.
      std::vector<double> apart;
      for (int64_t i = 0; i < 411; ++i) apart.push_back(static_cast<double>(i % (lanes / 2)));
      EXPECT_TRUE(right(one, t, {values(411), apart}, teams)) << lanes;
      for (size_t kind = 0; kind < 4; ++kind) {
        SCOPED_TRACE(std::to_string(lanes) + " lanes, indices of kind " + std::to_string(kind));
        EXPECT_TRUE(right(one, t, {values(411), indices(411, 13)[kind]}, teams));
        EXPECT_TRUE(right(wide, t, {values(999), indices(999, 997)[kind]}, teams));
        EXPECT_TRUE(right(few, t, {values(5), indices(5, 3)[kind]}, teams));
        EXPECT_TRUE(right(rows, t, {values(633), indices(211, 7)[kind], indices(211, 5)[(kind + 1) % 3]}, teams));
        EXPECT_TRUE(right(most, t, {positive, indices(411, 13)[kind]}, teams));
        EXPECT_TRUE(right(read, t, {values(13), indices(411, 13)[kind]}, teams));
      }
    }
}

TEST(Scatter, EmptyOnes) {
  for (const Target& t : targets()) {
    EXPECT_TRUE(right(program("def f(x: f32[0], i: i32[0]) = scatter([4], x, i)"), t, {{}, {}}));
    EXPECT_TRUE(right(program("def f(x: f32[3, 0], i: i32[3]) = scatter([4], x, i)"), t, {{}, {0, 1, 2}}));
    EXPECT_TRUE(right(program("def f(x: f32[3], i: i32[3]) = scatter([0], x, i)"), t, {{1, 2, 3}, {0, 1, 2}}));
  }
}

TEST(Scatter, SeveralAtOnceAndThoseOfGradients) {
  const auto two = "def f(x: f32[2000], i: i32[2000], j: i32[2000]) = (scatter([10], x, i), scatter([9], x * 2.0, j))";
  const auto loss = "def f(x: f32[100], i: i32[3000]) -> f32 = sum(square(x[i]))";
  const Program gradient = rewrite::optimise_for_lowering(
      grad(text::instantiate(text::parse(loss, "test.sg").value()).value()).value(), {.verify = true});
  for (const Target& t : targets()) {
    EXPECT_TRUE(right(program(two), t, {values(2000), indices(2000, 10)[2], indices(2000, 9)[0]}));
    for (const std::vector<double>& i : indices(3000, 100)) EXPECT_TRUE(right(gradient, t, {values(100), i}));
  }
}

// Sums into one part of a result, of what is read from another part: of one buffer, if both lay there.
TEST(Scatter, APartOfAResultThatAddsUpAnotherPart) {
  const Program p = program(
      "def f(x: f32[2000], i: i32[2001]) -> f32[4031] {\n"
      "  let c = scan(fn(s, v) => s + v, 0.0, x)\n"
      "  concat(c, scatter([2000], c, i), scatter([30], x, i[1:]))\n"
      "}");
  for (const Target& t : targets())
    for (const auto& i : indices(2001, 30)) EXPECT_TRUE(right(p, t, {values(2000), i}));
  const lower::Plan plan = lower::lower(p, gpu_target());
  EXPECT_TRUE(std::any_of(plan.buffers.begin(), plan.buffers.end(), [](const BufferDesc& b) {
    return b.role == Role::Scratch && b.type == f32({2000});
  })) << "it has a buffer of its own";
}

// An infinite update that goes nowhere is nowhere.
TEST(Scatter, WhatIsDroppedLeavesNoTrace) {
  const Program p = program("def f(x: f32[3000], i: i32[3000]) = scatter([8], x, i)");
  std::vector<double> x(3000, 1), i(3000);
  for (size_t k = 0; k < 3000; ++k) {
    i[k] = static_cast<double>(k % 9);
    if (k % 9 == 8) x[k] = k % 2 ? INFINITY : NAN;
  }
  for (const Target& t : targets()) EXPECT_TRUE(right(p, t, {x, i}));
}

TEST(Scatter, DeterministicOnesAddNoFloatsAtomically) {
  for (const int64_t places : {16, 100'000, 10'000'000}) {
    const std::string n = std::to_string(places);
    const Program p = program("def f(x: f32[500000], i: i32[500000]) = scatter([" + n + "], x, i)");
    const lower::Plan plan = lower::lower(p, deterministic(test::cpu_target()));
    for (const kernel::Kernel& k : plan.kernels)
      for (const kernel::Inst& i : k.body) EXPECT_NE(i.op, kernel::KOp::AtomicAdd) << n;
    EXPECT_LE(plan.scratch_bytes, 1u << 23) << n;
  }
}

}  // namespace scatter_test
}  // namespace spirograd
