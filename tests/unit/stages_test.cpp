// Reductions whose operands go through shared memory: schedules that are given by hand, on the host evaluator, which reports
// races.
#include <gtest/gtest.h>

#include "frontend/rewrite/passes.h"
#include "spirograd/text.h"
#include "spirv/kernel/verify.h"
#include "spirv/schedule/legal.h"
#include "support/lowered.h"

namespace spirograd {
namespace stages_test {

Target gpu() {
  Target t;
  t.float64 = true;
  t.subgroup_size = 32;
  t.max_invocations = 1024;
  t.max_buffers = 16;
  return t;
}

// These schedules, and facts as they were asked for.
class Given : public schedule::Scheduler {
 public:
  Given(std::string map, std::string reduction) : map_(std::move(map)), reduction_(std::move(reduction)) {}
  schedule::MapSchedule map(const schedule::MapFacts& f, const Target& t) const override {
    const schedule::MapSchedule s = schedule::parse_map(map_);
    return check(f, s, t) ? schedule::plain_map(f) : s;
  }
  schedule::ReduceSchedule reduction(const schedule::ReduceFacts& f, const Target&) const override {
    facts.push_back(f);
    return schedule::parse_reduction(reduction_);
  }
  mutable std::vector<schedule::ReduceFacts> facts;

