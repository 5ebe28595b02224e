// Positions in kernels, counted from the least constant among them: what that makes of kernels made by hand, and that
// programs of equal statements on different elements have few kernels.
#include "spirv/kernel/rebase.h"

#include <gtest/gtest.h>

#include "frontend/rewrite/passes.h"
#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "spirv/kernel/builder.h"
#include "spirv/kernel/eval.h"
#include "spirv/kernel/verify.h"

namespace spirograd {
namespace rebase_test {

using kernel::Access;
using kernel::Builder;
using kernel::Kernel;
using kernel::Reach;
using kernel::Scalar;
using kernel::Value;
using Reached = std::vector<Reach>;

// out[to] = a[first] * a[second], by one invocation.
Kernel product(int64_t first, int64_t second, int64_t to) {
  Builder b("product", 1, 1);
  const uint32_t a = b.bind("a", Scalar::F32, Access::Read), out = b.bind("out", Scalar::F32, Access::Write);
  b.store(out, b.i32(to), b.mul(b.load(a, b.i32(first)), b.load(a, b.i32(second))));
  return std::move(b).finish();
}

// out[i + to] = a[i + from] + a[i + further], by eight.
Kernel shifted(int64_t from, int64_t further, int64_t to) {
  Builder b("shifted", 8, 8);
  const uint32_t a = b.bind("a", Scalar::F32, Access::Read), out = b.bind("out", Scalar::F32, Access::Write);
  const Value i = b.bitcast(Scalar::I32, b.index());
  const auto at = [&](int64_t n) { return b.add(i, b.i32(n)); };
  b.store(out, at(to), b.add(b.load(a, at(from)), b.load(a, at(further))));
  return std::move(b).finish();
}

void run(const Kernel& k, std::span<float> a, std::span<float> out) {
  const auto bytes = [](std::span<float> s) { return std::span(reinterpret_cast<uint8_t*>(s.data()), s.size_bytes()); };
  const std::span<uint8_t> buffers[] = {bytes(a), bytes(out)};
  kernel::evaluate(k, buffers);
}

TEST(Rebase, ConstantsAreCountedFromTheLeastOfTheirBinding) {
  Kernel k = product(6, 7, 3);
  EXPECT_EQ(kernel::rebase(k), (Reached{{6, 2}, {3, 1}}));
  EXPECT_FALSE(kernel::verify(k));
  Kernel at_zero = product(0, 1, 0);
  EXPECT_EQ(kernel::rebase(at_zero), (Reached{{0, 2}, {0, 1}}));
  Kernel elsewhere = product(12, 13, 0), wider = product(12, 14, 0);
  kernel::rebase(elsewhere), kernel::rebase(wider);
  EXPECT_TRUE(kernel::same_code(k, elsewhere));
  EXPECT_FALSE(kernel::same_code(k, wider));
}

// One constant serves two bindings in the first kernel, and none is shared in the second.
TEST(Rebase, KernelsAreAlikeHoweverTheirConstantsWereShared) {
  Kernel shared = product(4, 5, 4), apart = product(7, 8, 2);
  kernel::rebase(shared), kernel::rebase(apart);
  EXPECT_TRUE(kernel::same_code(shared, apart));
}

TEST(Rebase, SumsLoseTheirConstant) {
  Kernel k = shifted(5, 9, 2), least = shifted(0, 4, 0);
  EXPECT_EQ(kernel::rebase(k), (Reached{{5, 0}, {2, 0}}));
  EXPECT_FALSE(kernel::verify(k));
  kernel::rebase(least);
  EXPECT_EQ(k.body.size(), least.body.size());
  std::vector<float> a(32), out(8);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i * i);
  run(k, std::span(a).subspan(5), out);
  for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], a[i + 5] + a[i + 9]);
}

// Elements 0 and 1, and from 3 on: only the constants of the first two can be looked at twice.
TEST(Rebase, SumsBesideConstantsKeepTheirs) {
  Builder b("both", 8, 8);
  const uint32_t a = b.bind("a", Scalar::F32, Access::Read), out = b.bind("out", Scalar::F32, Access::Write);
  const Value i = b.bitcast(Scalar::I32, b.index());
  const Value sum = b.add(b.load(a, b.i32(4)), b.load(a, b.i32(6)));
  b.store(out, b.i32(0), sum);
  b.store(out, b.i32(1), b.load(a, b.add(i, b.i32(5))));
  for (int64_t n : {3, 11, 19}) b.store(out, b.add(i, b.i32(n)), b.add(sum, b.load(a, b.add(i, b.i32(4)))));
  Kernel k = std::move(b).finish();
  EXPECT_EQ(kernel::rebase(k), (Reached{{4, 0}, {0, 0}}));
  EXPECT_FALSE(kernel::verify(k));
  std::vector<float> from(32), to(32);
  for (size_t at = 0; at < from.size(); ++at) from[at] = static_cast<float>(at * at);
  run(k, std::span(from).subspan(4), to);
  EXPECT_EQ(to[0], 16 + 36);
  for (size_t at = 0; at < 24; ++at) EXPECT_EQ(to[3 + at], 16 + 36 + from[4 + at % 8]) << at;
}

