// Rounding and what else is elementwise but no opcode; order; linear algebra.
#include "frontend/ir/linear.h"
#include "frontend/dsl/forms.h"
#include "frontend/ir/cumulative.h"
#include "frontend/ir/elementary.h"
#include "frontend/ir/erfinv.h"
#include "frontend/ir/order.h"
#include "frontend/ir/random.h"
#include "frontend/ir/segment.h"

namespace spirograd {
namespace {

using detail::along_axis;
using detail::Numbers;
using detail::of_one;
using detail::of_two;
using detail::operation;
using detail::over_axes;
using Operands = std::span<const ir::Expr>;

template <class F>
Array by_segment(std::string_view what, const Arg& x, const Arg& segments, int64_t n, F&& make) {
  return of_two(
      what, x, segments, [&](ir::Expr e, ir::Expr i) { return make(e, i, n); }, Numbers::Alone);
}

}  // namespace

Array clamp(Arg x, Arg lo, Arg hi) {
  const Arg args[] = {x, lo, hi};
  return operation("clamp", args, Numbers::Together, x.loc,
                   [](ir::Graph&, Operands in) { return ir::clamp(in[0], in[1], in[2]); });
}
Array mix(Arg x, Arg y, Arg t) {
  const Arg args[] = {x, y, t};
  return operation("mix", args, Numbers::Together, x.loc,
                   [](ir::Graph&, Operands in) { return ir::mix(in[0], in[1], in[2]); });
}
Array ceil(Arg a) { return of_one("ceil", a, ir::ceil_to_int); }
Array round(Arg a) { return of_one("round", a, ir::round_to_int); }
Array ceil_(Arg a) { return of_one("ceil_", a, ir::ceil); }
Array round_(Arg a) { return of_one("round_", a, ir::round); }
Array trunc_(Arg a) { return of_one("trunc_", a, ir::trunc); }
Array hypot(Arg x, Arg y) { return of_two("hypot", x, y, ir::hypot); }
Array erfinv(Arg a) { return of_one("erfinv", a, ir::erfinv); }
Array cbrt(Arg a) { return of_one("cbrt", a, ir::cbrt); }

Array norm(Arg a, Axes axes, bool keepdims) { return over_axes("norm", a, axes, keepdims, ir::norm); }
Array variance(Arg a, Axes axes, bool keepdims) { return over_axes("variance", a, axes, keepdims, ir::variance); }

Array argsort(Arg a, int axis, bool descending) {
  return along_axis("argsort", a, axis, [&](ir::Expr e, int k) { return ir::argsort(e, k, descending); });
}
Array sort(Arg a, int axis, bool descending) {
  return along_axis("sort", a, axis, [&](ir::Expr e, int k) { return ir::sort(e, k, descending); });
}
Array searchsorted(Arg sorted, Arg v, bool right) {
  return of_two("searchsorted", sorted, v, [&](ir::Expr s, ir::Expr e) { return ir::searchsorted(s, e, right); });
}
Array take_along_axis(Arg x, Arg positions, int axis) {
  return of_two(
      "take_along_axis", x, positions,
      [&](ir::Expr e, ir::Expr i) { return ir::take_along_axis(e, i, ir::normal_axis("take_along_axis", axis, e.type())); },
      Numbers::Alone);
}
Array segment_sum(Arg x, Arg segments, int64_t n) { return by_segment("segment_sum", x, segments, n, ir::segment_sum); }
Array segment_prod(Arg x, Arg segments, int64_t n) { return by_segment("segment_prod", x, segments, n, ir::segment_prod); }
Array segment_max(Arg x, Arg segments, int64_t n) { return by_segment("segment_max", x, segments, n, ir::segment_max); }
Array segment_min(Arg x, Arg segments, int64_t n) { return by_segment("segment_min", x, segments, n, ir::segment_min); }
std::pair<Array, Array> top_k(Arg x, int64_t k) {
  return {of_one("top_k", x, [&](ir::Expr e) { return ir::top_k(e, k).values; }),
          of_one("top_k", x, [&](ir::Expr e) { return ir::top_k(e, k).positions; })};
}
Array nonzero(Arg x, int64_t size) {
  return of_one("nonzero", x, [&](ir::Expr e) { return ir::nonzero(e, size); });
}
Array logcumsumexp(Arg a, int axis) { return along_axis("logcumsumexp", a, axis, ir::log_cumsum_exp); }
Array cummax(Arg a, int axis) { return along_axis("cummax", a, axis, ir::cummax); }
Array cummin(Arg a, int axis) { return along_axis("cummin", a, axis, ir::cummin); }

Array eye(int64_t n, DType dtype, Loc loc) {
  return operation("eye", {}, Numbers::Alone, loc, [&](ir::Graph& g, Operands) { return ir::eye(g, n, dtype); });
}
Array diagonal(Arg a) { return of_one("diagonal", a, ir::diagonal); }
Array triu(Arg a, int64_t k) {
  return of_one("triu", a, [&](ir::Expr e) { return ir::triu(e, k); });
}
Array tril(Arg a, int64_t k) {
  return of_one("tril", a, [&](ir::Expr e) { return ir::tril(e, k); });
}
Array cross(Arg a, Arg b) { return of_two("cross", a, b, ir::cross); }
Array cholesky(Arg a) { return of_one("cholesky", a, ir::cholesky); }
Array solve_triangular(Arg t, Arg b, bool lower) {
  return of_two("solve_triangular", t, b, [&](ir::Expr m, ir::Expr e) { return ir::solve_triangular(m, e, lower); });
}
Array solve(Arg a, Arg b) { return of_two("solve", a, b, ir::solve); }
Array inv(Arg a) { return of_one("inv", a, ir::inv); }
Array det(Arg a) { return of_one("det", a, ir::det); }

Array random_key(Arg seed) {
  if (seed.kind != Arg::Kind::Integer) return of_one("random_key", seed, ir::random_key);
  return operation("random_key", {}, Numbers::Alone, seed.loc, [&](ir::Graph& g, Operands) {
    return ir::random_key(ir::scalar(g, DType::U32, detail::rounded("random_key", seed, DType::U32)));
  });
}
Array random_split(Arg key, int64_t n) {
  return of_one("random_split", key, [&](ir::Expr e) { return ir::random_split(e, n); });
}
Array random_bits(Arg key, Shape shape) {
  return of_one("random_bits", key, [&](ir::Expr e) { return ir::random_bits(e, shape); });
}
Array random_uniform(Arg key, Shape shape) {
  return of_one("random_uniform", key, [&](ir::Expr e) { return ir::random_uniform(e, shape); });
}
Array random_normal(Arg key, Shape shape) {
  return of_one("random_normal", key, [&](ir::Expr e) { return ir::random_normal(e, shape); });
}
Array random_permutation(Arg key, int64_t n) {
  return of_one("random_permutation", key, [&](ir::Expr e) { return ir::random_permutation(e, n); });
}

}  // namespace spirograd
