#include "spirv/lower/scalar_ops.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include "frontend/ir/broken_row.h"
#include "frontend/ir/op_table.h"
#include "spirv/kernel/half.h"
#include "spirv/kernel/math.h"

namespace spirograd::lower {

using ir::Op;
using kernel::Builder;
using kernel::KOp;
using kernel::Scalar;
using kernel::Value;

namespace {

Value absolute(Builder& b, Value x) {
  const Scalar t = b.type(x);
  if (t == Scalar::U32) return x;
  if (t == Scalar::F32) {
    const Value magnitude = b.op(KOp::And, b.bitcast(Scalar::U32, x), b.constant_word(Scalar::U32, 0x7fffffff));
    return b.bitcast(Scalar::F32, magnitude);
  }
  // 0 - x rather than -x, so that -0 gives +0; NaN fails the comparison and stays. INT_MIN wraps to itself.
  const Builder::Exact exact(b);
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
  const bool may_overflow =
      t == Scalar::I32 && i.lo <= -1 && i.hi >= -1 && b.interval(x).lo == std::numeric_limits<int32_t>::min();
  if (!may_overflow) return b.op(op, x, y);
  const Value minus_one = b.op(KOp::Eq, y, b.constant(t, -1));
  const Value plain = b.op(op, x, b.select(minus_one, one, y));
  return b.select(minus_one, want_quotient ? b.sub(null, x) : null, plain);
}

Value cast(Builder& b, DType type, Value x) {
  if (type == DType::F16) return kernel::rounded_to_half(b, cast(b, DType::F32, x));
  const Scalar from = b.type(x), to = scalar_of(type);
  if (from == to) return x;
  if (to == Scalar::Bool) return b.op(KOp::Ne, x, b.constant(from, 0));
  if (from == Scalar::Bool) return b.select(x, b.constant(to, 1), b.constant(to, 0));
  if (is_float(to)) return b.convert(to, x);
  if (!is_float(from)) return b.bitcast(to, x);
  return kernel::saturated(b, to, x);
}

Value negated(Builder& b, Value x) { return is_float(b.type(x)) ? b.op(KOp::Neg, x) : b.sub(b.constant(b.type(x), 0), x); }
Value least(Builder& b, Value x, Value y) {
  return is_float(b.type(x)) ? b.select(b.op(KOp::Le, x, y), x, y) : b.op(KOp::Min, x, y);
}
Value greatest(Builder& b, Value x, Value y) {
  return is_float(b.type(x)) ? b.select(b.op(KOp::Ge, x, y), x, y) : b.op(KOp::Max, x, y);
}
Value quotient(Builder& b, Value x, Value y) { return divide(b, x, y, true); }
Value remainder(Builder& b, Value x, Value y) {
  return is_float(b.type(x)) ? kernel::fmod(b, x, y) : divide(b, x, y, false);
}
Value differ(Builder& b, Value x, Value y) { return x == y && is_float(b.type(x)) ? is_nan(b, x) : b.op(KOp::Ne, x, y); }

// Counts modulo 32: Vulkan leaves others open.
Value shift_count(Builder& b, Value n) { return b.op(KOp::And, n, b.constant(b.type(n), 31)); }
Value shifted_up(Builder& b, Value x, Value n) { return b.op(KOp::Shl, x, shift_count(b, n)); }
Value shifted_down(Builder& b, Value x, Value n) {
  return b.op(b.type(x) == Scalar::I32 ? KOp::ShrS : KOp::ShrU, x, shift_count(b, n));
}

// Exact, so that no compiler that takes 0 * y for 0 finds the selection superfluous, and then gets NaN from y.
Value masked_product(Builder& b, Value x, Value y) {
  const Builder::Exact exact(b);
  const Value masked = is_zero(b, x);
  return zero_if(b, masked, b.mul(x, y));
}
Value masked_quotient(Builder& b, Value x, Value y) {
  const Builder::Exact exact(b);
  const Value masked = is_zero(b, x);
  return zero_if(b, masked, b.op(KOp::Div, x, y));
}
Value strong_product(Builder& b, Value x, Value y) {
  const Builder::Exact exact(b);
  const Value either = b.op(KOp::Or, {is_zero(b, x), is_zero(b, y)});
  return zero_if(b, either, b.mul(x, y));
}

using Operands = std::span<const Value>;

// Operand lists for functions of one and two operands, and for kernel operations.
template <auto f>
Value of_one(Builder& b, Operands in, DType) {
  if constexpr (std::is_same_v<decltype(f), KOp>)
    return b.op(f, in[0]);
  else
    return f(b, in[0]);
}
template <auto f>
Value of_two(Builder& b, Operands in, DType) {
  if constexpr (std::is_same_v<decltype(f), KOp>)
    return b.op(f, in[0], in[1]);
  else
    return f(b, in[0], in[1]);
}

struct Row {
  Op op;
  Value (*make)(Builder&, Operands, DType result);
};

// clang-format off
constexpr Row kOwnRows[] = {
    {Op::Neg,           of_one<negated>},
    {Op::Abs,           of_one<absolute>},
    {Op::Sign,          of_one<sign>},
    {Op::Not,           of_one<KOp::Not>},
    {Op::Floor,         of_one<KOp::Floor>},
    {Op::Sqrt,          of_one<KOp::Sqrt>},
    {Op::Bits,          [](Builder& b, Operands in, DType) { return b.bitcast(Scalar::U32, in[0]); }},
    {Op::FromBits,      [](Builder& b, Operands in, DType) { return b.bitcast(Scalar::F32, in[0]); }},
    {Op::Cast,          [](Builder& b, Operands in, DType result) { return cast(b, result, in[0]); }},
    {Op::StopGradient,  [](Builder&, Operands in, DType) { return in[0]; }},
    {Op::PreferStore,   [](Builder&, Operands in, DType) { return in[0]; }},
    {Op::PreferRecompute, [](Builder&, Operands in, DType) { return in[0]; }},
    {Op::Add,           [](Builder& b, Operands in, DType) { return b.add(in[0], in[1]); }},
    {Op::Sub,           [](Builder& b, Operands in, DType) { return b.sub(in[0], in[1]); }},
    {Op::Mul,           [](Builder& b, Operands in, DType) { return b.mul(in[0], in[1]); }},
    {Op::Div,           of_two<KOp::Div>},
    {Op::Pow,           of_two<kernel::pow>},
    {Op::Atan2,         of_two<kernel::atan2>},
    {Op::Min,           of_two<least>},
    {Op::Max,           of_two<greatest>},
    {Op::Quot,          of_two<quotient>},
    {Op::Rem,           of_two<remainder>},
    {Op::BitAnd,        of_two<KOp::And>},
    {Op::BitOr,         of_two<KOp::Or>},
    {Op::BitXor,        of_two<KOp::Xor>},
    {Op::ShiftLeft,     of_two<shifted_up>},
    {Op::ShiftRight,    of_two<shifted_down>},
    {Op::Eq,            of_two<KOp::Eq>},
    {Op::Ne,            of_two<differ>},
    {Op::Lt,            of_two<KOp::Lt>},
    {Op::Le,            of_two<KOp::Le>},
    {Op::Gt,            of_two<KOp::Gt>},
    {Op::Ge,            of_two<KOp::Ge>},
    {Op::And,           of_two<KOp::And>},
    {Op::Or,            of_two<KOp::Or>},
    {Op::MaskedMul,     of_two<masked_product>},
    {Op::MaskedDiv,     of_two<masked_quotient>},
    {Op::StrongMul,     of_two<strong_product>},
    {Op::Select,        [](Builder& b, Operands in, DType) { return b.select(in[0], in[1], in[2]); }},
};
// clang-format on

// The elementary functions have their rows in math.h, by the names of the operations.
constexpr Op op_called(std::string_view name) { return std::ranges::find(ir::kOps, name, &ir::OpInfo::name)->op; }
template <size_t... j>
constexpr auto with_elementary(std::index_sequence<j...>) {
  std::array<Row, std::size(kOwnRows) + sizeof...(j)> out{
      Row{op_called(kernel::kElementary[j].name), of_one<kernel::kElementary[j].of>}...};
  std::ranges::copy(kOwnRows, out.begin() + sizeof...(j));
  return out;
}
constexpr auto kRows = with_elementary(std::make_index_sequence<std::size(kernel::kElementary)>());

constexpr auto kTable = ir::op_table<kRows, ir::kPointwiseOnes>();

}  // namespace

Scalar scalar_of(DType t) {
  switch (t) {
    case DType::Bool: return Scalar::Bool;
    case DType::I32: return Scalar::I32;
    case DType::U32: return Scalar::U32;
    case DType::F32: return Scalar::F32;
    case DType::F64: return Scalar::F64;
    case DType::F16: return Scalar::F32;  // in memory alone it is another
  }
  return Scalar::F32;
}

Scalar stored_scalar_of(DType t) { return t == DType::F16 ? Scalar::F16 : scalar_of(t); }

Value zero(Builder& b, Scalar t) { return b.constant(t, 0); }

Value is_nan(Builder& b, Value x) {
  if (b.type(x) == Scalar::F64) return b.op(KOp::Ne, x, x);
  const Value magnitude = b.op(KOp::And, b.bitcast(Scalar::U32, x), b.constant_word(Scalar::U32, 0x7fffffff));
  return b.op(KOp::Gt, magnitude, b.constant_word(Scalar::U32, 0x7f800000));
}

Value pointwise(Builder& b, Op op, DType result, std::span<const Value> in) {
  const Value y = kTable[static_cast<size_t>(op)]->make(b, in, result);
  if (!ir::is_broken("scalar", ir::name(op))) return y;
  return b.type(y) == Scalar::Bool ? b.op(KOp::Not, y) : b.add(y, b.constant(b.type(y), 1));
}

namespace {

kernel::ArgumentSign argument_sign(ir::Sign sign) {
  switch (sign) {
    case ir::Sign::Any: break;
    case ir::Sign::NotNegative: return kernel::ArgumentSign::NotNegative;
    case ir::Sign::Zero:
    case ir::Sign::NotPositive: return kernel::ArgumentSign::NotPositive;
    case ir::Sign::NotPositiveOrInfinite: return kernel::ArgumentSign::NotPositiveOrInfinite;
  }
  return kernel::ArgumentSign::Any;
}

}  // namespace

Value exponential(Builder& b, Value x, ir::Sign sign) { return kernel::exp_of(b, x, argument_sign(sign)); }

Value is_finite(Builder& b, Value x) {
  const Value magnitude = b.op(KOp::And, b.bitcast(Scalar::U32, x), b.constant_word(Scalar::U32, 0x7fffffff));
  return b.op(KOp::Lt, magnitude, b.constant_word(Scalar::U32, 0x7f800000));
}

Value add_compensated(Builder& b, Value sum, Value x, Value lost) {
  const Builder::Exact exact(b);
  const Value y = b.sub(x, b.get(lost)), next = b.add(sum, y);
  // Nothing is lost once the sum is infinite.
  b.set(lost, b.select({is_finite(b, next), b.sub(b.sub(next, sum), y), b.constant(Scalar::F32, 0)}));
  return next;
}

}  // namespace spirograd::lower
