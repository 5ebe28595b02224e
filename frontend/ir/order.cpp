#include "frontend/ir/order.h"

#include <bit>
#include <functional>

#include "frontend/ir/close_loop.h"
#include "frontend/ir/composite.h"
#include "frontend/ir/cumulative.h"
#include "frontend/ir/greatest.h"
#include "frontend/ir/make_node.h"

namespace spirograd::ir {
namespace {

constexpr int64_t kBlock = 32;  // elements that are put into order by counting, before blocks are merged

// For each of `v` the number of elements of `table` from `first` on, `last` excluded, for which `less(element)` holds; it
// holds for those in front, and then for none. All are i32 arrays of one shape.
Expr bisected(Expr table, Expr first, Expr last, int64_t most, const std::function<Expr(Expr)>& less) {
  const auto steps = static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(most)));
  const Expr start[] = {first, last};
  const std::vector<Expr> found = counted_loop(steps, start, false, [&](Expr, const std::vector<Expr>& s) {
    const Expr middle = binary(Op::Quot, s[0] + s[1], full_like(s[0], 2));
    const Expr open = binary(Op::Lt, s[0], s[1]), go = both(open, less(gather(table, {&middle, 1})));
    const Expr stop = both(open, unary(Op::Not, go));
    return std::vector<Expr>{select(go, middle + full_like(s[0], 1), s[0]), select(stop, middle, s[1])};
  });
  return found[0] - first;
}

// The place of each element in its block of kBlock, by counting those before it.
Expr blocks_in_order(Expr x, bool descending) {
  Graph& g = *x.graph;
  const int64_t n = x.shape()[0];
  const Expr i = iota(g, {n, kBlock}, 0), j = iota(g, {n, kBlock}, 1), width = full_like(i, kBlock);
  const Expr other = binary(Op::Quot, i, width) * width + j;
  const Expr here = broadcast(x, {n, kBlock}, {0}), there = gather(x, {&other, 1});
  const Expr earlier = both(binary(Op::Lt, other, i), unary(Op::Not, before(here, there, descending)));
  const Expr later = both(binary(Op::Lt, i, other), before(there, here, descending));
  const Expr counts = both(either(earlier, later), binary(Op::Lt, other, whole_like(other, n)));
  const Expr start = iota(g, {n}, 0);
  return binary(Op::Quot, start, full_like(start, kBlock)) * full_like(start, kBlock) + sum(cast(counts, DType::I32), 1);
}

// Blocks of `width` in order are merged two by two: each element goes behind those of the other block that stand before it.
Expr merged(Expr order, Expr x, int64_t width, bool descending) {
  Graph& g = *x.graph;
  const int64_t n = x.shape()[0];
  const Expr at = iota(g, {n}, 0), w = whole_like(at, width), two = full_like(at, 2);
  const Expr block = binary(Op::Quot, at, w), pair = binary(Op::Quot, block, two);
  const Expr is_left = binary(Op::Eq, block, pair * two), all = whole_like(at, n);
  const auto bounded = [&](Expr e) { return binary(Op::Min, e, all); };
  const Expr first = bounded((pair * two + select(is_left, full_like(at, 1), full_like(at, 0))) * w),
             last = bounded(first + w);
  const Expr keys = gather(x, {&order, 1});
  const Expr others = bisected(keys, first, last, width, [&](Expr other) {
    return select(is_left, before(other, keys, descending), unary(Op::Not, before(keys, other, descending)));
  });
  const Expr to = pair * two * w + (at - block * w) + others;
  return scatter(order, {&to, 1}, {n});
}

Expr vector_order(Expr x, bool descending) {
  Graph& g = *x.graph;
  const int64_t n = x.shape()[0];
  const Expr to = blocks_in_order(x, descending);
  Expr order = scatter(iota(g, {n}, 0), {&to, 1}, {n});
  for (int64_t width = kBlock; width < n; width *= 2) order = merged(order, x, width, descending);
  return order;
}

