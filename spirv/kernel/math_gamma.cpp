// The digamma function and the logarithm of the gamma function. Coefficients: minimax polynomials computed for these
// intervals in 50 digits; each line says the interval and the largest error relative to the function.
#include "spirv/kernel/math.h"
#include "spirv/kernel/math_num.h"

namespace spirograd::kernel {
namespace {

// clang-format off
// digamma(z + d) / d on [1 - z, 2 - z], z the zero; error: f32 3.8e-9, f64 2.4e-18
Num digamma_near(Num d) {
  if (is_f64(d))
    return polynomial(d, {0.9676722454476211728, -0.4427631689835920981, 0.2584997609556485023, -0.1639427054424081725,
                          0.1078240506917039383, -0.07219956125646666487, 0.04880428813382401508, -0.03316112646230092719,
                          0.02259764929878873741, -0.01542476665153716418, 0.01053876979480539898,
                          -0.007204513863057585116, 0.004927057856146163561, -0.003370122368431804951,
                          0.00230290796253170681, -0.001573879937829010724, 0.001089932774829177103,
                          -7.560990296347843042e-4, 4.72728512295427971e-4, -2.81903523414992193e-4,
                          2.782052371049210259e-4, -2.806292112364780605e-4, 1.211707495098324622e-4});
  return polynomial(d, {0.9676722479, -0.4427632297, 0.2584992037, -0.1639375683, 0.1078434962, -0.0723233164,
                        0.04858589537, -0.03193594645, 0.02337523635, -0.02065156692, 0.01111856248});
}
// (log(x) - digamma(x) - 1/(2x)) x^2 in w = 1/x^2 on [0, 1/4]; error: f32 8.6e-8, f64 4.6e-16
Num digamma_tail(Num w) {
  if (is_f64(w))
    return polynomial(w, {0.08333333333333329547, -0.00833333333323640476, 0.003968253926947772458,
                          -0.004166659650687596395, 0.007575122468075621113, -0.0210572157648762479,
                          0.08197839338793709203, -0.4056879799871920989, 2.248545879863687006, -12.24734853188684294,
                          59.13910885632000332, -235.5813535633211011, 733.1537690467434535, -1690.981785797362131,
                          2698.288839132894217, -2646.949551144416284, 1199.195896879386122});
  return polynomial(w, {0.08333332632, -0.008331762749, 0.003911265294, -0.003394635552, 0.002455081913});
}
// (1/r - pi cot(pi r)) / r in z = r^2 on [0, 1/4]; error: f32 1.3e-8, f64 8.9e-18
Num cotangent_tail(Num z) {
  if (is_f64(z))
    return polynomial(z, {3.289868133696452902, 2.164646467422224254, 2.034686123984347245, 2.008154710592282312,
                          2.001989260273828478, 2.000488142967519156, 2.000218513701190278, 1.998469066939363427,
                          2.017842916198895057, 1.854944664675558645, 2.840387035286008518, -1.416838370902757964,
                          11.39212864311959878, -14.10189464888767925, 16.06359699439650434});
  return polynomial(z, {3.289868175, 2.164630517, 2.035684674, 1.984973528, 2.253605721, 0.6473765912, 5.297320455});
}
// lgamma(1 + d) / d on [-1/2, 1/2]; error: f32 2.2e-9, f64 7.4e-19
Num lgamma_near_one(Num d) {
  if (is_f64(d))
    return polynomial(d, {-0.577215664901532861, 0.8224670334241132136, -0.4006856343865306941, 0.2705808084277866481,
                          -0.2073855510288918166, 0.1695571769971533615, -0.1440498967433932874, 0.1255096695361444021,
                          -0.1113342674235555571, 0.1000994574376378515, -0.09095396016523128505, 0.08335382886734689669,
                          -0.07693387545204023746, 0.0714334623047873489, -0.06664657621194571783, 0.06248972672945556658,
                          -0.05907712532028149004, 0.05570886697137684094, -0.05056894454493822017, 0.0485941940647106444,
                          -0.05959805588926173398, 0.05436330287024444482, 0.005381553016561679071,
                          0.002812976307562366036, -0.1749180311127627431, 0.1516429700284446384, 0.1959484746369013425,
                          -0.1686189612816761613, -0.2409567344757697906, 0.221725192128200906});
  return polynomial(d, {-0.5772156661, 0.8224670274, -0.4006851667, 0.270581159, -0.2074149454, 0.1695597015,
                        -0.1433642352, 0.1252072144, -0.1188248635, 0.1048751498, -0.05026464383, 0.05230442036,
                        -0.1780730618, 0.1576974404});
}
// lgamma(2 + d) / d on [-0.65, 1]; error: f32 7.6e-10, f64 1.3e-18
Num lgamma_near_two(Num d) {
  if (is_f64(d))
    return polynomial(d, {0.4227843350984671391, 0.3224670334241132044, -0.06735230105319796201, 0.02058080842778659601,
                          -0.007385551028683621844, 0.00289051033065425191, -0.001192753911411099206,
                          5.096695264108538552e-4, -2.23154763272855932e-4, 9.945749582031770488e-5,
                          -4.492618849521588461e-5, 2.050731018844094077e-5, -9.439795007888611492e-6,
                          4.374565582064120281e-6, -2.037965610688421939e-6, 9.554556394742394081e-7,
                          -4.52431707031937856e-7, 2.13006447565278264e-7, -9.578049107922950139e-8,
                          4.409625004126484283e-8, -2.557913706497036162e-8, 1.527798216344465339e-8,
                          -5.976365023207812154e-9, 1.017982729358293206e-9});
  return polynomial(d, {0.4227843351, 0.3224670381, -0.06735229918, 0.02058064115, -0.007385575834, 0.002892223641,
                        -0.001193058195, 5.023915707e-4, -2.194611384e-4, 1.125667943e-4, -5.608199709e-5, 1.446104586e-5});
}
// (lgamma(x) - (x - 1/2)(log(x) - 1) - (log(2 pi) - 1)/2) x in w = 1/x^2 on [0, 1/9]; error: f32 7.3e-9, f64 2.5e-16
Num stirling_tail(Num w) {
  if (is_f64(w))
    return polynomial(w, {0.0833333333333333137, -0.002777777777731764799, 7.936507758545576014e-4,
                          -5.952353974472747262e-4, 8.415385366965801003e-4, -0.001907561453971853825,
                          0.006107146333155827541, -0.02320832029298973796, 0.08273096645287939287,
                          -0.2129703421849368985, 0.2723027183150236038});
  return polynomial(w, {0.08333333273, -0.00277759515, 7.849289461e-4, -4.556786695e-4});
}
// (1 - sin(pi r) / (pi r)) / z in z = r^2 on [0, 1/4]; error: f32 1.8e-10, f64 3.9e-24
Num sine_tail(Num z) {
  if (is_f64(z))
    return polynomial(z, {1.644934066848226436, -0.8117424252833536436, 0.190751824122084213, -0.02614784781765476722,
                          0.002346081035454963504, -1.484287930182913947e-4, 6.975873545954517362e-6,
                          -2.531210914514728275e-7, 7.30250934686970986e-9, -1.675055588519465136e-10});
  return polynomial(z, {1.644934067, -0.8117423683, 0.1907500228, -0.02612780792, 0.002254561941});
}
// clang-format on

// x - n for the nearest integer n; -0.5 < r <= 0.5 or so. Numbers without a fraction give 0.
Num from_nearest_integer(Num x) {
  const Num has_fraction = magnitude(x) < (is_f64(x) ? 0x1p52 : 0x1p23);
  return x - select(has_fraction, floor(x + 0.5), x);
}

// z, the only zero above 0, in two parts.
constexpr double kZeroSingle = 1.4616321325302124, kZeroSingleRest = 1.24381499389189e-8;
constexpr double kZeroDouble = 1.4616321449683622, kZeroDoubleRest = 9.5499954299656977e-17;

// digamma(x) for x >= 1: from the zero on below 2, from log(x) above.
Num digamma_above_one(Num x) {
  const bool wide = is_f64(x);
  const Num d = (select(x < 2.0, x, 2.0) - (wide ? kZeroDouble : kZeroSingle)) - (wide ? kZeroDoubleRest : kZeroSingleRest);
  const Num large = x > (wide ? 0x1p60 : 0x1p30), i = 1.0 / select(large | (x < 2.0), 2.0, x), w = select(large, 0.0, i * i);
  const Num far = difference({log_of(x), select(large, 0.0, sum({0.5 * i, w * digamma_tail(w)}))});
  return select({x < 2.0, d * digamma_near(d), far});
}

// digamma(x + 1) - 1/x below 1, digamma(1 - x) - pi cot(pi x) below 0: there 1/r with r = x - n takes the place of 1/x.
Num digamma_function(Num x) {
  const Num negative = x < 0.0, below_one = x < 1.0;
  const Num above = select({negative, 1.0 - x, select(below_one, x + 1.0, x)});
  const Num r = from_nearest_integer(x), t = select(is_tiny(r), 0.0, r);
  const Num pole = difference({1.0 / select(negative, r, x), select(negative, t * cotangent_tail(t * t), 0.0)});
  const Num positive = digamma_above_one(above);
  const Num result = select(below_one, positive - pole, positive);
  return select(negative & equal(r, 0.0), kNan, result);
}

// lgamma(x) for x >= -1/2 but 0 and infinity: by expansions around 1 (for x + 1 and log(x) up to 1/2) and 2, by Stirling's
// series from 3 on, as (x - 1/2) (log(x) - 1) + .., which loses no digits.
Num lgamma_above(Num x) {
  const Num low = x < 0.5, size = magnitude(x);
  const Num nonzero = size > 0.0;
  const Pair log = log_pair(select(nonzero, select(low, size, select(x < kInf, x, 1.0)), 1.0));
  const Num one = select({low, select(is_tinier(x), 0.0, x), select(x < 1.35, x, 1.0) - 1.0}),
            two = select(x < 3.0, x, 3.0) - 2.0;
  const Num near_one = one * lgamma_near_one(one) + 0.0, near_two = two * lgamma_near_two(two);
  const Num large = x > 0x1p30, i = 1.0 / select(both({x >= 3.0, is_not(large)}), x, 3.0), w = i * i;
  const Num tail = select(large, 0.0, i * stirling_tail(w)) + 0.4189385332046727418;
  const Num far = product({x - 0.5, (log.high - 1.0) + log.low}) + tail;
  return select({low, near_one - log.high, select({x < 1.35, near_one, select(x < 3.0, near_two, far)})});
}

// lgamma(-a) = -log(a sin(pi a) / pi) - lgamma(a).
Num lgamma_function(Num x) {
  const Num a = magnitude(x), reflected = x < -0.5;
  const Num r = magnitude(from_nearest_integer(x)), z = r * r;
  const Num positive = lgamma_above(select(reflected, a, x));
  const Pair product = exact_product(a, r);
  const Num sine = product.high - product.high * (z * sine_tail(z));
  const Num below = difference({-log_of(sine), product.low / product.high}) - positive;
  const Num pole = reflected & equal(r, 0.0), infinite = either({equal(a, kInf), equal(a, 0.0)}) | pole;
  return select(infinite, kInf, select(reflected, below, positive));
}

}  // namespace

Value digamma(Builder& b, Value x) { return digamma_function({&b, x}).v; }
Value lgamma(Builder& b, Value x) { return lgamma_function({&b, x}).v; }

}  // namespace spirograd::kernel
