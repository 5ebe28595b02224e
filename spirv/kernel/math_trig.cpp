// Circular functions and their inverses. Coefficients: minimax polynomials computed for these intervals in 50 digits; each
// line says the interval and the largest error relative to the function.
#include <array>

#include "spirv/kernel/math.h"
#include "spirv/kernel/math_num.h"

namespace spirograd::kernel {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kTwoOverPi = 0.63661977236758134308;

// clang-format off
// (sin(x)/x - 1) / x^2 in z = x^2 on [0, 0.617]; error: f32 3.6e-9, f64 1.9e-21
Num sin_tail(Num z, Num square) {
  if (is_f64(z))
    return polynomial(z, square, {-0.1666666666666666664, 0.008333333333333322813, -0.0001984126984125511888, 2.755731921421761336e-6,
                          -2.505210491881638515e-8, 1.605836756634732708e-10, -7.578745262708973639e-13});
  return polynomial(z, square, {-0.1666665494, 0.008332177588, -0.000195172209});
}
// (cos(x) - 1 + x^2/2) / x^4 in z = x^2 on [0, 0.617]; error: f32 9.6e-11, f64 2.2e-23
Num cos_tail(Num z, Num square) {
  if (is_f64(z))
    return polynomial(z, square, {0.04166666666666666661, -0.001388888888888887419, 0.0000248015873015715201, -2.75573192153861342e-7,
                          2.087675436845574723e-9, -1.147029352453731072e-11, 4.738120590036314366e-14});
  return polynomial(z, square, {0.04166664685, -0.001388736678, 2.443836415e-5});
}
// (tan(x)/x - 1) / x^2 in z = x^2 on [0, 0.6185]; f32, error 1.3e-9
Num tan_tail(Num z) {
  return polynomial(z, {0.3333335013, 0.1333265013, 0.05406146174, 0.02127395787, 0.01085777593, 6.0919273e-5, 0.004390760495});
}
// (asin(x)/x - 1) / x^2 in z = x^2 on [0, 0.25]; error: f32 5.0e-9, f64 1.5e-17
Num asin_tail(Num z) {
  if (is_f64(z))
    return polynomial(z, {0.166666666666653828, 0.07500000000343040552, 0.04464285682348952408, 0.03038195933085444421,
                          0.02237175353468817705, 0.01735977091723274009, 0.01388460043567669783, 0.01217326627180292559,
                          0.006510909034037195041, 0.01957375758711491853, -0.01629384812905753069, 0.0319588169372979789});
  return polynomial(z, {0.1666675393, 0.07495241783, 0.04547709738, 0.02414760786, 0.04221855597});
}
// (atan(x)/x - 1) / x^2 in z = x^2 on [0, 0.1716]; error: f32 6.6e-10, f64 1.2e-18
Num atan_tail(Num z) {
  if (is_f64(z))
    return polynomial(z, {-0.3333333333333319891, 0.1999999999995401896, -0.1428571428024172868, 0.1111111078578089381,
                          -0.09090897825736104689, 0.07692061439453634305, -0.06663118064050911467, 0.05847991549906618364,
                          -0.05039765232772965459, 0.03807623324012459376, -0.01791994357905681324});
  return polynomial(z, {-0.3333331549, 0.1999848859, -0.1424383142, 0.1059586515, -0.06083088668});
}
// clang-format on

// What rounding takes from pi/2 and pi.
double half_pi_low(Num x) { return is_f64(x) ? 6.123233995736766e-17 : -4.371139000186e-8; }
double pi_low(Num x) { return 2 * half_pi_low(x); }

// f32 above the range of the subtractions: x = m 2^e with an integer m of 32 bits. x (2/pi) mod 4 needs only a window of 96
// bits of 2/pi, chosen by e, and the low bits of the product (Payne and Hanek 1983).
Reduced reduce_by_window(Num x) {
  Builder& b = *x.b;
  const auto word = [&](uint32_t w) { return Num{&b, b.constant_word(Scalar::U32, w)}; };
  const Num zero = word(0), one = word(1);
  const Num bits = bitcast(Scalar::U32, x);
  const Num m = shl(either({bits & word(0x7FFFFFu), word(0x800000u)}), 8);
  // The first bit of the window, counting from 32 zeros before 2/pi.
  const Num start = difference({shr(bits & word(0x7F800000u), 23), word(128)});
  const Num which = shr(start, 5), shift = start & word(31), shift_down = word(31) - shift;
  constexpr std::array<uint32_t, 7> two_over_pi = {0,          0xA2F9836E, 0x4E441529, 0xFC2757D1,
                                                   0xF534DDC0, 0xDB629599, 0x3C439041};
  std::array<Num, 4> w{x, x, x, x};
  for (size_t k = 0; k < 4; ++k) {
    w[k] = word(two_over_pi[k]);
    for (uint32_t first = 1; first < 4; ++first)
      w[k] = select({equal(which, word(first)), word(two_over_pi[k + first]), w[k]});
  }
  const auto window = [&](size_t k) {
    const Num down = apply_op(KOp::ShrU, shr(w[k + 1], 1), shift_down);  // a shift by 32 in two steps
    return apply_op(KOp::Shl, w[k], shift) | down;
  };
  const Num h0 = window(0), h1 = window(1), h2 = window(2);
  const Num middle = m * h1, low = middle + apply_op(KOp::MulHiU, m, h2);
  const Num carry = select(low < middle, one, zero);
  const Num high = sum({m * h0, apply_op(KOp::MulHiU, m, h1)}) + carry;
  // high:low / 2^64 is x (2/pi) / 4 modulo 1; the top two bits, rounded, are the quadrant.
  const Num quadrant = shr(high + word(0x20000000u), 30);
  const Num rest = high - shl(quadrant, 30);
  const Num below = bitcast(Scalar::I32, rest) < 0.0;
  const Num negated_carry = select(equal(low, zero), one, zero);
  const Num rest_high = select(below, Num{&b, b.op(KOp::Not, rest.v)} + negated_carry, rest);
  const Num rest_low = select(below, zero - low, low);
  // The fraction as 12 bits and the rest, so that the product with the first 12 bits of pi/2 is exact.
  const Num whole = bitcast(Scalar::I32, rest_high);
  const Num first = bitcast(Scalar::F32, both({bitcast(Scalar::U32, convert(Scalar::F32, whole)), word(0xFFFFF000u)}));
  const Num second =
      sum({convert(Scalar::F32, whole - convert(Scalar::I32, first)) * 0x1p-30, convert(Scalar::F32, rest_low) * 0x1p-62});
  const Num size_high = first * (0x1p-30 * 1.5703125),
            size_low = sum({first * (0x1p-30 * 4.8382679489661923e-4), second * (kPi / 2)});
  const Num size = size_high + size_low, lost = (size_high - size) + size_low;
  const Num negative = is_negative(x), down = below ^ negative;
  const Num n = bitcast(Scalar::I32, quadrant);
  return {select(down, -size, size), select(down, -lost, lost), select(negative, -n, n)};
}

}  // namespace

