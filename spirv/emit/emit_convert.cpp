// Conversions, and what drivers make of them.
#include "spirv/emit/emitter.h"

namespace spirograd::spirv {

// The significand is shifted to where the exponent says, f32 to i32 or u32: drivers that convert one lane after the other
// have vectors of all this. The operand is in range.
Id Emitter::truncated(const Inst& i) {
  const Id u32 = type(Scalar::U32), i32 = type(Scalar::I32), flag = type(Scalar::Bool);
  const Id bits = result(Op::OpBitcast, u32, {ids_[i.in[0]]});
  const Id exponent = result(Op::OpBitwiseAnd, u32, {result(Op::OpShiftRightLogical, u32, {bits, word(23)}), word(255)});
  const Id left = result(Op::OpShiftLeftLogical, u32, {bits, word(8)});
  const Id significand = result(Op::OpBitwiseOr, u32, {left, word(0x80000000u)});  // 2^31 to 2^32 - 1
  const Id by = result(Op::OpISub, u32, {word(127 + 31), exponent});
  const Id shift = result(Op::OpBitwiseAnd, u32, {by, word(31)});
  const Id shifted = result(Op::OpShiftRightLogical, u32, {significand, shift});
  const Id small = result(Op::OpUGreaterThan, flag, {by, word(31)});
  const Id size = result(Op::OpSelect, u32, {small, word(0), shifted});
  if (i.type == Scalar::U32) return size;
  const Id value = result(Op::OpBitcast, i32, {size});
  const Id below =
      result(Op::OpSLessThan, flag, {result(Op::OpBitcast, i32, {bits}), module_.constant(Op::OpConstant, i32, {0})});
  return result(Op::OpSelect, i32, {below, result(Op::OpSNegate, i32, {value}), value});
}

Id Emitter::convert(const Inst& i) {
  const Scalar from = kernel_.body[i.in[0]].type;
  const Id a = ids_[i.in[0]];
  if (is_float(from) && is_float(i.type)) return result(Op::OpFConvert, type(i.type), {a});
  if (from == Scalar::F32 && (target_.quirks & kTruncatesByLane)) return truncated(i);
  if (is_float(from)) return result(i.type == Scalar::I32 ? Op::OpConvertFToS : Op::OpConvertFToU, type(i.type), {a});
  if (from == Scalar::I32 || i.type == Scalar::F64)
    return result(from == Scalar::I32 ? Op::OpConvertSToF : Op::OpConvertUToF, type(i.type), {a});
  // Some drivers round u32 above 2^31 twice. Halve those, with the lost bit kept in the last place so that rounding sees it.
  const Id u32 = type(Scalar::U32), i32 = type(Scalar::I32), f32 = type(Scalar::F32);
  const Id as_signed = result(Op::OpBitcast, i32, {a});
  const Id zero = module_.constant(Op::OpConstant, i32, {0});
  const Id large = result(Op::OpSLessThan, type(Scalar::Bool), {as_signed, zero});
  const Id half = result(Op::OpShiftRightLogical, u32, {a, word(1)}), last = result(Op::OpBitwiseAnd, u32, {a, word(1)});
  const Id reduced = result(Op::OpSelect, u32, {large, result(Op::OpBitwiseOr, u32, {half, last}), a});
  const Id converted = result(Op::OpConvertSToF, f32, {result(Op::OpBitcast, i32, {reduced})});
  const auto number = [&](float x) { return constant({KOp::Const, Scalar::F32, {}, kernel::bits(x)}); };
  const Id factor = result(Op::OpSelect, f32, {large, number(2.0f), number(1.0f)});
  return arithmetic(Op::OpFMul, Scalar::F32, false, {converted, factor});  // by a power of two: nothing is rounded
}

}  // namespace spirograd::spirv
