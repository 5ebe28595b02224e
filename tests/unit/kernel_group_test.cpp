// The evaluator where invocations work together: values, and the defects that a device would hide.
#include <gtest/gtest.h>

#include "spirv/kernel/eval.h"
#include "spirv/kernel/guard.h"
#include "spirv/kernel/verify.h"
#include "support/group_kernels.h"

namespace spirograd::kernel {
namespace kernel_group_test {

std::string complaint(Builder&& b) {
  const Kernel k = std::move(b).finish();
  if (const auto error = verify(k)) return error->str();
  try {
    std::vector<std::vector<uint8_t>> bytes(k.bindings.size(), std::vector<uint8_t>(4096));
    std::vector<std::span<uint8_t>> buffers(bytes.begin(), bytes.end());
    evaluate(k, buffers);
  } catch (const Error& e) {
    EXPECT_EQ(e.code, "SG0902");
    return e.str();
  }
  return "";
}

void complains(Builder&& b, std::initializer_list<const char*> parts) {
  const std::string text = complaint(std::move(b));
  for (const char* part : parts) EXPECT_NE(text.find(part), std::string::npos) << "wanted: " << part << "\ngot: " << text;
}

// One shared array of a word per invocation, 12 of them: not a whole batch.
struct Bench {
  Builder b{"work", 12, 24, 4};
  uint32_t tile = b.shared("tile", Scalar::U32, 12), out = b.bind("out", Scalar::U32, Access::Write);
  uint32_t own = b.local("own", Scalar::U32, 3);
  Value i = b.local_index();
  Value u(uint32_t x) { return b.constant(Scalar::U32, x); }
  Value next() { return b.op(KOp::Rem, b.add(i, u(1)), u(12)); }
  void only(uint32_t invocation) { b.begin_if(b.op(KOp::Eq, i, u(invocation))); }
};

TEST(KernelGroup, AKernelIsWrittenForSubgroupsOfOneSize) {
  Builder b("sizes", 64, 64);
  b.use_lanes(8);
  b.use_lanes(8);
  EXPECT_THROW(b.use_lanes(4), Error);
}

TEST(KernelGroup, KernelsGiveWhatPlainLoopsGiveForEverySizeOfSubgroup) {
  for (const uint32_t lanes : {1u, 4u, 8u, 32u})
    for (const test::GroupCase& c : test::group_cases(lanes, 256, true)) {
      const auto error = verify(c.kernel);
      ASSERT_FALSE(error) << error->str();
      EXPECT_EQ(test::on_host(c), c.expected) << c.kernel.name << ", " << lanes << " lanes";
    }
}

TEST(KernelGroup, NumbersGoTogether) {
  Builder b("numbers", 12, 24, 4);
  const uint32_t out = b.bind("out", Scalar::U32, Access::Write);
  const Value place = b.mul(b.index(), b.constant(Scalar::U32, 3));
  const Value numbers[] = {b.local_index(), b.group_index(), b.lane_index()};
  for (uint32_t j = 0; j < 3; ++j) b.store(out, b.add(place, b.constant(Scalar::U32, j)), numbers[j]);
  // Together and not: a shared array makes the workgroup go in step.
  for (const bool together : {false, true}) {
    Builder copy = b;
    if (together) copy.shared("unused", Scalar::U32, 1);
    std::vector<uint32_t> got(72);
    const std::vector<std::span<uint8_t>> buffers{{reinterpret_cast<uint8_t*>(got.data()), got.size() * 4}};
    evaluate(std::move(copy).finish(), buffers);
    for (uint32_t i = 0; i < 24; ++i) {
      EXPECT_EQ(got[3 * i], i % 12) << i;
      EXPECT_EQ(got[3 * i + 1], i / 12) << i;
      EXPECT_EQ(got[3 * i + 2], i % 4) << i;
    }
  }
}

TEST(KernelGroup, ReadingWhatAnotherOneWritesNeedsABarrier) {
  for (const bool barrier : {true, false}) {
    Bench t;
    t.b.shared_store(t.tile, t.i, t.i);
    if (barrier) t.b.barrier();
    t.b.store(t.out, t.b.index(), t.b.shared_load(t.tile, t.next()));
    if (barrier)
      EXPECT_EQ(complaint(std::move(t.b)), "");
    else
      complains(std::move(t.b),
                {"kernel work: a race: invocation 0 of the workgroup reads tile[1], and invocation 1 writes it "
                 "between the same barriers",
                 "shared_load tile["});
  }
}

TEST(KernelGroup, WritingWhatAnotherOneReadsNeedsABarrier) {
  for (const bool barrier : {true, false}) {
    Bench t;
    t.b.shared_store(t.tile, t.i, t.i);
    t.b.barrier();
    t.b.store(t.out, t.b.index(), t.b.shared_load(t.tile, t.next()));
    if (barrier) t.b.barrier();
    t.b.shared_store(t.tile, t.i, t.u(7));
    if (barrier)
      EXPECT_EQ(complaint(std::move(t.b)), "");
    else
      complains(std::move(t.b), {"invocation 0 of the workgroup writes tile[0], and invocation 11 reads it"});
  }
}

TEST(KernelGroup, TheSecondReaderCountsToo) {
  Bench t;  // all read word 3, the first reader writes it: the others are in its way
  t.b.shared_store(t.tile, t.i, t.i);
  t.b.barrier();
  t.b.store(t.out, t.b.index(), t.b.shared_load(t.tile, t.u(3)));
  t.only(0);
  t.b.shared_store(t.tile, t.u(3), t.u(9));
  t.b.end_if();
  complains(std::move(t.b), {"invocation 0 of the workgroup writes tile[3], and invocation 1 reads it"});
}

TEST(KernelGroup, TwoWritersOfOneWordAreARaceEvenIfTheyAgree) {
  Bench t;
  t.b.shared_store(t.tile, t.u(5), t.u(1));
  complains(std::move(t.b), {"invocation 1 of the workgroup writes tile[5], and invocation 0 writes it"});
}

TEST(KernelGroup, OneInvocationMayUseItsWordAsItLikes) {
  Bench t;
  for (int k = 0; k < 3; ++k) {
    t.b.shared_store(t.tile, t.i, t.i);
    t.b.store(t.out, t.b.index(), t.b.shared_load(t.tile, t.i));
  }
  EXPECT_EQ(complaint(std::move(t.b)), "");
}

TEST(KernelGroup, BarriersInLoopsSeparateIterations) {
  for (const int barriers : {2, 1}) {
    Bench t;
    t.b.begin_loop(t.b.i32(3));
    t.b.shared_store(t.tile, t.i, t.i);
    t.b.barrier();
    t.b.store(t.out, t.b.index(), t.b.shared_load(t.tile, t.next()));
    if (barriers == 2) t.b.barrier();
    t.b.end_loop();
    EXPECT_EQ(complaint(std::move(t.b)).find("a race") == std::string::npos, barriers == 2);
  }
}

TEST(KernelGroup, WhatNobodyHasWrittenIsNotRead) {
  Bench shared;
  shared.only(0);
  shared.b.shared_store(shared.tile, shared.u(0), shared.u(1));
  shared.b.end_if();
  shared.b.barrier();
  shared.b.store(shared.out, shared.i, shared.b.shared_load(shared.tile, shared.i));
  complains(std::move(shared.b), {"tile[1] is read before anybody has written it"});

  Bench local;
  local.b.local_store(local.own, local.u(0), local.i);
  local.b.store(local.out, local.i, local.b.local_load(local.own, local.b.op(KOp::Rem, local.i, local.u(2))));
  complains(std::move(local.b), {"an element of own is read unwritten", "invocation 1"});
}

TEST(KernelGroup, EachWorkgroupBeginsAnew) {
  Bench t;  // the first workgroup writes, both read
  t.b.begin_if(t.b.op(KOp::Eq, t.b.group_index(), t.u(0)));
  t.b.shared_store(t.tile, t.i, t.i);
  t.b.end_if();
  t.b.store(t.out, t.i, t.b.shared_load(t.tile, t.i));
  complains(std::move(t.b), {"tile[0] is read before anybody has written it", "invocation 12"});
  Bench own;
  own.b.begin_if(own.b.op(KOp::Eq, own.b.group_index(), own.u(0)));
  own.b.local_store(own.own, own.u(0), own.i);
  own.b.end_if();
  own.b.store(own.out, own.i, own.b.local_load(own.own, own.u(0)));
  complains(std::move(own.b), {"an element of own is read unwritten", "invocation 12"});
}

TEST(KernelGroup, IndicesOutsideOfArraysAreDefects) {
  for (const bool local : {false, true}) {
    Bench t;
    if (local)
      t.b.local_store(t.own, t.i, t.i);
    else
      t.b.shared_store(t.tile, t.b.add(t.i, t.u(1)), t.i);
    complains(std::move(t.b), {local ? "index 3 is outside of own, which has 3 elements"
                                     : "index 12 is outside of tile, which has 12 elements"});
  }
}

TEST(KernelGroup, LanesThatDoNotExistAndNanAreDefects) {
  Bench t;
  t.b.store(t.out, t.i, t.b.shuffle(t.i, t.b.add(t.b.lane_index(), t.u(1))));
  complains(std::move(t.b), {"there is no lane 4", "invocation 3"});
  Bench n;
  const Value zero = n.b.convert(Scalar::F32, n.b.sub(n.b.load(n.b.bind("x", Scalar::U32, Access::Read), n.i), n.i));
  const Value root = n.b.op(KOp::Sqrt, zero);
  n.b.store(n.out, n.i, n.b.bitcast(Scalar::U32, n.b.subgroup_reduce(KOp::Min, n.b.op(KOp::Sqrt, n.b.op(KOp::Neg, root)))));
  EXPECT_EQ(complaint(std::move(n.b)).find("a NaN has no order") == std::string::npos, false);
}

// The verifier refuses these; the evaluator does not trust it.
TEST(KernelGroup, WhoIsMissingIsADefect) {
  for (const bool barrier : {true, false}) {
    Bench t;
    t.only(5);
    if (barrier)
      t.b.barrier();
    else
      t.b.store(t.out, t.i, t.b.subgroup_reduce(KOp::Add, t.i));
    t.b.end_if();
    const Kernel k = std::move(t.b).finish();
    std::vector<uint8_t> bytes(4096);
    const std::vector<std::span<uint8_t>> buffers{bytes};
    try {
      evaluate(k, buffers);
      ADD_FAILURE() << "nothing found";
    } catch (const Error& e) {
      EXPECT_NE(e.str().find(barrier ? "1 of 12 invocations get here together" : "1 of 4"), std::string::npos) << e.str();
    }
  }
}

TEST(KernelGroup, SubgroupsThatDoNotFillAWorkgroupAreADefect) {
  Bench t;
  t.b.store(t.out, t.i, t.b.subgroup_reduce(KOp::Add, t.i));
  Kernel k = std::move(t.b).finish();
  std::vector<uint8_t> bytes(4096);
  const std::vector<std::span<uint8_t>> buffers{bytes};
  for (const uint32_t size : {0u, 5u}) {
    k.subgroup = size;
    try {
      evaluate(k, buffers);
      ADD_FAILURE() << "nothing found";
    } catch (const Error& e) {
      EXPECT_NE(e.str().find("workgroups of 12 in subgroups of " + std::to_string(size)), std::string::npos) << e.str();
    }
  }
}

TEST(KernelGroup, KernelsWithOtherArraysOrSubgroupsAreOthers) {
  const auto changed = [](auto change) {
    Kernel a;
    a.subgroup = 8;
    a.shared = {{"a", Scalar::F32, 4}};
    a.locals = {{"b", Scalar::U32, 4}};
    Kernel b = a;
    change(b);
    return !same_code(a, b);
  };
  EXPECT_FALSE(changed([](Kernel& k) { k.shared[0].name = k.locals[0].name = "other"; }));
  EXPECT_TRUE(changed([](Kernel& k) { k.subgroup = 4; }));
  EXPECT_TRUE(changed([](Kernel& k) { k.shared[0].count = 5; }));
  EXPECT_TRUE(changed([](Kernel& k) { k.shared.clear(); }));
  EXPECT_TRUE(changed([](Kernel& k) { k.locals[0].type = Scalar::I32; }));
}

TEST(KernelGroup, BytesOfSharedArraysAreRoundedUpEach) {
  Kernel k;
  EXPECT_EQ(shared_bytes(k), 0u);
  k.shared = {{"a", Scalar::Bool, 1}, {"b", Scalar::F64, 3}, {"c", Scalar::F32, 4}};
  EXPECT_EQ(shared_bytes(k), 16u + 32u + 16u);
}

TEST(KernelGroup, GuardsThatKeepSurplusOutAreRecognised) {
  const auto guards = [](uint64_t invocations, auto open) {
    Builder b("k", 8, invocations);
    const uint32_t out = b.bind("out", Scalar::U32, Access::Write);
    open(b);
    b.store(out, b.index(), b.index());
    b.end_if();
    return guards_surplus(std::move(b).finish());
  };
  const auto below = [](uint32_t bound) {
    return [bound](Builder& b) { b.begin_if(b.op(KOp::Lt, b.index(), b.constant(Scalar::U32, bound))); };
  };
  EXPECT_TRUE(guards(20, [](Builder& b) { b.begin_guard(); }));
  EXPECT_TRUE(guards(24, [](Builder& b) { b.begin_guard(); }));
  EXPECT_TRUE(guards(24, [](Builder& b) { b.begin_group_guard(); }));
  EXPECT_FALSE(guards(20, [](Builder& b) { b.begin_group_guard(); }));  // invocations 20 to 23 store
  EXPECT_TRUE(guards(20, below(19)));
  EXPECT_FALSE(guards(20, below(21)));
  EXPECT_FALSE(guards(20, [](Builder& b) {
    b.begin_guard();
    b.begin_else();
  }));
  Builder loop("k", 8, 8);  // what comes after a guard is not in it
  const uint32_t sum = loop.bind("sum", Scalar::U32, Access::Atomic);
  loop.begin_guard();
  loop.begin_loop(loop.i32(3));
  loop.atomic_add(sum, loop.index(), loop.index());
  loop.end_loop();
  loop.end_if();
  Builder after = loop;
  after.atomic_add(sum, after.index(), after.index());
  EXPECT_TRUE(guards_surplus(std::move(loop).finish()));
  EXPECT_FALSE(guards_surplus(std::move(after).finish()));
}

}  // namespace kernel_group_test
}  // namespace spirograd::kernel
