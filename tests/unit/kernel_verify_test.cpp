// Every rule of kernel.h has a kernel that breaks it; and the printer's text.
#include "spirv/kernel/verify.h"

#include <gtest/gtest.h>

#include "spirv/kernel/builder.h"
#include "spirv/kernel/print.h"
#include "support/kernels.h"

namespace spirograd::kernel {
namespace {

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
  rejects(with({number(Scalar::F32, uint64_t{1} << 40)}), "more bits");
}

TEST(KernelVerify, RejectsValuesThatAreNotVisible) {
  const Inst one = number(Scalar::I32, 1), yes = number(Scalar::Bool, 1);
  rejects(with({{KOp::Neg, Scalar::I32, {1, 0, 0}}, one}), "not defined before its use");
  rejects(with({yes, one, {KOp::If, Scalar::Bool, {0, 0, 0}}, {KOp::Neg, Scalar::I32, {1, 0, 0}}, {KOp::EndIf},
                {KOp::Neg, Scalar::I32, {3, 0, 0}}}),
          "in a block that has ended");
  rejects(with({one, {KOp::Loop, Scalar::I32, {0, 0, 0}}, {KOp::EndLoop}, {KOp::Neg, Scalar::I32, {1, 0, 0}}}),
          "in a block that has ended");
  rejects(with({yes, one, {KOp::If, Scalar::Bool, {0, 0, 0}}, {KOp::Neg, Scalar::I32, {1, 0, 0}}, {KOp::Else},
                {KOp::Neg, Scalar::I32, {3, 0, 0}}, {KOp::EndIf}}),
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

TEST(KernelVerify, RejectsForbiddenAccess) {
  const Inst zero = number(Scalar::I32, 0);
  const auto buffer = [](Access a) { return std::vector<Binding>{{"x", Scalar::I32, a}}; };
  rejects(with({zero, {KOp::Store, Scalar::I32, {0, 0, 0}}}, buffer(Access::Read)), "read only");
  rejects(with({zero, {KOp::Load, Scalar::I32, {0, 0, 0}}}, buffer(Access::Write)), "written only");
  rejects(with({zero, {KOp::AtomicAdd, Scalar::I32, {0, 0, 0}}}, buffer(Access::ReadWrite)), "not atomic");
  rejects(with({zero, {KOp::Load, Scalar::I32, {0, 0, 0}}}, buffer(Access::Atomic)), "atomic additions only");
  const Inst no = number(Scalar::Bool, 0);
  const auto bools = [](Access a) { return std::vector<Binding>{{"x", Scalar::Bool, a}}; };
  rejects(with({zero, no, {KOp::AtomicAdd, Scalar::Bool, {0, 0, 1}}}, bools(Access::Atomic)), "bools have no sum");
  EXPECT_EQ(complaint(with({zero, no, {KOp::Store, Scalar::Bool, {0, 0, 1}}}, bools(Access::Write))), "");
  rejects(with({zero, {KOp::Load, Scalar::I32, {1, 0, 0}}}, buffer(Access::Read)), "no such binding");
  rejects(with({zero, {KOp::Load, Scalar::F32, {0, 0, 0}}}, buffer(Access::Read)), "not that of the binding");
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
            "  %0: u32 = index\n"
            "  %2: f32 = var 0.0\n"
            "  %4: i32 = loop 4\n"
            "    %6: i32 = and %4, 1\n"
            "    %8: bool = eq %6, 0\n"
            "    if %8\n"
            "      %10: f32 = get %2\n"
            "      %11: f32 = load x[%4]\n"
            "      %12: f32 = add %10, %11\n"
            "      set %2, %12\n"
            "    end_if\n"
            "  end_loop\n"
            "  %16: f32 = get %2\n"
            "  store out[%0], %16\n");
}

}  // namespace
}  // namespace spirograd::kernel
