// What each pure operation computes, on bit patterns: shared by constant folding and the evaluator, so that they cannot
// differ. Compiled without contraction; f32 operations are single roundings in f32.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "spirv/kernel/kernel.h"

namespace spirograd::kernel {

inline float as_f32(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }
inline double as_f64(uint64_t bits) { return std::bit_cast<double>(bits); }
inline int32_t as_i32(uint64_t bits) { return static_cast<int32_t>(static_cast<uint32_t>(bits)); }
inline uint32_t as_u32(uint64_t bits) { return static_cast<uint32_t>(bits); }

// Truncates; values out of range (which no kernel converts) saturate, NaN gives 0.
template <class I, class F>
I truncate_to(F x) {
  if (!(x == x)) return 0;
  if (x <= static_cast<F>(std::numeric_limits<I>::min())) return std::numeric_limits<I>::min();
  if (x >= static_cast<F>(std::numeric_limits<I>::max())) return std::numeric_limits<I>::max();
  return static_cast<I>(x);
}

template <class F>
uint64_t apply_arithmetic(ArithmeticOp op, F x, F y) {
  switch (op) {
    case ArithmeticOp::Add: return bits(x + y);
    case ArithmeticOp::Sub: return bits(x - y);
    case ArithmeticOp::Mul: return bits(x * y);
    case ArithmeticOp::Neg: return bits(-x);
  }
  return 0;
}

template <class F>
uint64_t apply_float(FloatOp op, F x, F y, F z) {
  switch (op) {
    case FloatOp::Div: return bits(x / y);
    case FloatOp::Sqrt: return bits(std::sqrt(x));
    case FloatOp::Floor: return bits(std::floor(x));
    case FloatOp::Trunc: return bits(std::trunc(x));
    case FloatOp::MulAdd: return bits(x * y + z);
  }
  return 0;
}

template <class I>
uint32_t apply_integer(IntegerOp op, I x, I y) {
  const auto u = static_cast<uint32_t>(x), v = static_cast<uint32_t>(y);
  const bool overflow = std::is_signed_v<I> && x == std::numeric_limits<I>::min() && y == static_cast<I>(-1);
  switch (op) {
    case IntegerOp::Quot: return y == 0 || overflow ? u : static_cast<uint32_t>(x / y);
    case IntegerOp::Rem: return y == 0 || overflow ? 0 : static_cast<uint32_t>(x % y);
    case IntegerOp::Min: return y < x ? v : u;
    case IntegerOp::Max: return y > x ? v : u;
    case IntegerOp::Shl: return u << (v & 31);
    case IntegerOp::ShrU: return u >> (v & 31);
    case IntegerOp::ShrS: return static_cast<uint32_t>(static_cast<int32_t>(u) >> (v & 31));
    case IntegerOp::MulHiU: return static_cast<uint32_t>(uint64_t{u} * v >> 32);
  }
  return 0;
}

// Bools are 0 or 1.
inline uint32_t apply_bitwise(BitwiseOp op, bool bools, uint32_t u, uint32_t v) {
  switch (op) {
    case BitwiseOp::And: return u & v;
    case BitwiseOp::Or: return u | v;
    case BitwiseOp::Xor: return u ^ v;
    case BitwiseOp::Not: return bools ? u ^ 1 : ~u;
  }
  return 0;
}

template <class T>
bool apply_comparison(ComparisonOp op, T x, T y) {
  switch (op) {
    case ComparisonOp::Eq: return x == y;
    case ComparisonOp::Ne: return x != y;
    case ComparisonOp::Lt: return x < y;
    case ComparisonOp::Le: return x <= y;
    case ComparisonOp::Gt: return x > y;
    case ComparisonOp::Ge: return x >= y;
  }
  return false;
}

inline uint64_t apply_convert(Scalar from, Scalar to, uint64_t a) {
  const auto converted = [&](auto x) -> uint64_t {
    switch (to) {
      case Scalar::F32: return bits(static_cast<float>(x));
      case Scalar::F64: return bits(static_cast<double>(x));
      case Scalar::I32: return bits(truncate_to<int32_t>(static_cast<double>(x)));
      case Scalar::U32: return bits(truncate_to<uint32_t>(static_cast<double>(x)));
      case Scalar::Bool:
      case Scalar::F16: break;
    }
    return 0;
  };
  switch (from) {
    case Scalar::I32: return converted(as_i32(a));
    case Scalar::U32: return converted(as_u32(a));
    case Scalar::F32: return converted(as_f32(a));
    case Scalar::F64: return converted(as_f64(a));
    case Scalar::Bool:
    case Scalar::F16: break;
  }
  return 0;
}

/// A pure operation of one to three operands of type `operand` (for Convert and Bitcast: to `result`), Select aside. A type
/// that the operation does not take, which the verifier rejects, gives any bits.
inline uint64_t apply(KOp op, Scalar operand, Scalar result, uint64_t a, uint64_t b, uint64_t c = 0) {
  switch (kind(op)) {
    case Kind::Arithmetic: {
      const auto arithmetic = as<ArithmeticOp>(op);
      if (operand == Scalar::F32) return apply_arithmetic(arithmetic, as_f32(a), as_f32(b));
      if (operand == Scalar::F64) return apply_arithmetic(arithmetic, as_f64(a), as_f64(b));
      return apply_arithmetic(arithmetic, as_u32(a), as_u32(b));  // wraps around; the same bits for i32
    }
    case Kind::Float:
      return operand == Scalar::F32 ? apply_float(as<FloatOp>(op), as_f32(a), as_f32(b), as_f32(c))
                                    : apply_float(as<FloatOp>(op), as_f64(a), as_f64(b), as_f64(c));
    case Kind::Integer:
      return operand == Scalar::I32 ? apply_integer(as<IntegerOp>(op), as_i32(a), as_i32(b))
                                    : apply_integer(as<IntegerOp>(op), as_u32(a), as_u32(b));
    case Kind::Bitwise: return apply_bitwise(as<BitwiseOp>(op), operand == Scalar::Bool, as_u32(a), as_u32(b));
    case Kind::Comparison: {
      const auto comparison = as<ComparisonOp>(op);
      if (operand == Scalar::I32) return apply_comparison(comparison, as_i32(a), as_i32(b));
      if (operand == Scalar::F32) return apply_comparison(comparison, as_f32(a), as_f32(b));
      if (operand == Scalar::F64) return apply_comparison(comparison, as_f64(a), as_f64(b));
      return apply_comparison(comparison, as_u32(a), as_u32(b));
    }
    case Kind::Conversion:
      switch (as<ConversionOp>(op)) {
        case ConversionOp::Bitcast: return a;
        case ConversionOp::Convert: return apply_convert(operand, result, a);
      }
      break;
    case Kind::Leaf:
    case Kind::Memory:
    case Kind::Select:
    case Kind::Subgroup:
    case Kind::Variable:
    case Kind::Control: break;
  }
  return 0;
}

}  // namespace spirograd::kernel
