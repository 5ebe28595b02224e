#include "spirv/kernel/half.h"

namespace spirograd::kernel {
namespace {

constexpr uint32_t kSign = 0x80000000u, kInfinity = 0x7f800000u, kQuietNan = 0x7fc00000u;
constexpr uint32_t kDropped = 13;                   // bits of a mantissa that a half has no place for
constexpr uint32_t kFirstBeyond = 0x47800000u;      // 65536: where the exponents of halves end
constexpr uint32_t kLeastNormalHalf = 0x38800000u;  // 2^-14
constexpr uint32_t kOneHalf = 0x3f000000u;          // 0.5f, whose last place is the least half, 2^-24

}  // namespace

Value rounded_to_half(Builder& b, Value x) {
  const auto word = [&](uint32_t w) { return b.constant_word(Scalar::U32, w); };
  const auto as_float = [&](Value w) { return b.bitcast(Scalar::F32, w); };
  const Value bits = b.bitcast(Scalar::U32, x), sign = b.op(KOp::And, bits, word(kSign));
  const Value size = b.op(KOp::And, bits, word(~kSign));
  // Half of what is dropped, less one where the last bit that stays is even: a tie then does not carry.
  const Value odd = b.op(KOp::And, b.op(KOp::ShrU, size, word(kDropped)), word(1));
  const Value carried = b.add(size, b.add(odd, word((1u << (kDropped - 1)) - 1)));
  const Value normal = b.op(KOp::And, carried, word(~((1u << kDropped) - 1)));
  const Value finite = b.select(b.op(KOp::Ge, normal, word(kFirstBeyond)), word(kInfinity), normal);
  // Added to 0.5 the device rounds to multiples of the least half, and the sum counts them.
  const Value steps = b.sub(b.bitcast(Scalar::U32, b.add(as_float(size), b.constant(Scalar::F32, 0.5))), word(kOneHalf));
  const Value small = b.mul(b.convert(Scalar::F32, steps), b.constant(Scalar::F32, 0x1p-24));
  const Value rounded = b.select({b.op(KOp::Lt, size, word(kLeastNormalHalf)), b.bitcast(Scalar::U32, small), finite});
  const Value nan = b.op(KOp::Gt, size, word(kInfinity));
  return as_float(b.op(KOp::Or, sign, b.select(nan, word(kQuietNan), rounded)));
}

}  // namespace spirograd::kernel
