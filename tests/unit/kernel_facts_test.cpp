// What the builder knows of integers and of invocations that go together: never too much, and how much of what it could.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "spirv/kernel/builder.h"
#include "spirv/kernel/interval.h"
#include "spirv/kernel/iterations.h"
#include "spirv/kernel/scalar.h"

namespace spirograd::kernel {
namespace kernel_facts_test {

bool is_unary(KOp op) { return op == KOp::Neg || op == KOp::Not; }

// Operands of every sign and size for which all results can be looked at.
std::vector<Interval> intervals(Scalar type) {
  const int64_t least = type == Scalar::I32 ? -4 : 0, most = type == Scalar::I32 ? 5 : 9;
  std::vector<Interval> out;
  for (int64_t lo = least; lo <= most; ++lo)
    for (int64_t hi = lo; hi <= most; ++hi) out.push_back({lo, hi});
  return out;
}

// The least and the greatest result.
Interval hull(KOp op, Scalar type, Interval a, Interval b) {
  Interval out{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  for (int64_t x = a.lo; x <= a.hi; ++x)
    for (int64_t y = b.lo; y <= b.hi; ++y) {
      const uint64_t bits = apply(op, type, type, static_cast<uint32_t>(x), static_cast<uint32_t>(y));
      out = unite(out, point(type, bits));
    }
  return out;
}

// Pairs of intervals whose results lie in a narrower interval than range() says.
struct Loose {
  const char* name;
  KOp op;
  int of_i32, of_u32;
};

TEST(KernelFacts, RangesHoldAndAreAsNarrowAsTheyWere) {
  const Loose all[] = {
      {"add", KOp::Add, 0, 0},       {"sub", KOp::Sub, 0, 0},       {"mul", KOp::Mul, 0, 0},
      {"neg", KOp::Neg, 0, 0},       {"min", KOp::Min, 0, 0},       {"max", KOp::Max, 0, 0},
      {"not", KOp::Not, 0, 0},       {"mulhi", KOp::MulHiU, -1, 0}, {"quot", KOp::Quot, 824, 210},
      {"rem", KOp::Rem, 304, 649},   {"shl", KOp::Shl, 1870, 0},    {"shr_s", KOp::ShrS, 1870, 0},
      {"shr_u", KOp::ShrU, 2224, 0}, {"and", KOp::And, 1447, 519},  {"or", KOp::Or, 2722, 1208},
      {"xor", KOp::Xor, 2783, 1623},
  };
  for (const Loose& l : all)
    for (const Scalar type : {Scalar::I32, Scalar::U32}) {
      const int expected = type == Scalar::I32 ? l.of_i32 : l.of_u32;
      if (expected < 0) continue;  // there is no such operation
      int loose = 0;
      for (const Interval a : intervals(type))
        for (const Interval b : is_unary(l.op) ? std::vector{Interval{0, 0}} : intervals(type)) {
          const Interval is = hull(l.op, type, a, b), said = range(l.op, type, a, b);
          ASSERT_TRUE(contains(said, is)) << l.name << " of [" << a.lo << ", " << a.hi << "] and [" << b.lo << ", " << b.hi
                                          << "] is in [" << is.lo << ", " << is.hi << "], not in [" << said.lo << ", "
                                          << said.hi << "]";
          loose += said == is ? 0 : 1;
        }
      EXPECT_EQ(loose, expected) << l.name << (type == Scalar::I32 ? " of i32" : " of u32");
    }
}

// A kernel of workgroups of 64 and subgroups of 8.
struct Lanes {
  Builder b{"k", 64, 1 << 20, 8};
  uint32_t given = b.bind("given", Scalar::U32, Access::Read), written = b.bind("written", Scalar::U32, Access::ReadWrite);
  Value index = b.index();
  Value word(uint64_t n) { return b.constant_word(Scalar::U32, n); }
  bool subgroups_agree(KOp op, Value x, Value y) { return b.uniform_in_subgroup(b.op(op, x, y)); }
};

TEST(KernelFacts, ASubgroupAgreesOnItsNumberAndOnBoundsBetweenSubgroups) {
  Lanes k;
  EXPECT_TRUE(k.subgroups_agree(KOp::Quot, k.index, k.word(8)));
  EXPECT_TRUE(k.subgroups_agree(KOp::Quot, k.index, k.word(24)));
  EXPECT_TRUE(k.subgroups_agree(KOp::Lt, k.index, k.word(64)));
  const Value number = k.b.bitcast(Scalar::I32, k.index);
  EXPECT_TRUE(k.subgroups_agree(KOp::Quot, number, k.b.i32(8)));
  EXPECT_TRUE(k.subgroups_agree(KOp::Add, k.b.op(KOp::Quot, k.index, k.word(8)), k.word(3)));
  EXPECT_FALSE(k.b.uniform(k.b.op(KOp::Quot, k.index, k.word(8)))) << "a workgroup has several";

  EXPECT_FALSE(k.subgroups_agree(KOp::Quot, k.index, k.word(12)));
  EXPECT_FALSE(k.subgroups_agree(KOp::Quot, k.index, k.word(4)));
  EXPECT_FALSE(k.subgroups_agree(KOp::Lt, k.index, k.word(60)));
  EXPECT_FALSE(k.subgroups_agree(KOp::Rem, k.index, k.word(8)));
  EXPECT_FALSE(k.subgroups_agree(KOp::Quot, k.word(800), k.index));
  EXPECT_FALSE(k.subgroups_agree(KOp::Quot, k.index, k.b.load(k.given, k.word(0)))) << "nobody knows by what";
}

TEST(KernelFacts, WhereNothingIsKnownOfSubgroupsTheyAgreeOnWhatWorkgroupsDo) {
  Builder b("k", 64, 1 << 20);
  EXPECT_FALSE(b.uniform_in_subgroup(b.op(KOp::Quot, b.index(), b.constant_word(Scalar::U32, 8))));
  EXPECT_TRUE(b.uniform_in_subgroup(b.group_index()));
}

TEST(KernelFacts, WorkgroupsAgreeOnWhatNobodyWrites) {
  Lanes k;
  EXPECT_TRUE(k.b.uniform(k.word(7)));
  EXPECT_TRUE(k.b.uniform(k.b.group_index()));
  EXPECT_TRUE(k.b.uniform(k.b.load(k.given, k.b.group_index())));
  EXPECT_FALSE(k.b.uniform(k.b.load(k.given, k.index)));
  EXPECT_FALSE(k.b.uniform(k.b.load(k.written, k.word(0))));
  EXPECT_FALSE(k.b.uniform(k.b.local_index()));
  const Value everywhere = k.b.broadcast(k.b.load(k.given, k.index), k.b.constant_word(Scalar::U32, 3));
  EXPECT_TRUE(k.b.uniform_in_subgroup(everywhere));
  EXPECT_FALSE(k.b.uniform(everywhere));
}

TEST(KernelFacts, PathsDivideByTheirConditions) {
  Lanes k;
  EXPECT_TRUE(k.b.uniform_path());
  k.b.begin_if(k.b.op(KOp::Lt, k.index, k.word(64)));
  EXPECT_FALSE(k.b.uniform_path());
  EXPECT_TRUE(k.b.uniform_path_in_subgroup());
  k.b.begin_loop(k.b.bitcast(Scalar::I32, k.b.load(k.given, k.word(0))));
  EXPECT_TRUE(k.b.uniform_path_in_subgroup());
  k.b.begin_loop(k.b.bitcast(Scalar::I32, k.b.load(k.given, k.index)));
  EXPECT_FALSE(k.b.uniform_path_in_subgroup()) << "lanes go round as often as they like";
  k.b.end_loop();
  EXPECT_TRUE(k.b.uniform_path_in_subgroup());
  k.b.begin_loop(k.b.i32(9), true);
  EXPECT_FALSE(k.b.uniform_path_in_subgroup()) << "lanes may leave";
  k.b.end_loop();
  EXPECT_TRUE(k.b.uniform_path_in_subgroup());
  k.b.end_loop();
  k.b.end_if();
  EXPECT_TRUE(k.b.uniform_path());
}

// Of `not (i < 4 and j < 4)` follows nothing where it holds, and both where it does not.
TEST(KernelFacts, WhatIsNotTrueTellsTheOpposite) {
  for (const bool holds : {true, false}) {
    Lanes k;
    const Value i = k.b.load(k.given, k.word(0)), j = k.b.load(k.given, k.word(1)), four = k.word(4);
    const Value both = k.b.op(KOp::And, k.b.op(KOp::Lt, i, four), k.b.op(KOp::Lt, j, four));
    const Value not_both = k.b.op(KOp::Not, both);
    k.b.begin_if(not_both);
    if (!holds) k.b.begin_else();
    for (const Value v : {i, j}) EXPECT_EQ(k.b.interval(v).hi, holds ? std::numeric_limits<uint32_t>::max() : 3);
    k.b.end_if();
    for (const Value v : {i, j}) EXPECT_EQ(k.b.interval(v).hi, std::numeric_limits<uint32_t>::max());
  }
}

// What an invocation does, by the lengths of its loops: the number of a loop and of the invocation come for nothing.
TEST(KernelFacts, WhatIsExecutedIsCounted) {
  Builder b("k", 64, 64);
  const uint32_t x = b.bind("x", Scalar::F32, Access::Read), y = b.bind("y", Scalar::F32, Access::Write);
  const uint32_t shared = b.shared("s", Scalar::F32, 8);
  const Value sum = b.var(b.f32(0)), at = b.bitcast(Scalar::I32, b.index());  // 1 operation
  const Value i = b.begin_loop(b.i32(5));
  b.set(sum, b.add(b.get(sum), b.load(x, i)));  // 1, and a load
  const Value j = b.begin_loop(b.i32(7));
  b.set(sum, b.op(KOp::Div, b.get(sum), b.load(x, b.add(i, j))));  // 1 + 8, and a load
  b.end_loop();
  b.end_loop();
  b.shared_store(shared, b.i32(0), b.get(sum));
  const Value root = b.op(KOp::Sqrt, b.shared_load(shared, b.i32(1)));  // 1 + 8
  b.store(y, at, b.mul_add(root, root, root));                          // 2, and two are written
  const Kernel k = std::move(b).finish();
  const Executed e = executed(k);
  EXPECT_EQ(e.operations, 1 + 5 * (1 + 7 * 9) + 9 + 2);
  EXPECT_EQ(e.loads, 5 + 5 * 7);
  EXPECT_EQ(e.stores, 2);
  EXPECT_EQ(float_operations(k), 5 * (1 + 7 * 1) + 1 + 2);
}

}  // namespace kernel_facts_test
}  // namespace spirograd::kernel