// Small arguments: n pi/2 is subtracted in parts that are short enough for exact products (Cody and Waite 1980).
// What the subtractions round away is kept beside the result, and the last part with it: added before, it would be rounded
// to what is left near multiples of pi/2.
Reduced reduce_quadrant(Num x) {
  Builder& b = *x.b;
  const auto subtracted = [](Num from, Num whole, std::array<double, 4> parts) {
    const Num a = from - whole * parts[0], second = whole * parts[1], third = whole * parts[2], fourth = whole * parts[3];
    const Num high = a - second, r = high - third;
    const Num lost = (a - high) - second, also_lost = (high - r) - third;
    return std::pair{r, (lost + also_lost) - fourth};
  };
  if (is_f64(x)) {
    const Num fits = magnitude(x) < 1e9;
    const Num inside = select(fits, x, 0.0), whole = floor(inside * kTwoOverPi + 0.5);
    const auto [r, low] =
        subtracted(inside, whole,
                   {1.5707960128784179688, 3.1391641641675960273e-7, 6.2233719696699885127e-14, 2.0222662487959506315e-21});
    const Num both = r + low;
    return {select(fits, both, kNan), (r - both) + low, convert(Scalar::I32, whole)};
  }
  constexpr uint32_t reduction = 1;  // sin and cos of one argument share it
  if (const auto known = b.recall(reduction, x.v)) return {{&b, (*known)[0]}, {&b, (*known)[1]}, {&b, (*known)[2]}};
  const Num shifted = x * kTwoOverPi + 12582912.0, whole = shifted - 12582912.0;
  const auto [r, rest] =
      subtracted(x, whole, {1.57073974609375, 5.6579709053039551e-5, 9.9208818937768228e-10, 5.3903025299577648e-15});
  const Value remainder = b.var(r.v), low = b.var(rest.v), quadrant = b.var(bitcast(Scalar::I32, shifted).v);
  b.begin_if((magnitude(x) > 800.0).v);
  const Reduced far = reduce_by_window(x);
  b.set(remainder, select(magnitude(x) < kInf, far.r, kNan).v);
  b.set(low, far.low.v);
  b.set(quadrant, far.n.v);
  b.end_if();
  const std::array<Value, 3> results{b.get(remainder), b.get(low), b.get(quadrant)};
  b.remember(reduction, x.v, results);
  return {{&b, results[0]}, {&b, results[1]}, {&b, results[2]}};
}