// The same function for each vector along an axis.
Expr along(Expr x, int axis, const std::function<Expr(Expr)>& f) {
  if (x.rank() == 1) return f(x);
  Graph& g = *x.graph;
  const Expr last = move_axis(x, axis, x.rank() - 1);
  const int64_t n = last.shape()[x.rank() - 1], rows = x.shape().count() / std::max<int64_t>(1, n);
  const Expr table = reshape(last, {rows, n}), i = fresh_var(g, i32());
  const Expr each = build(rows, i, f(gather(table, {&i, 1})));
  return move_axis(reshape(each, last.shape()), x.rank() - 1, axis);
}

}  // namespace

Expr before(Expr a, Expr b, bool descending) {
  const Expr smaller = binary(descending ? Op::Gt : Op::Lt, a, b);
  const auto is_nan = [](Expr e) { return binary(Op::Ne, e, e); };
  return is_float(a.dtype()) ? either(smaller, both(unary(Op::Not, is_nan(a)), is_nan(b))) : smaller;
}

Expr argsort(Expr x, int axis, bool descending) {
  require_numbers(x, "argsort");
  if (x.shape().count() == 0) return zeros(*x.graph, {DType::I32, x.shape()});
  return along(x, axis, [&](Expr v) { return vector_order(v, descending); });
}

Expr sort(Expr x, int axis, bool descending) {
  require_numbers(x, "sort");
  return take_along_axis(x, argsort(x, axis, descending), axis);
}

Expr searchsorted(Expr sorted, Expr v, bool right) {
  require_numbers(sorted, "searchsorted");
  if (sorted.rank() != 1 || sorted.dtype() != v.dtype())
    throw Error("SG0101", "searchsorted: needs an increasing vector and numbers of its type, not " +
                              to_string(sorted.type()) + " and " + to_string(v.type()));
  Graph& g = *v.graph;
  const int64_t n = sorted.shape()[0];
  const Type counts{DType::I32, v.shape()};
  return bisected(sorted, zeros(g, counts), full(g, counts, static_cast<double>(n)), n,
                  [&](Expr e) { return right ? unary(Op::Not, before(v, e, false)) : before(e, v, false); });
}

Expr take_along_axis(Expr x, Expr index, int axis) {
  const bool fits = index.rank() == x.rank() && index.shape().erased(axis) == x.shape().erased(axis);
  if (!fits || index.dtype() != DType::I32)
    throw Error("SG0101", "take_along_axis: the positions are " + to_string(index.type()) + " for " + to_string(x.type()))
        .hint("they are i32, and all extents but that of the axis are those of the array");
  std::vector<Expr> at;
  for (int a = 0; a < x.rank(); ++a) at.push_back(a == axis ? index : iota(*x.graph, index.shape(), a));
  return gather(x, at);
}

Top top_k(Expr x, int64_t k) {
  require_numbers(x, "top_k");
  if (x.rank() < 1) throw Error("SG0101", "top_k: needs at least one axis, not " + to_string(x.type()));
  const int last = x.rank() - 1;
  if (k < 0 || k > x.shape()[last])
    throw Error("SG0101", "top_k: there are no " + std::to_string(k) + " greatest of " + std::to_string(x.shape()[last]) +
                              " elements of " + to_string(x.type()))
        .hint("k is at most the extent of the last axis");
  const int64_t n = x.shape()[last];
  Expr positions;
  if (n > kBlock && k > 0 && k <= kMostGreatest && x.shape().count() > 0) {
    positions = greatest_of_rows(reshape(x, {x.shape().count() / n, n}), k);
    Shape shape = x.shape();
    shape[last] = k;
    positions = reshape(positions, shape);
  } else {
    positions = window(argsort(x, last, true), last, 0, k);
  }
  return {take_along_axis(x, positions, last), positions};
}

Expr nonzero(Expr x, int64_t n) {
  if (n < 0) throw Error("SG0101", "nonzero: negative count " + std::to_string(n));
  Graph& g = *x.graph;
  const int64_t count = x.shape().count();
  const Expr all = x.rank() == 1 ? x : reshape(x, {count}), hit = cast(all, DType::Bool), at = iota(g, {count}, 0);
  const Expr before = cumsum(cast(hit, DType::I32), 0) - full_like(at, 1);
  const Expr to = select(hit, before, full_like(at, -1)), length = full(g, i32({n}), static_cast<double>(count));
  return scatter(at - whole_like(at, count), {&to, 1}, {n}) + length;
}

}  // namespace spirograd::ir
