#include "ad/slopes.h"

#include <array>
#include <limits>
#include <numbers>

namespace spirograd::ad {

using namespace ir;

Expr num(const Point& p, double value) { return number(p.graph(), p.a.type(), value); }
Expr above(Expr a, double limit) { return binary(Op::Gt, unary(Op::Abs, a), number(*a.graph, a.type(), limit)); }

namespace {

// -|u| by a select, whose derivatives at 0 are those of an even function.
Expr minus_magnitude(const Point& p) { return select(binary(Op::Lt, p.a, num(p, 0)), p.a, -p.a); }

// c0 + c1 x + c2 x^2 + ..
Expr polynomial(const Point& p, Expr x, std::span<const double> c) {
  Expr sum = num(p, c.back());
  for (size_t j = c.size() - 1; j-- > 0;) sum = sum * x + num(p, c[j]);
  return sum;
}

// 1 / y^2 + 1 / (y + 1)^2 + .. for y >= 0: so many terms and Euler and Maclaurin's series for the others, 1 / v + 1 / (2
// v^2) + sum B(2k) / v^(2k + 1). Small terms first, and no power of a large y. Made of operations that have derivatives.
Expr trigamma_above(const Point& p, Expr y) {
  const bool single = p.a.dtype() == DType::F32;
  const int terms = single ? 5 : 12;
  constexpr std::array kBernoulli = {1.0 / 6,       -1.0 / 30, 1.0 / 42,      -1.0 / 30,    5.0 / 66,
                                     -691.0 / 2730, 7.0 / 6,   -3617.0 / 510, 43867.0 / 798};
  const Expr one = num(p, 1), limit = num(p, terms + 1), near = binary(Op::Lt, y, limit), c = select(near, y, limit);
  const Expr i = one / select(near, c + num(p, terms), y);
  const Expr v = select(above(y, single ? 0x1p30 : 0x1p60), num(p, 0), i), w = sq(v);
  const Expr series = i + w * (num(p, 0.5) + v * polynomial(p, w, std::span(kBernoulli).first(single ? 4 : 9)));
  Expr sum = series;
  for (int j = terms; j-- > 0;) sum = sum + sq(one / (j == 0 ? c : c + num(p, j)));
  return select(near, sum, series);
}

}  // namespace

// 1 / sqrt(1 + u^2). Where the square could overflow the 1 does not count.
Expr asinh_slope(const Point& p) {
  const Expr far = above(p.a, 0x1p27), one = num(p, 1), near = select(far, one, p.a);
  return one / select(far, unary(Op::Abs, p.a), unary(Op::Sqrt, one + sq(near)));
}

Expr atan_slope(const Point& p) {
  const Expr far = above(p.a, 0x1p27), one = num(p, 1);
  return sq(one / select(far, p.a, one)) / (one + sq(select(far, num(p, 0), p.a)));
}

// e / (1 + e)^2 for e = exp(-|u|): no digits cancel.
Expr logistic_slope(const Point& p) {
  const Expr e = unary(Op::Exp, minus_magnitude(p));
  return e / (num(p, 1) + e * (num(p, 2) + e));
}

// 4 e / (1 + e)^2 for e = exp(-2 |u|). Far out it is (2 exp(-|u|))^2: there that e is denormal though four of it are not,
// and devices may take denormals for zero.
Expr tanh_slope(const Point& p) {
  const Expr far = above(p.a, 40), m = minus_magnitude(p), e = unary(Op::Exp, select(far, m, m + m));
  return select(far, sq(e + e), num(p, 4) * e / (num(p, 1) + e * (num(p, 2) + e)));
}

// 2 / sqrt(pi) exp(-u^2), where exp(-u^2) = exp(-h^2) exp((h - u) (h + u)) with h as u to so few digits that its square is
// exact: the rounding error of u^2 would cost u^2 units in the last place. Far out exp(-h^2) is the square of
// exp(-h^2 / 2): it is denormal before the whole is, and devices may take denormals for zero.
Expr erf_slope(const Point& p) {
  const bool f32 = p.a.dtype() == DType::F32;
  const double unit = f32 ? 0x1p-7 : 0x1p-20, most = 30;
  const Expr capped = select(above(p.a, most), num(p, most), p.a), far = above(p.a, f32 ? 9.25 : 26.5);
  const Expr h = unary(Op::Floor, capped * num(p, 1 / unit)) * num(p, unit);
  const Expr e = unary(Op::Exp, sq(h) * select(far, num(p, -0.5), num(p, -1)));
  return num(p, 2 * std::numbers::inv_sqrtpi) * e * unary(Op::Exp, (h - p.a) * (h + p.a)) * select(far, e, num(p, 1));
}

// Below 0: (pi / sin(pi u))^2 - trigamma(1 - u). With r = u - n for the nearest integer n the first is the sum of 1 / (r -
// k)^2 for all integers k; those beyond 1 are together a series in r^2 whose coefficients are 2 (2j + 1) (zeta(2j + 2) - 1).
Expr trigamma(const Point& p) {
  constexpr std::array kRest = {1.2898681336964529,    0.49393940226682915,   0.1734306198444914,    0.05708298677122075,
                                0.017902352300725536,  0.0054139041727770626, 0.0015924515115263256, 4.5846778225955616e-4,
                                1.2978797100999455e-4, 3.6250557287166252e-5, 1.0014921114564786e-5, 2.741976696357936e-6,
                                7.4507774141825206e-7, 2.0116803733857668e-7};
  const Expr one = num(p, 1), zero = num(p, 0), negative = binary(Op::Lt, p.a, zero);
  const Expr u = select(negative, p.a, num(p, -0.25)), r = u - unary(Op::Floor, u + num(p, 0.5));
  const Expr rest = polynomial(p, sq(r), std::span(kRest).first(p.a.dtype() == DType::F32 ? 7 : kRest.size()));
  const Expr square = sq(one / r) + (sq(one / (one - r)) + sq(one / (one + r)) + rest);
  const Expr y = trigamma_above(p, select(negative, one - p.a, p.a));
  return select(negative, square - y, y);
}

// One of u and v over u^2 + v^2, without squares: with g the greater of the two and t the other over it, (1 or t) / g / (1 +
// t^2). By halves where 1 / g may be too large; nowhere else, for a half of t may be denormal.
Expr over_length(const Point& p, bool want_v) {
  const Expr steep = binary(Op::Gt, unary(Op::Abs, p.a), unary(Op::Abs, p.b));
  const Expr greater = select(steep, p.a, p.b), t = select(steep, p.b, p.a) / greater;
  const double least = p.a.dtype() == DType::F32 ? 0x1p-124 : 0x1p-1020;
  const Expr c = select(above(greater, least), num(p, 1), num(p, 0.5));
  const Expr part = want_v ? select(steep, t, num(p, 1)) : select(steep, num(p, 1), t);
  return c * part / greater / (c + c * sq(t));
}
// u^(e + lost), where e + lost is v - 1 and `lost` what rounding takes from it: u^e (1 + lost log |u|) to all digits. Beyond
// 2^24 (2^53 for f64) v and e are even and all of the 1 is lost, or as much too much; then u^(v - 1) has the sign of u.
Expr power(const Point& p, Expr exponent, Expr lost) {
  const Expr size = unary(Op::Abs, p.a);
  const Expr infinity = num(p, std::numeric_limits<double>::infinity());
  const Expr ordinary = both(binary(Op::Gt, size, num(p, 0)), binary(Op::Lt, size, infinity));
  const Expr log = unary(Op::Log, select(ordinary, size, num(p, 1)));
  const Expr turned = both(binary(Op::Lt, p.a, num(p, 0)), binary(Op::Ge, unary(Op::Abs, lost), num(p, 1)));
  return binary(Op::Pow, p.a, exponent) * (select(turned, num(p, -1), num(p, 1)) * (num(p, 1) + lost * log));
}

}  // namespace spirograd::ad
