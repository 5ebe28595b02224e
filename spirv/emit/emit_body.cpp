// Instructions: a function per kind, and one for each operation that takes more than one SPIR-V instruction.
#include "spirv/emit/emitter.h"

namespace spirograd::spirv {
namespace {

// GLSL.std.450 instruction numbers.
enum Ext : uint32_t { kTrunc = 3, kFloor = 8, kSqrt = 31, kFma = 50 };

Op opcode(kernel::ComparisonOp op, Scalar t) {
  using kernel::ComparisonOp;
  const auto of = [t](Op floats, Op ints, Op unsigneds, Op bools) {
    switch (t) {
      case Scalar::F32:
      case Scalar::F64: return floats;
      case Scalar::I32: return ints;
      case Scalar::U32: return unsigneds;
      case Scalar::Bool: return bools;
      case Scalar::F16: break;
    }
    return Op::OpNop;
  };
  // clang-format off
  switch (op) {
    case ComparisonOp::Eq: return of(Op::OpFOrdEqual, Op::OpIEqual, Op::OpIEqual, Op::OpLogicalEqual);
    case ComparisonOp::Ne: return of(Op::OpFUnordNotEqual, Op::OpINotEqual, Op::OpINotEqual, Op::OpLogicalNotEqual);
    case ComparisonOp::Lt: return of(Op::OpFOrdLessThan, Op::OpSLessThan, Op::OpULessThan, Op::OpNop);
    case ComparisonOp::Le: return of(Op::OpFOrdLessThanEqual, Op::OpSLessThanEqual, Op::OpULessThanEqual, Op::OpNop);
    case ComparisonOp::Gt: return of(Op::OpFOrdGreaterThan, Op::OpSGreaterThan, Op::OpUGreaterThan, Op::OpNop);
    case ComparisonOp::Ge: return of(Op::OpFOrdGreaterThanEqual, Op::OpSGreaterThanEqual, Op::OpUGreaterThanEqual, Op::OpNop);
  }
  // clang-format on
  return Op::OpNop;
}

}  // namespace

Id Emitter::result(Op op, Id type, Words operands) {
  const Id id = module_.fresh();
  std::vector<uint32_t> all{type, id};
  all.insert(all.end(), operands);
  append(code_, op, all);
  return id;
}

Id Emitter::composite(Id type, std::span<const Id> parts) {
  const Id id = module_.fresh();
  std::vector<uint32_t> all{type, id};
  all.insert(all.end(), parts.begin(), parts.end());
  append(code_, Op::OpCompositeConstruct, all);
  return id;
}

// All is decorated, exact or not, where it costs nothing: results of hosts and devices can then be compared bit by bit.
Id Emitter::arithmetic(Op op, Scalar t, bool exact, Words operands) {
  const Id id = result(op, type(t), operands);
  if (is_float(t) && (exact || !(target_.quirks & kCostlyExactness))) module_.decorate(id, spv::Decoration::NoContraction);
  return id;
}

Id Emitter::ext(Scalar t, uint32_t instruction, Words operands) {
  std::vector<uint32_t> all{type(t), module_.fresh(), module_.import("GLSL.std.450"), instruction};
  all.insert(all.end(), operands);
  append(code_, Op::OpExtInst, all);
  return all[1];
}

void Emitter::label(Id id) {
  put(Op::OpLabel, {id});
  label_ = id;
}

Id Emitter::leaf(const Inst& i) {
  using kernel::LeafOp;
  switch (as<LeafOp>(i.op)) {
    case LeafOp::Const: return constant(i);
    case LeafOp::Index: return index_;
    case LeafOp::LocalIndex: return local_;
    case LeafOp::GroupIndex: return group_;
    case LeafOp::LaneIndex: return lane_;
  }
  return 0;
}

// Floats by the sign bit: some drivers' optimisers mistreat FNegate. There are no 64-bit integers to do so for f64.
Id Emitter::negate(const Inst& i) {
  const Id a = ids_[i.in[0]];
  if (!is_float(i.type)) return result(Op::OpSNegate, type(i.type), {a});
  if (i.type == Scalar::F64) {
    const uint64_t minus_one = kernel::bits(-1.0);
    return arithmetic(Op::OpFMul, i.type, false, {a, constant({KOp::Const, i.type, {}, minus_one})});
  }
  const Id u32 = type(Scalar::U32);
  const Id flipped = result(Op::OpBitwiseXor, u32, {result(Op::OpBitcast, u32, {a}), word(0x80000000u)});
  return result(Op::OpBitcast, type(i.type), {flipped});
}

Id Emitter::arithmetic(const Inst& i) {
  using kernel::ArithmeticOp;
  const bool floats = is_float(i.type), exact = is_exact(i);
  const Id a = ids_[i.in[0]], b = ids_[i.in[1]];
  switch (as<ArithmeticOp>(i.op)) {
    case ArithmeticOp::Add: return arithmetic(floats ? Op::OpFAdd : Op::OpIAdd, i.type, exact, {a, b});
    case ArithmeticOp::Sub: return arithmetic(floats ? Op::OpFSub : Op::OpISub, i.type, exact, {a, b});
    case ArithmeticOp::Mul: return arithmetic(floats ? Op::OpFMul : Op::OpIMul, i.type, exact, {a, b});
    case ArithmeticOp::Neg: return negate(i);
  }
  return 0;
}

// The decoration keeps it one operation, whose result does not depend on what stands beside it. Drivers take others apart,
// and then take a factor that two sums have in common out of them, past what a float can hold. It is written where
// exactness is costly as well: in Metal's language this is fma() with the decoration and without.
Id Emitter::multiply_add(const Inst& i) {
  const Id id = ext(i.type, kFma, {ids_[i.in[0]], ids_[i.in[1]], ids_[i.in[2]]});
  module_.decorate(id, spv::Decoration::NoContraction);
  return id;
}

Id Emitter::float_only(const Inst& i) {
  using kernel::FloatOp;
  const Id a = ids_[i.in[0]], b = ids_[i.in[1]];
  switch (as<FloatOp>(i.op)) {
    case FloatOp::Div: return arithmetic(Op::OpFDiv, i.type, is_exact(i), {a, b});
    case FloatOp::Sqrt: return ext(i.type, kSqrt, {a});
    case FloatOp::Floor: return ext(i.type, kFloor, {a});
    case FloatOp::Trunc: return ext(i.type, kTrunc, {a});
    case FloatOp::MulAdd: return multiply_add(i);
  }
  return 0;
}

// Vulkan leaves OpSRem undefined for negative operands (SPIR-V environment appendix); a - (a quot b) * b is not.
Id Emitter::remainder(const Inst& i) {
  const Id t = type(i.type), a = ids_[i.in[0]], b = ids_[i.in[1]];
  const Id quotient = result(Op::OpSDiv, t, {a, b});
  return result(Op::OpISub, t, {a, result(Op::OpIMul, t, {quotient, b})});
}

Id Emitter::high_word(const Inst& i) {
  const Id t = type(i.type), both = module_.type(Op::OpTypeStruct, {t, t});
  return result(Op::OpCompositeExtract, t, {result(Op::OpUMulExtended, both, {ids_[i.in[0]], ids_[i.in[1]]}), 1});
}

Id Emitter::integer(const Inst& i) {
  using kernel::IntegerOp;
  const bool is_signed = i.type == Scalar::I32;
  const Id a = ids_[i.in[0]], b = ids_[i.in[1]];
  const auto one_instruction = [&](Op op) { return result(op, type(i.type), {a, b}); };
  // The extended instructions of extremes lose constants that meet in a loop on some drivers; all compilers know this form.
  const auto select_if = [&](Op op) {
    const Id smaller_or_larger = result(op, type(Scalar::Bool), {a, b});
    return result(Op::OpSelect, type(i.type), {smaller_or_larger, a, b});
  };
  switch (as<IntegerOp>(i.op)) {
    case IntegerOp::Quot: return one_instruction(is_signed ? Op::OpSDiv : Op::OpUDiv);
    case IntegerOp::Rem: return is_signed ? remainder(i) : one_instruction(Op::OpUMod);
    case IntegerOp::Min: return select_if(is_signed ? Op::OpSLessThan : Op::OpULessThan);
    case IntegerOp::Max: return select_if(is_signed ? Op::OpSGreaterThan : Op::OpUGreaterThan);
    case IntegerOp::Shl: return one_instruction(Op::OpShiftLeftLogical);
    case IntegerOp::ShrU: return one_instruction(Op::OpShiftRightLogical);
    case IntegerOp::ShrS: return one_instruction(Op::OpShiftRightArithmetic);
    case IntegerOp::MulHiU: return high_word(i);
  }
  return 0;
}

Id Emitter::bitwise(const Inst& i) {
  using kernel::BitwiseOp;
  const bool bools = i.type == Scalar::Bool;
  const Id t = type(i.type), a = ids_[i.in[0]], b = ids_[i.in[1]];
  switch (as<BitwiseOp>(i.op)) {
    case BitwiseOp::And: return result(bools ? Op::OpLogicalAnd : Op::OpBitwiseAnd, t, {a, b});
    case BitwiseOp::Or: return result(bools ? Op::OpLogicalOr : Op::OpBitwiseOr, t, {a, b});
    case BitwiseOp::Xor: return result(bools ? Op::OpLogicalNotEqual : Op::OpBitwiseXor, t, {a, b});
    case BitwiseOp::Not: return result(bools ? Op::OpLogicalNot : Op::OpNot, t, {a});
  }
  return 0;
}

Id Emitter::comparison(const Inst& i) {
  const Op op = opcode(as<kernel::ComparisonOp>(i.op), kernel_.body[i.in[0]].type);
  return result(op, type(Scalar::Bool), {ids_[i.in[0]], ids_[i.in[1]]});
}

Id Emitter::conversion(const Inst& i) {
  using kernel::ConversionOp;
  switch (as<ConversionOp>(i.op)) {
    case ConversionOp::Bitcast: return result(Op::OpBitcast, type(i.type), {ids_[i.in[0]]});
    case ConversionOp::Convert: return convert(i);
  }
  return 0;
}

void Emitter::begin_if(size_t at) {
  Block b;
  const Id then = module_.fresh();
  b.merge = module_.fresh();
  b.has_else = else_of_[at] != 0;
  b.other = b.has_else ? module_.fresh() : b.merge;
  put(Op::OpSelectionMerge, {b.merge, 0});
  put(Op::OpBranchConditional, {ids_[kernel_.body[at].in[0]], then, b.other});
  label(then);
  blocks_.push_back(b);
}

void Emitter::begin_loop(size_t at) {
  Block b;
  const Id i32 = type(Scalar::I32), before = label_, test = module_.fresh(), body = module_.fresh();
  const Id zero = module_.constant(Op::OpConstant, i32, {0});
  b.header = module_.fresh();
  b.merge = module_.fresh();
  b.continuing = module_.fresh();
  b.counter = module_.fresh();
  b.next = module_.fresh();
  put(Op::OpBranch, {b.header});
  label(b.header);
  put(Op::OpPhi, {i32, b.counter, zero, before, b.next, b.continuing});
  put(Op::OpLoopMerge,
      {b.merge, b.continuing, unrollable_[at] ? 0u : static_cast<uint32_t>(spv::LoopControlMask::DontUnroll)});
  put(Op::OpBranch, {test});
  label(test);
  const Id more = result(Op::OpSLessThan, type(Scalar::Bool), {b.counter, ids_[kernel_.body[at].in[0]]});
  put(Op::OpBranchConditional, {more, body, b.merge});
  label(body);
  ids_[at] = b.counter;
  blocks_.push_back(b);
}

void Emitter::end_loop() {
  const Block b = blocks_.back();
  blocks_.pop_back();
  put(Op::OpBranch, {b.continuing});
  label(b.continuing);
  put(Op::OpIAdd, {type(Scalar::I32), b.next, b.counter, module_.constant(Op::OpConstant, type(Scalar::I32), {1})});
  put(Op::OpBranch, {b.header});
  label(b.merge);
}

// No selection begins here: one of the two ways leaves the loop.
void Emitter::leave_loop(size_t at) {
  const Id stays = module_.fresh();
  put(Op::OpBranchConditional, {ids_[kernel_.body[at].in[0]], blocks_.back().merge, stays});
  label(stays);
}

Id Emitter::variable(const Inst& i) {
  using kernel::VariableOp;
  const Id a = ids_[i.in[0]], t = type(i.type);
  switch (as<VariableOp>(i.op)) {
    case VariableOp::Var: {
      constexpr auto function = spv::StorageClass::Function;
      const Id variable = module_.fresh();
      append(variables_, Op::OpVariable, {pointer(function, t), variable, static_cast<uint32_t>(function)});
      put(Op::OpStore, {variable, a});
      return variable;
    }
    case VariableOp::Get: return result(Op::OpLoad, t, {a});
    case VariableOp::Set: put(Op::OpStore, {a, ids_[i.in[1]]}); return 0;
  }
  return 0;
}

Id Emitter::control(size_t at) {
  using kernel::ControlOp;
  switch (as<ControlOp>(kernel_.body[at].op)) {
    case ControlOp::If: begin_if(at); return 0;
    case ControlOp::Else:
      put(Op::OpBranch, {blocks_.back().merge});
      label(blocks_.back().other);
      return 0;
    case ControlOp::EndIf:
      put(Op::OpBranch, {blocks_.back().merge});
      label(blocks_.back().merge);
      blocks_.pop_back();
      return 0;
    case ControlOp::Loop: begin_loop(at); return ids_[at];
    case ControlOp::EndLoop: end_loop(); return 0;
    case ControlOp::Break: leave_loop(at); return 0;
    case ControlOp::Barrier: barrier(); return 0;
  }
  return 0;
}

Id Emitter::emit(size_t at) {
  const Inst& i = kernel_.body[at];
  if (has_rows() && rows_.subgroup_by[at]) return subgroup_by(i.type, rows_.subgroup_by[at]);
  const Id t = kind(i.op) == Kind::Control ? 0 : type(i.type);
  switch (kind(i.op)) {
    case Kind::Leaf: return leaf(i);
    case Kind::Memory: return access(at);
    case Kind::Arithmetic: return arithmetic(i);
    case Kind::Float: return float_only(i);
    case Kind::Integer: return integer(i);
    case Kind::Bitwise: return bitwise(i);
    case Kind::Comparison: return comparison(i);
    case Kind::Select: return result(Op::OpSelect, t, {ids_[i.in[0]], ids_[i.in[1]], ids_[i.in[2]]});
    case Kind::Conversion: return conversion(i);
    case Kind::Subgroup: return subgroup(i);
    case Kind::Variable: return variable(i);
    case Kind::Control: return control(at);
  }
  return 0;
}

}  // namespace spirograd::spirv
