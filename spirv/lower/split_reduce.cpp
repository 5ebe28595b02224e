#include "spirv/lower/split_reduce.h"

#include <algorithm>
#include <limits>

#include "frontend/ir/algebra.h"
#include "frontend/ir/traverse.h"
#include "spirv/schedule/cost.h"

namespace spirograd::lower {

using ir::Expr;
using ir::NodeId;
using ir::Op;

namespace {

constexpr int64_t kWorthIt = 2048;    // elements per result from which a second pass pays
constexpr int64_t kLeastChunk = 128;  // elements per partial result, at least

// Elements that one invocation may reduce. Blocks, short axes and compensation add loops around the elements' own, which
// count as well: up to three iterations per element for axes of two.
int64_t most_elements(const Target& t) {
  return static_cast<int64_t>(std::min<uint64_t>(t.max_loop_iterations / 4, std::numeric_limits<int32_t>::max()));
}

// Number of chunks for an axis of n elements: near `wanted`, not below `least`; a divisor of n if there is one close by.
int64_t chunks(int64_t n, int64_t wanted, int64_t least) {
  for (int64_t c = wanted; c <= std::min(n, 2 * wanted); ++c)
    if (n % c == 0) return c;
  for (int64_t c = wanted; 2 * c >= wanted && c > 1 && c >= least; --c)
    if (n % c == 0) return c;
  return std::min(n, wanted);
}

// Elements beyond the end of the padded axis must not count: the window's zeros become the operation's neutral element.
// NaN loses against everything in extremes, and the first of equal extremes is taken: padding comes last.
Expr neutralise(Expr x, Op op, int axis, int64_t valid) {
  if (op == Op::Sum) return x;
  ir::Graph& g = *x.graph;
  const bool greatest = op == Op::ReduceMax || op == Op::ArgMax;
  double neutral = 1;
  if (op != Op::Prod && is_float(x.dtype())) neutral = std::numeric_limits<double>::quiet_NaN();
  if (op != Op::Prod && x.dtype() == DType::I32)
    neutral = greatest ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int32_t>::max();
  if (op != Op::Prod && x.dtype() == DType::U32) neutral = greatest ? 0 : 4294967295.0;
  const Expr inside =
      ir::binary(Op::Lt, ir::iota(g, x.shape(), axis), ir::full(g, i32(x.shape()), static_cast<double>(valid)));
  return ir::select(inside, x, ir::full(g, x.type(), neutral));
}

// The operand with one axis cut into `count` chunks, which become an axis of their own: before the elements of a chunk, or
// behind them, so that neighbouring chunks are neighbours in memory.
Expr cut(Expr x, Op op, int axis, int64_t count, bool behind) {
  const int64_t n = x.shape()[axis], length = schedule::divided_up(n, count);
  if (count * length != n) x = neutralise(ir::window(x, axis, 0, count * length), op, axis, n);
  const Shape rest = x.shape().erased(axis);
  return ir::reshape(
      x, behind ? rest.inserted(axis, count).inserted(axis, length) : rest.inserted(axis, length).inserted(axis, count));
}

// A reduction as partial results over some of its axes, or parts of them, and their reduction. A CPU keeps leading axes in
// the partial results, so that each invocation reads a contiguous range; on a GPU neighbours in the partial results should
// be neighbours in memory, so trailing axes are kept.
class Splitter {
 public:
  Splitter(const Target& target, std::set<uint32_t>& partial) : target_(target), partial_(partial) {}

  Expr reduced(Expr x, Op op, std::span<const int64_t> axes) { return reduced(x, op, axes, wanted_pieces(x, axes)); }

  // The first extreme of the whole is that of the first chunk with the extreme value. Chunks are contiguous, so that "first"
  // keeps its meaning.
  Expr position(Expr x, Op op, int axis) {
    const int64_t axes[] = {axis};
    const Pieces pieces = wanted_pieces(x, axes);
    if (pieces.wanted < 2 || x.rank() == kMaxRank) return ir::arg_reduce(op, x, axis);
    ir::Graph& g = *x.graph;
    const Expr parts = cut(x, op, axis, chunks(x.shape()[axis], pieces.wanted, pieces.least), false);
    const int64_t length = parts.shape()[axis + 1];
    const Expr local = ir::arg_reduce(op, parts, axis + 1);
    std::vector<Expr> at;
    for (int a = 0; a < parts.rank(); ++a)
      at.push_back(a == axis + 1 ? local : ir::iota(g, local.shape(), a > axis ? a - 1 : a));
    const Expr extreme = ir::gather(parts, at);
    partial_.insert(local.id.v);
    partial_.insert(extreme.id.v);
    const Expr chunk = position(extreme, op, axis);
    std::vector<Expr> place;
    for (int a = 0; a < local.rank(); ++a)
      place.push_back(a == axis ? chunk : ir::iota(g, chunk.shape(), a > axis ? a - 1 : a));
    return chunk * ir::full(g, chunk.type(), static_cast<double>(length)) + ir::gather(local, place);
  }