namespace {

struct SinCos {
  Num sine, cosine;
};
SinCos on_quarter(const Reduced& x, Num tiny) {
  const Num r = x.r, z = select(tiny, 0.0, r * r), half = 0.5 * z, square = z * z, lost = r * x.low;
  return {r + (r * (z * sin_tail(z, square)) + x.low), 1.0 - (half - (square * cos_tail(z, square) - lost))};
}

Num is_odd(Num n) { return equal(n & n.constant(1), n.constant(1)); }

Num sin_or_cos(Num x, bool cosine) {
  const Num tiny = is_tiny(x);
  const Reduced reduced = reduce_quadrant(x);
  const Num n = cosine ? reduced.n + 1 : reduced.n;
  const SinCos both = on_quarter(reduced, tiny);
  const Num v = select(is_odd(n), both.cosine, both.sine);
  const Num second = n & n.constant(2);
  Num turned = v;
  if (is_f64(x)) {
    turned = select({equal(second, 2), -v, v});
  } else {
    const Num sign = shl(second, 30);
    turned = bitcast(Scalar::F32, bitcast(Scalar::I32, v) ^ sign);
  }
  return cosine ? turned : select(tiny, x, turned);
}

// In odd quadrants -1/tan(r). The derivative at r, 1 + tan(r)^2, is near 1 + 1.55 r^2: enough for what belongs to `low`.
Num tangent(Num x) {
  const Num tiny = is_tiny(x);
  const Reduced reduced = reduce_quadrant(x);
  const Num odd = is_odd(reduced.n), r = reduced.r, z = select(tiny, 0.0, r * r);
  if (is_f64(x)) {
    const SinCos both = on_quarter(reduced, tiny);
    return select(tiny, x, quotient({select(odd, -both.cosine, both.sine), select(odd, both.sine, both.cosine)}));
  }
  const Num t = r + sum({r * (z * tan_tail(z)), reduced.low * (1.0 + 1.55 * z)});
  return select(tiny, x, select(odd, -1.0 / t, t));
}

// asin(a) = pi/2 - 2 asin(sqrt((1 - a)/2)) for a > 1/2.
Num arc_sine(Num x) {
  const Num tiny = is_tiny(x), a = magnitude(select(tiny, 0.0, x)), large = a > 0.5;
  const Num z = select({large, (1.0 - a) * 0.5, a * a}), y = select(large, sqrt(z), a);
  const Num p = y + y * (z * asin_tail(z));
  const Num r = select(large, kPi / 2 - (2.0 * p - half_pi_low(x)), p);
  return select(tiny, x, with_sign_of(r, x));
}

Num arc_cosine(Num x) {
  const Num a = magnitude(x), large = a > 0.5;
  const Num z = select({large, (1.0 - a) * 0.5, x * x}), y = select(large, sqrt(z), x);
  const Num p = y + y * (z * asin_tail(z));
  const Num twice = 2.0 * p, far = select({x < 0.0, kPi - (twice - pi_low(x)), twice});
  return select(large, far, kPi / 2 - (p - half_pi_low(x)));
}

// atan(num/den) for 0 <= num <= den with the base angle added: 0, or pi/4 where the ratio is above tan(pi/8).
Num atan_of_ratio(Num num, Num den) {
  const Num upper = den * 0.41421356237309504880 < num;
  const Num t = quotient({select(upper, num - den, num), select(upper, num + den, den)}), z = t * t;
  const Num r = t + t * (z * atan_tail(z));
  return select(upper, kPi / 4 + (r + half_pi_low(t) / 2), r);
}

Num arc_tangent(Num x) {
  const Num tiny = is_tiny(x), a = magnitude(select(tiny, 0.0, x));
  const Num upper = a > 0.41421356237309504880, top = a > 2.41421356237309504880;
  const Num num = select(top, -1.0, select(upper, a - 1.0, a)), den = select(top, a, select(upper, a + 1.0, 1.0));
  const Num t = num / den, z = t * t;
  const Num r = t + t * (z * atan_tail(z));
  const Num base = select(top, x.constant(kPi / 2), select(upper, x.constant(kPi / 4), 0.0));
  const Num low = select(top, x.constant(half_pi_low(x)), select(upper, x.constant(half_pi_low(x) / 2), 0.0));
  return select(tiny, x, with_sign_of(base + (r + low), x));
}

}  // namespace

