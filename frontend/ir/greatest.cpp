#include "frontend/ir/greatest.h"

#include "frontend/ir/close_loop.h"
#include "frontend/ir/composite.h"
#include "frontend/ir/make_node.h"
#include "frontend/ir/order.h"

namespace spirograd::ir {
namespace {

constexpr int64_t kMostKept = 16;  // elements and their positions that an invocation holds in registers
constexpr int64_t kChunk = 128;    // elements that it goes through

// Positions of the `k` greatest of each row of a matrix, as the descending order has them: each round takes the first of
// those that stand behind the last one.
Expr by_rounds(Expr x, int64_t k) {
  Graph& g = *x.graph;
  const int64_t rows = x.shape()[0];
  const Expr at = position(x, 1), row = iota(g, {rows}, 0), rounds = iota(g, {k}, 0);
  const Expr start = full(g, i32({rows}), -1), place = fresh_var(g, start.type()), round = fresh_var(g, i32());
  const auto each = [&](Expr e) { return broadcast(e, x.shape(), {0}); };
  const Expr last = each(gather(x, std::vector{row, place})), from = each(place);
  const Expr after = either(before(last, x, true), both(unary(Op::Not, before(x, last, true)), binary(Op::Gt, at, from)));
  const Expr behind = either(after, binary(Op::Lt, from, full_like(from, 0)));
  const Expr best = arg_reduce(Op::ArgMax, select(behind, x, full_like(x, extreme_of(x.dtype(), false))), 1);
  // Where what is left is no more than what stands for the others it is in order already, but for NaN, which comes last.
  const Expr number = is_float(x.dtype()) ? both(behind, binary(Op::Eq, x, x)) : behind;
  const Expr first = arg_reduce(Op::ArgMax, cast(behind, DType::I32) + cast(number, DType::I32), 1);
  const Expr next = select(gather(behind, std::vector{row, best}), best, first);
  const Expr vars[] = {place, round}, results[] = {next, next};
  return transpose(close_loop(g, {&start, 1}, {&rounds, 1}, vars, results, false, k)[1], {1, 0});
}

int64_t parts_of(int64_t n, int64_t size) { return (n + size - 1) / size; }

// Elements of rows, and where these have them; none: -1.
struct Candidates {
  Expr values, positions;
};

// The `k` greatest of each of `chunks` ranges of each row, in order; ranges of a row are neighbours. One invocation goes
// through a range and keeps them: what comes is put in front of those that it stands before, behind its equals.
Candidates best_of_chunks(const Candidates& all, int64_t chunks, int64_t k) {
  Graph& g = *all.values.graph;
  const int64_t rows = all.values.shape()[0], n = all.values.shape()[1], length = parts_of(n, chunks);
  const Shape kept{rows, chunks, k};
  const auto each = [&](Expr e) { return broadcast(e, kept, {0, 1}); };
  const Expr row = iota(g, {rows, chunks}, 0), first = position(row, 1) * whole_like(row, length);
  const Expr start[] = {zeros(g, {all.values.dtype(), kept}), full(g, i32(kept), -1)};
  const std::vector<Expr> best = counted_loop(length, start, false, [&](Expr step, const std::vector<Expr>& s) {
    const Expr at = first + broadcast(step, row.shape(), {}), place[] = {row, at};
    const Expr value = each(gather(all.values, place)), from = gather(all.positions, place);
    const Expr there = both(binary(Op::Lt, at, whole_like(at, n)), binary(Op::Ge, from, full_like(from, 0)));
    const Expr empty = binary(Op::Lt, s[1], full_like(s[1], 0));
    const Expr moves = both(each(there), either(empty, before(value, s[0], true)));
    const auto put = [&](Expr come, Expr own) {
      return select(moves, select(window(moves, 2, -1, k), window(own, 2, -1, k), come), own);
    };
    return std::vector<Expr>{put(value, s[0]), put(each(from), s[1])};
  });
  const Shape together{rows, chunks * k};
  return {reshape(best[0], together), reshape(best[1], together)};
}

}  // namespace

Expr greatest_of_rows(Expr x, int64_t k) {
  if (k > kMostKept) return by_rounds(x, k);
  Candidates all = {x, iota(*x.graph, x.shape(), 1)};
  while (all.values.shape()[1] > 2 * kChunk) all = best_of_chunks(all, parts_of(all.values.shape()[1], kChunk), k);
  return best_of_chunks(all, 1, k).positions;
}

}  // namespace spirograd::ir