 private:
  // Partial results per result: as many as keep the device busy, and at least as many as its loops demand.
  struct Pieces {
    int64_t wanted = 1, least = 1;
  };

  Expr reduced(Expr x, Op op, std::span<const int64_t> axes, Pieces pieces) {
    if (pieces.wanted < 2) return ir::reduce(op, x, axes);
    int64_t need = pieces.wanted, least = pieces.least;
    std::vector<bool> kept(static_cast<size_t>(x.rank()), false);
    std::vector<bool> reduces = kept;
    for (int64_t a : axes) reduces[static_cast<size_t>(a)] = true;
    for (size_t j = 0; j < axes.size() && need > 1; ++j) {
      const int axis = static_cast<int>(axes[target_.price.coalesces ? axes.size() - 1 - j : j]);
      const int64_t n = x.shape()[axis];
      if (n <= 2 * need) {
        kept[static_cast<size_t>(axis)] = true;
        need = schedule::divided_up(need, n);
        least = schedule::divided_up(least, n);
        continue;
      }
      if (x.rank() == kMaxRank) continue;
      // Axes before this one keep their numbers on a CPU, the kept ones come first; on a GPU those behind move by one.
      x = cut(x, op, axis, chunks(n, need, least), target_.price.coalesces);
      const auto at = static_cast<std::ptrdiff_t>(axis);
      reduces.insert(reduces.begin() + at, true);
      kept.insert(kept.begin() + at + (target_.price.coalesces ? 1 : 0), true);
      break;
    }
    std::vector<int64_t> first, second;
    for (int a = 0; a < x.rank(); ++a) {
      if (!reduces[static_cast<size_t>(a)]) continue;
      if (kept[static_cast<size_t>(a)]) {
        second.push_back(a - static_cast<int64_t>(first.size()));
      } else {
        first.push_back(a);
      }
    }
    if (first.empty() || second.empty()) return ir::reduce(op, x, first.empty() ? second : first);
    const Expr parts = ir::reduce(op, x, first);
    partial_.insert(parts.id.v);
    // Partial results are few enough for one more pass, unless the device's loops are too short for that.
    const Pieces again = wanted_pieces(parts, second);
    return reduced(parts, op, second, {again.least, again.least});
  }

  Pieces wanted_pieces(Expr x, std::span<const int64_t> axes) const {
    int64_t length = 1;
    for (int64_t a : axes) length *= x.shape()[static_cast<int>(a)];
    Pieces p;
    if (x.shape().count() == 0) return p;
    const int64_t results = x.shape().count() / length, busy = schedule::wanted_invocations(target_),
                  most = most_elements(target_);
    if (length >= kWorthIt && results * 2 <= busy)
      p.wanted = std::min(schedule::divided_up(busy, results), length / kLeastChunk);
    if (length > most) p.least = schedule::divided_up(length, std::max<int64_t>(1, most));
    p.wanted = std::max(p.wanted, p.least);
    return p;
  }

  const Target& target_;
  std::set<uint32_t>& partial_;
};

}  // namespace

SplitReductions split_reductions(ir::Graph& g, std::span<const NodeId> roots, const Target& target) {
  SplitReductions out;
  Splitter splitter(target, out.partial);
  out.roots = ir::rebuild(g, roots, out.moved, [&](NodeId, ir::Node n) -> NodeId {
    if (ir::info(n.op).kind != ir::Kind::Reduce) return g.intern(std::move(n));
    const Expr x{&g, n.in[0]};
    if (n.op == Op::ArgMax || n.op == Op::ArgMin) return splitter.position(x, n.op, static_cast<int>(n.attr[0])).id;
    return splitter.reduced(x, n.op, n.attr).id;
  });
  return out;
}

}  // namespace spirograd::lower
