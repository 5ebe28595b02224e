// Formulas over kernel values, written with operators. For the math_*.cpp files only.
#pragma once

#include <initializer_list>
#include <iterator>
#include <limits>
#include <optional>

#include "spirv/kernel/builder.h"
#include "spirv/kernel/math.h"

namespace spirograd::kernel {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A value and the builder that it belongs to. Doubles become constants of the type of the other operand.
struct Num {
  Builder* b;
  Value v;
  Scalar type() const { return b->type(v); }
  Num constant(double x) const { return {b, b->constant(type(), x)}; }
  Num bits_constant(uint32_t word) const { return {b, b->constant_word(Scalar::U32, word)}; }
};

struct Two {
  Num a, b;
};
struct Three {
  Num a, b, c;
};

/// Exact: formulas split, reduce and compensate by what each single rounding leaves.
inline Num apply_op(KOp op, Num x, Num y) {
  const Builder::Exact exact(*x.b);
  return {x.b, x.b->op(op, x.v, y.v)};
}

inline Num operator+(Num x, Num y) { return apply_op(KOp::Add, x, y); }
inline Num operator-(Num x, Num y) { return apply_op(KOp::Sub, x, y); }
inline Num operator*(Num x, Num y) { return apply_op(KOp::Mul, x, y); }
inline Num operator/(Num x, Num y) { return apply_op(KOp::Div, x, y); }
inline Num operator+(Num x, double c) { return x + x.constant(c); }
inline Num operator-(Num x, double c) { return x - x.constant(c); }
inline Num operator*(Num x, double c) { return x * x.constant(c); }
inline Num operator+(double c, Num x) { return x.constant(c) + x; }
inline Num operator-(double c, Num x) { return x.constant(c) - x; }
inline Num operator*(double c, Num x) { return x.constant(c) * x; }
inline Num operator/(double c, Num x) { return x.constant(c) / x; }
inline Num operator-(Num x) { return {x.b, x.b->op(KOp::Neg, x.v)}; }
inline Num operator<(Num x, Num y) { return apply_op(KOp::Lt, x, y); }
inline Num operator<=(Num x, Num y) { return apply_op(KOp::Le, x, y); }
inline Num operator<(Num x, double c) { return x < x.constant(c); }
inline Num operator<=(Num x, double c) { return x <= x.constant(c); }
inline Num operator>(Num x, double c) { return x.constant(c) < x; }
inline Num operator>=(Num x, double c) { return x.constant(c) <= x; }
inline Num operator&(Num x, Num y) { return apply_op(KOp::And, x, y); }
inline Num operator|(Num x, Num y) { return apply_op(KOp::Or, x, y); }
inline Num operator^(Num x, Num y) { return apply_op(KOp::Xor, x, y); }
inline Num equal(Num x, Num y) { return apply_op(KOp::Eq, x, y); }
inline Num equal(Num x, double c) { return equal(x, x.constant(c)); }
inline Num is_not(Num x) { return {x.b, x.b->op(KOp::Not, x.v)}; }
inline Num is_nan(Num x) { return apply_op(KOp::Ne, x, x); }
inline Num shl(Num x, int n) { return apply_op(KOp::Shl, x, {x.b, x.b->constant(x.type(), n)}); }
inline Num shr(Num x, int n) {  // with the sign for i32, with zeros for u32
  return apply_op(x.type() == Scalar::I32 ? KOp::ShrS : KOp::ShrU, x, {x.b, x.b->constant(x.type(), n)});
}
inline Num select(Num condition, Num x, Num y) { return {x.b, x.b->select(condition.v, x.v, y.v)}; }
inline Num select(Num condition, Num x, double y) { return select(condition, x, x.constant(y)); }
inline Num select(Num condition, double x, Num y) { return select(condition, y.constant(x), y); }
inline Num bitcast(Scalar t, Num x) { return {x.b, x.b->bitcast(t, x.v)}; }
inline Num convert(Scalar t, Num x) { return {x.b, x.b->convert(t, x.v)}; }
inline Num sqrt(Num x) { return {x.b, x.b->op(KOp::Sqrt, x.v)}; }
inline Num floor(Num x) { return {x.b, x.b->op(KOp::Floor, x.v)}; }

/// The same with operands in braces, which are computed from left to right (builder.h).
inline Num sum(Two x) { return x.a + x.b; }
inline Num difference(Two x) { return x.a - x.b; }
inline Num product(Two x) { return x.a * x.b; }
inline Num quotient(Two x) { return x.a / x.b; }
inline Num both(Two x) { return x.a & x.b; }
inline Num either(Two x) { return x.a | x.b; }
inline Num select(Three x) { return select(x.a, x.b, x.c); }

/// c0 + c1 x + c2 x^2 + .. by Horner's rule. Not exact: with fewer roundings it is as good, and it is most of what there is
/// to compute.
inline Num polynomial(Num x, std::initializer_list<double> coefficients) {
  auto c = std::rbegin(coefficients);
  Builder& b = *x.b;
  Value p = b.constant(x.type(), *c);
  for (++c; c != std::rend(coefficients); ++c) {
    p = b.mul(p, x.v);
    p = b.add(p, b.constant(x.type(), *c));
  }
  return {&b, p};
}

/// The same in pairs, (c0 + c1 x) + x^2 ((c2 + c3 x) + x^2 (..)), where x^2 is at hand: half as many operations wait for
/// each other (Estrin 1960).
inline Num polynomial(Num x, Num square, std::initializer_list<double> coefficients) {
  Builder& b = *x.b;
  const auto constant = [&](double c) { return b.constant(x.type(), c); };
  const auto c = std::begin(coefficients);
  const size_t n = coefficients.size();
  std::optional<Value> p;
  for (size_t at = (n - 1) / 2 * 2 + 2; at > 0; at -= 2) {
    Value pair = constant(c[at - 2]);
    if (at - 1 < n) pair = b.add(b.mul(x.v, constant(c[at - 1])), pair);
    if (p) pair = b.add(b.mul(*p, square.v), pair);
    p = pair;
  }
  return {&b, *p};
}

inline bool is_f64(Num x) { return x.type() == Scalar::F64; }
/// |x|, and x with the sign of s; by bits in f32, by comparison in f64.
Num magnitude(Num x);
Num with_sign_of(Num x, Num s);
/// Whether the sign bit is set (f64: tells -0 by 1/x).
Num is_negative(Num x);

/// 2^n for n (i32) in [-126, 127].
Num power_of_two(Num n, Scalar t);
/// x 2^n, rounded once: n in [-253, 254] (f64: [-2016, 2031]).
Num scaled(Num x, Num n);
/// Whether x is so small that functions x + O(x^3) return it. Formulas compute with select(is_tiny(x), 0, x) or that of its
/// square, so that no higher power of x becomes denormal, which is slow on CPUs, and give x itself back at the end, -0
/// included.
Num is_tiny(Num x);
/// The same for functions x + O(x^2).
Num is_tinier(Num x);
/// x = m 2^e with m in [sqrt(1/2), sqrt(2)); x positive and finite. e has the type of x.
struct Split {
  Num m, e;
};
Split split_exponent(Num x);
/// exp(x + low) 2^extra for -24 (f64: -54) <= extra <= 0, |low| far below 1 ULP of x; overflows to infinity, underflows to
/// 0.
Num exp_scaled(Num x, std::optional<Num> low, int extra, ArgumentSign sign);
/// A product and its rounding error, from halves of 12 (f64: 26) bits (Dekker 1971).
struct Pair {
  Num high, low;
};
Pair exact_product(Num a, Num b);
/// log(x) as a sum of two numbers, for finite x > 0; relative error below 2^-33 (f64: 2^-62).
Pair log_pair(Num x);
/// log(x), log(1 + x), exp(x) - 1.
Num log_of(Num x);
Num log1p(Num x);
Num expm1(Num x);
/// x - n pi/2 in [-pi/4, pi/4] as r + low and n modulo 4 (i32), for every finite f32 and for f64 below 1e9.
struct Reduced {
  Num r, low, n;
};
Reduced reduce_quadrant(Num x);

}  // namespace spirograd::kernel