 private:
  std::string map_, reduction_;
};

struct Lowered {
  Program program;
  lower::Plan plan;
  std::vector<schedule::ReduceFacts> facts;
};

Program program_of(const std::string& source) {
  return rewrite::optimise_for_lowering(text::instantiate(text::parse(source, "stages").value(), "f").value(), {});
}

std::vector<std::vector<double>> inputs(const Program& p) {
  std::vector<std::vector<double>> out;
  int64_t seed = 1;
  for (const Param& param : p.params) {
    std::vector<double>& v = out.emplace_back();
    for (int64_t j = 0; j < param.type.shape.count(); ++j) {
      seed = seed * 75 % 65537;
      const auto x = static_cast<double>(seed % 33 - 16);
      v.push_back(is_float(param.type.dtype) ? x / 8 : x);
    }
  }
  return out;
}

// Lowered, verified, and run on the host.
Lowered lowered(const Program& program, const std::string& map, const std::string& reduction, const Target& target = gpu()) {
  Lowered out;
  out.program = program;
  const Given given(map, reduction);
  out.plan = lower::lower(out.program, target, given);
  for (const kernel::Kernel& k : out.plan.kernels)
    if (const auto defect = kernel::verify(k)) ADD_FAILURE() << defect->str();
  out.facts = given.facts;
  EXPECT_TRUE(test::same_as_interpreter(out.program, out.plan, inputs(out.program), 1e-5)) << map << "\n" << reduction;
  return out;
}

Lowered lowered(const std::string& source, const std::string& map, const std::string& reduction) {
  SCOPED_TRACE(source);
  return lowered(program_of(source), map, reduction);
}

// Loads from memory that all invocations run, per element of the reduction and point of the domain.
double loads(const Lowered& l, double elements) {
  EXPECT_EQ(l.plan.kernels.size(), 1u);
  const kernel::Kernel& k = l.plan.kernels[0];
  double times = 1, sum = 0;
  std::vector<double> around;
  for (const kernel::Inst& i : k.body) {
    if (i.op == kernel::KOp::Loop) around.push_back(times), times *= static_cast<double>(i.imm);
    if (i.op == kernel::KOp::EndLoop) times = around.back(), around.pop_back();
    if (i.op == kernel::KOp::Load) sum += times;
  }
  return sum * static_cast<double>(k.invocations) / elements;
}

constexpr const char* kTiles = "i = grid 2 local 8 register 4; j = grid 2 register 4 local 8; group 64";

TEST(Stages, AProductGoesThroughSharedMemory) {
  const Lowered l = lowered("def f(a: f32[64, 64], b: f32[64, 64]) -> f32[64, 64] = a @ b", kTiles,
                            "k = serial 4 serial 4 unroll 4; stage A pad 1, B");
  EXPECT_EQ(loads(l, 64 * 64 * 64), 2.0 / 32);
  const kernel::Kernel& k = l.plan.kernels[0];
  ASSERT_EQ(k.shared.size(), 2u);
  EXPECT_EQ(k.shared[0].count, 32u * 17);
  EXPECT_EQ(k.shared[1].count, 16u * 32);
  EXPECT_EQ(l.plan.schedules[0][1].how, "k = serial 4 serial 4 unroll 4; stage A pad 1, B; 0.0625 loads per element");
}

TEST(Stages, EitherOperandMayStay) {
  const std::string product = "def f(a: f32[64, 64], b: f32[64, 64]) -> f32[64, 64] = a @ b";
  EXPECT_EQ(loads(lowered(product, kTiles, "k = serial 4 serial 16; stage B"), 64 * 64 * 64), 1.0 / 4 + 1.0 / 32);
  EXPECT_EQ(loads(lowered(product, kTiles, "k = serial 4 serial 16"), 64 * 64 * 64), 2.0 / 4);
}

// Each has tiles of 16 x 16 points, and both operands are staged.
TEST(Stages, OperandsHaveTheirAxesInAnyOrder) {
  for (const std::string operands :
       {"a: f32[32, 32], b: f32[32, 32]) -> f32[32, 32] = transpose(a, [1, 0]) @ b",
        "a: f32[32, 32], b: f32[32, 32]) -> f32[32, 32] = a @ transpose(b, [1, 0])",
        "a: f32[32, 32], b: f32[32, 32]) -> f32[32, 32] = transpose(a @ b, [1, 0])",
        "a: f32[32, 32]) -> f32[32, 32] = a @ transpose(a, [1, 0])",
        "a: i32[32, 32], b: i32[32, 32]) -> i32[32, 32] = a @ b", "a: f64[32, 32], b: f64[32, 32]) -> f64[32, 32] = a @ b",
        "a: f32[32, 32], b: f32[32, 32]) -> f32[32, 32] = for i: 32, j: 32 => max(for k: 32 => abs(a[i, k] - b[j, k]))",
        "a: f32[1024], b: f32[32, 32]) -> f32[32, 32] = reshape(a, [32, 32]) @ b",
        "a: f32[1, 32, 32], b: f32[32, 32]) -> f32[32, 32] = reshape(a, [32, 32]) @ b",
        "a: f32[32, 1, 32], b: f32[32, 32, 1]) -> f32[32, 32] = reshape(a, [32, 32]) @ reshape(b, [32, 32])"}) {
    const Lowered l = lowered("def f(" + operands, "i = grid 2 local 8 register 2; j = grid 2 register 2 local 8; group 64",
                              "k = serial 4 serial 2 unroll 4; stage A, B pad 1");
    EXPECT_EQ(loads(l, 32 * 32 * 32), 2.0 / 16) << operands;
  }
}

TEST(Stages, BatchesAreTheGridsOrTheGroups) {
  const std::string batched = "def f(a: f32[4, 16, 32], b: f32[4, 32, 16]) -> f32[4, 16, 16] = a @ b";
  const std::string reduction = "k = serial 4 serial 8; stage A pad 1, B";
  const Lowered apart = lowered(batched, "i = grid 4; j = grid 2 local 8; k = grid 2 local 8; group 64", reduction);
  EXPECT_EQ(loads(apart, 4 * 16 * 16 * 32), 2.0 / 8);
  const Lowered serial = lowered(batched, "i = serial 4; j = grid 2 local 8; k = grid 2 local 8; group 64", reduction);
  EXPECT_EQ(loads(serial, 4 * 16 * 16 * 32), 2.0 / 8);
  const Lowered together =
      lowered(batched, "i = grid 1 local 4; j = grid 4 local 4; k = grid 4 local 4; group 64", reduction);
  EXPECT_EQ(loads(together, 4 * 16 * 16 * 32), 2.0 / 4);
  EXPECT_EQ(together.facts[0].leaves[0].place[0].tile, 4);
}

TEST(Stages, TailsAreComputedForNothing) {
  for (const std::string reduction :
       {"k = serial 2 serial 3 serial 9; stage A, B pad 1", "k = serial 53; stage A pad 2, B",
        "k = serial 7 serial 8; stage B", "k = serial 2 serial 4 serial 9; stage A", "k = serial 53 serial 1; stage A"})
    for (const std::string map : {"i = grid 3 local 8 register 2; j = grid 4 local 8; tail recompute; group 64",
                                  "i = grid 5 register 2 local 4; j = grid 4 local 8; tail recompute; group 32",
                                  "i = serial 19 local 2; j = grid 1 local 64; tail recompute; group 128"})
      lowered("def f(a: f32[37, 53], b: f32[53, 29], c: f32[29]) -> f32[37, 29] = relu(abs(a) @ b + c)", map, reduction);
}

TEST(Stages, WhatIsMovedTurnedOrMaskedIsStagedAsItIsStored) {
  const Lowered l = lowered(
      "def f(x: f32[32, 24], y: f32[32, 24]) -> f32[32, 32] = for i: 32, j: 32 => sum(for k: 24 => x[i + 1, 23 - k] * y[j, "
      "k - 2])",
      "i = grid 4 local 8; j = grid 4 local 8; group 64", "k = serial 3 serial 8; stage A, B");
  EXPECT_EQ(loads(l, 32 * 32 * 24), 2.0 / 8);
  const Lowered joined = lowered(
      "def f(x: f32[576], w: f32[24, 16]) -> f32[24, 16] = for i: 24, j: 16 => sum(for k: 24 => x[i * 24 + k] * w[k, j])",
      "i = grid 3 local 8; j = grid 2 local 8; group 64", "k = serial 3 serial 8; stage A, B");
  EXPECT_EQ(loads(joined, 24 * 16 * 24), 2.0 / 8);
}

// What invocations next to each other read overlaps: 8 + 8 - 1 elements are copied for 8 x 8 uses.
TEST(Stages, ConvolutionsCopyWhatTheirWindowsCover) {
  const auto program = [](const std::string& place) {
    return "def f(x: f32[40], w: f32[16, 24]) -> f32[16, 16] = for i: 16, j: 16 => sum(for k: 24 => x[" + place +
           "] * w[j, k])";
  };
  const char *map = "i = grid 2 local 8; j = grid 2 local 8; group 64",
             *reduction = "k = serial 3 serial 8; stage A, B pad 1";
  for (const char* place : {"i + k", "i + k - 5", "i - k", "20 - i - k"}) {
    const Lowered l = lowered(program(place), map, reduction);
    ASSERT_EQ(l.plan.kernels[0].shared.size(), 2u) << place;
    EXPECT_EQ(l.plan.kernels[0].shared[0].count, 15u) << place;
  }
  EXPECT_EQ(lowered(program("2 * i + k"), map, reduction).plan.kernels[0].shared[0].count, 22u);
  EXPECT_EQ(lowered(program("i + 3 * k"), map, reduction).plan.kernels[0].shared[0].count, 29u);
  EXPECT_EQ(lowered(program("7 * k + 2 * i"), map, reduction).plan.kernels[0].shared[0].count, 64u)
      << "the range of the sum";
  EXPECT_EQ(lowered(program("9 * k + 2 * i"), map, reduction).plan.kernels[0].shared[0].count, 64u) << "taken apart";
  EXPECT_EQ(lowered(program("8 * k + 2 * i"), map, reduction).plan.kernels[0].shared[0].count, 64u) << "taken apart";
  EXPECT_EQ(lowered(program("2 * k"), map, reduction).plan.kernels[0].shared[0].count, 8u) << "nothing in between";
  EXPECT_EQ(lowered(program("k * k + i"), map, "k = serial 3 serial 8").facts[0].leaves.size(), 1u);
  EXPECT_EQ(lowered(program("i + 2147483647 + k"), map, "k = serial 3 serial 8").facts[0].leaves.size(), 1u)
      << "wraps around";
}

TEST(Stages, OnlySumsOfCoordinatesCanBeStaged) {
  const Lowered l = lowered(
      "def f(x: f32[16, 32], n: i32[16], y: f32[32, 16]) -> f32[16, 16] = for i: 16, j: 16 => sum(for k: 32 => x[n[i], k] * "
      "y[k, j])",
      "i = grid 2 local 8; j = grid 2 local 8; group 64", "k = serial 4 serial 8; stage A");
  ASSERT_EQ(l.facts[0].leaves.size(), 1u);
  EXPECT_EQ(l.facts[0].leaves[0].place[0].step, 1) << "y, whose rows are reduced";
}

// As before simplification, which knows that it is all zeros.
TEST(Stages, NothingIsReadOfAnEmptyArray) {
  const std::string source = "def f(a: f32[0, 32], b: f32[32, 32]) -> f32[32, 32] = window(a, axis=0, lo=0, n=32) @ b";
  const Program p = text::instantiate(text::parse(source, "stages").value(), "f").value();
  const Lowered l = lowered(p, "i = grid 4 local 8; j = grid 4 local 8; group 64", "k = serial 4 serial 8; stage A");
  ASSERT_EQ(l.facts.size(), 1u);
  EXPECT_EQ(l.facts[0].leaves.size(), 1u);
}

// What the lanes of a subgroup have in common is loads: numbers are as cheap in each for itself.
TEST(Stages, LanesShareOnlyWhatIsLoadedForEachElement) {
  Target target = gpu();
  target.subgroup_operations = kSubgroupBasic | kSubgroupBallot;
  const auto common = [&](const std::string& factor) {
    const std::string source =
        "def f(w: f32[64, 32], s: f32[8], a: f32[8, 64]) -> f32[8, 32] =\n"
        "  for i: 8, j: 32 => sum(for k: 64 => w[k, j] * " +
        factor + ")";
    const Lowered l = lowered(program_of(source), "i = grid 4 register 2; j = grid 1 lane 32", "k = serial 64", target);
    EXPECT_EQ(l.facts.at(0).lanes, 32);
    return l.facts[0].common;
  };
  EXPECT_EQ(common("a[i, k]"), 1);
  EXPECT_EQ(common("abs(f32(k) - a[i, k])"), 1);
  EXPECT_EQ(common("abs(f32(k) - 7.5)"), 0);
  EXPECT_EQ(common("abs(f32(k) - s[i])"), 0);
}

// Which schedule is chosen depends on it.
TEST(Stages, TheCodeOfAnElementReachesDownToMemory) {
  const auto code = [](const std::string& term) {
    const Lowered l =
        lowered("def f(x: f32[16, 32], y: f32[32, 16]) -> f32[16, 16] = for i: 16, j: 16 => sum(for k: 32 => " + term +
                    " * y[k, j])",
                "i = grid 2 local 8; j = grid 2 local 8; group 64", "k = serial 4 serial 8");
    return l.facts.at(0).code;
  };
  EXPECT_GE(code("x[i, k]"), 5) << "two loads and a product";
  EXPECT_EQ(code("(x[i, k] * x[i, k] + x[i, k])"), code("x[i, k]") + 2);
}

TEST(Stages, ConstantArraysCanBeStaged) {
  const Lowered l = lowered(
      "def f(x: f32[16, 8], y: f32[8, 16], s: f32) -> f32[16, 16] = for i: 16, j: 16 => sum(for k: 8 => x[i, k] * y[k, j] * "
      "[0.5, 2.0, 3.0, 7.0, 0.25, 1.5, 6.0, 9.0][k] * s)",
      "i = grid 2 local 8; j = grid 2 local 8; group 64", "k = serial 2 serial 4; stage A, B, C");
  ASSERT_EQ(l.facts.size(), 1u);
  EXPECT_EQ(l.facts[0].leaves.size(), 3u) << "all but the number";
}

// Its elements are not next to each other, or counted through all axes.
TEST(Stages, ATileIsARangeAlongEachAxis) {
  const std::string product = "def f(a: f32[32, 32], b: f32[32, 32]) -> f32[32, 32] = a @ b";
  const auto leaves = [&](const std::string& map) { return lowered(product, map, "k = serial 32").facts[0].leaves.size(); };
  EXPECT_EQ(leaves("i = grid 4 local 8; j = grid 4 local 8; group 64"), 2u);
  EXPECT_EQ(leaves("i = grid 4 local 8 serial 1; j = grid 4 local 8; group 64"), 2u);
  EXPECT_EQ(leaves("i = local 8 grid 4; j = grid 4 local 8; group 64"), 1u);
  EXPECT_EQ(leaves("i = register 4 grid 2 local 4; j = grid 2 local 16; group 64"), 1u);
  EXPECT_EQ(leaves("e = grid 16 local 64; group 64"), 0u);
  EXPECT_EQ(leaves("i = grid 4 lane 8; j = grid 32"), 0u);
}

TEST(Stages, ReductionsOfOneKernelUseTheSameMemory) {
  const Lowered l =
      lowered("def f(a: f32[16, 32], b: f32[32, 16], c: f32[16, 32], d: f32[32, 16]) -> f32[16, 16] = (a @ b) * (c @ d)",
              "i = grid 2 local 8; j = grid 2 local 8; group 64", "k = serial 4 serial 8; stage A pad 1, B");
  ASSERT_EQ(l.plan.kernels.size(), 1u);
  EXPECT_EQ(l.facts.size(), 2u);
  EXPECT_EQ(l.plan.kernels[0].shared.size(), 2u);
  EXPECT_EQ(l.facts[0].shared, 0);
  EXPECT_EQ(l.facts[1].shared, 8 * 9 * 4 + 8 * 8 * 4);
}

TEST(Stages, TheTablesStageContractions) {
  const auto chosen = [](const std::string& source) {
    const Program p = program_of(source);
    std::string out;
    for (const auto& lines : lower::lower(p, gpu()).schedules)
      for (const lower::ScheduleLine& line : lines) out += (out.empty() ? "" : " | ") + line.how;
    return out;
  };
  EXPECT_EQ(chosen("def f(a: f32[512, 512], b: f32[512, 512]) -> f32[512, 512] = a @ b"),
            "i = grid 8 local 16 register 4; j = grid 8 local 16 register 4; group 256 | "
            "k = serial 8 serial 4 serial 2 unroll 8; stage A pad 4, B; 0.0312 loads per element");
  EXPECT_EQ(chosen("def f(a: f32[8, 128, 96], b: f32[8, 96, 128]) -> f32[8, 128, 128] = a @ b"),
            "i = grid 8; j = grid 2 local 16 register 4; k = grid 2 local 16 register 4; group 256 | "
            "k = serial 2 serial 3 serial 2 unroll 8; stage A pad 4, B; 0.0312 loads per element");
  EXPECT_EQ(chosen("def f(a: f32[509, 509], b: f32[509, 509]) -> f32[509, 509] = a @ transpose(b, [1, 0])"),
            "i = grid 8 local 16 register 4; j = grid 8 register 4 local 16; tail recompute; group 256 | "
            "k = serial 8 serial 4 serial 16; stage A pad 4, B pad 4; 0.0312 loads per element");
  EXPECT_EQ(chosen("def f(a: f32[8, 32, 16], b: f32[8, 16, 32]) -> f32[8, 32, 32] = a @ b"),
            "i = grid 8; j = grid 32; k = grid 32 | k = serial 4 unroll 4; accumulators 4");
}

}  // namespace stages_test
}  // namespace spirograd
