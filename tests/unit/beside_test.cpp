// Arrays that are computed in the loops of a reduction (beside.h): values, and which programs have how many dispatches.
#include <gtest/gtest.h>

#include <algorithm>

#include "spirograd/text.h"
#include "support/golden_plans.h"
#include "support/lowered.h"

namespace spirograd {
namespace beside_test {

using test::cpu_target;

std::vector<double> waves(int64_t n) {
  std::vector<double> v;
  for (int64_t j = 0; j < n; ++j) v.push_back(static_cast<double>((j * 37 + 11) % 64 - 31) / 16);
  return v;
}

Program program(const std::string& body, const text::ShapeVariables& sizes) {
  const std::string source = "def f(x: f32[N, M], y: f32[N, M]) -> " + body;
  return text::instantiate(text::parse(source, "beside").value(), "f", sizes).value();
}

struct Lowered {
  Program program;
  lower::Plan plan;
  testing::AssertionResult agrees() const {
    std::vector<std::vector<double>> inputs;
    for (const Param& p : program.params) inputs.push_back(waves(p.type.shape.count()));
    return test::same_as_interpreter(program, plan, inputs, 1e-5);
  }
  size_t dispatches() const {
    size_t n = 0;
    for (const Step& s : plan.steps) n += s.kind == Step::Kind::Dispatch;
    return n;
  }
};

Lowered lowered(const std::string& body, int64_t n, int64_t m, const Target& target = cpu_target()) {
  Program p = program(body, {{"N", n}, {"M", m}});
  lower::Plan plan = lower::lower(p, target);
  return {std::move(p), std::move(plan)};
}

const std::string kSumAndGradient = "(f32, f32[N, M]) = (sum(sin(x) * y), cos(x) * y)";

TEST(Beside, ASumAndItsGradientAreOnePassAtAnySize) {
  for (const auto& [n, m] : std::initializer_list<std::pair<int64_t, int64_t>>{
           {1, 1}, {1, 5}, {1, 127}, {1, 2047}, {1, 2048}, {1, 2049}, {1, 65537}, {64, 64}, {3, 4099}, {4099, 3}}) {
    const Lowered l = lowered(kSumAndGradient, n, m);
    EXPECT_TRUE(l.agrees()) << n << " x " << m;
    EXPECT_LE(l.dispatches(), 2u) << n << " x " << m;
    if (n * m < 2048) continue;  // the sum is one reduction
    for (const BufferDesc& b : l.plan.buffers)
      EXPECT_TRUE(b.role != Role::Scratch || b.bytes < 4096) << "what both compute is not stored";
  }
  EXPECT_TRUE(lowered(kSumAndGradient, 0, 7).agrees());
}

TEST(Beside, WhatTheyReadIsLoadedOnce) {
  const Lowered l = lowered("(f32, f32[N, M]) = (sum(x * x), x + x)", 256, 256);
  ASSERT_TRUE(l.agrees());
  int loads = 0, stores = 0;
  for (const kernel::Inst& i : l.plan.kernels[0].body) {
    loads += i.op == kernel::KOp::Load;
    stores += i.op == kernel::KOp::Store;
  }
  EXPECT_EQ(loads, stores - 1) << "the other store is that of the partial sum";
}

TEST(Beside, SeveralResultsAndExtremes) {
  for (const char* reduction : {"max", "min", "sum", "prod"})
    for (const auto& [n, m] : std::initializer_list<std::pair<int64_t, int64_t>>{{1, 5000}, {100, 64}, {71, 73}}) {
      const Lowered l = lowered("(f32, f32[N, M], f32[N, M]) = (" + std::string(reduction) + "(x + y), x * y, 2 * x)", n, m);
      EXPECT_TRUE(l.agrees()) << reduction << " of " << n << " x " << m;
    }
}

TEST(Beside, SubgroupsTakeMostOfAnyNumberOfElements) {
  for (const auto& [n, m] : std::initializer_list<std::pair<int64_t, int64_t>>{{1, 200'003}, {449, 449}, {400, 501}}) {
    const Lowered l = lowered(kSumAndGradient, n, m, test::lane_cpu());
    EXPECT_TRUE(l.agrees()) << n << " x " << m;
    EXPECT_LE(l.dispatches(), 3u) << "the rest of the gradient may be another";
    EXPECT_EQ(l.plan.kernels[0].subgroup, 8u);
    const Step& first = l.plan.steps[0];
    const auto writes = std::ranges::count_if(first.uses, [](const BufferUse& u) { return u.written; });
    EXPECT_EQ(writes, 2) << n << " x " << m;
  }
  const Lowered read = lowered("(f32[N, M], f32, f32[N]) { let z = exp(x) * y\n (z, sum(sin(x) * y), z @ y[0]) }", 449, 449,
                               test::lane_cpu());
  EXPECT_TRUE(read.agrees()) << "an array that others read is one";
}

TEST(Beside, WhatDependsOnTheOtherComesBehindIt) {
  const Lowered scaled = lowered("(f32, f32[N, M]) = (sum(x * y), x / (1 + square(sum(x * y))))", 100, 100);
  EXPECT_TRUE(scaled.agrees());
  EXPECT_EQ(scaled.dispatches(), 3u) << "the result needs the sum";
  EXPECT_TRUE(lowered("(f32[N, M], f32) { let z = exp(x) * y\n (z, sum(z)) }", 100, 100).agrees());
  EXPECT_TRUE(lowered("(f32[N, M], f32) { let z = exp(x) * y\n (z, sum(z[1:N] * x[1:N])) }", 100, 100).agrees());
  EXPECT_TRUE(lowered("(f32[N, M], f32) { let z = exp(x) * y\n (reverse(z), sum(z * x)) }", 100, 100).agrees());
}

TEST(Beside, OtherArraysStayApart) {
  EXPECT_EQ(lowered("(f32, f32[N, M]) = (sum(x), sin(y))", 3000, 1000).dispatches(), 3u) << "nothing is read by both";
  EXPECT_EQ(lowered("(f32, f32[M, N]) = (sum(x), transpose(x, [1, 0]) * 2)", 3000, 1000).dispatches(), 3u)
      << "another shape";
  Target gpu;
  gpu.max_buffers = 30;
  EXPECT_EQ(lowered(kSumAndGradient, 3000, 1000, gpu).dispatches(), 3u)
      << "neighbours would store what is not next to each other";
}

TEST(Beside, LongComputationsStayApart) {
  const auto dispatches = [](int operations) {  // of an array, beside its operand
    std::string chain = "x";
    for (int k = 0; k + 1 < operations; ++k) chain = "reverse(" + chain + ")";
    const Lowered l = lowered("(f32, f32[N, M]) = (sum(x * y), abs(" + chain + "))", 100, 100);
    EXPECT_TRUE(l.agrees()) << operations;
    return l.dispatches();
  };
  EXPECT_EQ(dispatches(299), 2u);
  EXPECT_EQ(dispatches(300), 3u);
  std::string steps = "(f32, f32[N, M]) {\n let a = x * y\n";
  for (int k = 0; k < 3000; ++k) steps += " let a = a + " + std::string(k % 2 ? "x" : "y") + "\n";
  EXPECT_TRUE(lowered(steps + " (sum(x), a)\n}", 1, 131'077, test::lane_cpu()).agrees()) << "nor are they cut in two";
}

}  // namespace beside_test
}  // namespace spirograd
