// With w = -log((1 - x) (1 + x)), y / x is smooth in w near 0 and in sqrt(w) far from it, and so is (1 - x^2) dy/dx: neither
// cancels, for 1 - x is exact where it is small. The polynomials interpolate at Chebyshev points, in 40 digits, to 1e-8.
#include "frontend/ir/erfinv.h"

#include <numbers>

#include "frontend/ir/close_rule.h"
#include "frontend/ir/composite.h"
#include "frontend/ir/make_node.h"

namespace spirograd::ir {
namespace {

using Exprs = std::span<const Expr>;

constexpr double kSlopeAtZero = 0.5 / std::numbers::inv_sqrtpi;

// In powers of w - 2.5 for w < 5, of sqrt(w) - 3 for sqrt(w) up to 4.02, of sqrt(w) - 5 from there to 6.2, where f64 ends.
constexpr double kNear[] = {1.50140936045,      0.2466402790546,    -0.004177392875203, -0.001252726391773,
                            0.0002183493862398, -4.972419689455e-6, -3.463985267633e-6, 4.681313480553e-7,
                            2.333596719571e-8,  -8.931925970244e-9};
constexpr double kFar[] = {2.832976795946,      1.001675035476,     0.009445645087924, -0.0076385921417,
                           0.005683604927978,   -0.003590552126364, 0.001494601902335, -7.077364811434e-5,
                           -0.0003176867067422, 0.0001257069437335};
constexpr double kFarthest[] = {4.849906419298,    1.010300305971,     -0.0001390381008161, -0.000213894193152,
                                7.671822908108e-5, -2.172252731671e-5, 4.345268892803e-6};
// The same of (1 - x^2) dy/dx; f32 needs no more.
constexpr double kNearSlope[] = {0.5760328050919,    -0.07784447455977,  0.01251690170599,  -0.001757741614935,
                                 0.0002004183111026, -1.770540149477e-5, 1.157531495663e-6, -6.055734799515e-8,
                                 5.239459388194e-9,  -5.623521497264e-10};
constexpr double kFarSlope[] = {0.3342001708258,    -0.1067141047469,  0.03177756849702,    -0.008457167969041,
                                0.001710417008385,  -1.55786429519e-6, -0.0002593734160009, 0.0001612002432735,
                                -4.877839842279e-5, 5.343459364219e-6};

Expr number_like(Expr a, double value) { return full_like(a, a.dtype() == DType::F32 ? static_cast<float>(value) : value); }

Expr polynomial(std::span<const double> coefficients, Expr x, double centre) {
  const Expr t = x - number_like(x, centre);
  Expr sum = number_like(x, coefficients.back());
  for (size_t j = coefficients.size() - 1; j-- > 0;) sum = sum * t + number_like(x, coefficients[j]);
  return sum;
}

struct Distance {
  Expr rest, w, root;  // (1 - x) (1 + x), minus its logarithm, the root of that
};
Distance distance_of(Expr x) {
  const Expr one = full_like(x, 1), rest = (one - x) * (one + x), w = -unary(Op::Log, rest);
  return {rest, w, unary(Op::Sqrt, w)};
}

Expr near_or_far(const Distance& d, std::span<const double> near, std::span<const double> far) {
  return select(binary(Op::Lt, d.w, full_like(d.w, 5)), polynomial(near, d.w, 2.5), polynomial(far, d.root, 3));
}

// One step of third order from 8 digits: by erf near 0 and by erfc elsewhere, which keeps all digits of what is left to 1.
Expr corrected(Expr y, Expr x) {
  const Expr size = unary(Op::Abs, x), near = binary(Op::Lt, size, full_like(x, 0.5)), one = full_like(x, 1);
  const Expr off = select(near, unary(Op::Erf, y) - size, (one - size) - unary(Op::Erfc, y));
  const Expr step = off * number_like(x, kSlopeAtZero) * unary(Op::Exp, y * y);
  return y - step / (one + y * step);
}

Expr value_of(Expr x) {
  const Distance d = distance_of(x);
  Expr ratio = near_or_far(d, kNear, kFar);
  const Expr size = unary(Op::Abs, x);
  if (x.dtype() == DType::F64) {
    const Expr farthest = polynomial(kFarthest, d.root, 5);
    const Expr y = size * select(binary(Op::Gt, d.root, number_like(x, 4.02)), farthest, ratio);
    const Expr better = corrected(y, x);
    ratio = select(binary(Op::Eq, x, full_like(x, 0)), ratio, better / size);
  }
  return select(binary(Op::Eq, size, full_like(x, 1)), x * infinite_like(x), x * ratio);
}

Expr slope_of(Expr x) {
  if (x.dtype() == DType::F64) {
    const Expr y = value_of(x);
    return number_like(x, kSlopeAtZero) * unary(Op::Exp, y * y);
  }
  const Distance d = distance_of(x);
  const Expr slope = near_or_far(d, kNearSlope, kFarSlope) / d.rest;
  return select(binary(Op::Eq, d.rest, full_like(x, 0)), infinite_like(x), slope);
}

// Beyond the second order the formulas themselves are differentiated.
Expr slope_with_tangent(Expr x) {
  return with_tangent(slope_of(x), {x}, [](Exprs v, Exprs d) {
    const Expr slope = slope_of(v[0]);
    return full_like(slope, 2) * value_of(v[0]) * slope * slope * d[0];
  });
}

}  // namespace

Expr erfinv(Expr x) {
  require_float(x, "erfinv");
  return with_tangent(value_of(x), {x}, [](Exprs v, Exprs d) { return slope_with_tangent(v[0]) * d[0]; });
}

}  // namespace spirograd::ir
