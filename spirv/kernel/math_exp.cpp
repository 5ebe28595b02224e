// exp, log and what is built on them. Coefficients: minimax polynomials computed for these intervals in 50 digits; each line
// says the interval and the largest error relative to the function.
#include <limits>

#include "spirv/kernel/math.h"
#include "spirv/kernel/math_num.h"

namespace spirograd::kernel {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLog2E = 1.4426950408889634074;

// log 2 in two parts; the first is so short that its product with an exponent is exact.
double ln2_high(Num x) { return is_f64(x) ? 0.6931471803691238164902 : 0.69314575195312500; }
double ln2_low(Num x) { return is_f64(x) ? 1.908214929270587700022e-10 : 1.4286067653302e-6; }

// clang-format off
// (exp(r) - 1 - r) / r^2 on [-0.3475, 0.3475]; error of exp: f32 3.1e-9, f64 5.5e-20
Num exp_tail(Num r) {
  if (is_f64(r))
    return polynomial(r, {0.5000000000000000045, 0.1666666666666668386, 0.04166666666666607933, 0.008333333333316696423,
                          0.001388888888912036527, 0.0001984126989723864076, 0.00002480158692075152898, 2.755723399152787696e-6,
                          2.755758460836763097e-7, 2.511234536288680347e-8, 2.082635482658937924e-9});
  return polynomial(r, {0.4999999335, 0.1666651913, 0.04166840572, 0.00836889866, 0.001381422208});
}
// (2 atanh(s) - 2 s) / s^3 in z = s^2 on [0, 0.02945]; error of atanh(s)/s: f32 9.6e-12, f64 1.6e-20
Num log_tail(Num z) {
  if (is_f64(z))
    return polynomial(z, {0.6666666666666666096, 0.400000000000062616, 0.2857142856908115511, 0.2222222264751171685,
                          0.1818177560807230087, 0.1538709327930051703, 0.1325006103012681412, 0.1325185060576210987});
  return polynomial(z, {0.6666666564, 0.4000033564, 0.2853727803, 0.2358276701});
}
// (tanh(x)/x - 1) / x^2 in z = x^2 on [0, 0.3907]; error 4.1e-9
Num tanh_tail(Num z) { return polynomial(z, {-0.3333328388, 0.1333149002, -0.0537433854, 0.02065019926, -0.005716590567}); }
// (sinh(x)/x - 1) / x^2 in z = x^2 on [0, 1]; error 5.6e-11
Num sinh_tail(Num z) { return polynomial(z, {0.1666666649, 0.008333350598, 0.0001983606628, 2.817439495e-6}); }
// (asinh(x)/x - 1) / x^2 in z = x^2 on [0, 1]; error 3.2e-9
Num asinh_tail(Num z) {
  return polynomial(z, {-0.1666663087, 0.07498744436, -0.0444905419, 0.02946769628, -0.01920782231, 0.01046252504, -0.003858528091,
                        0.0006791256062});
}
// clang-format on

// exp(r) - 1 for |r| <= 0.3475.
Num exp_minus_one(Num r) { return r + r * r * exp_tail(r); }

// exp(x + low) 2^extra for x in the range where the result, before `extra`, is near the range of the type.
Num exp_core(Num x, std::optional<Num> low, int extra) {
  Num n = x, whole = x;
  if (is_f64(x)) {
    whole = floor(x * kLog2E + 0.5);
    n = convert(Scalar::I32, select(is_nan(x), 0.0, whole));
  } else {
    // Adding 1.5 * 2^23 rounds to an integer, which then stands in the low bits.
    const Num shifted = x * kLog2E + 12582912.0;
    whole = shifted - 12582912.0;
    n = bitcast(Scalar::I32, shifted) - 0x4B400000;
  }
  Num r = (x - whole * ln2_high(x)) - whole * ln2_low(x);
  if (low) r = r + *low;
  return scaled(1.0 + exp_minus_one(r), n + extra);
}

// log(x) + low for finite x > 0: with x = m 2^e, f = m - 1, s = f / (2 + f): log(m) = 2 atanh(s) = f - f^2/2 + s (f^2/2 +
// R(s^2)).
Num log_finite(Num x, std::optional<Num> low) {
  const Split parts = split_exponent(x);
  const Num f = parts.m - 1.0, s = f / (2.0 + f), z = s * s, half_square = 0.5 * f * f;
  Num small = parts.e * ln2_low(x);
  if (low) small = small + *low;
  return parts.e * ln2_high(x) - ((half_square - (s * (half_square + z * log_tail(z)) + small)) - f);
}

// A product and its rounding error, from halves of 12 (f64: 26) bits (Dekker 1971).
struct Pair {
  Num high, low;
};
Pair exact_product(Num a, Num b) {
  const double splitter = is_f64(a) ? 134217729.0 : 4097.0;
  const auto high_half = [&](Num x) {
    const Num t = x * splitter;
    return t - (t - x);
  };
  const Num p = a * b, ah = high_half(a), bh = high_half(b), al = a - ah, bl = b - bh;
  return {p, al * bl - (((p - ah * bh) - al * bh) - ah * bl)};
}

// log(x) as a sum of two numbers, for finite x > 0; relative error below 2^-29 (f64: 2^-58).
Pair log_pair(Num x) {
  const Split parts = split_exponent(x);
  const Num f = parts.m - 1.0, d = parts.m + 1.0, d_low = parts.m - (d - 1.0);
  const Num s = f / d;
  const Pair product = exact_product(s, d);
  const Num s_low = (((f - product.high) - product.low) - s * d_low) / d;
  const Num z = s * s, tail = 2.0 * s_low + s * z * log_tail(z) + parts.e * ln2_low(x);
  const Num a = parts.e * ln2_high(x), b = 2.0 * s;  // |a| > |b| or a = 0
  const Num sum = a + b, rest = (b - (sum - a)) + tail, high = sum + rest;
  return {high, rest - (high - sum)};
}

}  // namespace

