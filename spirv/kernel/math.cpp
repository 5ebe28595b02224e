// Pieces that the formulas share.
#include "spirv/kernel/math_num.h"

#include <cmath>

namespace spirograd::kernel {

Num magnitude(Num x) {
  if (is_f64(x)) return select({x < 0.0, -x, x}) + 0.0;  // -0 + 0 = 0
  return bitcast(Scalar::F32, bitcast(Scalar::U32, x) & x.bits_constant(0x7FFFFFFFu));
}

Num is_negative(Num x) {
  if (is_f64(x)) return either({x < 0.0, both({equal(x, 0.0), 1.0 / x < 0.0})});
  return bitcast(Scalar::I32, x) < 0.0;
}

// x is at least 0 or NaN.
Num with_sign_of(Num x, Num s) {
  if (is_f64(x)) return select({is_negative(s), -x, x});
  const Num sign = bitcast(Scalar::U32, s) & s.bits_constant(0x80000000u);
  return bitcast(Scalar::F32, bitcast(Scalar::U32, x) | sign);
}

Num power_of_two(Num n, Scalar t) {
  const Num f = bitcast(Scalar::F32, shl(n + 127, 23));
  return t == Scalar::F32 ? f : convert(t, f);
}

Num scaled(Num x, Num n) {
  if (!is_f64(x)) {
    const Num half = shr(n, 1), halfway = x * power_of_two(half, Scalar::F32);
    return halfway * power_of_two(n - half, Scalar::F32);
  }
  // n = 16 q + r: powers beyond f32 are products of 2^(4q).
  const Num q = shr(n, 4), r = n & Num{n.b, n.b->i32(15)};
  const Num p = power_of_two(q, Scalar::F64), p2 = p * p, p4 = p2 * p2;
  return x * power_of_two(r, Scalar::F64) * p4 * p4 * p4 * p4;
}

Split split_exponent(Num x) {
  constexpr double root_half_bits = 0x3F3504F3;  // sqrt(1/2) in f32
  const Num from = x;
  Num offset = x.constant(0);
  if (!is_f64(x)) {
    const Num tiny = x < 0x1p-126;
    x = select(tiny, x * 0x1p23, x);
    offset = select(tiny, from.constant(-23), 0.0);
    const Num bits = bitcast(Scalar::I32, x), k = shr(bits - root_half_bits, 23);
    return {bitcast(Scalar::F32, bits - shl(k, 23)), convert(Scalar::F32, k) + offset};
  }
  // There are no 64-bit integers: bring x into the range of f32 and take the exponent there.
  for (const int p : {512, 512, 256, 128, 64}) {
    const Num small = x < std::ldexp(1.0, -p);
    x = select(small, x * std::ldexp(1.0, p), x);
    offset = select(small, offset - p, offset);
  }
  for (const int p : {512, 256, 128, 64}) {
    const Num large = x >= std::ldexp(1.0, p);
    x = select(large, x * std::ldexp(1.0, -p), x);
    offset = select(large, offset + p, offset);
  }
  const Num k = shr(bitcast(Scalar::I32, convert(Scalar::F32, x)) - root_half_bits, 23);
  return {x * power_of_two(-k, Scalar::F64), convert(Scalar::F64, k) + offset};
}

Num is_tiny(Num x) { return magnitude(x) < (is_f64(x) ? 1e-8 : 0x1p-13); }
Num is_tinier(Num x) { return magnitude(x) < (is_f64(x) ? 0x1p-54 : 0x1p-25); }

Pair exact_product(Num a, Num b) {
  const double splitter = is_f64(a) ? 134217729.0 : 4097.0;
  const auto high_half = [&](Num x) {
    const Num t = x * splitter;
    return t - (t - x);
  };
  const Num p = a * b, ah = high_half(a), bh = high_half(b), al = a - ah, bl = b - bh;
  const Num high = ah * bh, left = al * bh, right = ah * bl, rest = ((p - high) - left) - right;
  return {p, al * bl - rest};
}

}  // namespace spirograd::kernel
