// The digamma function. Coefficients: minimax polynomials computed for these intervals in 50 digits; each line says the
// interval and the largest error relative to the function.
#include <limits>

#include "spirv/kernel/math.h"
#include "spirv/kernel/math_num.h"

namespace spirograd::kernel {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

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
  const Num far = log_of(x) - select(large, 0.0, 0.5 * i + w * digamma_tail(w));
  return select(x < 2.0, d * digamma_near(d), far);
}

// digamma(x + 1) - 1/x below 1, digamma(1 - x) - pi cot(pi x) below 0: there 1/r with r = x - n takes the place of 1/x.
Num digamma_function(Num x) {
  const Num negative = x < 0.0, above = select(negative, 1.0 - x, select(x < 1.0, x + 1.0, x));
  const Num r = from_nearest_integer(x), t = select(is_tiny(r), 0.0, r);
  const Num pole = 1.0 / select(negative, r, x) - select(negative, t * cotangent_tail(t * t), 0.0);
  const Num positive = digamma_above_one(above);
  const Num result = select(x < 1.0, positive - pole, positive);
  return select(negative & equal(r, 0.0), kNan, result);
}

}  // namespace

Value digamma(Builder& b, Value x) { return digamma_function({&b, x}).v; }

}  // namespace spirograd::kernel
