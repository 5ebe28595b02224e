// What the builder folds, shares and proves, and that it never changes a result.
#include "spirv/kernel/builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "spirv/kernel/eval.h"
#include "spirv/kernel/interval.h"
#include "spirv/kernel/print.h"
#include "spirv/kernel/verify.h"

namespace spirograd::kernel {
namespace kernel_builder_test {

struct Bench {
  Builder b{"k", 64, 1 << 20};
  uint32_t data = b.bind("data", Scalar::I32, Access::Read), words = b.bind("words", Scalar::U32, Access::Read);
  uint32_t floats = b.bind("floats", Scalar::F32, Access::Read), memory = b.bind("memory", Scalar::I32, Access::ReadWrite);
  Value at = b.bitcast(Scalar::I32, b.index());
  Value unknown(int k = 0) { return b.load(data, b.i32(k)); }
  Value within(int64_t lo, int64_t hi, int k = 0) {
    const Value v = unknown(k);
    b.assume(v, {lo, hi});
    return v;
  }
  Value quot(Value a, int64_t c) { return b.op(KOp::Quot, a, b.i32(c)); }
  Value rem(Value a, int64_t c) { return b.op(KOp::Rem, a, b.i32(c)); }
  std::optional<int64_t> constant(Value v) {
    if (!b.constant_bits(v)) return std::nullopt;
    return b.interval(v).lo;
  }
};

TEST(Builder, WhatDevicesMayFlushIsLeftToThem) {
  Bench t;
  const auto f32 = [&](double x) { return t.b.constant(Scalar::F32, x); };
  EXPECT_TRUE(t.b.constant_bits(t.b.mul(f32(1e-30), f32(1e20))));
  EXPECT_FALSE(t.b.constant_bits(t.b.mul(f32(1e-40), f32(1e20)))) << "a denormal operand";
  EXPECT_FALSE(t.b.constant_bits(t.b.mul(f32(1e20), f32(1e-40))));
  EXPECT_FALSE(t.b.constant_bits(t.b.mul(f32(1e-30), f32(1e-10)))) << "a denormal result";
}

// Of a kernel that stores one value: the instructions that are exact, and all of it as text.
std::string exact_ones(Bench& t, Value result) {
  const uint32_t y = t.b.bind("y", t.b.type(result), Access::Write);
  t.b.store(y, t.b.index(), result);
  const Kernel k = std::move(t.b).finish();
  EXPECT_FALSE(verify(k));
  std::string ops;
  for (size_t v = 0; v < k.body.size(); ++v) {
    const bool printed = to_string(k, static_cast<Value>(v)).find("= exact ") != std::string::npos;
    EXPECT_EQ(is_exact(k.body[v]), printed) << to_string(k);
    if (printed) ops += std::string(ops.empty() ? "" : " ") + std::string(name(k.body[v].op));
  }
  return ops;
}

TEST(Builder, ArithmeticOfFloatsIsExactWhereItIsAskedFor) {
  Bench t;
  const Value x = t.b.load(t.floats, t.at), product = t.b.mul(x, x);
  Value v = x;
  {
    const Builder::Exact outer(t.b);
    {
      const Builder::Exact inner(t.b);
      v = t.b.add(product, x);
    }
    v = t.b.op(KOp::Div, t.b.sub(v, t.b.f32(1)), x);
    const Value integer = t.b.add(t.at, t.b.mul(t.unknown(), t.unknown(1)));
    v = t.b.add(t.b.op(KOp::Sqrt, t.b.op(KOp::Neg, v)), t.b.convert(Scalar::F32, integer));
  }
  EXPECT_EQ(exact_ones(t, t.b.sub(v, x)), "add sub div add") << "neither what came before nor what comes behind";
}

TEST(Builder, ExactValuesServeBoth) {
  for (const bool exact_first : {false, true}) {
    Bench t;
    const Value x = t.b.load(t.floats, t.at), y = t.b.load(t.floats, t.b.i32(0));
    const auto product = [&](bool exact) {
      const Builder::Exact scope(t.b, exact);
      return t.b.mul(x, y);
    };
    const Value a = product(exact_first), b = product(!exact_first);
    EXPECT_EQ(a, b);
    EXPECT_EQ(exact_ones(t, t.b.add(a, b)), "mul");
  }
}

TEST(Builder, WhatIsCutOutLeavesNothingExactBehind) {
  Bench t;
  const Value x = t.b.load(t.floats, t.at), y = t.b.load(t.floats, t.b.i32(0));
  t.b.begin_if(t.b.boolean(false));
  {
    const Builder::Exact exact(t.b);
    t.b.store(t.memory, t.at, t.b.bitcast(Scalar::I32, t.b.add(t.b.mul(x, y), y)));
  }
  t.b.end_if();
  EXPECT_EQ(exact_ones(t, t.b.sub(t.b.add(t.b.mul(x, x), x), y)), "");
}

TEST(Builder, ExactValuesInLoopsStayExact) {
  Bench t;
  const Value x = t.b.load(t.floats, t.at), s = t.b.var(x), factor = t.b.mul(x, x);
  t.b.begin_loop(t.unknown());
  {
    const Builder::Exact exact(t.b);
    t.b.set(s, t.b.add(t.b.get(s), t.b.mul(x, x)));
  }
  t.b.end_loop();
  EXPECT_EQ(exact_ones(t, t.b.mul(t.b.get(s), factor)), "mul add") << "the factor was computed before the loop";
}

TEST(Builder, ComparisonsAreDecidedByRanges) {
  const Interval low{0, 3}, high{5, 9}, five{5, 5};
  EXPECT_EQ(decide(KOp::Ne, low, high), true);
  EXPECT_EQ(decide(KOp::Ne, high, low), true);
  EXPECT_EQ(decide(KOp::Ne, five, five), false);
  EXPECT_EQ(decide(KOp::Ne, five, high), std::nullopt);
  EXPECT_EQ(decide(KOp::Eq, low, high), false);
  EXPECT_EQ(decide(KOp::Eq, five, five), true);
  EXPECT_EQ(decide(KOp::Eq, low, low), std::nullopt);
  EXPECT_EQ(decide(KOp::Lt, low, high), true);
  EXPECT_EQ(decide(KOp::Lt, high, five), false);
  EXPECT_EQ(decide(KOp::Le, five, high), true);
  EXPECT_EQ(decide(KOp::Le, high, five), std::nullopt);
  EXPECT_EQ(decide(KOp::Gt, high, low), true);
  EXPECT_EQ(decide(KOp::Ge, low, high), false);
}

TEST(Builder, IntegerConstantsFoldWithWrapAround) {
  Bench t;
  EXPECT_EQ(t.constant(t.b.add(t.b.i32(2147483647), t.b.i32(1))), -2147483648);
  EXPECT_EQ(t.constant(t.b.mul(t.b.i32(65536), t.b.i32(65536))), 0);
  EXPECT_EQ(t.constant(t.quot(t.b.i32(-7), 2)), -3);
  EXPECT_EQ(t.constant(t.rem(t.b.i32(-7), 2)), -1);
  EXPECT_EQ(t.constant(t.b.op(KOp::ShrU, t.b.i32(-1), t.b.i32(28))), 15);
}

TEST(Builder, IdentitiesReturnTheOperand) {
  Bench t;
  const Value x = t.unknown(), zero = t.b.i32(0), one = t.b.i32(1), ones = t.b.i32(-1);
  EXPECT_EQ(t.b.add(x, zero), x);
  EXPECT_EQ(t.b.add(zero, x), x);
  EXPECT_EQ(t.b.mul(x, one), x);
  EXPECT_EQ(t.b.mul(x, zero), zero);
  EXPECT_EQ(t.b.sub(x, x), zero);
  EXPECT_EQ(t.quot(x, 1), x);
  EXPECT_EQ(t.rem(x, 1), zero);
  EXPECT_EQ(t.b.op(KOp::And, x, ones), x);
  EXPECT_EQ(t.b.op(KOp::Or, x, zero), x);
  EXPECT_EQ(t.b.op(KOp::Xor, x, x), zero);
  EXPECT_EQ(t.b.op(KOp::Neg, t.b.op(KOp::Neg, x)), x);
  const Value p = t.b.op(KOp::Lt, x, t.unknown(1));
  EXPECT_EQ(t.b.logical_and(p, t.b.boolean(true)), p);
  EXPECT_EQ(t.b.select(t.b.boolean(false), x, one), one);
  EXPECT_EQ(t.b.select(p, x, x), x);
  const Value q = t.b.op(KOp::Lt, x, t.b.i32(77)), yes = t.b.boolean(true), no = t.b.boolean(false);
  EXPECT_EQ(t.b.select(p, yes, q), t.b.op(KOp::Or, p, q));
  EXPECT_EQ(t.b.select(p, q, no), t.b.op(KOp::And, p, q));
  EXPECT_EQ(t.b.select(p, no, q), t.b.op(KOp::And, t.b.op(KOp::Not, p), q));
  EXPECT_EQ(t.b.select(p, q, yes), t.b.op(KOp::Or, t.b.op(KOp::Not, p), q));
  EXPECT_EQ(t.b.op(KOp::Not, t.b.op(KOp::Not, p)), p);
}

TEST(Builder, FloatIdentitiesKeepZeroSignsAndNan) {
  Bench t;
  const Value x = t.b.load(t.floats, t.b.i32(0));
  EXPECT_EQ(t.b.mul(x, t.b.f32(1)), x);
  EXPECT_EQ(t.b.sub(x, t.b.f32(0)), x);
  EXPECT_EQ(t.b.add(x, t.b.f32(-0.0)), x);
  EXPECT_NE(t.b.add(x, t.b.f32(0)), x);                                 // -0 + 0 = 0
  EXPECT_FALSE(t.b.constant_bits(t.b.mul(x, t.b.f32(0))).has_value());  // NaN, infinity, -0
  EXPECT_FALSE(t.b.constant_bits(t.b.op(KOp::Eq, x, x)).has_value());
  EXPECT_FALSE(t.b.constant_bits(t.b.sub(x, x)).has_value());
}

TEST(Builder, WholeNumbersAreNotRoundedAgain) {
  Bench t;
  const Value x = t.b.load(t.floats, t.b.i32(0));
  for (const KOp first : {KOp::Floor, KOp::Trunc}) {
    const Value whole = t.b.op(first, x);
    EXPECT_NE(whole, x);
    for (const KOp then : {KOp::Floor, KOp::Trunc}) EXPECT_EQ(t.b.op(then, whole), whole) << name(first) << name(then);
    EXPECT_NE(t.b.op(KOp::Sqrt, whole), whole);
    EXPECT_NE(t.b.op(first, t.b.op(KOp::Sqrt, x)), t.b.op(KOp::Sqrt, x));
  }
}

TEST(Builder, ProductsAndSumsInOneAreWhereBothRemain) {
  Bench t;
  const Value x = t.b.load(t.floats, t.b.i32(0)), y = t.b.load(t.floats, t.b.i32(1)), z = t.b.load(t.floats, t.b.i32(2));
  const Value whole = t.b.mul_add(x, y, z);
  EXPECT_EQ(t.b.mul_add(y, x, z), whole);
  EXPECT_NE(t.b.mul_add(x, z, y), whole);
  EXPECT_NE(whole, t.b.add(t.b.mul(x, y), z));
  EXPECT_EQ(t.b.mul_add(x, t.b.f32(1), z), t.b.add(x, z));
  EXPECT_EQ(t.b.mul_add(t.b.f32(2), t.b.f32(3), z), t.b.add(t.b.f32(6), z));
  EXPECT_EQ(t.b.factors(t.b.mul(x, y)), std::pair(x, y));
  EXPECT_EQ(t.b.factors(whole), std::nullopt);
}

TEST(Builder, NoFloatInstructionHasAZeroFactorOrDivisor) {
  // Some drivers compute x * 0, x - x, 0 / x and x / 0 without looking at x.
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> in = {0, -0.0f, 2, -3, inf, -inf, nan};
  const auto n = static_cast<uint32_t>(in.size());
  Builder b("k", 1, n);
  const uint32_t x_slot = b.bind("x", Scalar::F32, Access::Read), y_slot = b.bind("y", Scalar::F32, Access::Write);
  const Value at = b.bitcast(Scalar::I32, b.index()), x = b.load(x_slot, at), zero = b.f32(0);
  b.assume(at, {0, n - 1});
  int row = 0;
  for (Value v : {b.mul(x, zero), b.mul(zero, x), b.mul(x, b.f32(-0.0)), b.sub(x, x), b.op(KOp::Div, zero, x),
                  b.op(KOp::Div, x, zero), b.op(KOp::Div, x, b.f32(-0.0))})
    b.store(y_slot, b.add(b.mul(at, b.i32(7)), b.i32(row++)), v);
  const Kernel k = std::move(b).finish();
  for (const Inst& i : k.body) {
    const bool arithmetic = i.type == Scalar::F32 && (i.op == KOp::Mul || i.op == KOp::Sub || i.op == KOp::Div);
    EXPECT_FALSE(arithmetic) << to_string(k);
  }
  std::vector<float> out(in.size() * 7);
  std::vector<float> copy = in;
  const auto bytes = [](std::vector<float>& v) { return std::span(reinterpret_cast<uint8_t*>(v.data()), v.size() * 4); };
  const std::vector<std::span<uint8_t>> buffers = {bytes(copy), bytes(out)};
  evaluate(k, buffers);
  for (size_t j = 0; j < in.size(); ++j) {
    const float v = in[j], want[] = {v * 0.0f, 0.0f * v, v * -0.0f, v - v, 0.0f / v, v / 0.0f, v / -0.0f};
    for (size_t r = 0; r < 7; ++r) {
      const float have = out[j * 7 + r];
      const bool same = have == want[r] && std::signbit(have) == std::signbit(want[r]);
      EXPECT_TRUE(same || (std::isnan(have) && std::isnan(want[r]))) << v << " row " << r << ": " << have;
    }
  }
}

TEST(Builder, ConstantsOfSumsAndProductsJoin) {
  Bench t;
  const Value x = t.unknown();
  EXPECT_EQ(t.b.add(t.b.add(x, t.b.i32(3)), t.b.i32(4)), t.b.add(x, t.b.i32(7)));
  EXPECT_EQ(t.b.sub(t.b.add(x, t.b.i32(3)), t.b.i32(3)), x);
  EXPECT_EQ(t.b.mul(t.b.mul(x, t.b.i32(3)), t.b.i32(4)), t.b.mul(x, t.b.i32(12)));
  EXPECT_EQ(t.b.sub(t.b.add(x, t.unknown(1)), x), t.unknown(1));
  EXPECT_EQ(t.b.sub(t.b.i32(99), t.b.sub(t.b.i32(99), x)), x);
  EXPECT_EQ(t.b.sub(t.b.i32(9), t.b.sub(t.b.i32(12), x)), t.b.sub(x, t.b.i32(3)));
  EXPECT_EQ(t.b.add(t.b.sub(t.b.i32(99), x), t.b.i32(1)), t.b.sub(t.b.i32(100), x));
}

TEST(Builder, EqualInstructionsAreSharedInsideAndBelowTheirBlock) {
  Bench t;
  const Value x = t.unknown(), y = t.unknown(1), p = t.b.op(KOp::Lt, x, y);
  const Value outer = t.b.add(x, y);
  t.b.begin_if(p);
  EXPECT_EQ(t.b.add(y, x), outer);
  const Value inner = t.b.mul(x, y);
  t.b.set(t.b.var(inner), inner);
  t.b.end_if();
  EXPECT_NE(t.b.mul(x, y), inner);
}

TEST(Builder, OnlyLoadsFromReadOnlyBindingsAreShared) {
  Bench t;
  EXPECT_EQ(t.unknown(), t.unknown());
  EXPECT_NE(t.b.load(t.memory, t.b.i32(0)), t.b.load(t.memory, t.b.i32(0)));
}

TEST(Builder, LoadsOfArraysAreSharedUntilSomethingMayHaveBeenStored) {
  Builder b("k", 64, 64);
  const uint32_t tile = b.shared("tile", Scalar::F32, 64), other = b.shared("other", Scalar::F32, 64);
  const uint32_t own = b.local("own", Scalar::F32, 4), memory = b.bind("memory", Scalar::F32, Access::ReadWrite);
  const Value at = b.local_index(), zero = b.i32(0);
  const auto loads = [&] { return std::array{b.shared_load(tile, at), b.local_load(own, zero), b.load(memory, at)}; };
  auto last = loads();
  const auto reloaded = [&] {
    const auto now = loads();
    const std::array different = {now[0] != last[0], now[1] != last[1], now[2] != last[2]};
    last = now;
    return different;
  };
  EXPECT_EQ(reloaded(), (std::array{false, false, true}));  // loads of what a binding may write are never shared
  b.barrier();
  EXPECT_EQ(reloaded(), (std::array{true, false, true}));
  b.shared_store(other, at, b.f32(1));
  EXPECT_EQ(reloaded(), (std::array{true, false, true}));
  b.local_store(own, zero, b.f32(1));
  EXPECT_EQ(reloaded(), (std::array{false, true, true}));
  b.begin_loop(b.i32(3));
  EXPECT_EQ(reloaded(), (std::array{true, true, true}));
  b.shared_store(tile, at, b.f32(2));
  b.end_loop();
  last = loads();
  EXPECT_EQ(reloaded(), (std::array{false, false, true}));
}

TEST(Builder, FinishKeepsBarriersStoresAndTheirOrder) {
  Builder b("k", 64, 64);
  const uint32_t tile = b.shared("tile", Scalar::U32, 64), out = b.bind("out", Scalar::U32, Access::Write);
  const Value at = b.local_index();
  b.shared_load(tile, at);  // nothing uses it
  b.shared_store(tile, at, at);
  b.barrier();
  const Value first = b.shared_load(tile, at);
  b.barrier();
  b.store(out, at, b.add(first, b.shared_load(tile, at)));
  b.barrier();
  const Kernel k = std::move(b).finish();
  std::vector<KOp> ops;
  for (const Inst& i : k.body) {
    EXPECT_EQ(i.op == KOp::SharedLoad ? i.imm : 0, 0u);
    if (i.op != KOp::LocalIndex) ops.push_back(i.op);
  }
  EXPECT_EQ(ops, (std::vector{KOp::SharedStore, KOp::Barrier, KOp::SharedLoad, KOp::Barrier, KOp::SharedLoad, KOp::Add,
                              KOp::Store, KOp::Barrier}));
}

TEST(Builder, IntervalsNeverClaimWhatWrapAroundBreaks) {
  Bench t;
  const Interval all = whole(Scalar::I32);
  const Value big = t.within(0, 2147483647);
  EXPECT_EQ(t.b.interval(t.b.add(big, t.b.i32(1))), all);
  EXPECT_EQ(t.b.interval(t.b.mul(big, t.b.i32(2))), all);
  EXPECT_EQ(t.b.interval(t.b.add(t.within(0, 9, 1), t.b.i32(5))), (Interval{5, 14}));
  const Value word = t.b.load(t.words, t.b.i32(0));
  t.b.assume(word, {0, 9});
  EXPECT_EQ(t.b.interval(t.b.sub(word, t.b.constant(Scalar::U32, 1))), whole(Scalar::U32));
}

TEST(Builder, IntervalsDecideComparisons) {
  Bench t;
  const Value x = t.within(0, 9);
  EXPECT_EQ(t.constant(t.b.op(KOp::Lt, x, t.b.i32(10))), 1);
  EXPECT_EQ(t.constant(t.b.op(KOp::Ge, x, t.b.i32(0))), 1);
  EXPECT_EQ(t.constant(t.b.op(KOp::Eq, x, t.b.i32(10))), 0);
  EXPECT_EQ(t.constant(t.b.op(KOp::Lt, x, t.b.i32(9))), std::nullopt);
}

TEST(Builder, GuardsTeachIntervalsUntilTheirBlockEnds) {
  Bench t;
  const Value x = t.unknown(), fits = t.b.logical_and(t.b.op(KOp::Ge, x, t.b.i32(0)), t.b.op(KOp::Lt, x, t.b.i32(10)));
  t.b.begin_if(fits);
  EXPECT_EQ(t.b.interval(x), (Interval{0, 9}));
  EXPECT_EQ(t.b.interval(t.b.select(t.b.op(KOp::Lt, x, t.b.i32(4)), x, t.b.i32(0))), (Interval{0, 3}));
  t.b.set(t.b.var(x), x);
  t.b.end_if();
  EXPECT_EQ(t.b.interval(x), whole(Scalar::I32));
  const Value clamped = t.b.select(fits, x, t.b.i32(0));
  EXPECT_EQ(t.b.interval(clamped), (Interval{0, 9}));
}

TEST(Builder, TheSurplusGuardBoundsTheIndexAndIsNeverFolded) {
  for (const uint64_t invocations : {uint64_t{1}, uint64_t{100}, uint64_t{128}}) {
    Builder b("k", 64, invocations);
    EXPECT_EQ(b.interval(b.index()).hi, invocations <= 64 ? 63 : 127);
    b.begin_guard();
    EXPECT_EQ(b.interval(b.index()), (Interval{0, static_cast<int64_t>(invocations) - 1}));
    b.store(b.bind("out", Scalar::U32, Access::Write), b.index(), b.index());
    b.end_if();
    EXPECT_EQ(b.interval(b.index()).hi, invocations <= 64 ? 63 : 127);
    EXPECT_NE(to_string(std::move(b).finish()).find(", " + std::to_string(invocations) + "u\n  if %"), std::string::npos);
  }
}

TEST(Builder, UnsignedGuardBoundsTheSignedIndex) {
  Bench t;
  const Value x = t.unknown(), fits = t.b.op(KOp::Lt, t.b.bitcast(Scalar::U32, x), t.b.constant(Scalar::U32, 10));
  EXPECT_EQ(t.b.interval(t.b.select(fits, x, t.b.i32(0))), (Interval{0, 9}));
}

TEST(Builder, QuotAndRemUndoLinearising) {
  Bench t;
  const Value i = t.within(0, 6, 0), j = t.within(0, 4, 1), k = t.within(0, 2, 2);
  const Value flat = t.b.add(t.b.mul(t.b.add(t.b.mul(i, t.b.i32(5)), j), t.b.i32(3)), k);
  EXPECT_EQ(t.rem(flat, 3), k);
  EXPECT_EQ(t.rem(t.quot(flat, 3), 5), j);
  EXPECT_EQ(t.quot(flat, 15), i);
  EXPECT_EQ(t.quot(t.quot(flat, 3), 5), i);
  const Value strided = t.b.add(t.b.add(t.b.mul(i, t.b.i32(15)), t.b.mul(j, t.b.i32(3))), k);
  EXPECT_EQ(t.quot(t.rem(strided, 15), 3), j);
  EXPECT_EQ(t.quot(k, 3), t.b.i32(0));
  EXPECT_EQ(t.rem(k, 3), k);
}

TEST(Builder, LinearisingUndoesQuotAndRem) {
  Bench t;
  const Value f = t.at;
  const auto horner =
      t.b.add(t.b.mul(t.b.add(t.b.mul(t.quot(f, 12), t.b.i32(3)), t.quot(t.rem(f, 12), 4)), t.b.i32(4)), t.rem(f, 4));
  EXPECT_EQ(horner, f);
  const auto strided =
      t.b.add(t.b.add(t.b.mul(t.quot(f, 12), t.b.i32(12)), t.b.mul(t.rem(t.quot(f, 4), 3), t.b.i32(4))), t.rem(f, 4));
  EXPECT_EQ(strided, f);
}

// Optimisers mistake the negative of such a quotient.
TEST(Builder, NothingIsDividedByTheLeastInteger) {
  constexpr int32_t least = std::numeric_limits<int32_t>::min();
  std::vector<int32_t> x = {least, least + 1, -1, 0, 7, -(least + 1)}, y(3 * x.size());
  const auto n = static_cast<uint32_t>(x.size());
  Builder b("k", 1, n);
  const uint32_t from = b.bind("x", Scalar::I32, Access::Read), to = b.bind("y", Scalar::I32, Access::Write);
  const Value at = b.bitcast(Scalar::I32, b.index()), v = b.load(from, at), divisor = b.i32(least);
  b.assume(at, {0, n - 1});
  const Value quotient = b.op(KOp::Quot, v, divisor);
  int row = 0;
  for (Value result : {quotient, b.op(KOp::Neg, quotient), b.op(KOp::Rem, v, divisor)})
    b.store(to, b.add(b.mul(at, b.i32(3)), b.i32(row++)), result);
  const Kernel k = std::move(b).finish();
  for (const Inst& i : k.body) EXPECT_FALSE(i.op == KOp::Quot || i.op == KOp::Rem) << to_string(k);
  const auto bytes = [](std::vector<int32_t>& a) { return std::span(reinterpret_cast<uint8_t*>(a.data()), a.size() * 4); };
  evaluate(k, std::vector<std::span<uint8_t>>{bytes(x), bytes(y)});
  for (size_t j = 0; j < x.size(); ++j) {
    EXPECT_EQ(y[3 * j], x[j] / least);
    EXPECT_EQ(y[3 * j + 1], -(x[j] / least));
    EXPECT_EQ(y[3 * j + 2], x[j] % least);
  }
}

TEST(Builder, DivisionRulesWaitForProof) {
  Bench t;
  const Value i = t.unknown(0), j = t.within(0, 4, 1);  // i * 5 may wrap around
  const Value flat = t.b.add(t.b.mul(i, t.b.i32(5)), j);
  EXPECT_NE(t.quot(flat, 5), i);
  EXPECT_NE(t.rem(flat, 5), j);
}

TEST(Builder, BlocksWithKnownConditionsLeaveNoMarkers) {
  Bench t;
  const Value v = t.b.var(t.b.i32(0));
  const size_t before = t.b.size();
  t.b.begin_if(t.b.boolean(false));
  t.b.set(v, t.unknown(3));
  t.b.end_if();
  t.b.begin_loop(t.b.i32(0));
  t.b.set(v, t.unknown(4));
  t.b.end_loop();
  EXPECT_LE(t.b.size(), before + 1);  // the constant `false`
  EXPECT_EQ(t.constant(t.b.begin_loop(t.b.i32(1))), 0);
  t.b.end_loop();
  const Value counter = t.b.begin_loop(t.b.i32(7));
  EXPECT_EQ(t.b.interval(counter), (Interval{0, 6}));
  t.b.end_loop();
  EXPECT_FALSE(verify(std::move(t.b).finish()).has_value());
}

TEST(Builder, ALoopThatBreaksIsOneEvenIfItRunsOnce) {
  Bench t;
  const uint32_t out = t.b.bind("out", Scalar::I32, Access::Write);
  for (const int64_t trips : {1, 0}) {
    t.b.begin_loop(t.b.i32(trips), true);
    t.b.break_if(t.b.op(KOp::Lt, t.unknown(3), t.b.i32(7)));
    t.b.store(out, t.b.i32(trips), t.b.i32(1));
    t.b.end_loop();
  }
  const Kernel k = std::move(t.b).finish();
  EXPECT_EQ(std::count_if(k.body.begin(), k.body.end(), [](const Inst& i) { return i.op == KOp::Break; }), 1);
  EXPECT_EQ(std::count_if(k.body.begin(), k.body.end(), [](const Inst& i) { return i.op == KOp::Store; }), 1);
  EXPECT_FALSE(verify(k).has_value());
}

TEST(Builder, FinishDropsWhatNothingUsesAndDividesWithoutSigns) {
  Bench t;
  const uint32_t out = t.b.bind("out", Scalar::I32, Access::Write);
  t.b.mul(t.unknown(5), t.unknown(6));
  t.b.store(out, t.b.i32(0), t.quot(t.at, 8));
  t.b.store(out, t.b.i32(1), t.rem(t.at, 8));
  t.b.store(out, t.b.i32(2), t.rem(t.at, 7));
  t.b.store(out, t.b.i32(3), t.quot(t.unknown(), 8));
  const std::string text = to_string(std::move(t.b).finish());
  EXPECT_EQ(text.find("mul"), std::string::npos) << text;
  EXPECT_NE(text.find("shr_u %8, 3"), std::string::npos) << text;
  EXPECT_NE(text.find("and %8, 7"), std::string::npos) << text;
  EXPECT_NE(text.find("u32 = rem"), std::string::npos) << text;
  EXPECT_NE(text.find("i32 = quot"), std::string::npos) << text;  // the sign is not known
}

// What a caller asks for first may be what its compiler happens to evaluate first.
TEST(Builder, ConstantsComeFirstEachOnceInTheOrderOfTheirUse) {
  Builder b("k", 64, 64);
  const uint32_t out = b.bind("out", Scalar::I32, Access::Write), in = b.bind("in", Scalar::I32, Access::Read);
  const Value seven = b.i32(7), five = b.i32(5), three = b.i32(3);
  b.begin_if(b.op(KOp::Lt, b.load(in, three), five));
  b.store(out, b.i32(0), b.i32(11));
  b.end_if();
  b.store(out, b.i32(0), b.sub(b.load(in, b.i32(11)), five));
  EXPECT_EQ(b.constant_bits(seven), 7u);
  const Kernel k = std::move(b).finish();
  std::vector<uint64_t> constants;
  size_t last = 0;
  for (size_t at = 0; at < k.body.size(); ++at) {
    if (k.body[at].op != KOp::Const) continue;
    constants.push_back(k.body[at].imm);
    last = at;
  }
  EXPECT_EQ(last + 1, constants.size());
  EXPECT_EQ(constants.size(), 5u) << to_string(k);
  EXPECT_EQ(std::vector(constants.begin(), constants.begin() + 4), (std::vector<uint64_t>{3, 5, 0, 11})) << to_string(k);
  EXPECT_FALSE(verify(k).has_value());
}

TEST(Builder, OperandsInBracesAreComputedFromLeftToRight) {
  Builder b("k", 64, 1024);
  const uint32_t out = b.bind("out", Scalar::U32, Access::Write);
  b.store(out, {b.index(), b.add({b.local_index(), b.group_index()})});
  std::vector<KOp> ops;
  for (const Inst& i : std::move(b).finish().body) ops.push_back(i.op);
  EXPECT_EQ(ops, (std::vector{KOp::Index, KOp::LocalIndex, KOp::GroupIndex, KOp::Add, KOp::Store}));
}

// Random integer expressions through all rules against the same expressions computed on the host.
template <class I>
void compare_random_expressions(uint32_t seed) {
  const Scalar t = std::is_signed_v<I> ? Scalar::I32 : Scalar::U32;
  std::mt19937 random(seed);
  const auto pick = [&](uint32_t n) { return static_cast<uint32_t>(random()) % n; };
  Builder b("random", 64, 1);
  const uint32_t in = b.bind("in", t, Access::Read), out = b.bind("out", t, Access::Write);
  std::vector<Value> values;
  std::vector<uint32_t> expected, inputs;
  for (int i = 0; i < 6; ++i) {
    const int64_t limit = i < 4 ? 20 : 0;
    const uint32_t x = limit ? pick(static_cast<uint32_t>(limit)) : static_cast<uint32_t>(random());
    inputs.push_back(x);
    const Value v = b.load(in, b.i32(i));
    if (limit) b.assume(v, {0, limit - 1});
    values.push_back(v);
    expected.push_back(x);
  }
  constexpr std::array ops = {KOp::Add, KOp::Add,  KOp::Sub,  KOp::Mul, KOp::Mul, KOp::Quot, KOp::Quot,
                              KOp::Rem, KOp::Rem,  KOp::Min,  KOp::Max, KOp::And, KOp::Or,   KOp::Xor,
                              KOp::Shl, KOp::ShrU, KOp::ShrS, KOp::Lt,  KOp::Le,  KOp::Eq};
  for (int step = 0; step < 60; ++step) {
    const KOp op = ops[pick(ops.size())];
    const size_t i = pick(static_cast<uint32_t>(values.size())), j = pick(static_cast<uint32_t>(values.size()));
    Value a = values[i], c = values[j];
    uint32_t x = expected[i], y = expected[j];
    if (op == KOp::Quot || op == KOp::Rem || op == KOp::Shl || op == KOp::ShrU || op == KOp::ShrS || pick(2)) {
      constexpr std::array<uint32_t, 8> small = {1, 2, 3, 4, 6, 12, 20, 5};
      y = small[pick(8)];
      c = b.constant(t, y);
    }
    if (op == KOp::Sub && pick(2)) {
      x = pick(30);
      a = b.constant(t, x);
    }
    const uint32_t z = static_cast<uint32_t>([&]() -> uint32_t {
      const I s = static_cast<I>(x), u = static_cast<I>(y);
      switch (op) {
        case KOp::Add: return x + y;
        case KOp::Sub: return x - y;
        case KOp::Mul: return x * y;
        case KOp::Quot: return static_cast<uint32_t>(s / u);
        case KOp::Rem: return static_cast<uint32_t>(s % u);
        case KOp::Min: return static_cast<uint32_t>(std::min(s, u));
        case KOp::Max: return static_cast<uint32_t>(std::max(s, u));
        case KOp::And: return x & y;
        case KOp::Or: return x | y;
        case KOp::Xor: return x ^ y;
        case KOp::Shl: return x << y;
        case KOp::ShrU: return x >> y;
        case KOp::ShrS: return static_cast<uint32_t>(static_cast<int32_t>(x) >> y);
        case KOp::Lt: return s < u ? x : y;
        case KOp::Le: return s <= u ? x : y;
        default: return x == y ? x : y;
      }
    }());
    const bool compares = op == KOp::Lt || op == KOp::Le || op == KOp::Eq;
    const Value v = compares ? b.select(b.op(op, a, c), a, c) : b.op(op, a, c);
    const int64_t number = static_cast<int64_t>(static_cast<I>(z));
    ASSERT_TRUE(contains(b.interval(v), {number, number}))
        << "seed " << seed << ": " << number << " outside of [" << b.interval(v).lo << ", " << b.interval(v).hi << "] of "
        << name(op);
    values.push_back(v);
    expected.push_back(z);
  }
  for (size_t i = 0; i < values.size(); ++i) b.store(out, b.i32(static_cast<int64_t>(i)), values[i]);
  const Kernel k = std::move(b).finish();
  const auto error = verify(k);
  ASSERT_FALSE(error.has_value()) << error->str();
  std::vector<uint32_t> results(values.size());
  const auto bytes = [](std::vector<uint32_t>& v) { return std::span(reinterpret_cast<uint8_t*>(v.data()), v.size() * 4); };
  const std::vector<std::span<uint8_t>> buffers{bytes(inputs), bytes(results)};
  evaluate(k, buffers);
  ASSERT_EQ(results, expected) << "seed " << seed << "\n" << to_string(k);
}

TEST(Builder, RandomExpressionsKeepTheirValues) {
  for (uint32_t seed = 0; seed < 3000 && !::testing::Test::HasFailure(); ++seed) {
    compare_random_expressions<int32_t>(seed);
    compare_random_expressions<uint32_t>(seed);
  }
}

}  // namespace kernel_builder_test
}  // namespace spirograd::kernel
