// The evaluator: control flow by masks, exact integer and float results, and defects that devices would hide.
#include "spirv/kernel/eval.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "spirv/kernel/builder.h"
#include "spirv/kernel/verify.h"
#include "support/kernels.h"

namespace spirograd::kernel {
namespace kernel_eval_test {

template <class T>
std::span<uint8_t> bytes(std::vector<T>& v) {
  return {reinterpret_cast<uint8_t*>(v.data()), v.size() * sizeof(T)};
}

uint64_t run(const Kernel& k, std::vector<std::span<uint8_t>> buffers) {
  if (const auto error = verify(k)) ADD_FAILURE() << error->str();
  return evaluate(k, buffers);
}

std::string complaint(const Kernel& k, std::vector<std::span<uint8_t>> buffers) {
  try {
    run(k, std::move(buffers));
  } catch (const Error& e) {
    EXPECT_EQ(e.code, "SG0902");
    return e.str();
  }
  return "";
}

TEST(KernelEval, EachInvocationTakesItsOwnPath) {
  Builder b("paths", 64, 100);
  const uint32_t out = b.bind("out", Scalar::I32, Access::Write);
  b.begin_guard();
  const Value i = b.bitcast(Scalar::I32, b.index());
  const Value total = b.var(b.i32(0));
  const Value j = b.begin_loop(b.op(KOp::Rem, i, b.i32(7)));  // 0 to 6 trips
  b.begin_if(b.op(KOp::Eq, b.op(KOp::And, j, b.i32(1)), b.i32(0)));
  b.set(total, b.add(b.get(total), j));
  b.begin_else();
  const Value inner = b.begin_loop(j);
  b.set(total, b.add(b.get(total), b.mul(inner, b.i32(100))));
  b.end_loop();
  b.end_if();
  b.end_loop();
  b.store(out, i, b.get(total));
  b.end_if();
  std::vector<int32_t> got(100), want(100);
  for (int32_t x = 0; x < 100; ++x)
    for (int32_t y = 0; y < x % 7; ++y) {
      if (y % 2 == 0)
        want[static_cast<size_t>(x)] += y;
      else
        for (int32_t z = 0; z < y; ++z) want[static_cast<size_t>(x)] += 100 * z;
    }
  run(std::move(b).finish(), {bytes(got)});
  EXPECT_EQ(got, want);
}

// 2 ^ j while that is below the invocation's number, in a loop of at most 1000 steps inside of one of 3.
TEST(KernelEval, ALoopIsLeftWhereItsConditionHoldsAndCostsNoMoreThanThat) {
  for (const bool breaks : {false, true}) {
    Builder b("leaves", 64, 40);
    const uint32_t out = b.bind("out", Scalar::I32, Access::Write);
    b.begin_guard();
    const Value i = b.bitcast(Scalar::I32, b.index()), total = b.var(b.i32(0));
    b.begin_loop(b.i32(3));
    const Value power = b.var(b.i32(1)), end = b.i32(breaks ? 1000 : 6);
    b.begin_loop(end, breaks);
    const Value enough = b.op(KOp::Ge, b.get(power), i);
    if (breaks) b.break_if(enough);
    b.set(power, b.select(enough, b.get(power), b.mul(b.get(power), b.i32(2))));
    b.end_loop();
    b.set(total, b.add(b.get(total), b.get(power)));
    b.end_loop();
    b.store(out, i, b.get(total));
    b.end_if();
    std::vector<int32_t> got(40), want(40);
    for (int32_t x = 0; x < 40; ++x)
      want[static_cast<size_t>(x)] = 3 * static_cast<int32_t>(std::bit_ceil(static_cast<uint32_t>(std::max(1, x))));
    EXPECT_LT(run(std::move(b).finish(), {bytes(got)}), 40u * 3 * 6 * 12) << "all 1000 steps are more";
    EXPECT_EQ(got, want);
  }
}

TEST(KernelEval, EveryOperationRuns) {
  for (const bool f64 : {false, true}) {
    std::vector<float> a(101, 1.5f), out_f(6500), sum_f(4);
    std::vector<int32_t> i(101, 6), out_i(6500), sum_i(1);
    std::vector<uint32_t> u(101, 9), b(101, 1), out_u(6500), out_b(6500), most_u(2);
    std::vector<double> d(101, 2.5), out_d(6500);
    std::vector<std::span<uint8_t>> buffers{bytes(a), bytes(i), bytes(u), bytes(b)};
    if (f64) buffers.push_back(bytes(d));
    for (auto s : {bytes(out_f), bytes(out_i), bytes(out_u), bytes(out_b)}) buffers.push_back(s);
    if (f64) buffers.push_back(bytes(out_d));
    buffers.push_back(bytes(sum_i));
    buffers.push_back(bytes(sum_f));
    buffers.push_back(bytes(most_u));
    EXPECT_GT(run(test::every_operation(f64), buffers), 10000u);
    EXPECT_EQ(sum_f, (std::vector<float>{25, 25, 25, 25}));
    EXPECT_EQ(sum_i[0], 600);
    EXPECT_EQ(most_u, (std::vector<uint32_t>{0, 9}));
    EXPECT_EQ(out_f[0], 3.0f);   // a + a
    EXPECT_EQ(out_f[64], 3.0f);  // invocation 1
    EXPECT_EQ(out_b[0], 1u);     // a == a
  }
}

TEST(KernelEval, FloatArithmeticRoundsEveryOperation) {
  Builder b("round", 64, 1);
  const uint32_t in = b.bind("in", Scalar::F32, Access::Read), out = b.bind("out", Scalar::F32, Access::Write);
  const Value x = b.load(in, b.i32(0)), y = b.load(in, b.i32(1)), z = b.load(in, b.i32(2));
  b.store(out, b.i32(0), b.add(b.mul(x, y), z));
  const float e = std::ldexp(1.0f, -12);
  std::vector<float> from{1 + e, 1 + e, -(1 + 2 * e)}, to(1, 7.0f);
  run(std::move(b).finish(), {bytes(from), bytes(to)});
  EXPECT_EQ(to[0], 0.0f);  // a fused multiply-add would leave 2^-24
}

TEST(KernelEval, IndicesOutOfRangeAreDefects) {
  for (const int64_t index : {int64_t{5}, int64_t{-1}}) {
    Builder b("outside", 64, 3);
    const uint32_t in = b.bind("table", Scalar::F32, Access::Read), out = b.bind("out", Scalar::F32, Access::Write);
    b.store(out, b.index(), b.load(in, b.i32(index)));
    std::vector<float> from(5), to(3);
    const std::string text = complaint(std::move(b).finish(), {bytes(from), bytes(to)});
    EXPECT_NE(text.find("index " + std::to_string(index) + " is outside of table, which has 5 elements"), std::string::npos)
        << text;
    EXPECT_NE(text.find("load table["), std::string::npos) << text;
  }
}

TEST(KernelEval, StoresAndAtomicsOutOfRangeAreDefects) {
  for (const bool atomic : {false, true}) {
    Builder b("outside", 64, 4);
    const uint32_t out = b.bind("out", Scalar::I32, atomic ? Access::Atomic : Access::Write);
    if (atomic)
      b.atomic_add(out, b.index(), b.i32(1));
    else
      b.store(out, b.index(), b.i32(1));
    std::vector<int32_t> to(3);
    EXPECT_NE(complaint(std::move(b).finish(), {bytes(to)}).find("invocation 3"), std::string::npos);
  }
}

TEST(KernelEval, InactiveInvocationsTouchNothing) {
  Builder b("guarded", 64, 40);
  const uint32_t out = b.bind("out", Scalar::I32, Access::ReadWrite);
  const Value i = b.index();
  b.begin_if(b.op(KOp::Lt, i, b.constant(Scalar::U32, 3)));
  b.store(out, i, b.add(b.load(out, i), b.i32(1)));
  b.end_if();
  std::vector<int32_t> to(3, 5);
  run(std::move(b).finish(), {bytes(to)});
  EXPECT_EQ(to, (std::vector<int32_t>{6, 6, 6}));
}

TEST(KernelEval, SurplusInvocationsRunUnlessTheGuardKeepsThemOut) {
  for (const bool guard : {false, true}) {
    Builder b("count", 8, 20);
    const uint32_t out = b.bind("out", Scalar::U32, Access::Write);
    if (guard) b.begin_guard();
    b.store(out, b.index(), b.index());
    if (guard) b.end_if();
    std::vector<uint32_t> to(20), want(20);
    std::iota(want.begin(), want.end(), 0u);
    const std::string text = complaint(std::move(b).finish(), {bytes(to)});
    EXPECT_EQ(text.find("index 20 is outside of out") == std::string::npos, guard) << text;
    if (guard) {
      EXPECT_EQ(to, want);
    }
  }
}

TEST(KernelEval, ZeroDivisorsAndBadConversionsAreDefects) {
  Builder b("division", 64, 1);
  const uint32_t in = b.bind("in", Scalar::I32, Access::Read), out = b.bind("out", Scalar::I32, Access::Write);
  b.store(out, b.i32(0), b.op(KOp::Quot, b.i32(7), b.load(in, b.i32(0))));
  std::vector<int32_t> zero(1), to(1);
  EXPECT_NE(complaint(std::move(b).finish(), {bytes(zero), bytes(to)}).find("division by zero"), std::string::npos);

  for (const float x : {3e9f, std::numeric_limits<float>::quiet_NaN()}) {
    Builder c("conversion", 64, 1);
    const uint32_t f = c.bind("f", Scalar::F32, Access::Read), o = c.bind("out", Scalar::I32, Access::Write);
    c.store(o, c.i32(0), c.convert(Scalar::I32, c.load(f, c.i32(0))));
    std::vector<float> from{x};
    EXPECT_NE(complaint(std::move(c).finish(), {bytes(from), bytes(to)}).find("does not fit i32"), std::string::npos);
  }
}

TEST(KernelEval, NoInvocationsDoNothing) {
  Builder b("none", 64, 0);
  const uint32_t out = b.bind("out", Scalar::I32, Access::Write);
  b.store(out, b.index(), b.i32(1));
  std::vector<int32_t> empty;
  EXPECT_EQ(run(std::move(b).finish(), {bytes(empty)}), 0u);
}

TEST(KernelEval, WrongNumberOfBuffersIsADefect) {
  EXPECT_NE(complaint(test::every_operation(false), {}).find("was given 0 buffers"), std::string::npos);
}

}  // namespace kernel_eval_test
}  // namespace spirograd::kernel