Num exp_scaled(Num x, std::optional<Num> low, int extra) {
  // Beyond: infinity and 0; a negative `extra` lets larger arguments through.
  const double top = (is_f64(x) ? 712 : 91) - 0.7 * extra, bottom = is_f64(x) ? -748 : -106;
  const Num capped = select(x > top, top, select(x < bottom, bottom, x));      // NaN stays
  return exp_core(capped, low, extra);
}

Num log_of(Num x) {
  const Num r = select(x < kInf, log_finite(x, std::nullopt), x);
  return select(x <= 0.0, select(equal(x, 0.0), x.constant(-kInf), kNan), r);
}

// log(u) + c/u with u + c = 1 + x exactly.
Num log1p(Num x) {
  const Num u = 1.0 + x, rounded = u - 1.0;
  const Num c = (1.0 - (u - rounded)) + (x - rounded);
  const Num r = select(u < kInf, log_finite(u, c / u), u);
  return select(u <= 0.0, select(equal(u, 0.0), x.constant(-kInf), kNan), r);
}

Num hyperbolic_tangent(Num x) {
  const Num a = magnitude(x), z = x * x;
  const double limit = is_f64(x) ? 0.17 : 0.625, one = is_f64(x) ? 20 : 10;  // tanh(one) rounds to 1
  const Num large = 1.0 - 2.0 / (exp_core(2.0 * select(a > one, one, a), std::nullopt, 0) + 1.0);
  Num small = x;
  if (is_f64(x)) {
    const Num e = exp_minus_one(2.0 * x);
    small = e / (e + 2.0);
  } else {
    small = x + x * (z * tanh_tail(z));
  }
  return keep_tiny(x, select(a < limit, small, with_sign_of(large, x)));
}

Num hyperbolic_sine(Num x) {
  const Num a = magnitude(x), half = exp_scaled(a, std::nullopt, -1);
  Num small = x;
  if (is_f64(x)) {
    const Num e = exp_minus_one(x);
    small = 0.5 * (e + e / (e + 1.0));
  } else {
    const Num z = x * x;
    small = x + x * (z * sinh_tail(z));
  }
  return keep_tiny(x, select(a < (is_f64(x) ? 0.34 : 1.0), small, with_sign_of(half - 0.25 / half, x)));
}

Num hyperbolic_cosine(Num x) {
  const Num half = exp_scaled(magnitude(x), std::nullopt, -1);
  return half + 0.25 / half;
}

Num inverse_hyperbolic_sine(Num x) {
  const Num a = magnitude(x), square = a * a;
  const Num large = a > 0x1p27;  // the square root of the square is the number itself; the square may overflow
  const Num root = sqrt(select(large, 0.0, square) + 1.0);
  if (is_f64(x)) {
    const Num r = select(large, log_of(a) + 0.69314718055994530942, log1p(select(large, 0.0, a + square / (1.0 + root))));
    return keep_tiny(x, with_sign_of(r, x));
  }
  const Num r = log_of(select(large, a, a + root)) + select(large, x.constant(0.69314718055994530942), 0.0);
  return keep_tiny(x, select(a < 1.0, x + x * (square * asinh_tail(square)), with_sign_of(r, x)));
}

Num inverse_hyperbolic_cosine(Num x) {
  const Num large = x > 0x1p27, t = select(large, 0.0, x - 1.0);
  const Num near = log1p(t + sqrt(2.0 * t + t * t));
  const Num r = select(large, log_of(x) + 0.69314718055994530942, near);
  return select(x < 1.0, kNan, r);
}

Num inverse_hyperbolic_tangent(Num x) {
  const Num a = magnitude(x);
  return keep_tiny(x, with_sign_of(0.5 * log1p(2.0 * a / (1.0 - a)), x));
}

Value pow(Builder& b, Value base, Value exponent) {
  const Num x{&b, base}, y{&b, exponent};
  const Num a = magnitude(x);
  // From here on |y| < 2^40: larger exponents overflow or underflow for every base but 1.
  const Num capped = select(y > 0x1p40, 0x1p40, select(y < -0x1p40, -0x1p40, y));
  const Num ordinary = (a > 0.0) & (a < kInf);
  const Pair log = log_pair(select(ordinary, a, 1.0));
  const Pair product = exact_product(capped, log.high);
  const Num low = product.low + capped * log.low;
  const double top = is_f64(x) ? 712 : 91, bottom = is_f64(x) ? -748 : -106;
  const Num inside = (product.high < top) & (product.high > bottom);
  Num r = exp_scaled(product.high, select(inside, low, 0.0), 0);

  const Num zero_or_inf = select(equal(a, 0.0) ^ (y < 0.0), 0.0, x.constant(kInf));  // 0^y and inf^y for y != 0
  r = select(ordinary, r, select(is_nan(x), x, select(is_nan(y), y, zero_or_inf)));
  const Num half = y * 0.5, whole = equal(floor(y), y), odd = whole & is_not(equal(floor(half), half));
  const Num negative = is_negative(x);
  r = select(negative & odd, -r, r);
  r = select((x < 0.0) & (a < kInf) & is_not(whole), kNan, r);
  const Num one = equal(x, 1.0) | equal(y, 0.0) | (equal(a, 1.0) & equal(magnitude(y), kInf));
  return select(one, 1.0, r).v;
}

}  // namespace spirograd::kernel
