#include "frontend/ir/factorise.h"

#include "frontend/ir/close_loop.h"
#include "frontend/ir/composite.h"
#include "frontend/ir/linear.h"

namespace spirograd::ir {
namespace {

constexpr int64_t kByRows = 64;  // rows of a matrix that is taken row by row

Expr triangular_by_rows(Expr t, Expr b, bool lower) {
  // Rows of x that are not known yet are 0.
  const auto step = [&](Expr i, const std::vector<Expr>& s) {
    const Expr known = matmul(row_of(t, i), s[0]);
    const Expr row = (row_of(b, i) - known) / spread(element(t, i, i), known.shape());
    return std::vector<Expr>{with_row(s[0], i, row)};
  };
  const Expr start = zeros(*t.graph, b.type());
  return counted_loop(t.shape()[0], {&start, 1}, !lower, step)[0];
}

// Column by column, from the left.
Expr cholesky_by_columns(Expr s) {
  Graph& g = *s.graph;
  const int64_t n = s.shape()[0];
  const auto step = [&](Expr j, const std::vector<Expr>& state) {
    const Expr l = state[0], rest = row_of(s, j) - matmul(l, row_of(l, j));
    const Expr root = unary(Op::Sqrt, gather(rest, {&j, 1})), rows = iota(g, {n}, 0);
    const Expr column = select(binary(Op::Ge, rows, spread(j, {n})), rest / spread(root, {n}), zeros(g, rest.type()));
    const Expr here = binary(Op::Eq, position(l, 1), spread(j, l.shape()));
    return std::vector<Expr>{select(here, broadcast(column, l.shape(), {0}), l)};
  };
  const Expr start = zeros(g, s.type());
  return counted_loop(n, {&start, 1}, false, step)[0];
}

// The elements in these rows and columns.
Expr diagonal_block(Expr a, Expr rows) {
  const Shape square = {rows.shape()[0], rows.shape()[0]};
  const Expr at[] = {broadcast(rows, square, {0}), broadcast(rows, square, {1})};
  return gather(a, at);
}

Expr triangular_by_blocks(Expr t, Expr b, bool lower) {
  const int64_t n = t.shape()[0], size = block_rows(n), count = blocks_of(n);
  const Expr whole = padded(t), right = window(b, 0, 0, count * size);
  const auto step = [&](Expr k, const std::vector<Expr>& s) {
    const Expr rows = rows_of(k, size), x = s[0];
    const Expr rest = gather(right, {&rows, 1}) - matmul(gather(whole, {&rows, 1}), x);
    const Expr solved = transpose(rows_solved(diagonal_block(whole, rows), transpose(rest, {1, 0}), lower), {1, 0});
    return std::vector<Expr>{with_block(x, k, solved)};
  };
  const Expr start = zeros(*t.graph, right.type());
  return window(counted_loop(count, {&start, 1}, !lower, step)[0], 0, 0, n);
}

// Block of columns by block: from what is left of the matrix its product with itself is taken.
Expr cholesky_by_blocks(Expr s) {
  Graph& g = *s.graph;
  const int64_t n = s.shape()[0], size = block_rows(n), count = blocks_of(n), whole = count * size;
  const Expr start = padded(s), k = fresh_var(g, i32()), rest = fresh_var(g, start.type()), steps = iota(g, {count}, 0);
  const Expr rows = rows_of(k, size), factor = cholesky_by_columns(diagonal_block(rest, rows));
  const Expr columns = columns_at(rest, rows);
  const Expr row = position(columns, 0), first = spread(k * whole_like(k, size), row.shape());
  const Expr solved = select(binary(Op::Ge, row, first), rows_solved(factor, columns, true), zeros(g, columns.type()));
  const Expr vars[] = {rest, k}, results[] = {rest - matmul(solved, transpose(solved, {1, 0})), solved};
  const Expr stack = close_loop(g, {&start, 1}, {&steps, 1}, vars, results, false, count)[1];
  const Expr all = reshape(transpose(stack, {1, 0, 2}), {whole, whole});
  return tril(window(window(all, 0, 0, n), 1, 0, n), 0);
}

}  // namespace

Expr row_of(Expr a, Expr i) { return gather(a, {&i, 1}); }
Expr element(Expr a, Expr i, Expr j) {
  const Expr at[] = {i, j};
  return gather(a, at);
}
Expr spread(Expr scalar, const Shape& shape) { return broadcast(scalar, shape, {}); }
Expr with_row(Expr a, Expr i, Expr row) {
  return select(binary(Op::Eq, position(a, 0), spread(i, a.shape())),
                a.rank() == 1 ? spread(row, a.shape()) : broadcast(row, a.shape(), {1}), a);
}

// What a row needs is its own, so each is a loop for itself.
Expr rows_solved(Expr t, Expr b, bool lower) {
  const Shape rows = {b.shape()[0]};
  const auto step = [&](Expr i, const std::vector<Expr>& s) {
    const Expr known = sum(s[0] * broadcast(row_of(t, i), b.shape(), {1}), 1);
    const Expr own = gather(transpose(b, {1, 0}), {&i, 1});
    const Expr x = (own - known) / spread(element(t, i, i), rows);
    const Expr here = binary(Op::Eq, position(b, 1), spread(i, b.shape()));
    return std::vector<Expr>{select(here, broadcast(x, b.shape(), {0}), s[0])};
  };
  const Expr start = zeros(*t.graph, b.type());
  return counted_loop(t.shape()[0], {&start, 1}, !lower, step)[0];
}

Expr padded(Expr a) {
  const int64_t n = a.shape()[0], whole = blocks_of(n) * block_rows(n);
  const Expr larger = window(window(a, 0, 0, whole), 1, 0, whole), row = position(larger, 0);
  const Expr behind = both(binary(Op::Ge, row, whole_like(row, n)), binary(Op::Eq, row, position(larger, 1)));
  return select(behind, full_like(larger, 1), larger);
}

Expr rows_of(Expr k, int64_t size) { return spread(k * whole_like(k, size), {size}) + iota(*k.graph, {size}, 0); }

bool goes_by_rows(Expr a) { return a.shape()[0] <= kByRows; }

Expr columns_at(Expr a, Expr places) { return transpose(gather(transpose(a, {1, 0}), {&places, 1}), {1, 0}); }

Expr with_block(Expr a, Expr k, Expr block) {
  const int64_t size = block.shape()[0];
  const Expr row = position(a, 0);
  const Expr here = binary(Op::Eq, binary(Op::Quot, row, whole_like(row, size)), spread(k, row.shape()));
  const Shape rows = {a.shape()[0]};
  const Expr place = iota(*a.graph, rows, 0) - spread(k * whole_like(k, size), rows);
  return select(here, gather(block, {&place, 1}), a);
}

Expr triangular_solution(Expr t, Expr b, bool lower) {
  const Expr half = lower ? tril(t, 0) : triu(t, 0);
  return goes_by_rows(t) ? triangular_by_rows(half, b, lower) : triangular_by_blocks(half, b, lower);
}

Expr cholesky_factor(Expr s) { return goes_by_rows(s) ? cholesky_by_columns(s) : cholesky_by_blocks(s); }

}  // namespace spirograd::ir
