// Rounding and what else is elementwise but no opcode; order; linear algebra.
#include "frontend/ir/arguments.h"
#include "frontend/ir/elementary.h"
#include "frontend/ir/erfinv.h"
#include "frontend/ir/fourier.h"
#include "frontend/ir/linear.h"
#include "frontend/ir/order.h"
#include "frontend/ir/random.h"
#include "frontend/ir/segment.h"
#include "frontend/text/builtins.h"

namespace spirograd::text {

using ir::Expr;

namespace {

// Numbers alone are floats.
std::vector<Expr> floats_of(Call& c) {
  std::vector<const Value*> args;
  for (const Value& v : c.args) args.push_back(&v);
  DType t = common_dtype(args, c.name);
  if (!is_float(t) && std::all_of(args.begin(), args.end(), [](const Value* v) { return v->is_weak(); })) t = DType::F32;
  std::vector<Expr> out;
  for (const Value* v : args)
    out.push_back(v->may_become(t) ? c.elaborator.materialise(*v, t) : c.elaborator.array_of(*v, c.name));
  return out;
}

template <Expr (*f)(Expr)>
Value of_float(Call& c) {
  return Value::array(f(c.floating(0)));
}
template <Expr (*f)(Expr, Expr)>
Value of_two_floats(Call& c) {
  const std::vector<Expr> in = floats_of(c);
  return Value::array(f(in[0], in[1]));
}
template <Expr (*f)(Expr, std::span<const int64_t>)>
Value float_reduction(Call& c) {
  return over_axes(c, c.floating(0), f);
}

Value clamp(Call& c) {
  const std::vector<Expr> in = unified(c);
  return Value::array(ir::clamp(in[0], in[1], in[2]));
}
Value mix(Call& c) {
  const std::vector<Expr> in = floats_of(c);
  return Value::array(ir::mix(in[0], in[1], in[2]));
}

// ---- order

template <Expr (*f)(Expr, int, bool)>
Value ordered(Call& c) {
  const Expr a = c.array(0);
  return Value::array(f(a, c.axis(1, a.type(), -1), c.flag("descending", false)));
}
Value searchsorted(Call& c) {
  const std::vector<Expr> in = unified(c);
  return Value::array(ir::searchsorted(in[0], in[1], c.flag("right", false)));
}
Value take_along_axis(Call& c) {
  const Expr a = c.array(0);
  return Value::array(ir::take_along_axis(a, c.array(1), c.axis(2, a.type())));
}
template <Expr (*f)(Expr, Expr, int64_t)>
Value by_segment(Call& c) {
  return Value::array(f(c.array(0), c.array(1), c.integer(2, "n")));
}
Value top_k(Call& c) {
  const ir::Top top = ir::top_k(c.array(0), c.integer(1, "k"));
  return Value::tuple({Value::array(top.values), Value::array(top.positions)});
}
Value nonzero(Call& c) { return Value::array(ir::nonzero(c.array(0), c.integer(1, "size"))); }

// ---- Fourier transforms

ir::Complex complex_of(Call& c) {
  const std::vector<Expr> in = floats_of(c);
  return {in[0], in.size() > 1 ? in[1] : ir::scalar(c.graph(), in[0].dtype(), 0)};
}
Value pair_of(const ir::Complex& z) { return Value::tuple({Value::array(z.re), Value::array(z.im)}); }
template <ir::Complex (*f)(ir::Complex, int64_t)>
Value transformed(Call& c) {
  return pair_of(f(complex_of(c), c.integer_or(2, "axis", -1)));
}
Value rfft(Call& c) { return pair_of(ir::rfft(complex_of(c).re, c.integer_or(1, "axis", -1))); }
Value irfft(Call& c) {
  const ir::Complex x = complex_of(c);
  const int64_t axis = c.integer_or(2, "axis", -1);
  const int64_t extent = x.re.shape()[ir::normal_axis("irfft", axis, x.re.type())];
  return Value::array(ir::irfft(x, c.integer_or(2, "n", 2 * (extent - 1)), axis));
}

// ---- linear algebra

Value eye(Call& c) {
  const int64_t n = c.integer(0, "n");
  return in_dtype(c, 1, [g = &c.graph(), n](DType t) { return ir::eye(*g, n, t); });
}
template <Expr (*f)(Expr, int64_t)>
Value triangle(Call& c) {
  return Value::array(f(c.array(0), c.integer_or(1, "k", 0)));
}
Value diagonal(Call& c) { return Value::array(ir::diagonal(c.array(0))); }
Value solve_triangular(Call& c) {
  const std::vector<Expr> in = floats_of(c);
  return Value::array(ir::solve_triangular(in[0], in[1], c.flag("lower", true)));
}

// ---- random numbers

Value random_key(Call& c) {
  const Value& seed = c.args[0];
  return Value::array(ir::random_key(seed.may_become(DType::U32) ? c.elaborator.materialise(seed, DType::U32) : c.array(0)));
}
template <Expr (*f)(Expr, int64_t)>
Value random_count(Call& c) {
  return Value::array(f(c.array(0), c.integer(1, "n")));
}
template <Expr (*f)(Expr, const Shape&)>
Value random_array(Call& c) {
  const Value* shape = c.argument(1, "shape");
  return Value::array(f(c.array(0), shape ? static_shape(*shape, std::string(c.name) + ": shape") : Shape{}));
}

// clang-format off
constexpr Builtin kLinearRows[] = {
    {"clamp",     3, 3, "", "clamp(x, lo, hi)",                              clamp, Follows::All},
    {"mix",       3, 3, "", "mix(x, y, t): x + (y - x) t",                   mix, Follows::All, true},
    {"ceil",      1, 1, "", "ceil(x): rounded up, as i32",                   of_float<ir::ceil_to_int>},
    {"round",     1, 1, "", "round(x): to the nearest, halves to the even one, as i32", of_float<ir::round_to_int>},
    {"ceil_",     1, 1, "", "ceil_(x): rounded up, as a float",              of_float<ir::ceil>, Follows::First, true},
    {"round_",    1, 1, "", "round_(x): to the nearest, as a float",         of_float<ir::round>, Follows::First, true},
    {"trunc_",    1, 1, "", "trunc_(x): rounded toward 0, as a float",       of_float<ir::trunc>, Follows::First, true},
    {"hypot",     2, 2, "", "hypot(x, y)",                                   of_two_floats<ir::hypot>, Follows::All, true},
    {"cbrt",      1, 1, "", "cbrt(x)",                                       of_float<ir::cbrt>, Follows::First, true},
    {"erfinv",    1, 1, "", "erfinv(x)",                                     of_float<ir::erfinv>, Follows::First, true},
    {"norm",      1, 2, "axis keepdims", "norm(x, axis=.., keepdims=false)", float_reduction<ir::norm>, Follows::First, true},
    {"variance",  1, 2, "axis keepdims", "variance(x, axis=.., keepdims=false)", float_reduction<ir::variance>, Follows::First, true},
    {"argsort",   1, 2, "axis descending", "argsort(x, axis=-1, descending=false)", ordered<ir::argsort>},
    {"sort",      1, 2, "axis descending", "sort(x, axis=-1, descending=false)", ordered<ir::sort>, Follows::First},
    {"searchsorted", 2, 2, "right", "searchsorted(sorted, v, right=false)",  searchsorted},
    {"take_along_axis", 2, 3, "axis", "take_along_axis(x, positions, axis=0)", take_along_axis, Follows::First},
    {"segment_sum", 2, 3, "n", "segment_sum(x, segments, n)",                by_segment<ir::segment_sum>, Follows::First},
    {"segment_prod", 2, 3, "n", "segment_prod(x, segments, n)",              by_segment<ir::segment_prod>, Follows::First},
    {"segment_max", 2, 3, "n", "segment_max(x, segments, n)",                by_segment<ir::segment_max>, Follows::First},
    {"segment_min", 2, 3, "n", "segment_min(x, segments, n)",                by_segment<ir::segment_min>, Follows::First},
    {"top_k",     1, 2, "k", "let (values, positions) = top_k(x, k)",        top_k},
    {"nonzero",   1, 2, "size", "nonzero(x, size=n): positions",             nonzero},
    {"fft",       1, 2, "axis", "let (re, im) = fft(re, im, axis=-1)",       transformed<ir::fft>},
    {"ifft",      1, 2, "axis", "let (re, im) = ifft(re, im, axis=-1)",      transformed<ir::ifft>},
    {"rfft",      1, 1, "axis", "let (re, im) = rfft(x, axis=-1)",           rfft},
    {"irfft",     2, 2, "n axis", "irfft(re, im, n=.., axis=-1)",            irfft},
    {"eye",       1, 2, "dtype", "eye(n, dtype=f32)",                        eye},
    {"diagonal",  1, 1, "", "diagonal(x)",                                   diagonal, Follows::First},
    {"triu",      1, 2, "k", "triu(x, k=0)",                                 triangle<ir::triu>, Follows::First},
    {"tril",      1, 2, "k", "tril(x, k=0)",                                 triangle<ir::tril>, Follows::First},
    {"cross",     2, 2, "", "cross(x, y)",                                   of_two_floats<ir::cross>, Follows::All, true},
    {"cholesky",  1, 1, "", "cholesky(x)",                                   of_float<ir::cholesky>, Follows::First, true},
    {"solve_triangular", 2, 2, "lower", "solve_triangular(t, b, lower=true)", solve_triangular, Follows::All, true},
    {"solve",     2, 2, "", "solve(a, b)",                                   of_two_floats<ir::solve>, Follows::All, true},
    {"inv",       1, 1, "", "inv(x)",                                        of_float<ir::inv>, Follows::First, true},
    {"det",       1, 1, "", "det(x)",                                        of_float<ir::det>, Follows::First, true},
    {"random_key", 1, 1, "", "random_key(7)",                                random_key},
    {"random_split", 1, 2, "n", "random_split(key, n)",                      random_count<ir::random_split>},
    {"random_bits", 1, 2, "shape", "random_bits(key, [n, m])",               random_array<ir::random_bits>},
    {"random_uniform", 1, 2, "shape", "random_uniform(key, [n, m])",         random_array<ir::random_uniform>},
    {"random_normal", 1, 2, "shape", "random_normal(key, [n, m])",           random_array<ir::random_normal>},
    {"random_permutation", 1, 2, "n", "random_permutation(key, n)",          random_count<ir::random_permutation>},
};
// clang-format on

}  // namespace

std::span<const Builtin> linear_builtins() { return kLinearRows; }

}  // namespace spirograd::text
