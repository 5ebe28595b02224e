// Every rule of kernel.h and op.h has a kernel that breaks it; and the printer's text.
#include "spirv/kernel/verify.h"

#include <gtest/gtest.h>

#include "spirv/kernel/builder.h"
#include "spirv/kernel/print.h"
#include "support/group_kernels.h"
#include "support/kernels.h"

namespace spirograd::kernel {
namespace kernel_verify_test {

Inst number(Scalar t, uint64_t word) { return {KOp::Const, t, {}, word}; }

Kernel with(std::vector<Inst> body, std::vector<Binding> bindings = {}) {
  Kernel k;
  k.name = "broken";
  k.bindings = std::move(bindings);
  k.body = std::move(body);
  return k;
}

std::string complaint(const Kernel& k) {
  const auto error = verify(k);
  if (!error) return "";
  EXPECT_EQ(error->code, "SG0901");
  return error->str();
}

void rejects(const Kernel& k, const std::string& why) {
  EXPECT_NE(complaint(k).find(why), std::string::npos) << "wanted: " << why << "\ngot: " << complaint(k);
}

TEST(KernelVerify, AcceptsEveryOperation) {
  EXPECT_EQ(complaint(test::every_operation(false)), "");
  EXPECT_EQ(complaint(test::every_operation(true)), "");
}

TEST(KernelVerify, RejectsWrongTypes) {
  const Inst one = number(Scalar::I32, 1), real = number(Scalar::F32, 0), yes = number(Scalar::Bool, 1);
  rejects(with({one, real, {KOp::Add, Scalar::I32, {0, 1, 0}}}), "operand 1 is f32 and should be i32");
  rejects(with({one, {KOp::Div, Scalar::I32, {0, 0, 0}}}), "for floats only");
  rejects(with({real, {KOp::Quot, Scalar::F32, {0, 0, 0}}}), "for integers only");
  rejects(with({real, {KOp::Min, Scalar::F32, {0, 0, 0}}}), "for integers only");
  rejects(with({one, {KOp::MulHiU, Scalar::I32, {0, 0, 0}}}), "for u32 only");
  rejects(with({yes, {KOp::Lt, Scalar::Bool, {0, 0, 0}}}), "bools have no order");
  rejects(with({one, {KOp::Lt, Scalar::I32, {0, 0, 0}}}), "a comparison gives a bool");
  rejects(with({one, {KOp::Select, Scalar::I32, {0, 0, 0}}}), "should be bool");
  rejects(with({one, {KOp::Convert, Scalar::U32, {0, 0, 0}}}), "converts between");
  rejects(with({yes, {KOp::Bitcast, Scalar::U32, {0, 0, 0}}}), "only 32-bit numbers");
  rejects(with({number(Scalar::Bool, 2)}), "a bool is 0 or 1");
  EXPECT_EQ(complaint(with({real, {KOp::Add, Scalar::F32, {0, 0, 0}, 1}})), "");
  rejects(with({real, {KOp::Add, Scalar::F32, {0, 0, 0}, 2}}), "are exact or not");
  rejects(with({one, {KOp::Add, Scalar::I32, {0, 0, 0}, 1}}), "are exact or not");
  rejects(with({real, {KOp::Sqrt, Scalar::F32, {0, 0, 0}, 1}}), "are exact or not");
  rejects(with({number(Scalar::F32, uint64_t{1} << 40)}), "more bits");
}

TEST(KernelVerify, RejectsValuesThatAreNotVisible) {
  const Inst one = number(Scalar::I32, 1), yes = number(Scalar::Bool, 1);
  rejects(with({{KOp::Neg, Scalar::I32, {1, 0, 0}}, one}), "not defined before its use");
  rejects(with({yes,
                one,
                {KOp::If, Scalar::Bool, {0, 0, 0}},
                {KOp::Neg, Scalar::I32, {1, 0, 0}},
                {KOp::EndIf},
                {KOp::Neg, Scalar::I32, {3, 0, 0}}}),
          "in a block that has ended");
  rejects(with({one, {KOp::Loop, Scalar::I32, {0, 0, 0}}, {KOp::EndLoop}, {KOp::Neg, Scalar::I32, {1, 0, 0}}}),
          "in a block that has ended");
  rejects(with({yes,
                one,
                {KOp::If, Scalar::Bool, {0, 0, 0}},
                {KOp::Neg, Scalar::I32, {1, 0, 0}},
                {KOp::Else},
                {KOp::Neg, Scalar::I32, {3, 0, 0}},
                {KOp::EndIf}}),
          "in a block that has ended");
  rejects(with({one, {KOp::Var, Scalar::I32, {0, 0, 0}}, {KOp::Neg, Scalar::I32, {1, 0, 0}}}), "is a variable");
  rejects(with({one, {KOp::Get, Scalar::I32, {0, 0, 0}}}), "not a visible variable");
}

TEST(KernelVerify, RejectsBrokenNesting) {
  const Inst one = number(Scalar::I32, 1), yes = number(Scalar::Bool, 1);
  rejects(with({yes, {KOp::If, Scalar::Bool, {0, 0, 0}}}), "a block is not closed");
  rejects(with({{KOp::EndIf}}), "does not match");
  rejects(with({one, {KOp::Loop, Scalar::I32, {0, 0, 0}}, {KOp::EndIf}}), "does not match");
  rejects(with({yes, {KOp::If, Scalar::Bool, {0, 0, 0}}, {KOp::Else}, {KOp::Else}, {KOp::EndIf}}), "does not match");
}

TEST(KernelVerify, RejectsWhatLeavesNoLoopOrLeavesItFromInsideOfAnIf) {
  const Inst one = number(Scalar::I32, 1), yes = number(Scalar::Bool, 1), loop{KOp::Loop, Scalar::I32, {0, 0, 0}};
  const Inst leave{KOp::Break, Scalar::Bool, {1, 0, 0}}, branch{KOp::If, Scalar::Bool, {1, 0, 0}};
  EXPECT_EQ(complaint(with({one, yes, loop, leave, {KOp::EndLoop}})), "");
  rejects(with({one, yes, leave}), "a loop is left from its own body");
  rejects(with({one, yes, loop, {KOp::EndLoop}, leave}), "a loop is left from its own body");
  rejects(with({one, yes, loop, branch, leave, {KOp::EndIf}, {KOp::EndLoop}}), "under no condition");
  rejects(with({one, yes, loop, {KOp::Break, Scalar::Bool, {0, 0, 0}}, {KOp::EndLoop}}), "should be bool");
}

TEST(KernelVerify, RejectsForbiddenAccess) {
  const Inst zero = number(Scalar::I32, 0);
  const auto buffer = [](Access a) { return std::vector<Binding>{{"x", Scalar::I32, a}}; };
  rejects(with({zero, {KOp::Store, Scalar::I32, {0, 0, 0}}}, buffer(Access::Read)), "read only");
  rejects(with({zero, {KOp::Load, Scalar::I32, {0, 0, 0}}}, buffer(Access::Write)), "written only");
  rejects(with({zero, {KOp::AtomicAdd, Scalar::I32, {0, 0, 0}}}, buffer(Access::ReadWrite)), "not atomic");
  rejects(with({zero, {KOp::Load, Scalar::I32, {0, 0, 0}}}, buffer(Access::Atomic)), "atomic operations only");
  const Inst no = number(Scalar::Bool, 0);
  const auto bools = [](Access a) { return std::vector<Binding>{{"x", Scalar::Bool, a}}; };
  rejects(with({zero, no, {KOp::AtomicAdd, Scalar::Bool, {0, 0, 1}}}, bools(Access::Atomic)),
          "bools and halves have no sum");
  EXPECT_EQ(complaint(with({zero, no, {KOp::Store, Scalar::Bool, {0, 0, 1}}}, bools(Access::Write))), "");
  rejects(with({zero, {KOp::Load, Scalar::I32, {1, 0, 0}}}, buffer(Access::Read)), "no such binding");
  rejects(with({zero, {KOp::Load, Scalar::F32, {0, 0, 0}}}, buffer(Access::Read)), "not that of the binding");
}

TEST(KernelVerify, AcceptsKernelsThatWorkTogether) {
  for (const uint32_t lanes : {1u, 4u, 8u, 32u})
    for (const test::GroupCase& c : test::group_cases(lanes, 256, true)) EXPECT_EQ(complaint(c.kernel), "");
}

Kernel in_groups(std::vector<Inst> body, uint32_t workgroup, uint32_t subgroup) {
  Kernel k = with(std::move(body), {{"x", Scalar::I32, Access::Read}});
  k.workgroup = workgroup;
  k.subgroup = subgroup;
  k.shared = {{"tile", Scalar::I32, 64}};
  k.locals = {{"bins", Scalar::U32, 4}};
  return k;
}

TEST(KernelVerify, RejectsForbiddenUseOfArrays) {
  const Inst zero = number(Scalar::I32, 0), real = number(Scalar::F32, 0);
  const auto rejected = [](std::vector<Inst> body, const std::string& why) {
    rejects(in_groups(std::move(body), 64, 0), why);
  };
  rejected({zero, {KOp::SharedLoad, Scalar::I32, {1, 0, 0}}}, "no such array");
  rejected({zero, {KOp::LocalLoad, Scalar::U32, {1, 0, 0}}}, "no such array");
  rejected({zero, {KOp::SharedLoad, Scalar::F32, {0, 0, 0}}}, "not that of the array");
  rejected({zero, {KOp::LocalLoad, Scalar::I32, {0, 0, 0}}}, "not that of the array");
  rejected({real, {KOp::SharedLoad, Scalar::I32, {0, 0, 0}}}, "the index is not an integer");
  rejected({zero, real, {KOp::SharedStore, Scalar::I32, {0, 0, 1}}}, "operand 2 is f32 and should be i32");
  rejected({zero, {KOp::LocalStore, Scalar::U32, {0, 0, 0}}}, "operand 2 is i32 and should be u32");
  Kernel empty = in_groups({}, 64, 0);
  empty.shared[0].count = 0;
  rejects(empty, "array tile has no elements");
}

TEST(KernelVerify, RejectsSubgroupsThatTheWorkgroupDoesNotHave) {
  const Inst zero = number(Scalar::U32, 0), yes = number(Scalar::Bool, 1);
  const auto add = static_cast<uint64_t>(KOp::Add), sub = static_cast<uint64_t>(KOp::Sub);
  rejects(in_groups({}, 12, 8), "not a multiple of the subgroup");
  rejects(in_groups({{KOp::LaneIndex, Scalar::U32}}, 64, 0), "how many lanes");
  rejects(in_groups({zero, {KOp::SubgroupReduce, Scalar::U32, {0, 0, 0}, add}}, 64, 0), "how many lanes");
  rejects(in_groups({zero, {KOp::SubgroupReduce, Scalar::U32, {0, 0, 0}, sub}}, 64, 8), "combined by add, mul, min, max");
  rejects(in_groups({yes, {KOp::SubgroupScan, Scalar::Bool, {0, 0, 0}, add}}, 64, 8), "not for bools");
  rejects(in_groups({zero, {KOp::SubgroupScan, Scalar::I32, {0, 0, 0}, add}}, 64, 8), "should be i32");
  rejects(in_groups({yes, {KOp::Shuffle, Scalar::Bool, {0, 0, 0}}}, 64, 8), "operand 1 is bool and should be u32");
  rejects(in_groups({{KOp::LocalIndex, Scalar::I32}}, 64, 0), "the index is u32");
}

// A kernel with `inner` where only those get to that `condition` lets in, of the number of the invocation.
Kernel under(KOp condition, uint32_t bound, Inst inner) {
  return in_groups({{KOp::LocalIndex, Scalar::U32},
                    number(Scalar::U32, bound),
                    {condition, Scalar::Bool, {0, 1, 0}},
                    {KOp::If, Scalar::Bool, {2, 0, 0}},
                    inner,
                    {KOp::EndIf}},
                   64, 8);
}

TEST(KernelVerify, RejectsBarriersThatNotAllGetTo) {
  const Inst barrier{KOp::Barrier};
  rejects(under(KOp::Lt, 5, barrier), "not all invocations of the workgroup may get to this barrier: %3 decides");
  rejects(under(KOp::Lt, 16, barrier), "not all invocations of the workgroup");
  EXPECT_EQ(complaint(in_groups({barrier}, 64, 0)), "");
  // In a loop whose trip count is that of the invocation, and of the workgroup.
  for (const KOp number_of : {KOp::LocalIndex, KOp::GroupIndex}) {
    const Kernel k = in_groups({{number_of, Scalar::U32},
                                {KOp::Bitcast, Scalar::I32, {0, 0, 0}},
                                {KOp::Loop, Scalar::I32, {1, 0, 0}},
                                barrier,
                                {KOp::EndLoop}},
                               64, 0);
    EXPECT_EQ(complaint(k).empty(), number_of == KOp::GroupIndex) << complaint(k);
  }
}

// An invocation that leaves a loop misses the barriers in it, those before the place where it leaves as well.
TEST(KernelVerify, RejectsBarriersInLoopsThatSomeLeave) {
  for (const KOp number_of : {KOp::LocalIndex, KOp::GroupIndex})
    for (const bool before : {false, true}) {
      const Inst barrier{KOp::Barrier}, leave{KOp::Break, Scalar::Bool, {2, 0, 0}};
      const Kernel k = in_groups({{number_of, Scalar::U32},
                                  {KOp::Const, Scalar::U32, {}, 3},
                                  {KOp::Lt, Scalar::Bool, {0, 1, 0}},
                                  {KOp::Const, Scalar::I32, {}, 9},
                                  {KOp::Loop, Scalar::I32, {3, 0, 0}},
                                  before ? barrier : leave,
                                  before ? leave : barrier,
                                  {KOp::EndLoop},
                                  barrier},
                                 64, 0);
      EXPECT_EQ(complaint(k).empty(), number_of == KOp::GroupIndex) << complaint(k);
    }
}

TEST(KernelVerify, RejectsSubgroupOperationsThatLanesMiss) {
  const Inst sum{KOp::SubgroupReduce, Scalar::U32, {0, 0, 0}, static_cast<uint64_t>(KOp::Add)};
  rejects(under(KOp::Lt, 5, sum), "not all lanes of the subgroup may get here: %3 decides");
  EXPECT_EQ(complaint(under(KOp::Lt, 16, sum)), "");
  for (const KOp op : {KOp::SubgroupScan, KOp::Broadcast, KOp::Shuffle}) {
    Inst i = sum;
    i.op = op;
    i.in[1] = 1;
    rejects(under(KOp::Lt, 5, i), "not all lanes of the subgroup");
  }
}

TEST(KernelVerify, RejectsBroadcastsOfADifferentLaneEach) {
  const auto from = [](KOp lane) {
    return in_groups({{lane, Scalar::U32}, {KOp::Broadcast, Scalar::U32, {0, 0, 0}}}, 64, 8);
  };
  rejects(from(KOp::LaneIndex), "the lane of a broadcast, %0, may differ inside the subgroup");
  EXPECT_EQ(complaint(from(KOp::GroupIndex)), "");
}

TEST(KernelPrint, ShowsArraysAndSubgroups) {
  Builder b("together", 16, 32, 8);
  const uint32_t out = b.bind("out", Scalar::F32, Access::Write), tile = b.shared("tile", Scalar::F32, 16);
  const uint32_t own = b.local("own", Scalar::F32, 2);
  const Value i = b.local_index(), sum = b.subgroup_reduce(KOp::Max, b.convert(Scalar::F32, i));
  b.local_store(own, b.i32(1), sum);
  b.shared_store(tile, i, b.local_load(own, b.i32(1)));
  b.barrier();
  const Value element = b.shared_load(tile, b.lane_index());
  b.store(out, b.index(), element);
  EXPECT_EQ(to_string(std::move(b).finish()),
            "kernel together workgroup(16) subgroup(8) invocations(32)\n"
            "  write out: f32\n"
            "  shared tile: f32[16]\n"
            "  local own: f32[2]\n"
            "  %1: u32 = local_index\n"
            "  %2: i32 = bitcast %1\n"
            "  %3: f32 = convert %2\n"
            "  %4: f32 = subgroup_reduce max, %3\n"
            "  local_store own[1], %4\n"
            "  %6: f32 = local_load own[1]\n"
            "  shared_store tile[%1], %6\n"
            "  barrier\n"
            "  %9: u32 = lane_index\n"
            "  %10: f32 = shared_load tile[%9]\n"
            "  %11: u32 = index\n"
            "  store out[%11], %10\n");
}

TEST(KernelPrint, ShowsBlocksBindingsAndConstants) {
  Builder b("sum_even", 64, 10);
  const uint32_t x = b.bind("x", Scalar::F32, Access::Read), out = b.bind("out", Scalar::F32, Access::Write);
  const Value i = b.index(), total = b.var(b.f32(0));
  const Value j = b.begin_loop(b.i32(4));
  const Value low = b.op(KOp::And, j, b.i32(1));
  b.begin_if(b.op(KOp::Eq, low, b.i32(0)));
  const Value before = b.get(total), element = b.load(x, j);
  b.set(total, b.add(before, element));
  b.end_if();
  b.end_loop();
  b.store(out, i, b.get(total));
  EXPECT_EQ(to_string(std::move(b).finish()),
            "kernel sum_even workgroup(64) invocations(10)\n"
            "  read x: f32\n"
            "  write out: f32\n"
            "  %4: u32 = index\n"
            "  %5: f32 = var 0.0\n"
            "  %6: i32 = loop 4\n"
            "    %7: i32 = and %6, 1\n"
            "    %8: bool = eq %7, 0\n"
            "    if %8\n"
            "      %10: f32 = get %5\n"
            "      %11: f32 = load x[%6]\n"
            "      %12: f32 = add %10, %11\n"
            "      set %5, %12\n"
            "    end_if\n"
            "  end_loop\n"
            "  %16: f32 = get %5\n"
            "  store out[%4], %16\n");
}

}  // namespace kernel_verify_test
}  // namespace spirograd::kernel
