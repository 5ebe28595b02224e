// The table of kernel operations: each row that computes something has examples here, which the verifier accepts, the
// evaluator computes, the intervals hold and the emitter writes; and every operation is in some kernel of the tests.
#include "spirv/kernel/op.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <span>
#include <vector>

#include "spirv/emit/emit.h"
#include "spirv/kernel/eval.h"
#include "spirv/kernel/interval.h"
#include "spirv/kernel/print.h"
#include "spirv/kernel/verify.h"
#include "support/group_kernels.h"
#include "support/kernels.h"

namespace spirograd {
namespace kernel_op_test {

using namespace kernel;

const std::vector<Scalar> kIntegers = {Scalar::I32, Scalar::U32}, kFloats = {Scalar::F32, Scalar::F64},
                          kNumbers = {Scalar::I32, Scalar::U32, Scalar::F32, Scalar::F64},
                          kBits = {Scalar::Bool, Scalar::I32, Scalar::U32},
                          kAll = {Scalar::Bool, Scalar::I32, Scalar::U32, Scalar::F32, Scalar::F64};

// Integers modulo 2^32, so that -1 is 4294967295 as u32.
struct Example {
  KOp op;
  std::vector<Scalar> types;  // of the operands
  double a, b, result;
};

// A new operation of kind Arithmetic, Float, Integer, Bitwise or Comparison needs rows here, of each type it takes.
const Example kExamples[] = {
    {KOp::Add, kNumbers, 5, 2, 7},
    {KOp::Add, kIntegers, 2147483647, 1, -2147483648.0},
    {KOp::Add, {Scalar::F32}, 16777216, 1, 16777216},
    {KOp::Sub, kNumbers, 5, 2, 3},
    {KOp::Sub, kIntegers, 2, 5, -3},
    {KOp::Mul, kNumbers, 5, 3, 15},
    {KOp::Mul, kIntegers, 65536, 65537, 65536},
    {KOp::Neg, kNumbers, 5, 0, -5},
    {KOp::Neg, kIntegers, -2147483648.0, 0, -2147483648.0},
    {KOp::Div, kFloats, 7, 2, 3.5},
    {KOp::Sqrt, kFloats, 6.25, 0, 2.5},
    {KOp::Floor, kFloats, -2.5, 0, -3},
    {KOp::Trunc, kFloats, -2.5, 0, -2},
    {KOp::MulAdd, kFloats, 5, 3, 18},
    {KOp::Quot, kIntegers, 7, 2, 3},
    {KOp::Quot, {Scalar::I32}, -7, 2, -3},
    {KOp::Quot, {Scalar::U32}, -1, 2, 2147483647},
    {KOp::Rem, kIntegers, 7, 4, 3},
    {KOp::Rem, {Scalar::I32}, -7, 4, -3},
    {KOp::Min, kIntegers, 7, 4, 4},
    {KOp::Min, {Scalar::I32}, -7, 4, -7},
    {KOp::Min, {Scalar::U32}, -7, 4, 4},
    {KOp::Max, kIntegers, 7, 4, 7},
    {KOp::Max, {Scalar::I32}, -7, 4, 4},
    {KOp::Max, {Scalar::U32}, -7, 4, -7},
    {KOp::Shl, kIntegers, 5, 2, 20},
    {KOp::Shl, kIntegers, 1, 31, -2147483648.0},
    {KOp::ShrU, kIntegers, -1, 28, 15},
    {KOp::ShrS, kIntegers, -20, 2, -5},
    {KOp::MulHiU, {Scalar::U32}, -1, -1, -2},
    {KOp::And, kBits, 1, 0, 0},
    {KOp::And, kIntegers, -4, 7, 4},
    {KOp::Or, kBits, 1, 0, 1},
    {KOp::Or, kIntegers, -4, 7, -1},
    {KOp::Xor, kBits, 1, 1, 0},
    {KOp::Xor, kIntegers, -4, 7, -5},
    {KOp::Not, {Scalar::Bool}, 1, 0, 0},
    {KOp::Not, kIntegers, 1, 0, -2},
    {KOp::Eq, kAll, 1, 0, false},
    {KOp::Eq, kAll, 1, 1, true},
    {KOp::Ne, kAll, 1, 0, true},
    {KOp::Ne, kAll, 1, 1, false},
    {KOp::Lt, kNumbers, 2, 5, true},
    {KOp::Lt, kNumbers, 5, 5, false},
    {KOp::Lt, {Scalar::U32}, -1, 1, false},
    {KOp::Le, kNumbers, 5, 5, true},
    {KOp::Le, kNumbers, 5, 2, false},
    {KOp::Gt, kNumbers, 5, 2, true},
    {KOp::Gt, kNumbers, 5, 5, false},
    {KOp::Gt, {Scalar::U32}, -1, 1, true},
    {KOp::Ge, kNumbers, 5, 5, true},
    {KOp::Ge, kNumbers, 2, 5, false},
};

bool has_examples(KOp op) {
  switch (kind(op)) {
    case Kind::Arithmetic:
    case Kind::Float:
    case Kind::Integer:
    case Kind::Bitwise:
    case Kind::Comparison: return true;
    case Kind::Leaf:
    case Kind::Memory:
    case Kind::Select:
    case Kind::Conversion:
    case Kind::Subgroup:
    case Kind::Variable:
    case Kind::Control: break;
  }
  return false;
}

uint64_t word(Scalar t, double x) {
  switch (t) {
    case Scalar::F32: return bits(static_cast<float>(x));
    case Scalar::F64: return bits(x);
    case Scalar::Bool:
    case Scalar::I32:
    case Scalar::U32:
    case Scalar::F16: break;
  }
  return bits(static_cast<uint32_t>(static_cast<int64_t>(x)));
}

// out[0] = op(in[0], in[1]), or op(in[0], in[1], in[1]); without the builder, which would write it in another way.
Kernel kernel_of(KOp op, Scalar from, Scalar to) {
  Kernel k;
  k.name = name(op);
  k.workgroup = 1;
  k.bindings = {{"in", from, Access::Read}, {"out", to, Access::Write}};
  Inst inst{op, to};
  const uint32_t operands[] = {1, 3, 3};
  for (size_t j = 0; j < operand_count(op); ++j) inst.in[j] = operands[j];
  k.body = {{KOp::Const, Scalar::I32, {}, 0},
            {KOp::Load, from, {0, 0, 0}},
            {KOp::Const, Scalar::I32, {}, 1},
            {KOp::Load, from, {0, 2, 0}},
            inst,
            {KOp::Store, to, {1, 0, 4}}};
  return k;
}

// The word that the kernel stores.
uint64_t evaluated(const Kernel& k, uint64_t a, uint64_t b) {
  const Scalar from = k.bindings[0].type;
  std::vector<uint8_t> in(2 * bytes_of(from)), out(bytes_of(k.bindings[1].type));
  std::memcpy(in.data(), &a, bytes_of(from));
  std::memcpy(in.data() + bytes_of(from), &b, bytes_of(from));
  const std::span<uint8_t> buffers[] = {in, out};
  evaluate(k, buffers);
  uint64_t result = 0;
  std::memcpy(&result, out.data(), out.size());
  return result;
}

void expect_emits(const Kernel& k) {
  Target t;
  t.float64 = true;
  const KernelBinary binary = spirv::emit(k, t, BindingForm::Address);
  static const bool can_validate = [] {
    if (!spirv::has_spirv_tools()) std::printf("  modules are not validated: built without SPIRV-Tools\n");
    return spirv::has_spirv_tools();
  }();
  if (!can_validate) return;
  if (const auto error = spirv::validate(binary.words)) ADD_FAILURE() << error->str() << "\n" << to_string(k);
}

TEST(KernelOp, NamesAreDifferent) {
  std::set<std::string_view> names;
  for (const OpInfo& i : kOps) EXPECT_TRUE(!i.name.empty() && names.insert(i.name).second) << i.name;
}

TEST(KernelOp, ExamplesHoldEverywhere) {
  for (const Example& e : kExamples)
    for (const Scalar t : e.types) {
      const Scalar result = kind(e.op) == Kind::Comparison ? Scalar::Bool : t;
      const Kernel k = kernel_of(e.op, t, result);
      const auto error = verify(k);
      ASSERT_FALSE(error) << error->str();
      const uint64_t a = word(t, e.a), b = word(t, e.b), want = word(result, e.result);
      EXPECT_EQ(evaluated(k, a, b), want) << to_string(k);
      expect_emits(k);
      const Interval known = range(e.op, t, point(t, a), point(t, b));
      EXPECT_TRUE(result != t || contains(known, point(t, want))) << to_string(k);
      EXPECT_NE(to_string(k).find(" = " + std::string(name(e.op)) + " %1"), std::string::npos) << to_string(k);
    }
}

TEST(KernelOp, EveryRowHasExamplesOfTheTypesItTakesAndRejectsTheOthers) {
  std::set<std::pair<KOp, Scalar>> seen;
  for (const Example& e : kExamples)
    for (const Scalar t : e.types) seen.emplace(e.op, t);
  for (const OpInfo& i : kOps)
    for (const Scalar t : kAll) {
      if (!has_examples(i.op)) continue;
      EXPECT_EQ(takes(i.op, t), seen.contains({i.op, t})) << i.name << " of " << name(t);
      const Scalar result = i.kind == Kind::Comparison ? Scalar::Bool : t;
      EXPECT_EQ(takes(i.op, t), !verify(kernel_of(i.op, t, result))) << i.name << " of " << name(t);
    }
}

TEST(KernelOp, ShiftsByTheOtherIntegerTypeAreShifts) {
  for (const OpInfo& i : kOps)
    for (const Scalar t : kIntegers) {
      if (kind(i.op) != Kind::Integer || !takes(i.op, t)) continue;
      Kernel k = kernel_of(i.op, t, t);
      k.body[4].in[1] = 2;  // an i32
      EXPECT_EQ(!verify(k), t == Scalar::I32 || is_shift(i.op)) << i.name;
    }
}

TEST(KernelOp, ConversionsKeepNumbersAndBitcastsKeepBits) {
  int converted = 0, reinterpreted = 0;
  for (const Scalar from : kAll)
    for (const Scalar to : kAll) {
      const Kernel convert = kernel_of(KOp::Convert, from, to), bitcast = kernel_of(KOp::Bitcast, from, to);
      if (!verify(convert)) {
        ++converted;
        EXPECT_EQ(evaluated(convert, word(from, 3), 0), word(to, 3)) << to_string(convert);
        expect_emits(convert);
      }
      if (!verify(bitcast) && from != to) {
        ++reinterpreted;
        EXPECT_EQ(evaluated(bitcast, 0x40400000u, 0), 0x40400000u) << to_string(bitcast);
        expect_emits(bitcast);
      }
    }
  EXPECT_EQ(converted, 10);
  EXPECT_EQ(reinterpreted, 6);
}

// What has no examples above is in kernels with results of their own.
TEST(KernelOp, EveryOperationIsInATest) {
  std::set<KOp> seen;
  const auto see = [&](const Kernel& k) {
    for (const Inst& i : k.body) seen.insert(i.op);
  };
  for (const bool f64 : {false, true}) see(test::every_operation(f64));
  for (const test::GroupCase& c : test::group_cases(8, 256, true)) see(c.kernel);
  for (const Example& e : kExamples) seen.insert(e.op);
  for (const OpInfo& i : kOps) EXPECT_TRUE(seen.contains(i.op)) << i.name;
}

}  // namespace kernel_op_test
}  // namespace spirograd
