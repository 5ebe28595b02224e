// Ranges of integer expressions: exact where it matters for bounds proofs, and never too small.
#include "frontend/rewrite/interval.h"

#include <gtest/gtest.h>

#include <limits>

#include "frontend/ir/algebra.h"

namespace spirograd::rewrite {
namespace interval_test {

using namespace ir;

constexpr int64_t kLeast = std::numeric_limits<int32_t>::min();
constexpr int64_t kGreatest = std::numeric_limits<int32_t>::max();

class IntervalTest : public testing::Test {
 protected:
  Graph g;
  Expr num(int64_t v) { return scalar(g, DType::I32, static_cast<double>(v)); }
  /// A value of which exactly [lo, hi] is known.
  Expr some(int64_t lo, int64_t hi) { return binary(Op::Add, index_var(g, 0, hi - lo + 1), num(lo)); }
  Expr anything() { return param(g, 0, i32()); }
};

TEST_F(IntervalTest, LeavesKnowTheirRange) {
  EXPECT_EQ(interval(num(7)), (Interval{7, 7}));
  EXPECT_EQ(interval(iota(g, {3, 5}, 1)), (Interval{0, 4}));
  EXPECT_EQ(interval(index_var(g, 2, 9)), (Interval{0, 8}));
  EXPECT_EQ(interval(anything()), (Interval{kLeast, kGreatest}));
  EXPECT_EQ(interval(constant(g, i32({3}), {4, -2, 0})), (Interval{-2, 4}));
}

TEST_F(IntervalTest, ArraysWithoutElementsAreZero) {
  EXPECT_EQ(interval(iota(g, {0}, 0)), (Interval{0, 0}));
  EXPECT_EQ(interval(index_var(g, 0, 0)), (Interval{0, 0}));
  EXPECT_EQ(interval(constant(g, i32({0}), {})), (Interval{0, 0}));
}

TEST_F(IntervalTest, ArithmeticCombinesBounds) {
  EXPECT_EQ(interval(some(-2, 3) + some(10, 11)), (Interval{8, 14}));
  EXPECT_EQ(interval(some(-2, 3) - some(10, 11)), (Interval{-13, -7}));
  EXPECT_EQ(interval(some(-2, 3) * some(-5, 4)), (Interval{-15, 12}));
  EXPECT_EQ(interval(-some(-2, 3)), (Interval{-3, 2}));
  EXPECT_EQ(interval(unary(Op::Abs, some(-7, 3))), (Interval{0, 7}));
  EXPECT_EQ(interval(unary(Op::Abs, some(-7, -3))), (Interval{3, 7}));
  EXPECT_EQ(interval(unary(Op::Sign, some(0, 3))), (Interval{0, 1}));
  EXPECT_EQ(interval(binary(Op::Min, some(-2, 9), num(4))), (Interval{-2, 4}));
  EXPECT_EQ(interval(binary(Op::Max, some(-2, 9), num(0))), (Interval{0, 9}));
}

TEST_F(IntervalTest, WhatMayWrapIsTheWholeRange) {
  const Interval all{kLeast, kGreatest};
  EXPECT_EQ(interval(num(kGreatest) + some(0, 1)), all);
  EXPECT_EQ(interval(num(kLeast) - some(0, 1)), all);
  EXPECT_EQ(interval(num(1 << 20) * some(0, 1 << 12)), all);
  EXPECT_EQ(interval(-anything()), all);
  EXPECT_EQ(interval(unary(Op::Abs, anything())), all);
  EXPECT_EQ(interval(binary(Op::Quot, anything(), num(-1))), all);
  EXPECT_EQ(interval(reduce(Op::Sum, broadcast(num(kGreatest), {2}, {}), {0})), all);
}

TEST_F(IntervalTest, DivisionTruncatesAndZeroReadsAsOne) {
  EXPECT_EQ(interval(binary(Op::Quot, some(-7, 9), num(2))), (Interval{-3, 4}));
  EXPECT_EQ(interval(binary(Op::Quot, some(1, 9), some(0, 3))), (Interval{0, 9}));
  EXPECT_EQ(interval(binary(Op::Quot, some(1, 9), some(-3, 3))), (Interval{-9, 9}));
  EXPECT_EQ(interval(binary(Op::Rem, anything(), num(5))), (Interval{-4, 4}));
  EXPECT_EQ(interval(binary(Op::Rem, some(0, 100), num(5))), (Interval{0, 4}));
  EXPECT_EQ(interval(binary(Op::Rem, some(1, 3), num(5))), (Interval{1, 3}));
  EXPECT_EQ(interval(binary(Op::Rem, some(-9, 3), some(0, 0))), (Interval{0, 0}));
  EXPECT_EQ(interval(binary(Op::Rem, some(-9, 3), num(-2))), (Interval{-9, 3}));
}

TEST_F(IntervalTest, ComparisonsAreDecidedWhenRangesAreApart) {
  EXPECT_EQ(interval(binary(Op::Lt, some(0, 3), num(4))), (Interval{1, 1}));
  EXPECT_EQ(interval(binary(Op::Lt, some(0, 4), num(4))), (Interval{0, 1}));
  EXPECT_EQ(interval(binary(Op::Ge, some(0, 3), num(4))), (Interval{0, 0}));
  EXPECT_EQ(interval(binary(Op::Eq, num(4), num(4))), (Interval{1, 1}));
  EXPECT_EQ(interval(binary(Op::Ne, some(5, 6), num(4))), (Interval{1, 1}));
  const Expr x = param(g, 1, f32());
  EXPECT_EQ(interval(binary(Op::Le, x, x)), (Interval{0, 1})) << "NaN";
}

TEST_F(IntervalTest, SelectIsTheHullOrTheDecidedBranch) {
  const Expr open = binary(Op::Lt, anything(), num(4));
  EXPECT_EQ(interval(select(open, num(3), num(9))), (Interval{3, 9}));
  EXPECT_EQ(interval(select(binary(Op::Lt, num(3), num(4)), num(3), num(9))), (Interval{3, 3}));
}

TEST_F(IntervalTest, ReadsOutOfRangeAddZero) {
  const Expr table = constant(g, i32({3}), {5, 6, 7});
  const auto at = [&](Expr j) { return gather(table, {&j, 1}); };
  EXPECT_EQ(interval(at(some(0, 2))), (Interval{5, 7}));
  EXPECT_EQ(interval(at(some(0, 3))), (Interval{0, 7}));
  EXPECT_EQ(interval(window(table, 0, 1, 2)), (Interval{5, 7}));
  EXPECT_EQ(interval(window(table, 0, 1, 3)), (Interval{0, 7}));
  EXPECT_EQ(interval(window(table, 0, -1, 3)), (Interval{0, 7}));
  EXPECT_EQ(interval(window(constant(g, i32({0}), {}), 0, 0, 3)), (Interval{0, 0}));
}

TEST_F(IntervalTest, ReductionsCountTheirTerms) {
  const Expr a = constant(g, i32({3}), {5, -6, 7});
  EXPECT_EQ(interval(sum(a, 0)), (Interval{-18, 21}));
  EXPECT_EQ(interval(sum(constant(g, i32({0}), {}), 0)), (Interval{0, 0}));
  EXPECT_EQ(interval(reduce(Op::Prod, constant(g, i32({0}), {}), {0})), (Interval{1, 1}));
  EXPECT_EQ(interval(reduce(Op::ReduceMax, a, {0})), (Interval{-6, 7}));
  EXPECT_EQ(interval(reduce(Op::ReduceMax, constant(g, i32({0}), {}), {0})), (Interval{kLeast, kGreatest}));
  EXPECT_EQ(interval(arg_reduce(Op::ArgMax, param(g, 0, f32({4})), 0)), (Interval{0, 3}));
  const Expr j = iota(g, {3}, 0);
  EXPECT_EQ(interval(scatter(a, {&j, 1}, Shape{2})), (Interval{-18, 21}));
}

TEST_F(IntervalTest, CastsKeepWhatFits) {
  EXPECT_EQ(interval(cast(some(0, 3), DType::U32)), (Interval{0, 3}));
  EXPECT_EQ(interval(cast(some(-1, 3), DType::U32)), (Interval{0, 4294967295}));
  EXPECT_EQ(interval(cast(param(g, 0, f32()), DType::I32)), (Interval{kLeast, kGreatest}));
  EXPECT_EQ(interval(cast(some(2, 3), DType::Bool)), (Interval{1, 1}));
  EXPECT_EQ(interval(cast(binary(Op::Lt, anything(), num(4)), DType::I32)), (Interval{0, 1}));
}

TEST_F(IntervalTest, LongChainsAreFine) {
  Expr e = index_var(g, 0, 3);
  for (int k = 0; k < 50000; ++k) e = binary(Op::Max, e, num(k % 3));
  EXPECT_EQ(interval(e), (Interval{2, 2}));
}

}  // namespace interval_test
}  // namespace spirograd::rewrite
