// exp, log and what is built on them. Coefficients: minimax polynomials computed for these intervals in 50 digits; each line
// says the interval and the largest error relative to the function.
#include <bit>
#include <cmath>

#include "spirv/kernel/math.h"
#include "spirv/kernel/math_num.h"

namespace spirograd::kernel {
namespace {

constexpr double kLog2E = 1.4426950408889634074;

// log 2 in two parts; the first is so short that its product with an exponent is exact.
double ln2_high(Num x) { return is_f64(x) ? 0.6931471803691238164902 : 0.69314575195312500; }
double ln2_low(Num x) { return is_f64(x) ? 1.908214929270587700022e-10 : 1.4286067653302e-6; }

// clang-format off
// (exp(r) - 1 - r) / r^2 on [-0.3475, 0.3475]; error of exp: f32 3.1e-9, f64 5.5e-20
Num exp_tail(Num r, Num square) {
  if (is_f64(r))
    return polynomial(r, square, {0.5000000000000000045, 0.1666666666666668386, 0.04166666666666607933, 0.008333333333316696423,
                          0.001388888888912036527, 0.0001984126989723864076, 0.00002480158692075152898, 2.755723399152787696e-6,
                          2.755758460836763097e-7, 2.511234536288680347e-8, 2.082635482658937924e-9});
  return polynomial(r, square, {0.4999999335, 0.1666651913, 0.04166840572, 0.00836889866, 0.001381422208});
}
// (2 atanh(s) - 2 s) / s^3 in z = s^2 on [0, 0.02945]; error of atanh(s)/s: f32 9.6e-12, f64 1.6e-20
Num log_tail(Num z) {
  if (is_f64(z))
    return polynomial(z, {0.6666666666666666096, 0.400000000000062616, 0.2857142856908115511, 0.2222222264751171685,
                          0.1818177560807230087, 0.1538709327930051703, 0.1325006103012681412, 0.1325185060576210987});
  return polynomial(z, {0.6666666564, 0.4000033564, 0.2853727803, 0.2358276701});
}
// The same on [0, 0.00517]; error of atanh(s)/s: f32 8e-13, f64 1e-21
Num narrow_log_tail(Num z) {
  if (is_f64(z))
    return polynomial(z, {0.6666666666666666452, 0.400000000000080656, 0.2857142856133729825, 0.2222222802497800619,
                          0.1818013231541260269, 0.1562516191312697976});
  return polynomial(z, {0.6666666724, 0.3999933333, 0.2879342474});
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
Num exp_minus_one(Num r) {
  const Num square = r * r;
  return r + square * exp_tail(r, square);
}

// Adding it rounds an f32 to an integer, which the low bits then hold.
constexpr double kRounding = 12582912.0;  // 1.5 * 2^23

// x - n log 2 as r + lost.
struct Remainder {
  Num r, lost;
};
Remainder without_logarithms(Num x, Num n) {
  const Num high = x - n * ln2_high(x), low = n * ln2_low(x), r = high - low;
  return {r, (high - r) - low};
}

// x = n log 2 + r + lost for x in the range of exp(); n is an i32.
struct Exponent {
  Num n, r, lost;
};
Exponent split_logarithm(Num x) {
  Num n = x, whole = x;
  if (is_f64(x)) {
    whole = floor(x * kLog2E + 0.5);
    n = convert(Scalar::I32, select(is_nan(x), 0.0, whole));
  } else {
    const Num shifted = x * kLog2E + kRounding;
    whole = shifted - kRounding;
    n = bitcast(Scalar::I32, shifted) - 0x4B400000;
  }
  const Remainder rest = without_logarithms(x, whole);
  return {n, rest.r, rest.lost};
}

Num exp_of_reduced(Num r, std::optional<Num> low) { return 1.0 + exp_minus_one(low ? r + *low : r); }

// exp(x + low) 2^extra for x in the range where the result, before `extra`, is near the range of the type. In f32 the power
// of two is one that the bits of the rounded sum make by a shift, 2^64 times too large where results may be denormal, too
// small where they may overflow, and 2^-64 or 2^64: rounded once.
Num exp_core(Num x, std::optional<Num> low, int extra, ArgumentSign sign) {
  if (is_f64(x)) {
    const Exponent e = split_logarithm(x);
    return scaled(exp_of_reduced(e.r, low), e.n + extra);
  }
  constexpr int kBeyond = 64, kBias = 127;
  const bool rises = sign == ArgumentSign::NotNegative;
  Num rounding = x.constant(kRounding + kBias + extra + (rises ? -kBeyond : kBeyond));
  Num rest = x.constant(std::ldexp(1.0, rises ? kBeyond : -kBeyond));
  if (sign == ArgumentSign::Any) {
    const Num falls = x < 0.0;
    rounding = select({falls, rounding, x.constant(kRounding + kBias + extra - kBeyond)});
    rest = select({falls, rest, x.constant(std::ldexp(1.0, kBeyond))});
  }
  const Num shifted = x * kLog2E + rounding, power = bitcast(Scalar::F32, shl(bitcast(Scalar::I32, shifted), 23));
  return exp_of_reduced(without_logarithms(x, shifted - rounding).r, low) * power * rest;
}

// log(x) + low for finite x > 0: with x = m 2^e, f = m - 1, s = f / (2 + f): log(m) = 2 atanh(s) = f - f^2/2 + s (f^2/2 +
// R(s^2)).
Num log_finite(Num x, std::optional<Num> low) {
  const Split parts = split_exponent(x);
  const Num f = parts.m - 1.0, s = f / (2.0 + f), z = s * s, half_square = 0.5 * f * f;
  const Num large = parts.e * ln2_high(x);
  Num small = parts.e * ln2_low(x);
  if (low) small = small + *low;
  return large - ((half_square - (s * (half_square + z * log_tail(z)) + small)) - f);
}

// x, or the bound that it is beyond; NaN stays.
Num clamped(Num x, double bottom, double top) {
  const Num above = x > top;
  return select(above, top, select(x < bottom, bottom, x));
}

}  // namespace

// log(x) as a sum of two numbers, for finite x > 0; relative error below 2^-33 (f64: 2^-62). With x = m 2^e and c the
// nearest of 3/4, 1, 5/4 to m: log(x) = e log(2) + log(c) + 2 atanh((m - c)/(m + c)). The first two have high parts that add
// exactly.
Pair log_pair(Num x) {
  const Split parts = split_exponent(x);
  const Num below = parts.m<0.8660254, above = parts.m> 1.118034;
  const auto by_centre = [&](double three_quarters, double five_quarters, double one) {
    return select(below, x.constant(three_quarters), select(above, x.constant(five_quarters), one));
  };
  const bool wide = is_f64(x);
  const Num c = by_centre(0.75, 1.25, 1);
  const Num log_c = wide ? by_centre(-0.2876820724513891036622, 0.2231435513140240800567, 0)
                         : by_centre(-0.287689208984375, 0.22314453125, 0);
  const Num log_c_low = wide ? by_centre(-3.918237769963821687542e-13, 1.856757095979601065874e-13, 0)
                             : by_centre(7.136532594072560780994e-6, -9.799357902442337e-7, 0);
  const Num f = parts.m - c, d = parts.m + c, d_low = parts.m - (d - c);
  const Num s = f / d;
  const Pair product = exact_product(s, d);
  const Num remainder = (f - product.high) - product.low, s_low = (remainder - s * d_low) / d;
  const Num a = parts.e * ln2_high(x) + log_c, b = 2.0 * s;  // |a| > |b| or a = 0
  const Num a_low = parts.e * ln2_low(x) + log_c_low, b_low = 2.0 * s_low;
  const Num z = s * s, cube = s * z, tail = b_low + cube * narrow_log_tail(z) + a_low;
  const Num sum = a + b, rest = (b - (sum - a)) + tail, high = sum + rest;
  return {high, rest - (high - sum)};
}

Num exp_scaled(Num x, std::optional<Num> low, int extra, ArgumentSign sign) {
  // Beyond: infinity and 0; a negative `extra` lets larger arguments through.
  const double top = (is_f64(x) ? 712 : 91) - 0.7 * extra, bottom = is_f64(x) ? -748 : -106;
  if (is_f64(x)) return exp_core(clamped(x, bottom, top), low, extra, sign);
  // Whatever comes of what is beyond: nothing waits for the comparisons.
  Num r = exp_core(x, low, extra, sign);
  if (sign != ArgumentSign::NotNegative) r = select({x < bottom, x.constant(0), r});
  if (sign == ArgumentSign::NotPositive) return r;
  return sign == ArgumentSign::NotPositiveOrInfinite ? select({x < kAlmostNotPositive, r, x})
                                                     : select({x > top, x.constant(kInf), r});
}

Num log_of(Num x) {
  const Num r = select({x < kInf, log_finite(x, std::nullopt), x});
  return select({x <= 0.0, select(equal(x, 0.0), x.constant(-kInf), kNan), r});
}

// log(u) + c/u with u + c = 1 + x exactly.
Num log1p(Num x) {
  const Num tiny = is_tinier(x), t = select(tiny, 0.0, x);
  const Num u = 1.0 + t, rounded = u - 1.0;
  const Num c = sum({1.0 - (u - rounded), t - rounded});
  const Num inside = select({u < kInf, log_finite(u, c / u), u});
  const Num r = select({u <= 0.0, select(equal(u, 0.0), x.constant(-kInf), kNan), inside});
  return select(tiny, x, r);
}

// 2^n exp(r) - 1 = (2^n - 1) + 2^n (exp(r) - 1), by halves, so that 2^n may be beyond the range.
Num expm1(Num x) {
  const Num tiny = is_tinier(x);
  const double top = is_f64(x) ? 710 : 89, bottom = is_f64(x) ? -40 : -20;
  const Num above = x > top, below = x < bottom;
  const Exponent e = split_logarithm(select(above, top, select(below, bottom, select(tiny, 0.0, x))));
  const Num square = e.r * e.r, p = e.r + (square * exp_tail(e.r, square) + e.lost), half = scaled(x.constant(0.5), e.n);
  return select(tiny, x, 2.0 * sum({half - 0.5, half * p}));
}

namespace {

Num hyperbolic_tangent(Num x) {
  const Num tiny = is_tiny(x), t = select(tiny, 0.0, x), a = magnitude(t), z = t * t;
  const double one = is_f64(x) ? 20 : 10;  // tanh(one) rounds to 1
  const Num capped = select(a > one, one, a);
  if (is_f64(x)) {
    const Num e = expm1(2.0 * capped);
    return select(tiny, x, with_sign_of(e / (e + 2.0), x));
  }
  const Num large = 1.0 - 2.0 / (exp_core(2.0 * capped, std::nullopt, 0, ArgumentSign::NotNegative) + 1.0);
  return select(tiny, x, select({a < 0.625, t + t * (z * tanh_tail(z)), with_sign_of(large, x)}));
}

Num hyperbolic_sine(Num x) {
  const Num tiny = is_tiny(x), t = select(tiny, 0.0, x), a = magnitude(t),
            half = exp_scaled(a, std::nullopt, -1, ArgumentSign::NotNegative);
  Num small = t;
  if (is_f64(x)) {
    const Num e = expm1(t);
    small = 0.5 * (e + e / (e + 1.0));
  } else {
    const Num z = t * t;
    small = t + t * (z * sinh_tail(z));
  }
  return select(tiny, x, select({a < 1.0, small, with_sign_of(half - 0.25 / half, x)}));
}

Num hyperbolic_cosine(Num x) {
  const Num half = exp_scaled(magnitude(x), std::nullopt, -1, ArgumentSign::NotNegative);
  return half + 0.25 / half;
}

Num inverse_hyperbolic_sine(Num x) {
  const Num tiny = is_tiny(x), t = select(tiny, 0.0, x), a = magnitude(t), square = a * a;
  const Num large = a > 0x1p27;  // the square root of the square is the number itself; the square may overflow
  const Num root = sqrt(select(large, 0.0, square) + 1.0);
  if (is_f64(x)) {
    const Num r = select({large, log_of(a) + 0.69314718055994530942, log1p(select(large, 0.0, a + square / (1.0 + root)))});
    return select(tiny, x, with_sign_of(r, x));
  }
  const Num r = sum({log_of(select(large, a, a + root)), select(large, x.constant(0.69314718055994530942), 0.0)});
  return select(tiny, x, select({a < 1.0, t + t * (square * asinh_tail(square)), with_sign_of(r, x)}));
}

Num inverse_hyperbolic_cosine(Num x) {
  const Num large = x > 0x1p27, t = select(large, 0.0, x - 1.0);
  const Num near = log1p(t + sqrt(sum({2.0 * t, t * t})));
  const Num r = select(large, log_of(x) + 0.69314718055994530942, near);
  return select(x < 1.0, kNan, r);
}

Num inverse_hyperbolic_tangent(Num x) {
  const Num tiny = is_tiny(x), a = magnitude(select(tiny, 0.0, x));
  return select(tiny, x, with_sign_of(0.5 * log1p(quotient({2.0 * a, 1.0 - a})), x));
}

// 1 / (1 + exp(-x)), both parts scaled, so that results reach the denormals.
Num logistic_function(Num x) {
  const int extra = is_f64(x) ? -54 : -24;
  const double unit = std::ldexp(1.0, extra);
  return unit / (unit + exp_scaled(-x, std::nullopt, extra, ArgumentSign::Any));
}

// Constant exponents that a few multiplications, a root and a quotient do, at most 1.6 ULP off, with pow's values at zeros,
// infinities and NaN. No intermediate result is beyond the range of the type where the power is not.
std::optional<Num> easy_power(Num x, double y) {
  // Products as a program could write them itself, and not exact either.
  Builder& b = *x.b;
  const auto square = [&b](Value v) { return b.mul(v, v); };
  if (y == 1) return x;
  if (y == 2) return Num{&b, square(x.v)};
  if (y == 3) return Num{&b, b.mul(square(x.v), x.v)};
  if (y == 4) return Num{&b, square(square(x.v))};
  if (y == -1 || y == -2) {
    const Num inverse = 1.0 / x;
    return y == -1 ? inverse : inverse * inverse;
  }
  if (y != 0.5 && y != -0.5 && y != 1.5 && y != 2.5) return std::nullopt;
  // pow has no negative zero and no NaN of -infinity for these: -0 counts as 0, -infinity as infinity.
  const Num a = select({equal(x, -kInf), x.constant(kInf), x + 0.0}), root = sqrt(a);
  if (y == 0.5) return root;
  if (y == -0.5) return 1.0 / root;
  return y == 1.5 ? a * root : a * a * root;
}

}  // namespace

Value exp(Builder& b, Value x) { return exp_of(b, x, ArgumentSign::Any); }
Value exp_of(Builder& b, Value x, ArgumentSign sign) { return exp_scaled({&b, x}, std::nullopt, 0, sign).v; }
Value expm1(Builder& b, Value x) { return expm1(Num{&b, x}).v; }
Value log(Builder& b, Value x) { return log_of({&b, x}).v; }
Value log1p(Builder& b, Value x) { return log1p(Num{&b, x}).v; }
Value logistic(Builder& b, Value x) { return logistic_function({&b, x}).v; }
Value sinh(Builder& b, Value x) { return hyperbolic_sine({&b, x}).v; }
Value cosh(Builder& b, Value x) { return hyperbolic_cosine({&b, x}).v; }
Value tanh(Builder& b, Value x) { return hyperbolic_tangent({&b, x}).v; }
Value asinh(Builder& b, Value x) { return inverse_hyperbolic_sine({&b, x}).v; }
Value acosh(Builder& b, Value x) { return inverse_hyperbolic_cosine({&b, x}).v; }
Value atanh(Builder& b, Value x) { return inverse_hyperbolic_tangent({&b, x}).v; }

Value pow(Builder& b, Value base, Value exponent) {
  const Num x{&b, base}, y{&b, exponent};
  if (const auto bits = b.constant_bits(exponent))
    if (const auto easy =
            easy_power(x, is_f64(x) ? std::bit_cast<double>(*bits) : std::bit_cast<float>(static_cast<uint32_t>(*bits))))
      return easy->v;
  const Num a = magnitude(x);
  // Larger exponents overflow or underflow for every base but 1.
  const double most = is_f64(x) ? 0x1p64 : 0x1p40;
  const Num capped = clamped(y, -most, most);
  const Num ordinary = both({a > 0.0, a < kInf});
  const Pair log = log_pair(select(ordinary, a, 1.0));
  const Pair product = exact_product(capped, log.high);
  const Num low = product.low + capped * log.low;
  const double top = is_f64(x) ? 712 : 91, bottom = is_f64(x) ? -748 : -106;
  const Num below_top = product.high < top;
  const Num inside = below_top & (product.high > bottom);
  Num r = exp_scaled(product.high, select(inside, low, 0.0), 0, ArgumentSign::Any);

  const Num zero = equal(a, 0.0), zero_or_inf = select(zero ^ (y < 0.0), 0.0, x.constant(kInf));  // 0^y and inf^y for y != 0
  r = select(ordinary, r, select({is_nan(x), x, select(is_nan(y), y, zero_or_inf)}));
  const Num half = y * 0.5, whole = equal(floor(y), y), odd = whole & is_not(equal(floor(half), half));
  const Num negative = is_negative(x);
  r = select({negative & odd, -r, r});
  const Num fraction = is_not(whole);
  r = select(both({x < 0.0, a < kInf}) & fraction, kNan, r);
  const Num infinite_power_of_one = both({equal(a, 1.0), equal(magnitude(y), kInf)});
  const Num one = either({equal(x, 1.0), equal(y, 0.0)}) | infinite_power_of_one;
  return select(one, 1.0, r).v;
}

}  // namespace spirograd::kernel