// a[(i + from) * 6 + i + behind]
Kernel strided(int64_t from, int64_t behind) {
  Builder b("strided", 8, 8);
  const uint32_t a = b.bind("a", Scalar::F32, Access::Read), out = b.bind("out", Scalar::F32, Access::Write);
  const Value i = b.bitcast(Scalar::I32, b.index()), row = b.mul(b.add(i, b.i32(from)), b.i32(6));
  b.store(out, row, b.add(b.load(a, b.add(row, b.add(i, b.i32(behind)))), b.load(a, b.add(row, i))));
  return std::move(b).finish();
}

TEST(Rebase, ConstantsAreFoundInProducts) {
  Kernel k = strided(3, 2), other = strided(5, 2), least = strided(1, 2);
  EXPECT_EQ(kernel::rebase(k), (Reached{{18, 0}, {18, 0}}));
  EXPECT_FALSE(kernel::verify(k));
  EXPECT_EQ(kernel::rebase(other), (Reached{{30, 0}, {30, 0}}));
  EXPECT_TRUE(kernel::same_code(k, other));
  kernel::rebase(least);
  EXPECT_TRUE(kernel::same_code(k, least));
  std::vector<float> a(96), out(48);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i * i);
  run(k, std::span(a).subspan(18), out);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(out[6 * i], a[(i + 3) * 6 + i + 2] + a[(i + 3) * 6 + i]) << i;
}

TEST(Rebase, WhatBlocksHaveMadeEndsWithThem) {
  Builder b("blocks", 8, 8);
  const uint32_t a = b.bind("a", Scalar::F32, Access::Read), out = b.bind("out", Scalar::F32, Access::Write);
  const Value i = b.bitcast(Scalar::I32, b.index()), row = b.mul(b.add(i, b.i32(3)), b.i32(6)), at = b.add(row, i);
  b.begin_if(b.op(kernel::KOp::Lt, i, b.i32(4)));
  b.store(out, i, b.load(a, at));
  b.begin_else();
  b.store(out, i, b.add(b.load(a, row), b.load(a, at)));
  b.end_if();
  b.store(out, b.add(i, b.i32(8)), b.load(a, at));
  Kernel k = std::move(b).finish();
  EXPECT_EQ(kernel::rebase(k)[0], (Reach{18, 0}));
  EXPECT_FALSE(kernel::verify(k));
  std::vector<float> from(96), to(16);
  for (size_t j = 0; j < from.size(); ++j) from[j] = static_cast<float>(j * j);
  run(k, std::span(from).subspan(18), to);
  for (size_t j = 0; j < 8; ++j) {
    const float x = from[(j + 3) * 6 + j];
    EXPECT_EQ(to[j], j < 4 ? x : from[(j + 3) * 6] + x) << j;
    EXPECT_EQ(to[j + 8], x) << j;
  }
}

TEST(Rebase, WhatCountsDownKeepsItsConstant) {
  Builder b("back", 8, 8);
  const uint32_t out = b.bind("out", Scalar::F32, Access::Write);
  b.store(out, b.add(b.mul(b.bitcast(Scalar::I32, b.index()), b.i32(-4)), b.i32(28)), b.f32(1));
  Kernel k = std::move(b).finish();
  EXPECT_EQ(kernel::rebase(k), (Reached{{0, 0}}));
}

TEST(Rebase, WhatIsReachedWithoutAConstantStaysWhereItIs) {
  Kernel k = shifted(0, 4, 1);
  const Kernel before = k;
  EXPECT_EQ(kernel::rebase(k)[0], (Reach{0, 0}));
  Kernel negative = shifted(-1, 4, 0);
  const Kernel negative_before = negative;
  EXPECT_EQ(kernel::rebase(negative), (Reached{{0, 0}, {0, 0}}));
  EXPECT_TRUE(kernel::same_code(negative, negative_before));
  EXPECT_FALSE(kernel::same_code(k, before)) << "what it writes has moved";
}

// s_(i+1) = s_i + sin(x[i] * x[i + 1]), and all of them in an array.
std::string statements(int n, bool array) {
  std::string text = "def f(x: f32[" + std::to_string(n + 1) + "]) -> " +
                     (array ? "f32[" + std::to_string(n) + "]" : "f32") + " {\n  let s0 = x[0]\n";
  std::string all;
  for (int i = 0; i < n; ++i) {
    const std::string j = std::to_string(i), next = std::to_string(i + 1);
    text += "  let s" + next + " = s" + j + " + sin(x[" + j + "] * x[" + next + "])\n";
    all += (i ? ", s" : "s") + next;
  }
  return text + (array ? "  [" + all + "]\n}" : "  s" + std::to_string(n) + "\n}");
}

TEST(Rebase, EqualStatementsOnOtherElementsShareTheirKernels) {
  for (const bool array : {false, true}) {
    const Program p = text::instantiate(text::parse(statements(400, array), "f").value()).value();
    const Executable e = compile(p, Target{}).value();
    EXPECT_GE(e.steps.size(), 50u);
    EXPECT_LT(e.kernels.size(), 30u) << "with few buffers, statements and stores meet in different phases";
  }
}

}  // namespace rebase_test
}  // namespace spirograd
