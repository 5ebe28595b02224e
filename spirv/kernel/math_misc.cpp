// The error function, its complement, and the exact remainder.
#include "spirv/kernel/math.h"
#include "spirv/kernel/math_num.h"

namespace spirograd::kernel {
namespace {

// Minimax polynomials computed in 50 digits; errors are absolute errors of erf, relative to x for the first two,
// and relative to erfc in the last two.
// clang-format off
// f32: erf(x)/x - 1 in z = x^2 on [0, 0.85]; error 1.5e-8
Num erf_near(Num z) {
  return polynomial(z, {0.1283791516, -0.3761250557, 0.1128192599, -0.02677018706, 0.004997933222, -0.0006013039349});
}
// f32: log(1 - erf(x)) on [0.9219, 3.95]; error 4.2e-9
Num log_erfc(Num x) {
  return polynomial(x, {-0.0004706881398, -1.126464606, -0.6393591336, -0.1018892931, 0.02117333135, -0.002760105532, 0.0001650038749});
}
// f64: erf(x)/x in z = x^2 on [0, 1]; error 1.3e-19
Num erf_near_f64(Num z) {
  return polynomial(z, {1.128379167095512574, -0.3761263890318374818, 0.1128379167095488445, -0.02686617064507787295,
                        0.005223977624828418311, -0.0008548326981425221609, 0.0001205533113295531983, -0.00001492559577238835779,
                        1.646100848408678614e-6, -1.635039631637110537e-7, 1.466032950921627696e-8, -1.137495931207612814e-9,
                        5.960692191087527846e-11});
}
// f64: exp(x^2) (1 - erf(x)) in t = (x - 2)/(x + 2) on [-0.3334, 0.5001]; error 1.8e-19
Num scaled_erfc(Num t) {
  return polynomial(t, {0.255395676310505739, -0.4271858474139588882, 0.2416581942424649258, -0.07897858101554850598,
                        0.003732892405934206259, 0.006997461728905155526, -0.0008471433942150344261, -0.0009819770786809091943,
                        0.00004355927238279139, 0.0001743688834308645814, 0.00002748880684058173576, -0.00002768615292924056029,
                        -0.00001379774458039370063, 1.958822208529294352e-6, 3.380301546841792957e-6});
}
// exp(x^2) erfc(x) in u = x - 1.5 for x in [0.5, 2.4] (f64: 3); error: f32 2.4e-9, f64 9.4e-20
Num erfc_middle(Num u) {
  if (is_f64(u))
    return polynomial(u, {0.3215854164543175024, -0.1636229177325600673, 0.07615103985547739714, -0.03293090529956260792,
                          0.01337734095306688988, -0.005145957547985868544, 0.001886134877027557942,
                          -6.619300664019523729e-4, 2.2330994436597452e-4, -7.265892225681036031e-5,
                          2.286431217607060223e-5, -6.974991380739009862e-6, 2.066970816750748929e-6,
                          -5.96082934651421749e-7, 1.675497754478391018e-7, -4.5966879617684651e-8,
                          1.232421553053472363e-8, -3.233761373532026316e-9, 8.313487664437421581e-10,
                          -2.088818883884785219e-10, 5.109626311297155821e-11, -1.246932844284681007e-11,
                          3.2014339781504419e-12, -8.027837442901612677e-13, 1.491426103912985943e-13,
                          -1.34584126618386511e-14});
  return polynomial(u, {0.3215854158, -0.1636229136, 0.07615109453, -0.03293103072, 0.01337665123, -0.005144936421,
                        0.001889321416, -6.653011873e-4, 2.1666006e-4, -6.75999095e-5, 2.917922245e-5, -1.023873102e-5});
}
// exp(x^2) erfc(x) x in w = 1/x^2 for x in [2.4, 10.3] (f64: [3, 27.4]); error: f32 2.4e-9, f64 4.3e-18
Num erfc_far(Num w) {
  if (is_f64(w))
    return polynomial(w, {0.5641895835477562159, -0.2820947917737700734, 0.4231421875989694792, -1.057855450919020321,
                          3.702490931196275302, -16.66085391041852449, 91.6071282886754434, -593.9160077399059701,
                          4391.887112881689236, -35418.95121288533573, 292112.4194759312632, -2.282470670530872691e+6,
                          1.568134740403271014e+7, -8.857043099881067165e+7, 3.852328632354333463e+8,
                          -1.19278740657298741e+9, 2.319970681400728838e+9, -2.119001861248501702e+9});
  return polynomial(w, {0.5641895488, -0.2820875358, 0.4225824523, -1.036157818, 3.214638842, -9.656590707, 20.96777638,
                        -22.2030273});
}
// clang-format on

// Remainders of f32 by integers: x = m 2^e, y = k 2^f: m 2^(e-f) mod k, eight bits of the power at a time.
Num fmod_f32(Num x, Num y) {
  Builder& b = *x.b;
  const auto word = [&](uint32_t w) { return Num{&b, b.constant_word(Scalar::U32, w)}; };
  const Num zero = word(0), one = word(1);
  const Num x_bits = bitcast(Scalar::U32, magnitude(x)), y_bits = bitcast(Scalar::U32, magnitude(y));
  const auto exponent = [&](Num bits) {
    return Num{&b, b.op(KOp::Max, shr(bits, 23).v, one.v)};
  };  // denormals have that of 1
  const auto mantissa = [&](Num bits) {
    const Num top_bit = word(0x800000u);
    return either({bits & word(0x7FFFFFu), select(bits < top_bit, zero, top_bit)});
  };
  const Num ex = exponent(x_bits), ey = exponent(y_bits);
  const Num divisor = Num{&b, b.op(KOp::Max, mantissa(y_bits).v, one.v)};
  const Num gap = difference({bitcast(Scalar::I32, ex), bitcast(Scalar::I32, ey)});
  const Num steps = Num{&b, b.op(KOp::Max, gap.v, b.i32(0))};
  const auto rest = [&](Num u) { return apply_op(KOp::Rem, u, divisor); };
  const Num shift = both({bitcast(Scalar::U32, steps), word(7)});
  const Num first = rest(apply_op(KOp::Shl, rest(mantissa(x_bits)), shift));
  const Value r = b.var(first.v);
  b.begin_loop(shr(steps, 3).v);
  b.set(r, rest(shl(Num{&b, b.get(r)}, 8)).v);
  b.end_loop();
  // r 2^(ey - 150)
  const Num remainder = convert(Scalar::F32, Num{&b, b.get(r)});
  const Num result = scaled(remainder, bitcast(Scalar::I32, ey) - 150);
  return select({x_bits < y_bits, magnitude(x), result});
}

// Without 64-bit integers: subtracts y 2^k for falling k; every difference is exact.
Num fmod_f64(Num x, Num y) {
  Builder& b = *x.b;
  const Num a = magnitude(x), d = magnitude(y);
  const Num finite = a < kInf, fits = d <= a;
  const Num usual = finite & (d > 0.0) & fits;
  const Num from = select(usual, a, 1.0), by = select(usual, d, 1.0);
  const Num gap = convert(Scalar::I32, difference({split_exponent(from).e, split_exponent(by).e}));
  b.assume(gap.v, {-2200, 2200});  // exponents are in [-1074, 1023]
  const Num steps = Num{&b, b.op(KOp::Max, gap.v, b.i32(0))}, half = shr(steps, 1), rest = steps - half;
  const Value r = b.var(from.v), t = b.var(scaled(scaled(by * 0.5, half), rest).v);
  b.begin_loop((steps + 1).v);
  const Num part = 2.0 * Num{&b, b.get(t)}, left = Num{&b, b.get(r)};
  b.set(r, select({part <= left, left - part, left}).v);
  b.set(t, (0.5 * Num{&b, b.get(t)}).v);
  b.end_loop();
  return select(usual, Num{&b, b.get(r)}, a);
}

Num error_function(Num x) {
  const Num a = magnitude(x), inner = select(is_tiny(x), 0.0, x), z = inner * inner;
  if (is_f64(x)) {
    const Num capped = select(a > 6.0, 6.0, a), t = quotient({capped - 2.0, capped + 2.0});
    const Num far =
        1.0 - product({exp_scaled(-(capped * capped), std::nullopt, 0, ArgumentSign::NotPositive), scaled_erfc(t)});
    return select({a < 1.0, x * erf_near_f64(z), with_sign_of(far, x)});
  }
  const Num far = 1.0 - exp_scaled(log_erfc(select(a > 3.95, 3.95, a)), std::nullopt, 0, ArgumentSign::NotPositive);
  return select({a < 0.9219, x * (1.0 + erf_near(z)), with_sign_of(far, x)});  // no denormal on the way to a normal result
}

// By erf near 0; else exp(-x^2), with what rounding takes from the square, times a polynomial: no digits cancel.
Num complementary_error_function(Num x) {
  const Num a = magnitude(x), t = select(is_tinier(x), 0.0, x), z = t * t;
  const Num near = 1.0 - (is_f64(x) ? t * erf_near_f64(z) : t * (1.0 + erf_near(z)));
  const double most = is_f64(x) ? 27.4 : 10.3;  // erfc of which is 0
  const double border = is_f64(x) ? 3 : 2.4;
  const Num capped = select(a > most, most, a), is_far = capped > border, far = select(is_far, capped, border),
            i = 1.0 / far;
  const Pair square = exact_product(capped, capped);
  const Num quotient = select({is_far, erfc_far(i * i) / far, erfc_middle(select(is_far, border, capped) - 1.5)});
  const Num exponent = -square.high, r = exp_scaled(exponent, -square.low, 0, ArgumentSign::NotPositive) * quotient;
  return select({a < 0.5, near, select({x < 0.0, 2.0 - r, r})});
}

}  // namespace

Value erf(Builder& b, Value x) { return error_function({&b, x}).v; }
Value erfc(Builder& b, Value x) { return complementary_error_function({&b, x}).v; }

Value fmod(Builder& b, Value dividend, Value divisor) {
  const Num x{&b, dividend}, y{&b, divisor};
  const Num r = with_sign_of(is_f64(x) ? fmod_f64(x, y) : fmod_f32(x, y), x);
  const Num infinite = equal(magnitude(x), kInf), zero = equal(y, 0.0);
  const Num undefined = either({is_nan(x), is_nan(y)}) | infinite | zero;
  return select(undefined, kNan, r).v;
}

// The conversion itself is only defined inside of the range. The bounds are exact in f32. NaN is below neither.
Value saturated(Builder& b, Scalar to, Value x) {
  const Scalar from = b.type(x);
  const Value lo = b.constant(from, to == Scalar::I32 ? -2147483648.0 : 0.0);
  const Value hi = b.constant(from, to == Scalar::I32 ? 2147483648.0 : 4294967296.0);
  const Value capped = b.select(b.op(KOp::Lt, x, hi), x, b.constant(from, 0));
  const Value exact = b.convert(to, b.select(b.op(KOp::Lt, lo, capped), capped, lo));
  return b.select(b.op(KOp::Ge, x, hi), b.constant(to, to == Scalar::I32 ? 2147483647.0 : 4294967295.0), exact);
}

}  // namespace spirograd::kernel
