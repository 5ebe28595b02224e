// Interval arithmetic for the builder; see interval.h for the promise.
#include "spirv/kernel/interval.h"

#include <algorithm>
#include <limits>

#include "frontend/base/checked.h"

namespace spirograd::kernel {
namespace {

constexpr int64_t kWindow = int64_t{1} << 32;
constexpr int64_t kFar = int64_t{1} << 62;

int64_t far_mul(int64_t a, int64_t b) { return std::clamp(saturating_mul(a, b), -kFar, kFar); }

// Number of the window of 2^32 values that holds x; window 0 is the type's own range.
int64_t window(Scalar type, int64_t x) {
  const int64_t shifted = type == Scalar::I32 ? x + kWindow / 2 : x;
  return shifted >= 0 ? shifted / kWindow : -((-shifted + kWindow - 1) / kWindow);
}

int64_t magnitude(Interval a) { return std::max(std::abs(a.lo), std::abs(a.hi)); }

// Least 2^k - 1 that is at least x.
int64_t ones_above(int64_t x) {
  int64_t ones = 0;
  while (ones < x) ones = 2 * ones + 1;
  return ones;
}

Interval quot_range(Scalar type, Interval a, Interval b) {
  if (b.lo > 0) {
    if (a.lo >= 0) return {a.lo / b.hi, a.hi / b.lo};
    return {a.lo / b.lo, a.hi >= 0 ? a.hi / b.lo : a.hi / b.hi};
  }
  if (type == Scalar::U32) return {0, a.hi};
  return intersect(whole(type), {-magnitude(a), magnitude(a)});
}

Interval rem_range(Interval a, Interval b) {
  const int64_t most = std::max<int64_t>(magnitude(b) - 1, 0);
  return {a.lo >= 0 ? 0 : std::max(a.lo, -most), a.hi <= 0 ? 0 : std::min(a.hi, most)};
}

Interval shift_range(IntegerOp op, Scalar type, Interval a, Interval count) {
  if (count.lo < 0 || count.hi > 31) return whole(type);
  if (op == IntegerOp::Shl) return wrap(type, exact_mul(a, {int64_t{1} << count.lo, int64_t{1} << count.hi}));
  if (op == IntegerOp::ShrS) {
    if (type == Scalar::U32 && a.hi > std::numeric_limits<int32_t>::max()) return whole(type);
    return {a.lo >> (a.lo >= 0 ? count.hi : count.lo), a.hi >> (a.hi >= 0 ? count.lo : count.hi)};
  }
  if (a.lo >= 0) return {a.lo >> count.hi, a.hi >> count.lo};
  // Only i32 gets here; 32 - count ones fit in i32 from a count of 1 on.
  return count.lo > 0 ? Interval{0, (kWindow - 1) >> count.lo} : whole(type);
}

Interval arithmetic_range(ArithmeticOp op, Scalar type, Interval a, Interval b) {
  switch (op) {
    case ArithmeticOp::Add: return wrap(type, exact_add(a, b));
    case ArithmeticOp::Sub: return wrap(type, exact_sub(a, b));
    case ArithmeticOp::Mul: return wrap(type, exact_mul(a, b));
    case ArithmeticOp::Neg: return wrap(type, {-a.hi, -a.lo});
  }
  return whole(type);
}

Interval integer_range(IntegerOp op, Scalar type, Interval a, Interval b) {
  switch (op) {
    case IntegerOp::Quot: return quot_range(type, a, b);
    case IntegerOp::Rem: return rem_range(a, b);
    case IntegerOp::Min: return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case IntegerOp::Max: return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case IntegerOp::Shl:
    case IntegerOp::ShrU:
    case IntegerOp::ShrS: return shift_range(op, type, a, b);
    case IntegerOp::MulHiU:
      return {static_cast<int64_t>(static_cast<uint64_t>(a.lo) * static_cast<uint64_t>(b.lo) >> 32),
              static_cast<int64_t>(static_cast<uint64_t>(a.hi) * static_cast<uint64_t>(b.hi) >> 32)};
  }
  return whole(type);
}

Interval bitwise_range(BitwiseOp op, Scalar type, Interval a, Interval b) {
  switch (op) {
    case BitwiseOp::And:
      if (a.lo >= 0 && b.lo >= 0) return {0, std::min(a.hi, b.hi)};
      if (a.lo >= 0) return {0, a.hi};
      return b.lo >= 0 ? Interval{0, b.hi} : whole(type);
    case BitwiseOp::Or:
    case BitwiseOp::Xor:
      if (a.lo < 0 || b.lo < 0) return whole(type);
      return {op == BitwiseOp::Or ? std::max(a.lo, b.lo) : 0, ones_above(std::max(a.hi, b.hi))};
    case BitwiseOp::Not:
      return type == Scalar::I32 ? Interval{-1 - a.hi, -1 - a.lo} : Interval{kWindow - 1 - a.hi, kWindow - 1 - a.lo};
  }
  return whole(type);
}

}  // namespace

Interval whole(Scalar type) {
  switch (type) {
    case Scalar::Bool: return {0, 1};
    case Scalar::I32: return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
    case Scalar::U32: return {0, kWindow - 1};
    case Scalar::F32:
    case Scalar::F64:
    case Scalar::F16: break;
  }
  return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
}

Interval point(Scalar type, uint64_t bits) {
  if (is_float(type)) return whole(type);
  const int64_t x = type == Scalar::I32 ? int64_t{static_cast<int32_t>(bits)} : static_cast<int64_t>(bits & 0xFFFFFFFFu);
  return {x, x};
}

Interval intersect(Interval a, Interval b) {
  const Interval both{std::max(a.lo, b.lo), std::min(a.hi, b.hi)};
  return both.lo <= both.hi ? both : a;
}

Interval unite(Interval a, Interval b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

Interval exact_add(Interval a, Interval b) {
  return {std::clamp(a.lo + b.lo, -kFar, kFar), std::clamp(a.hi + b.hi, -kFar, kFar)};
}

Interval exact_sub(Interval a, Interval b) { return exact_add(a, {-b.hi, -b.lo}); }

Interval exact_mul(Interval a, Interval b) {
  const auto [lo, hi] = std::minmax({far_mul(a.lo, b.lo), far_mul(a.lo, b.hi), far_mul(a.hi, b.lo), far_mul(a.hi, b.hi)});
  return {lo, hi};
}

Interval wrap(Scalar type, Interval exact) {
  if (exact.lo <= -kFar || exact.hi >= kFar) return whole(type);
  const int64_t w = window(type, exact.lo);
  if (w != window(type, exact.hi)) return whole(type);
  return {exact.lo - w * kWindow, exact.hi - w * kWindow};
}

Interval range(KOp op, Scalar type, Interval a, Interval b) {
  if (!is_integer(type)) return whole(type);
  switch (kind(op)) {
    case Kind::Arithmetic: return arithmetic_range(as<ArithmeticOp>(op), type, a, b);
    case Kind::Integer: return integer_range(as<IntegerOp>(op), type, a, b);
    case Kind::Bitwise: return bitwise_range(as<BitwiseOp>(op), type, a, b);
    case Kind::Leaf:
    case Kind::Memory:
    case Kind::Float:
    case Kind::Comparison:
    case Kind::Select:
    case Kind::Conversion:
    case Kind::Subgroup:
    case Kind::Variable:
    case Kind::Control: break;
  }
  return whole(type);
}

std::optional<bool> decide(KOp op, Interval a, Interval b) {
  if (op == KOp::Lt && (a.hi < b.lo || a.lo >= b.hi)) return a.hi < b.lo;
  if (op == KOp::Le && (a.hi <= b.lo || a.lo > b.hi)) return a.hi <= b.lo;
  if (op == KOp::Gt) return decide(KOp::Lt, b, a);
  if (op == KOp::Ge) return decide(KOp::Le, b, a);
  const bool apart = a.hi < b.lo || b.hi < a.lo, same_point = a.lo == a.hi && a == b;
  if (op == KOp::Eq && (apart || same_point)) return same_point;
  if (op == KOp::Ne && (apart || same_point)) return apart;
  return std::nullopt;
}

}  // namespace spirograd::kernel
