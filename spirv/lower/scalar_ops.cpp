#include "spirv/lower/scalar_ops.h"

#include <limits>

#include "spirv/kernel/math.h"

namespace spirograd::lower {

using ir::Op;
using kernel::Builder;
using kernel::Fn;
using kernel::KOp;
using kernel::Scalar;
using kernel::Value;

namespace {

bool is_float(Scalar s) { return s == Scalar::F32 || s == Scalar::F64; }

Value absolute(Builder& b, Value x) {
  const Scalar t = b.type(x);
  if (t == Scalar::U32) return x;
  if (t == Scalar::F32) {
    const Value magnitude = b.op(KOp::And, b.bitcast(Scalar::U32, x), b.constant_word(Scalar::U32, 0x7fffffff));
    return b.bitcast(Scalar::F32, magnitude);
  }
  // 0 - x rather than -x, so that -0 gives +0; NaN fails the comparison and stays. INT_MIN wraps to itself.
  const Value negative = b.op(is_float(t) ? KOp::Le : KOp::Lt, x, b.constant(t, 0));
  return b.select(negative, b.sub(b.constant(t, 0), x), x);
}

Value sign(Builder& b, Value x) {
  const Scalar t = b.type(x);
  const Value null = b.constant(t, 0);
  const Value positive = b.op(KOp::Gt, x, null);
  if (t == Scalar::U32) return b.select(positive, b.constant(t, 1), null);
  return b.select(positive, b.constant(t, 1), b.select(b.op(KOp::Lt, x, null), b.constant(t, -1), x));  // 0 and NaN: x
}

Value is_zero(Builder& b, Value x) { return b.op(KOp::Eq, x, b.constant(b.type(x), 0)); }
Value zero_if(Builder& b, Value mask, Value x) { return b.select(mask, b.constant(b.type(x), 0), x); }

// x quot y and x rem y with a zero divisor read as 1 and INT_MIN quot -1 wrapping; fix-ups only where the interval of y
// needs them.
Value divide(Builder& b, Value x, Value y, bool want_quotient) {
  const Scalar t = b.type(x);
  const Value one = b.constant(t, 1), null = b.constant(t, 0);
  kernel::Interval i = b.interval(y);
  if (i.lo <= 0 && i.hi >= 0) y = b.select(b.op(KOp::Eq, y, null), one, y);
  const KOp op = want_quotient ? KOp::Quot : KOp::Rem;
  const bool may_overflow = t == Scalar::I32 && i.lo <= -1 && i.hi >= -1 &&
                            b.interval(x).lo == std::numeric_limits<int32_t>::min();
  if (!may_overflow) return b.op(op, x, y);
  const Value minus_one = b.op(KOp::Eq, y, b.constant(t, -1));
  const Value plain = b.op(op, x, b.select(minus_one, one, y));
  return b.select(minus_one, want_quotient ? b.sub(null, x) : null, plain);
}

Value cast(Builder& b, Scalar to, Value x) {
  const Scalar from = b.type(x);
  if (from == to) return x;
  if (to == Scalar::Bool) return b.op(KOp::Ne, x, b.constant(from, 0));
  if (from == Scalar::Bool) return b.select(x, b.constant(to, 1), b.constant(to, 0));
  if (is_float(to)) return b.convert(to, x);
  if (!is_float(from)) return b.bitcast(to, x);
  // Saturate: the conversion itself is only defined inside of the range. The bounds are exact in f32. NaN is below neither.
  const Value lo = b.constant(from, to == Scalar::I32 ? -2147483648.0 : 0.0);
  const Value hi = b.constant(from, to == Scalar::I32 ? 2147483648.0 : 4294967296.0);
  const Value capped = b.select(b.op(KOp::Lt, x, hi), x, b.constant(from, 0));
  const Value exact = b.convert(to, b.select(b.op(KOp::Lt, lo, capped), capped, lo));
  return b.select(b.op(KOp::Ge, x, hi), b.constant(to, to == Scalar::I32 ? 2147483647.0 : 4294967295.0), exact);
}

}  // namespace

Scalar scalar_of(DType t) {
  switch (t) {
    case DType::Bool: return Scalar::Bool;
    case DType::I32: return Scalar::I32;
    case DType::U32: return Scalar::U32;
    case DType::F32: return Scalar::F32;
    case DType::F64: return Scalar::F64;
  }
  return Scalar::F32;
}

Value zero(Builder& b, Scalar t) { return b.constant(t, 0); }

Value is_nan(Builder& b, Value x) {
  if (b.type(x) == Scalar::F64) return b.op(KOp::Ne, x, x);
  const Value magnitude = b.op(KOp::And, b.bitcast(Scalar::U32, x), b.constant_word(Scalar::U32, 0x7fffffff));
  return b.op(KOp::Gt, magnitude, b.constant_word(Scalar::U32, 0x7f800000));
}

Value pointwise(Builder& b, Op op, DType result, std::span<const Value> in) {
  const Value x = in[0];
  const Value y = in.size() > 1 ? in[1] : x;
  switch (op) {
    case Op::Neg: return is_float(b.type(x)) ? b.op(KOp::Neg, x) : b.sub(b.constant(b.type(x), 0), x);
    case Op::Abs: return absolute(b, x);
    case Op::Sign: return sign(b, x);
    case Op::Not: return b.op(KOp::Not, x);
    case Op::Floor: return b.op(KOp::Floor, x);
    case Op::Sqrt: return b.op(KOp::Sqrt, x);
    case Op::Exp: return math(b, Fn::Exp, x);
    case Op::Log: return math(b, Fn::Log, x);
    case Op::Sin: return math(b, Fn::Sin, x);
    case Op::Cos: return math(b, Fn::Cos, x);
    case Op::Tan: return math(b, Fn::Tan, x);
    case Op::Asin: return math(b, Fn::Asin, x);
    case Op::Acos: return math(b, Fn::Acos, x);
    case Op::Atan: return math(b, Fn::Atan, x);
    case Op::Sinh: return math(b, Fn::Sinh, x);
    case Op::Cosh: return math(b, Fn::Cosh, x);
    case Op::Tanh: return math(b, Fn::Tanh, x);
    case Op::Asinh: return math(b, Fn::Asinh, x);
    case Op::Acosh: return math(b, Fn::Acosh, x);
    case Op::Atanh: return math(b, Fn::Atanh, x);
    case Op::Erf: return math(b, Fn::Erf, x);
    case Op::Logistic: return math(b, Fn::Logistic, x);
    case Op::Log1p: return math(b, Fn::Log1p, x);
    case Op::Expm1: return math(b, Fn::Expm1, x);
    case Op::Cast: return cast(b, scalar_of(result), x);
    case Op::StopGradient: return x;
    case Op::Add: return b.add(x, y);
    case Op::Sub: return b.sub(x, y);
    case Op::Mul: return b.mul(x, y);
    case Op::Div: return b.op(KOp::Div, x, y);
    case Op::Pow: return kernel::pow(b, x, y);
    case Op::Atan2: return kernel::atan2(b, x, y);
    case Op::Min:
      return is_float(b.type(x)) ? b.select(b.op(KOp::Le, x, y), x, y) : b.op(KOp::Min, x, y);
    case Op::Max:
      return is_float(b.type(x)) ? b.select(b.op(KOp::Ge, x, y), x, y) : b.op(KOp::Max, x, y);
    case Op::Quot: return divide(b, x, y, true);
    case Op::Rem: return is_float(b.type(x)) ? kernel::fmod(b, x, y) : divide(b, x, y, false);
    case Op::Eq: return b.op(KOp::Eq, x, y);
    case Op::Ne: return x == y && is_float(b.type(x)) ? is_nan(b, x) : b.op(KOp::Ne, x, y);
    case Op::Lt: return b.op(KOp::Lt, x, y);
    case Op::Le: return b.op(KOp::Le, x, y);
    case Op::Gt: return b.op(KOp::Gt, x, y);
    case Op::Ge: return b.op(KOp::Ge, x, y);
    case Op::And: return b.op(KOp::And, x, y);
    case Op::Or: return b.op(KOp::Or, x, y);
    case Op::MaskedMul: return zero_if(b, is_zero(b, x), b.mul(x, y));
    case Op::MaskedDiv: return zero_if(b, is_zero(b, x), b.op(KOp::Div, x, y));
    case Op::StrongMul: return zero_if(b, b.op(KOp::Or, is_zero(b, x), is_zero(b, y)), b.mul(x, y));
    case Op::Select: return b.select(x, in[1], in[2]);
    case Op::Param: case Op::Const: case Op::Iota: case Op::IndexVar: case Op::Var: case Op::Broadcast: case Op::Transpose:
    case Op::Reshape: case Op::Window: case Op::Reverse: case Op::Concat: case Op::Stack: case Op::Sum: case Op::Prod:
    case Op::ReduceMax: case Op::ReduceMin: case Op::ArgMax: case Op::ArgMin: case Op::Gather: case Op::Scatter:
    case Op::Build:
    case Op::MapAccum: case Op::Proj:
      break;
  }
  throw Error("SG0900", "internal: " + std::string(ir::name(op)) + " is not pointwise");
}

}  // namespace spirograd::lower
