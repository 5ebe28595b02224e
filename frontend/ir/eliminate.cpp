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

Expr swapped_numbers(Expr numbers, Expr q, Expr r) {
  const auto where = [&](Expr number) { return binary(Op::Eq, numbers, spread(number, numbers.shape())); };
  return select(where(q), spread(r, numbers.shape()), select(where(r), spread(q, numbers.shape()), numbers));
}

// A panel of columns as a product: below its diagonal, which begins in row `first`, the factors that rows are subtracted
// with, elsewhere what is left of them; and in which order its rows stand now. `places`: where each row of the matrix is.
struct Panel {
  Expr values, order, det, places;
};
Panel factored(Expr panel, Expr first, Expr det, Expr places) {
  const Shape rows = {panel.shape()[0]};
  const Expr all = iota(*panel.graph, rows, 0), column = position(panel, 1), start[] = {panel, all, det, places};
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
    const Expr product = s[2] * pivot * minus_one_where(binary(Op::Ne, q, r), pivot);
    return std::vector<Expr>{next, order, product, swapped_numbers(s[3], q, r)};
  };
  const std::vector<Expr> out = counted_loop(panel.shape()[1], start, false, step);
  return {out[0], out[1], out[2], out[3]};
}

// P a = L U: L below the diagonal, where it has ones, and U in one matrix of whole blocks; and what has become of b. Row i
// of that is row order[i] of a, whose row j is row places[j].
struct Factors {
  Expr values, right, det, order, places;
};

// Blocks of columns from the left.
Factors factors_by_blocks(Expr a, Expr b) {
  Graph& g = *a.graph;
  const int64_t n = a.shape()[0], size = block_rows(n), count = blocks_of(n), whole = count * size;
  const Expr both_sides[] = {padded(a), window(b, 0, 0, whole)}, as_given = iota(g, {whole}, 0);
  const Expr start[] = {concat(both_sides, 1), scalar(g, a.dtype(), 1), as_given, as_given};
  const auto step = [&](Expr k, const std::vector<Expr>& s) {
    const Expr rows = rows_of(k, size), first = k * whole_like(k, size), last = first + whole_like(k, size);
    const Panel panel = factored(columns_at(s[0], rows), first, s[1], s[3]);
    const Expr m = gather(s[0], std::vector{panel.order});
    const Expr block = gather(panel.values, std::vector{rows});  // its upper half is of the other factor
    const Expr unit = select(binary(Op::Eq, position(block, 0), position(block, 1)), full_like(block, 1), tril(block, 0));
    const Expr top = transpose(rows_solved(unit, transpose(gather(m, std::vector{rows}), {1, 0}), true), {1, 0});
    const Expr below = binary(Op::Ge, position(panel.values, 0), spread(last, panel.values.shape()));
    const Expr left = m - matmul(select(below, panel.values, full_like(panel.values, 0)), top);
    const Expr column = position(m, 1), across = iota(g, {m.shape()[1]}, 0);
    const auto is_before = [&](Expr end) { return binary(Op::Lt, column, spread(end, m.shape())); };
    const Expr own = columns_at(panel.values, across - spread(first, across.shape()));
    const Expr next = select(is_before(first), m, select(is_before(last), own, with_block(left, k, top)));
    return std::vector<Expr>{next, panel.det, gather(s[2], std::vector{panel.order}), panel.places};
  };
  const std::vector<Expr> out = counted_loop(count, start, false, step);
  return {window(out[0], 1, 0, whole), window(out[0], 1, whole, b.shape()[1]), out[1], out[2], out[3]};
}

Expr by_blocks_again(const Factors& f, Expr c, bool transposed) {
  const Expr upper = f.values, right = window(c, 0, 0, upper.shape()[0]);
  const Expr diagonal = binary(Op::Eq, position(upper, 0), position(upper, 1));
  const Expr lower = select(diagonal, full_like(upper, 1), upper);
  if (!transposed) return triangular_solution(upper, triangular_solution(lower, gather(right, {&f.order, 1}), true), false);
  const Expr y = triangular_solution(transpose(upper, {1, 0}), right, true);
  const Expr x = triangular_solution(transpose(lower, {1, 0}), y, false);
  return gather(x, {&f.places, 1});
}

}  // namespace

Eliminated eliminated(Expr a, Expr b) {
  if (goes_by_rows(a)) return by_columns(a, b);
  const Factors f = factors_by_blocks(a, b);
  return {window(triangular_solution(f.values, f.right, false), 0, 0, a.shape()[0]), f.det};
}

Expr solved_again(Expr a, Expr b, Expr c, bool transposed) {
  if (goes_by_rows(a)) return by_columns(transposed ? transpose(a, {1, 0}) : a, c).x;
  return window(by_blocks_again(factors_by_blocks(a, b), c, transposed), 0, 0, a.shape()[0]);
}

}  // namespace spirograd::ir
