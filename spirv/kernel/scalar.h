// What each pure operation computes, on bit patterns: shared by constant folding and the evaluator, so that they cannot
// differ. Compiled without contraction; f32 operations are single roundings in f32.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "spirv/kernel/kernel.h"

namespace spirograd::kernel {

inline float as_f32(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }
inline double as_f64(uint64_t bits) { return std::bit_cast<double>(bits); }
inline int32_t as_i32(uint64_t bits) { return static_cast<int32_t>(static_cast<uint32_t>(bits)); }
inline uint32_t as_u32(uint64_t bits) { return static_cast<uint32_t>(bits); }

template <class F>
F bits_to(uint64_t b) {
  if constexpr (sizeof(F) == 4)
    return as_f32(b);
  else
    return as_f64(b);
}

// Truncates; values out of range (which no kernel converts) saturate, NaN gives 0.
template <class I, class F>
I truncate_to(F x) {
  if (!(x == x)) return 0;
  if (x <= static_cast<F>(std::numeric_limits<I>::min())) return std::numeric_limits<I>::min();
  if (x >= static_cast<F>(std::numeric_limits<I>::max())) return std::numeric_limits<I>::max();
  return static_cast<I>(x);
}

// clang-format off
template <class F>
uint64_t apply_float(KOp op, uint64_t a, uint64_t b) {
  const F x = bits_to<F>(a), y = bits_to<F>(b);
  switch (op) {
    case KOp::Add: return bits(x + y);
    case KOp::Sub: return bits(x - y);
    case KOp::Mul: return bits(x * y);
    case KOp::Div: return bits(x / y);
    case KOp::Neg: return a ^ (sizeof(F) == 4 ? uint64_t{1} << 31 : uint64_t{1} << 63);
    case KOp::Eq: return x == y;
    case KOp::Ne: return x != y;
    case KOp::Lt: return x < y;
    case KOp::Le: return x <= y;
    case KOp::Gt: return x > y;
    case KOp::Ge: return x >= y;
    case KOp::Sqrt: return bits(std::sqrt(x));
    case KOp::Floor: return bits(std::floor(x));
    case KOp::Trunc: return bits(std::trunc(x));
    case KOp::LocalIndex: case KOp::GroupIndex: case KOp::LaneIndex: case KOp::SharedLoad: case KOp::SharedStore:
    case KOp::LocalLoad: case KOp::LocalStore: case KOp::SubgroupReduce: case KOp::SubgroupScan: case KOp::Broadcast:
    case KOp::Shuffle: case KOp::Barrier:
    case KOp::Const: case KOp::Index: case KOp::Load: case KOp::Store: case KOp::AtomicAdd: case KOp::Quot:
    case KOp::Rem: case KOp::Min: case KOp::Max: case KOp::And: case KOp::Or: case KOp::Xor: case KOp::Not:
    case KOp::Shl: case KOp::ShrU: case KOp::ShrS: case KOp::MulHiU: case KOp::Select: case KOp::Bitcast:
    case KOp::Convert: case KOp::Var: case KOp::Get: case KOp::Set: case KOp::If: case KOp::Else: case KOp::EndIf:
    case KOp::Loop: case KOp::EndLoop: break;
  }
  return 0;  // not an operation on floats; the verifier has rejected it
}
// clang-format on

// clang-format off
template <class I>
uint64_t apply_integer(KOp op, uint64_t a, uint64_t b) {
  const uint32_t u = as_u32(a), v = as_u32(b);
  const I x = static_cast<I>(u), y = static_cast<I>(v);
  const bool overflow = std::is_signed_v<I> && x == std::numeric_limits<I>::min() && y == static_cast<I>(-1);
  switch (op) {
    case KOp::Add: return u + v;
    case KOp::Sub: return u - v;
    case KOp::Mul: return u * v;
    case KOp::Quot: return y == 0 || overflow ? u : static_cast<uint32_t>(x / y);
    case KOp::Rem: return y == 0 || overflow ? 0 : static_cast<uint32_t>(x % y);
    case KOp::Neg: return 0u - u;
    case KOp::Min: return y < x ? v : u;
    case KOp::Max: return y > x ? v : u;
    case KOp::And: return u & v;
    case KOp::Or: return u | v;
    case KOp::Xor: return u ^ v;
    case KOp::Not: return static_cast<uint32_t>(~u);
    case KOp::Shl: return static_cast<uint32_t>(u << (v & 31));
    case KOp::ShrU: return u >> (v & 31);
    case KOp::ShrS: return static_cast<uint32_t>(static_cast<int32_t>(u) >> (v & 31));
    case KOp::MulHiU: return uint64_t{u} * v >> 32;
    case KOp::Eq: return x == y;
    case KOp::Ne: return x != y;
    case KOp::Lt: return x < y;
    case KOp::Le: return x <= y;
    case KOp::Gt: return x > y;
    case KOp::Ge: return x >= y;
    case KOp::LocalIndex: case KOp::GroupIndex: case KOp::LaneIndex: case KOp::SharedLoad: case KOp::SharedStore:
    case KOp::LocalLoad: case KOp::LocalStore: case KOp::SubgroupReduce: case KOp::SubgroupScan: case KOp::Broadcast:
    case KOp::Shuffle: case KOp::Barrier:
    case KOp::Const: case KOp::Index: case KOp::Load: case KOp::Store: case KOp::AtomicAdd: case KOp::Div:
    case KOp::Select: case KOp::Bitcast: case KOp::Convert: case KOp::Sqrt: case KOp::Floor: case KOp::Trunc:
    case KOp::Var: case KOp::Get: case KOp::Set: case KOp::If: case KOp::Else: case KOp::EndIf: case KOp::Loop:
    case KOp::EndLoop: break;
  }
  return 0;  // not an operation on integers; the verifier has rejected it
}
// clang-format on

// clang-format off
inline uint64_t apply_bool(KOp op, uint64_t a, uint64_t b) {
  switch (op) {
    case KOp::And: return a & b;
    case KOp::Or: return a | b;
    case KOp::Xor: case KOp::Ne: return a ^ b;
    case KOp::Eq: return (a ^ b) ^ 1;
    case KOp::Not: return a ^ 1;
    case KOp::LocalIndex: case KOp::GroupIndex: case KOp::LaneIndex: case KOp::SharedLoad: case KOp::SharedStore:
    case KOp::LocalLoad: case KOp::LocalStore: case KOp::SubgroupReduce: case KOp::SubgroupScan: case KOp::Broadcast:
    case KOp::Shuffle: case KOp::Barrier:
    case KOp::Const: case KOp::Index: case KOp::Load: case KOp::Store: case KOp::AtomicAdd: case KOp::Add:
    case KOp::Sub: case KOp::Mul: case KOp::Div: case KOp::Quot: case KOp::Rem: case KOp::Neg: case KOp::Min:
    case KOp::Max: case KOp::Shl: case KOp::ShrU: case KOp::ShrS: case KOp::MulHiU: case KOp::Lt: case KOp::Le:
    case KOp::Gt: case KOp::Ge: case KOp::Select: case KOp::Bitcast: case KOp::Convert: case KOp::Sqrt: case KOp::Floor:
    case KOp::Trunc: case KOp::Var: case KOp::Get: case KOp::Set: case KOp::If: case KOp::Else: case KOp::EndIf:
    case KOp::Loop: case KOp::EndLoop: break;
  }
  return 0;  // not an operation on bools; the verifier has rejected it
}
// clang-format on

inline uint64_t apply_convert(Scalar from, Scalar to, uint64_t a) {
  const auto converted = [&](auto x) -> uint64_t {
    switch (to) {
      case Scalar::F32: return bits(static_cast<float>(x));
      case Scalar::F64: return bits(static_cast<double>(x));
      case Scalar::I32: return bits(truncate_to<int32_t>(static_cast<double>(x)));
      case Scalar::U32: return bits(truncate_to<uint32_t>(static_cast<double>(x)));
      case Scalar::Bool: break;
    }
    return 0;
  };
  switch (from) {
    case Scalar::I32: return converted(as_i32(a));
    case Scalar::U32: return converted(as_u32(a));
    case Scalar::F32: return converted(as_f32(a));
    case Scalar::F64: return converted(as_f64(a));
    case Scalar::Bool: break;
  }
  return 0;
}

/// A pure operation of one or two operands of type `operand` (for Convert and Bitcast: to `result`).
inline uint64_t apply(KOp op, Scalar operand, Scalar result, uint64_t a, uint64_t b) {
  if (op == KOp::Bitcast) return a;
  if (op == KOp::Convert) return apply_convert(operand, result, a);
  switch (operand) {
    case Scalar::Bool: return apply_bool(op, a, b);
    case Scalar::I32: return apply_integer<int32_t>(op, a, b);
    case Scalar::U32: return apply_integer<uint32_t>(op, a, b);
    case Scalar::F32: return apply_float<float>(op, a, b);
    case Scalar::F64: return apply_float<double>(op, a, b);
  }
  return 0;
}

}  // namespace spirograd::kernel
