// Kernels on devices that end loops after a number of iterations: every kernel stays below the limit, and the values are
// those of the interpreter. The limits here are far smaller than any real one, so that small programs meet them.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "frontend/rewrite/passes.h"
#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "spirv/kernel/builder.h"
#include "spirv/kernel/iterations.h"
#include "spirv/kernel/verify.h"
#include "support/lowered.h"
#include "support/random_program.h"

namespace spirograd {
namespace bounded_test {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

Target limited(uint64_t iterations, bool cpu = true) {
  Target t = test::cpu_target();
  if (cpu) t.price = software_prices(t.subgroup_size, 2);
  t.max_loop_iterations = iterations;
  return t;
}

testing::AssertionResult right_and_bounded(const Program& given, const std::vector<std::vector<double>>& inputs,
                                           const Target& target) {
  const Program p = rewrite::optimise_for_lowering(given, {.verify = true});
  lower::Plan plan;
  try {
    plan = lower::lower(p, target);
  } catch (const Error& e) {
    return testing::AssertionFailure() << e.str();
  }
  for (const kernel::Kernel& k : plan.kernels) {
    if (auto complaint = kernel::verify(k)) return testing::AssertionFailure() << complaint->str();
    if (kernel::loop_iterations(k) > loop_limit(target))
      return testing::AssertionFailure() << k.name << " runs " << kernel::loop_iterations(k) << " iterations";
  }
  return test::same_as_interpreter(p, plan, inputs);
}

Program program(const std::string& text) { return text::instantiate(text::parse(text, "test.sg").value()).value(); }

std::vector<double> ramp(int64_t n) {
  std::vector<double> out;
  for (int64_t i = 0; i < n; ++i) out.push_back(static_cast<float>(std::sin(0.7 * static_cast<double>(i)) + 0.1));
  return out;
}

testing::AssertionResult all_limits(const Program& p, const std::vector<std::vector<double>>& inputs) {
  for (uint64_t limit : {40, 130, 1000}) {
    for (bool cpu : {true, false}) {
      const auto result = right_and_bounded(p, inputs, limited(limit, cpu));
      if (!result)
        return testing::AssertionFailure() << "limit " << limit << (cpu ? ", cpu: " : ", gpu: ") << result.message();
    }
  }
  return testing::AssertionSuccess();
}

TEST(Iterations, LoopsMultiplyAndAddUp) {
  kernel::Builder b("k", 64, 64);
  const uint32_t out = b.bind("out", kernel::Scalar::I32, kernel::Access::Write);
  const kernel::Value sum = b.var(b.i32(0));
  b.begin_loop(b.i32(10));
  b.begin_loop(b.op(kernel::KOp::Min, b.bitcast(kernel::Scalar::I32, b.index()), b.i32(7)));
  b.set(sum, b.add(b.get(sum), b.i32(1)));
  b.end_loop();
  b.end_loop();
  b.begin_loop(b.i32(5));
  b.set(sum, b.add(b.get(sum), b.i32(1)));
  b.end_loop();
  b.store(out, b.bitcast(kernel::Scalar::I32, b.index()), b.get(sum));
  // Each loop counts one more than it runs: 1 + 10 (1 + 1 + 7), and 1 + 5.
  EXPECT_EQ(kernel::loop_iterations(std::move(b).finish()), 91u + 6u);
}

TEST(Iterations, OperationsOnFloatsCountOncePerIteration) {
  kernel::Builder b("k", 64, 64);
  const uint32_t in = b.bind("in", kernel::Scalar::F32, kernel::Access::Read);
  const uint32_t out = b.bind("out", kernel::Scalar::F32, kernel::Access::Write);
  const kernel::Value at = b.bitcast(kernel::Scalar::I32, b.index()), x = b.load(in, at), sum = b.var(b.f32(0));
  b.begin_loop(b.i32(10));
  b.set(sum, b.add(b.mul(b.get(sum), x), b.f32(1)));
  b.end_loop();
  b.store(out, b.add(at, b.i32(0)), b.mul(b.get(sum), b.f32(3)));
  EXPECT_EQ(kernel::float_operations(std::move(b).finish()), 2 * 10 + 1);
}

TEST(Iterations, UnknownTripCountsCountAsTheLargest) {
  kernel::Builder b("k", 64, 64);
  const uint32_t in = b.bind("in", kernel::Scalar::I32, kernel::Access::Read);
  const uint32_t out = b.bind("out", kernel::Scalar::I32, kernel::Access::Write);
  const kernel::Value sum = b.var(b.i32(0)), count = b.load(in, b.i32(0));
  for (int k = 0; k < 3; ++k) b.begin_loop(count);  // 2^31 - 1 each
  b.set(sum, b.add(b.get(sum), b.i32(1)));
  for (int k = 0; k < 3; ++k) b.end_loop();
  b.store(out, b.i32(0), b.get(sum));
  EXPECT_EQ(kernel::loop_iterations(std::move(b).finish()), std::numeric_limits<uint64_t>::max());
}

TEST(Bounded, LongLoopsRunInChunks) {
  const Program p = program("def main(x: f32) -> (y: f32) = fori(997, fn(i, s) => s * 0.9 + x + f32(i), 0.0)\n");
  EXPECT_TRUE(all_limits(p, {{0.3}}));
  const lower::Plan plan = lower::lower(rewrite::optimise_for_lowering(p, {.verify = true}), limited(600));
  EXPECT_GE(plan.steps.size(), 2u);
  EXPECT_LE(plan.steps.size(), 8u) << "a chunk and what is left, not a dispatch per step";
}

// What becomes of the first one changes what the second one reads.
TEST(Bounded, LoopsThatReadEachOtherRunInChunks) {
  EXPECT_TRUE(all_limits(
      program("def main(x: f32[3]) {\n  let a = fori(300, fn(i, s) => s * 0.99 + sin(f32(i)), x)\n"
              "  let b = fori(400, fn(i, s) => s * 0.5 + a, x)\n  (a, b, fori(301, fn(i, s) => 0.25 * s + b, a))\n}"),
      {ramp(3)}));
}

TEST(Bounded, NestedLoopsRunInChunks) {
  const auto nested = "def main(x: f32) -> (y: f32) = fori(31, fn(i, s) => fori(29, fn(j, t) => t * 0.99 + x, s), 0.0)\n";
  EXPECT_TRUE(all_limits(program(nested), {{0.3}}));
}

TEST(Bounded, LoopsInBuildsRunInChunks) {
  const auto text = "def main(x: f32[3]) -> (y: f32[3]) = for j: 3 => fori(211, fn(i, s) => s * 0.9 + x[j], 0.0)\n";
  EXPECT_TRUE(all_limits(program(text), {{1, 2, 3}}));
}

TEST(Bounded, ScansThatAreTooLongAsScansAreLoops) {
  for (const uint64_t limit : {6, 8, 12, 20, 40})
    for (const bool cpu : {true, false}) {
      std::vector<double> x;
      for (int j = 0; j < 300; ++j) x.push_back(j % 7 - 3);
      EXPECT_TRUE(right_and_bounded(program("def main(x: f32[300]) -> f32[301] = scan(fn(s, v) => s + v, 0.0, x)\n"), {x},
                                    limited(limit, cpu)))
          << limit;
    }
}

TEST(Bounded, StackedResultsComeInTheOrderOfTheLoop) {
  for (int64_t n : {83, 84, 1009}) {
    const std::string t = "f32[" + std::to_string(n) + "]";
    EXPECT_TRUE(all_limits(program("def main(x: " + t + ") -> (y: f32[" + std::to_string(n + 1) +
                                   "]) = scan(fn(s, e) => s * 0.5 + e, 0.0, x)\n"),
                           {ramp(n)}))
        << n;
  }
}

TEST(Bounded, GradientsOfLongLoopsRunInChunks) {
  const Program p = program("def main(x: f32, w: f32[307]) -> (y: f32) = fold(fn(s, e) => sin(s) * 0.9 + e * x, 0.1, w)\n");
  EXPECT_TRUE(all_limits(grad(p, {"x", "w"}).value(), {{0.3}, ramp(307)}));
  EXPECT_TRUE(all_limits(jvp(p, {"x"}).value(), {{0.3}, ramp(307), {1.0}}));
}

TEST(Bounded, ReductionsOverSeveralAxesAreSplit) {
  for (const char* op : {"sum", "max", "min"}) {
    const std::string whole = "def main(x: f32[7,11,13,3]) -> (y: f32) = " + std::string(op) + "(x)\n";
    EXPECT_TRUE(all_limits(program(whole), {ramp(7 * 11 * 13 * 3)})) << op;
    const std::string part = "def main(x: f32[7,11,13,3]) -> (y: f32[11]) = " + std::string(op) + "(x, axis=[0,2,3])\n";
    EXPECT_TRUE(all_limits(program(part), {ramp(7 * 11 * 13 * 3)})) << op;
  }
  EXPECT_TRUE(all_limits(program("def main(x: f32[5003]) -> (y: f32) = sum(x)\n"), {ramp(5003)}));
}

TEST(Bounded, ReductionsOverReductionsAreStored) {
  const auto text =
      "def main(x: f32[61,53]) -> (a: f32, b: f32[61]) {\n"
      "  let m = max(x, axis=1)\n"
      "  let s = for i: 61 => sum(for j: 61 => min(for k: 53 => abs(x[i,k] - x[j,k])))\n"
      "  (sum(m), s)\n}\n";
  EXPECT_TRUE(all_limits(program(text), {ramp(61 * 53)}));
}

TEST(Bounded, ThePlaceOfAnExtremeIsFoundInStages) {
  for (int64_t n : {41, 130, 977, 2048, 4099}) {
    const std::string size = std::to_string(n);
    const Program p = program("def main(x: f32[" + size + "]) -> (a: i32, b: i32) = (argmax(x), argmin(x))\n");
    std::vector<double> x = ramp(n);
    EXPECT_TRUE(all_limits(p, {x})) << n;
    std::vector<double> ties(static_cast<size_t>(n), 1.0);
    EXPECT_TRUE(all_limits(p, {ties})) << n;
    ties[static_cast<size_t>(n) - 1] = 2;
    ties[static_cast<size_t>(n) - 2] = 2;
    EXPECT_TRUE(all_limits(p, {ties})) << n;
    const std::vector<double> nothing(static_cast<size_t>(n), kNaN);
    EXPECT_TRUE(all_limits(p, {nothing})) << n;
    std::vector<double> one = nothing;
    one[static_cast<size_t>(n) - 3] = -kInf;
    EXPECT_TRUE(all_limits(p, {one})) << n;
    const Program ints = program("def main(x: i32[" + size + "]) -> (a: i32, b: i32) = (argmax(x), argmin(x))\n");
    for (double v : {-2147483648.0, 2147483647.0})
      EXPECT_TRUE(all_limits(ints, {std::vector<double>(static_cast<size_t>(n), v)})) << n;
  }
  const auto rows = "def main(x: f32[3,977,2]) -> (y: i32[3,2]) = argmax(x, axis=1)\n";
  EXPECT_TRUE(all_limits(program(rows), {ramp(3 * 977 * 2)}));
}

TEST(Bounded, SerialScattersRunInParts) {
  const auto text = "def main(x: f64[301,2], i: i32[301]) -> (y: f64[5,2]) = scatter([5], x, i)\n";
  std::vector<double> index;
  for (int k = 0; k < 301; ++k) index.push_back(k % 7 - 1);
  EXPECT_TRUE(all_limits(program(text), {ramp(602), index}));
}

TEST(Bounded, WorkThatSharedAKernelIsParted) {
  const auto text =
      "def main(x: f32[4,30]) -> (a: f32[4], b: f32[4], c: f32) = (sum(x, axis=1), max(x, axis=1), sum(x[0]))\n";
  EXPECT_TRUE(right_and_bounded(program(text), {ramp(120)}, limited(45)));
}

TEST(Bounded, WhatNothingCanShortenIsRefusedWithBothNumbers) {
  const Program p = program("def main(x: f32[9]) -> (y: f32) = sum(x)\n");
  try {
    lower::lower(rewrite::optimise_for_lowering(p, {.verify = true}), limited(0));
    FAIL() << "a loop on a device without loops";
  } catch (const Error& e) {
    EXPECT_EQ(e.code, "SG0303");
    EXPECT_NE(e.message.find("'main_0' (sum f32)"), std::string::npos) << e.message;
    EXPECT_NE(e.message.find("10 loop iterations"), std::string::npos) << e.message;
    EXPECT_NE(e.message.find("after 0"), std::string::npos) << e.message;
  }
}

TEST(Bounded, LoopsEndBeforeASubmissionShouldWhereTheyCanBeCut) {
  Target t = limited(kNoLoopLimit, false);
  t.price.submission = 1000 * t.price.iteration;
  EXPECT_EQ(loop_limit(t), 1000u);
  const Program p = program("def f(a: f32, xs: f32[20000]) -> f32 = fold(fn(s, x) => tanh(s * a + x), 0.5, xs)");
  EXPECT_TRUE(right_and_bounded(p, {{0.7}, ramp(20000)}, t));
  EXPECT_TRUE(right_and_bounded(grad(p).value(), {{0.7}, ramp(20000)}, t));

  const Program whole = program("def f(x: f32[9]) -> f32 = sum(x)");
  t.price.submission = 0.5 * t.price.iteration;
  EXPECT_EQ(loop_limit(t), 0u);
  const lower::Plan plan = lower::lower(rewrite::optimise_for_lowering(whole), t);
  EXPECT_EQ(plan.kernels.size(), 1u) << "what cannot be cut may take long,";
  EXPECT_TRUE(test::same_as_interpreter(whole, plan, {ramp(9)}));
  t.max_loop_iterations = 0;
  EXPECT_THROW(lower::lower(rewrite::optimise_for_lowering(whole), t), Error) << "but not where it would not end";

  t.max_loop_iterations = 100;
  t.price.submission = 0;
  EXPECT_EQ(loop_limit(t), 100u) << "nobody watches over it";
}

TEST(Bounded, LoopsOfTooManyBuffersRunAsDispatches) {
  const Program p = program(
      "def main(p: f32[4]) -> (a: f32, b: f32, c: f32, d: f32) =\n"
      "  fori(9, fn(i, (a, b, c, d)) => (b, c, d, a * 0.5), (p[0], p[1], p[2], p[3]))\n");
  for (uint32_t buffers : {5u, 4u}) {
    Target t = limited(kNoLoopLimit);
    t.max_buffers = buffers;
    t.device_address = false;  // descriptors are counted
    EXPECT_TRUE(right_and_bounded(p, {ramp(4)}, t)) << buffers;
    EXPECT_EQ(lower::lower(rewrite::optimise_for_lowering(p), t).steps.size() == 1, buffers == 5);
  }
}

// Descriptors may be short where addresses are not; with those alone it takes more dispatches, or the other form.
TEST(Bounded, AFoldOverFiveArraysRunsOnDevicesOfFourBuffers) {
  const Program p = program(
      "def main(a: f32[9], b: f32[9], c: f32[9], d: f32[9], e: f32[9]) =\n"
      "  fold(fn(s, (a, b, c, d, e)) => s * a + b * c + d * e, 0.5, (a, b, c, d, e))\n");
  Target t = limited(kNoLoopLimit);
  t.max_buffers = 4;
  for (const bool addresses : {true, false}) {
    t.device_address = addresses;
    EXPECT_TRUE(right_and_bounded(p, {ramp(9), ramp(9), ramp(9), ramp(9), ramp(9)}, t)) << addresses;
  }
  t.device_address = true;
  for (const BindingForm form : {BindingForm::Address, BindingForm::Descriptors}) {
    CompileOptions options;
    options.form = form;
    const auto executable = compile(p, t, options);
    ASSERT_TRUE(executable) << executable.error().str();
    EXPECT_LE(requirements_of(*executable).buffers, 4u);
  }
}

// Wants the sums of 32 neighbours in one invocation, and their elements written out.
class TooMuchAtOnce : public schedule::Scheduler {
 public:
  schedule::MapSchedule map(const schedule::MapFacts& f, const Target&) const override {
    schedule::MapSchedule s = schedule::plain_map(f);
    if (f.domain.rank() == 1 && f.domain[0] == 64) s.axes[0] = {{schedule::Bind::Grid, 2}, {schedule::Bind::Register, 32}};
    return s;
  }
  schedule::ReduceSchedule reduction(const schedule::ReduceFacts& f, const Target&) const override {
    schedule::ReduceSchedule s;
    for (int64_t n : f.extents) s.axes.push_back({{schedule::Bind::Unroll, n}});
    return s;
  }
};

TEST(Bounded, TilesOfTooMuchCodeAreComputedPointByPoint) {
  const Program p = rewrite::optimise_for_lowering(
      program("def main(a: f32[64], b: f32[20]) -> (y: f32[64]) = for i: 64 => sum(tanh(a[i] * b))"), {});
  const lower::Plan plan = lower::lower(p, test::cpu_target(), TooMuchAtOnce());
  ASSERT_EQ(plan.kernels.size(), 1u);
  EXPECT_EQ(plan.kernels[0].invocations, 64u);
  EXPECT_TRUE(test::same_as_interpreter(p, plan, test::sines(p, 0.7), 1e-5));
}

TEST(Bounded, NothingChangesWithoutALimit) {
  const Program p =
      rewrite::optimise_for_lowering(program("def main(x: f32) -> (y: f32) = fori(100000, fn(i, s) => s * 0.5 + x, 0.0)\n"));
  EXPECT_EQ(lower::lower(p, limited(kNoLoopLimit)).steps.size(), 1u);
}

TEST(Bounded, RandomProgramsStayRightUnderTinyLimits) {
  test::RandomOptions options;
  int refused = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    options.max_size = seed % 2 ? 25 : 60;
    const test::RandomProgram rp = test::random_program(seed, options);
    const auto result = right_and_bounded(rp.program, rp.inputs, limited(seed % 3 ? 40 : 100));
    if (result) continue;
    if (std::string(result.message()).find("SG0303") != std::string::npos) {
      ++refused;
    } else {
      ADD_FAILURE() << "seed " << seed << ": " << result.message() << "\n" << text::print(rp.program);
    }
  }
  EXPECT_LE(refused, 5);
}

}  // namespace bounded_test
}  // namespace spirograd
