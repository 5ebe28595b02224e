#include "frontend/ir/eliminate.h"

#include "frontend/ir/close_loop.h"
#include "frontend/ir/composite.h"
#include "frontend/ir/factorise.h"
#include "frontend/ir/linear.h"

namespace spirograd::ir {
namespace {

Expr column_of(Expr a, Expr j) { return gather(transpose(a, {1, 0}), {&j, 1}); }

Expr minus_one_where(Expr condition, Expr like) { return select(condition, full_like(like, -1), full_like(like, 1)); }

// The row of the largest number of a column, from row `first` on.
Expr pivot_row_of(Expr column, Expr first) {
  const Expr size = unary(Op::Abs, column), open = binary(Op::Ge, position(column, 0), spread(first, column.shape()));
  return arg_reduce(Op::ArgMax, select(open, size, full_like(size, -1)), 0);
}

// Column by column, upwards and downwards.
Eliminated by_columns(Expr a, Expr b) {
  Graph& g = *a.graph;
  const int64_t n = a.shape()[0];
  const Expr both[] = {a, b};
  const Expr start[] = {concat(both, 1), scalar(g, a.dtype(), 1)};
  const auto step = [&](Expr j, const std::vector<Expr>& s) {
    const Expr m = s[0], p = pivot_row_of(column_of(m, j), j), pivot_row = row_of(m, p), pivot = element(m, p, j);
    // Row j goes where the pivot was.
    const Expr swapped = with_row(m, p, row_of(m, j)), scaled = pivot_row / spread(pivot, pivot_row.shape());
    const Expr factors = column_of(swapped, j);
    const Expr cleared = swapped - broadcast(factors, m.shape(), {0}) * broadcast(scaled, m.shape(), {1});
    return std::vector<Expr>{with_row(cleared, j, scaled), s[1] * pivot * minus_one_where(binary(Op::Ne, p, j), pivot)};
  };
  const std::vector<Expr> out = counted_loop(n, start, false, step);
  return {window(out[0], 1, n, b.shape()[1]), out[1]};
}

// A panel of columns as a product: below its diagonal, which begins in row `first`, the factors that rows are subtracted
// with, elsewhere what is left of them; and in which order its rows stand now.
struct Panel {
  Expr values, order, det;
};
Panel factored(Expr panel, Expr first, Expr det) {
  const Shape rows = {panel.shape()[0]};
  const Expr all = iota(*panel.graph, rows, 0), column = position(panel, 1), start[] = {panel, all, det};
  const auto step = [&](Expr j, const std::vector<Expr>& s) {
    const Expr r = first + j, q = pivot_row_of(column_of(s[0], j), r), pivot = element(s[0], q, j), top = row_of(s[0], q);
    const Expr swapped = with_row(with_row(s[0], q, row_of(s[0], r)), r, top);
    const Expr order = with_row(with_row(s[1], q, row_of(s[1], r)), r, row_of(s[1], q));
    const Expr below = binary(Op::Gt, all, spread(r, rows)), quotients = column_of(swapped, j) / spread(pivot, rows);
    const Expr factors = broadcast(select(below, quotients, full_like(quotients, 0)), panel.shape(), {0});
    const Expr right = binary(Op::Gt, column, spread(j, panel.shape())),
               here = binary(Op::Eq, column, spread(j, panel.shape()));
    const Expr left = swapped - factors * broadcast(top, panel.shape(), {1});
    const Expr low = broadcast(below, panel.shape(), {0});
    const Expr next = select(both(low, here), factors, select(both(low, right), left, swapped));
    return std::vector<Expr>{next, order, s[2] * pivot * minus_one_where(binary(Op::Ne, q, r), pivot)};
  };
  const std::vector<Expr> out = counted_loop(panel.shape()[1], start, false, step);
  return {out[0], out[1], out[2]};
}

// Blocks of columns from the left; what stands below a block when it is done are zeros.
Eliminated by_blocks(Expr a, Expr b) {
  Graph& g = *a.graph;
  const int64_t n = a.shape()[0], size = block_rows(n), count = blocks_of(n), whole = count * size;
  const Expr both_sides[] = {padded(a), window(b, 0, 0, whole)};
  const Expr start[] = {concat(both_sides, 1), scalar(g, a.dtype(), 1)};
  const auto step = [&](Expr k, const std::vector<Expr>& s) {
    const Expr rows = rows_of(k, size), first = k * whole_like(k, size), last = first + whole_like(k, size);
    const Panel panel = factored(columns_at(s[0], rows), first, s[1]);
    const Expr m = gather(s[0], std::vector{panel.order});
    const Expr block = gather(panel.values, std::vector{rows});  // its upper half is of the other factor
    const Expr unit = select(binary(Op::Eq, position(block, 0), position(block, 1)), full_like(block, 1), tril(block, 0));
    const Expr top = transpose(rows_solved(unit, transpose(gather(m, std::vector{rows}), {1, 0}), true), {1, 0});
    const Expr below = binary(Op::Ge, position(panel.values, 0), spread(last, panel.values.shape()));
    const Expr left = m - matmul(select(below, panel.values, full_like(panel.values, 0)), top);
    const Expr row = position(m, 0), at = spread(last, m.shape());
    const Expr done = both(binary(Op::Ge, row, at), binary(Op::Lt, position(m, 1), at));
    return std::vector<Expr>{with_block(select(done, full_like(left, 0), left), k, top), panel.det};
  };
  const std::vector<Expr> out = counted_loop(count, start, false, step);
  const Expr upper = window(out[0], 1, 0, whole), right = window(out[0], 1, whole, b.shape()[1]);
  return {window(triangular_solution(upper, right, false), 0, 0, n), out[1]};
}

}  // namespace

Eliminated eliminated(Expr a, Expr b) { return goes_by_rows(a) ? by_columns(a, b) : by_blocks(a, b); }

}  // namespace spirograd::ir
