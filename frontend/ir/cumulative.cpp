#include "frontend/ir/cumulative.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <string_view>

#include "frontend/ir/arguments.h"
#include "frontend/ir/associative_scan.h"
#include "frontend/ir/close_rule.h"
#include "frontend/ir/composite.h"
#include "frontend/ir/make_node.h"
#include "frontend/ir/order.h"
#include "frontend/ir/traverse.h"

namespace spirograd::ir {

namespace {

// One loop along an axis. How it runs in parallel is the lowering's business.
Expr running(Expr a, int axis, std::string_view what, double start, const std::function<Expr(Expr state, Expr e)>& step) {
  require_numbers(a, what);
  if (a.shape().count() == 0) return a;
  Graph& g = *a.graph;
  const Expr rows = move_axis(a, axis, 0);
  const Type row{rows.dtype(), rows.shape().slice(1, rows.rank())};
  const Expr state = fresh_var(g, row), e = fresh_var(g, row), next = step(state, e);
  const Expr vars[] = {state, e}, results[] = {next, next};
  const Loop loop{close_function(g, vars, results), false, rows.shape()[0], {full(g, row, start)}, {rows}, {}};
  return move_axis(map_accum(g, loop)[1], 0, axis);
}

// The same of a step that is associative. `within`: as in associative_scan.
Expr in_any_groups(Expr a, int axis, std::string_view what, const std::function<Expr(Expr earlier, Expr later)>& step,
                   std::vector<Expr>* within = nullptr) {
  if (a.shape().count() == 0) return a;
  const Expr rows = move_axis(a, axis, 0);
  const Combine combine = [&](std::span<const Expr> earlier, std::span<const Expr> later) {
    return std::vector<Expr>{step(earlier[0], later[0])};
  };
  return move_axis(associative_scan(what, {&rows, 1}, combine, false, within)[0], 0, axis);
}

// Whether a scan along the axis has little to do side by side.
bool is_long(Expr a, int axis) {
  const Type rows{a.dtype(), move_axis(a, axis, 0).shape()};
  return goes_in_parts({&rows, 1});
}

// Whether the row is one of many, of a comprehension around.
bool depends_on_an_index(Expr a) {
  const Graph& g = *a.graph;
  return g[a.id].has_var && std::ranges::any_of(postorder(g, {&a.id, 1}),
                                                [&](NodeId id) { return g[id].op == Op::Var && g[id].type == i32(); });
}

// Whether products may be grouped: those within parts are far from the ends of the range of numbers, or no factor is above
// 1, so that what a part loses is below the range anyway.
Expr groups_freely(Expr factors, std::span<const Expr> within) {
  const auto all_of = [](Expr mask) { return all(mask, all_axes(mask)); };
  Expr in_range;
  for (Expr e : within) {
    const double least = e.dtype() == DType::F64 ? 1e-280 : 1e-30;
    const Expr size = unary(Op::Abs, e);
    const Expr inside = both(binary(Op::Ge, size, full_like(e, least)), binary(Op::Le, size, full_like(e, 1 / least)));
    in_range = in_range ? both(in_range, all_of(inside)) : all_of(inside);
  }
  return either(all_of(binary(Op::Le, unary(Op::Abs, factors), full_like(factors, 1))), in_range);
}

// The greatest so far, or the least. A reverse pass of long ones would go through them one by one: where each has it from
// is a scan of places, the last one among equals, as the derivative of max has it.
Expr extreme_so_far(Op op, std::string_view what, Expr a, int axis) {
  const auto start = extreme_of(a.dtype(), op == Op::Min);
  const auto found = [&](Expr x) {
    return running(x, axis, what, start, [op](Expr state, Expr e) { return binary(op, e, state); });
  };
  const Expr out = found(a);
  if (!is_float(a.dtype()) || !is_long(a, axis) || depends_on_an_index(a)) return out;
  return with_tangent(out, {a}, [&](std::span<const Expr> at, std::span<const Expr> directions) {
    const Expr x = at[0], place = position(x, axis), shifted = window(found(x), axis, -1, x.shape()[axis]);
    const Expr before = select(binary(Op::Gt, place, whole_like(place, 0)), shifted, full_like(x, start));
    const Expr is_new = binary(op == Op::Max ? Op::Ge : Op::Le, x, before);
    const Expr from = running(select(is_new, place, whole_like(place, -1)), axis, what, -1,
                              [](Expr state, Expr e) { return binary(Op::Max, e, state); });
    return take_along_axis(directions[0], from, axis);
  });
}

}  // namespace

Expr cumsum(Expr a, int axis) {
  return running(a, axis, "cumsum", 0, [](Expr state, Expr e) { return state + e; });
}

// A part's product may be beyond the range where all those from the beginning on are inside of it: then one after another.
Expr cumprod(Expr a, int axis) {
  const Expr in_order = running(a, axis, "cumprod", 1, [](Expr state, Expr e) { return state * e; });
  if (depends_on_an_index(a)) return in_order;
  std::vector<Expr> within;
  const Expr grouped = in_any_groups(
      a, axis, "cumprod", [](Expr earlier, Expr later) { return earlier * later; }, &within);
  if (within.empty()) return in_order;
  return is_float(a.dtype()) ? cond(groups_freely(a, within), grouped, in_order) : grouped;
}

Expr cummax(Expr a, int axis) { return extreme_so_far(Op::Max, "cummax", a, axis); }
Expr cummin(Expr a, int axis) { return extreme_so_far(Op::Min, "cummin", a, axis); }

Expr log_cumsum_exp(Expr a, int axis) {
  require_float(a, "logcumsumexp");
  return in_any_groups(a, axis, "logcumsumexp", log_add_exp);
}

}  // namespace spirograd::ir