Value sin(Builder& b, Value x) { return sin_or_cos({&b, x}, false).v; }
Value cos(Builder& b, Value x) { return sin_or_cos({&b, x}, true).v; }
Value tan(Builder& b, Value x) { return tangent({&b, x}).v; }
Value asin(Builder& b, Value x) { return arc_sine({&b, x}).v; }
Value acos(Builder& b, Value x) { return arc_cosine({&b, x}).v; }
Value atan(Builder& b, Value x) { return arc_tangent({&b, x}).v; }

Value atan2(Builder& b, Value opposite, Value adjacent) {
  const Num y{&b, opposite}, x{&b, adjacent};
  const Num ax = magnitude(x), ay = magnitude(y), steep = ax < ay;
  const Num large = select(steep, ay, ax), small = select(steep, ax, ay);
  const double huge = is_f64(x) ? 0x1p1020 : 0x1p124, tiny = is_f64(x) ? 0x1p-960 : 0x1p-64,
               up = is_f64(x) ? 0x1p60 : 0x1p62;
  const Num above = large > huge, scale = select(above, 0.25, select(large < tiny, x.constant(up), 1.0));
  const Num same = equal(small, large), zero = equal(large, 0.0);  // infinities have the ratio 1
  const Num num = select(zero, 0.0, select(same, 1.0, small * scale)), den = select(same, 1.0, large * scale);
  Num r = atan_of_ratio(num, den);
  r = select(steep, kPi / 2 - (r - half_pi_low(x)), r);
  r = select({is_negative(x), kPi - (r - pi_low(x)), r});
  return with_sign_of(r, y).v;
}

}  // namespace spirograd::kernel
