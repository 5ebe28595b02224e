// Instructions: by a table of SPIR-V opcodes or, where it takes more than one, by a function each.
#include "spirv/emit/emitter.h"

namespace spirograd::spirv {
namespace {

// GLSL.std.450 instruction numbers.
enum Ext : uint32_t { kTrunc = 3, kFloor = 8, kSqrt = 31, kUMin = 38, kSMin = 39, kUMax = 41, kSMax = 42 };

// The opcode of an operation on operands of type t that is one SPIR-V instruction; OpNop if it is not.
Op opcode(KOp op, Scalar t) {
  const auto of = [t](Op floats, Op ints, Op unsigneds, Op bools) {
    switch (t) {
      case Scalar::F32:
      case Scalar::F64: return floats;
      case Scalar::I32: return ints;
      case Scalar::U32: return unsigneds;
      case Scalar::Bool: return bools;
    }
    return Op::OpNop;
  };
  // clang-format off
  switch (op) {
    case KOp::Add:  return of(Op::OpFAdd, Op::OpIAdd, Op::OpIAdd, Op::OpNop);
    case KOp::Sub:  return of(Op::OpFSub, Op::OpISub, Op::OpISub, Op::OpNop);
    case KOp::Mul:  return of(Op::OpFMul, Op::OpIMul, Op::OpIMul, Op::OpNop);
    case KOp::Div:  return of(Op::OpFDiv, Op::OpNop, Op::OpNop, Op::OpNop);
    case KOp::Quot: return of(Op::OpNop, Op::OpSDiv, Op::OpUDiv, Op::OpNop);
    case KOp::Rem:  return of(Op::OpNop, Op::OpNop, Op::OpUMod, Op::OpNop);
    case KOp::Neg:  return of(Op::OpNop, Op::OpSNegate, Op::OpSNegate, Op::OpNop);
    case KOp::And:  return of(Op::OpNop, Op::OpBitwiseAnd, Op::OpBitwiseAnd, Op::OpLogicalAnd);
    case KOp::Or:   return of(Op::OpNop, Op::OpBitwiseOr, Op::OpBitwiseOr, Op::OpLogicalOr);
    case KOp::Xor:  return of(Op::OpNop, Op::OpBitwiseXor, Op::OpBitwiseXor, Op::OpLogicalNotEqual);
    case KOp::Not:  return of(Op::OpNop, Op::OpNot, Op::OpNot, Op::OpLogicalNot);
    case KOp::Shl:  return of(Op::OpNop, Op::OpShiftLeftLogical, Op::OpShiftLeftLogical, Op::OpNop);
    case KOp::ShrU: return of(Op::OpNop, Op::OpShiftRightLogical, Op::OpShiftRightLogical, Op::OpNop);
    case KOp::ShrS: return of(Op::OpNop, Op::OpShiftRightArithmetic, Op::OpShiftRightArithmetic, Op::OpNop);
    case KOp::Eq:   return of(Op::OpFOrdEqual, Op::OpIEqual, Op::OpIEqual, Op::OpLogicalEqual);
    case KOp::Ne:   return of(Op::OpFUnordNotEqual, Op::OpINotEqual, Op::OpINotEqual, Op::OpLogicalNotEqual);
    case KOp::Lt:   return of(Op::OpFOrdLessThan, Op::OpSLessThan, Op::OpULessThan, Op::OpNop);
    case KOp::Le:   return of(Op::OpFOrdLessThanEqual, Op::OpSLessThanEqual, Op::OpULessThanEqual, Op::OpNop);
    case KOp::Gt:   return of(Op::OpFOrdGreaterThan, Op::OpSGreaterThan, Op::OpUGreaterThan, Op::OpNop);
    case KOp::Ge:   return of(Op::OpFOrdGreaterThanEqual, Op::OpSGreaterThanEqual, Op::OpUGreaterThanEqual, Op::OpNop);
    case KOp::Select:  return Op::OpSelect;
    case KOp::Bitcast: return Op::OpBitcast;
    case KOp::LocalIndex: case KOp::GroupIndex: case KOp::LaneIndex: case KOp::SharedLoad: case KOp::SharedStore:
    case KOp::LocalLoad: case KOp::LocalStore: case KOp::SubgroupReduce: case KOp::SubgroupScan: case KOp::Broadcast:
    case KOp::Shuffle: case KOp::Barrier:
    case KOp::Const: case KOp::Index: case KOp::Load: case KOp::Store: case KOp::AtomicAdd: case KOp::Min: case KOp::Max:
    case KOp::MulHiU: case KOp::Convert: case KOp::Sqrt: case KOp::Floor: case KOp::Trunc: case KOp::Var: case KOp::Get:
    case KOp::Set: case KOp::If: case KOp::Else: case KOp::EndIf: case KOp::Loop: case KOp::EndLoop: break;
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

Id Emitter::arithmetic(Op op, Scalar t, Words operands) {
  const Id id = result(op, type(t), operands);
  if (is_float(t)) module_.decorate(id, spv::Decoration::NoContraction);
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

// By the sign bit: some drivers' optimisers mistreat FNegate. There are no 64-bit integers to do so for f64.
Id Emitter::negate(const Inst& i) {
  const Id a = ids_[i.in[0]];
  if (i.type == Scalar::F64) {
    const uint64_t minus_one = kernel::bits(-1.0);
    return arithmetic(Op::OpFMul, i.type, {a, constant({KOp::Const, i.type, {}, minus_one})});
  }
  const Id u32 = type(Scalar::U32);
  const Id flipped = result(Op::OpBitwiseXor, u32, {result(Op::OpBitcast, u32, {a}), word(0x80000000u)});
  return result(Op::OpBitcast, type(i.type), {flipped});
}

// Vulkan leaves OpSRem undefined for negative operands (SPIR-V environment appendix); a - (a quot b) * b is not.
Id Emitter::remainder(const Inst& i) {
  const Id t = type(i.type), a = ids_[i.in[0]], b = ids_[i.in[1]];
  const Id quotient = result(Op::OpSDiv, t, {a, b});
  return result(Op::OpISub, t, {a, result(Op::OpIMul, t, {quotient, b})});
}

Id Emitter::convert(const Inst& i) {
  const Scalar from = kernel_.body[i.in[0]].type;
  const Id a = ids_[i.in[0]];
  if (is_float(from) && is_float(i.type)) return result(Op::OpFConvert, type(i.type), {a});
  if (is_float(from)) return result(i.type == Scalar::I32 ? Op::OpConvertFToS : Op::OpConvertFToU, type(i.type), {a});
  if (from == Scalar::I32 || i.type == Scalar::F64)
    return result(from == Scalar::I32 ? Op::OpConvertSToF : Op::OpConvertUToF, type(i.type), {a});
  // Some drivers round u32 above 2^31 twice. Halve those, with the lost bit kept in the last place so that rounding sees it.
  const Id u32 = type(Scalar::U32), i32 = type(Scalar::I32), f32 = type(Scalar::F32);
  const Id as_signed = result(Op::OpBitcast, i32, {a});
  const Id large = result(Op::OpSLessThan, type(Scalar::Bool), {as_signed, module_.constant(Op::OpConstant, i32, {0})});
  const Id half = result(Op::OpShiftRightLogical, u32, {a, word(1)}), last = result(Op::OpBitwiseAnd, u32, {a, word(1)});
  const Id reduced = result(Op::OpSelect, u32, {large, result(Op::OpBitwiseOr, u32, {half, last}), a});
  const Id converted = result(Op::OpConvertSToF, f32, {result(Op::OpBitcast, i32, {reduced})});
  const auto number = [&](float x) { return constant({KOp::Const, Scalar::F32, {}, kernel::bits(x)}); };
  const Id factor = result(Op::OpSelect, f32, {large, number(2.0f), number(1.0f)});
  return arithmetic(Op::OpFMul, Scalar::F32, {converted, factor});
}

Id Emitter::min_max(const Inst& i) {
  const bool is_signed = i.type == Scalar::I32;
  const uint32_t which = i.op == KOp::Min ? (is_signed ? kSMin : kUMin) : (is_signed ? kSMax : kUMax);
  return ext(i.type, which, {ids_[i.in[0]], ids_[i.in[1]]});
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
  put(Op::OpLoopMerge, {b.merge, b.continuing, 0});
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

Id Emitter::emit(size_t at) {
  const Inst& i = kernel_.body[at];
  const Id t = i.op < KOp::If ? type(i.type) : 0;
  const auto in = [&](int k) { return ids_[i.in[static_cast<size_t>(k)]]; };
  const auto operand = [&] { return kernel_.body[i.in[0]].type; };
  switch (i.op) {
    case KOp::Const: return constant(i);
    case KOp::Index: return index_;
    case KOp::LocalIndex: return local_;
    case KOp::GroupIndex: return group_;
    case KOp::LaneIndex: return lane_;
    case KOp::Load: return load(i);
    case KOp::Store: store(i); return 0;
    case KOp::AtomicAdd: atomic_add(i); return 0;
    case KOp::SharedLoad:
    case KOp::LocalLoad: return array_load(i);
    case KOp::SharedStore:
    case KOp::LocalStore: array_store(i); return 0;
    case KOp::Add:
    case KOp::Sub:
    case KOp::Mul:
    case KOp::Div:
    case KOp::Quot: return arithmetic(opcode(i.op, i.type), i.type, {in(0), in(1)});
    case KOp::Rem: return i.type == Scalar::I32 ? remainder(i) : result(opcode(i.op, i.type), t, {in(0), in(1)});
    case KOp::Neg: return is_float(i.type) ? negate(i) : result(Op::OpSNegate, t, {in(0)});
    case KOp::Min:
    case KOp::Max: return min_max(i);
    case KOp::Not: return result(opcode(i.op, i.type), t, {in(0)});
    case KOp::And:
    case KOp::Or:
    case KOp::Xor:
    case KOp::Shl:
    case KOp::ShrU:
    case KOp::ShrS: return result(opcode(i.op, i.type), t, {in(0), in(1)});
    case KOp::MulHiU: {
      const Id both = module_.type(Op::OpTypeStruct, {t, t});
      return result(Op::OpCompositeExtract, t, {result(Op::OpUMulExtended, both, {in(0), in(1)}), 1});
    }
    case KOp::Eq:
    case KOp::Ne:
    case KOp::Lt:
    case KOp::Le:
    case KOp::Gt:
    case KOp::Ge: return result(opcode(i.op, operand()), t, {in(0), in(1)});
    case KOp::Select: return result(Op::OpSelect, t, {in(0), in(1), in(2)});
    case KOp::Bitcast: return result(Op::OpBitcast, t, {in(0)});
    case KOp::Convert: return convert(i);
    case KOp::Sqrt: return ext(i.type, kSqrt, {in(0)});
    case KOp::Floor: return ext(i.type, kFloor, {in(0)});
    case KOp::Trunc: return ext(i.type, kTrunc, {in(0)});
    case KOp::SubgroupReduce:
    case KOp::SubgroupScan: return combine_lanes(i);
    case KOp::Broadcast:
    case KOp::Shuffle: return value_of_lane(i);
    case KOp::Var: {
      constexpr auto function = spv::StorageClass::Function;
      const Id variable = module_.fresh();
      append(variables_, Op::OpVariable, {pointer(function, t), variable, static_cast<uint32_t>(function)});
      put(Op::OpStore, {variable, in(0)});
      return variable;
    }
    case KOp::Get: return result(Op::OpLoad, t, {in(0)});
    case KOp::Set: put(Op::OpStore, {in(0), in(1)}); return 0;
    case KOp::If: begin_if(at); return 0;
    case KOp::Else:
      put(Op::OpBranch, {blocks_.back().merge});
      label(blocks_.back().other);
      return 0;
    case KOp::EndIf:
      put(Op::OpBranch, {blocks_.back().merge});
      label(blocks_.back().merge);
      blocks_.pop_back();
      return 0;
    case KOp::Loop: begin_loop(at); return ids_[at];
    case KOp::EndLoop: end_loop(); return 0;
    case KOp::Barrier: barrier(); return 0;
  }
  return 0;
}

}  // namespace spirograd::spirv
