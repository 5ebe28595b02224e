#include "spirv/lower/split_reduce.h"

#include <algorithm>
#include <limits>

#include "frontend/ir/algebra.h"
#include "frontend/ir/traverse.h"

namespace spirograd::lower {

using ir::Expr;
using ir::NodeId;
using ir::Op;

namespace {

constexpr int64_t kWorthIt = 2048;   // elements per result from which a second pass pays
constexpr int64_t kLeastChunk = 128;  // elements per partial result, at least

// Invocations that keep the device busy in a reduction.
int64_t wanted_invocations(const Target& t) { return t.cpu ? 64 * static_cast<int64_t>(t.cores) : 32768; }

// Number of chunks for an axis of n elements, near `wanted`; a divisor of n if there is one close by.
int64_t chunks(int64_t n, int64_t wanted) {
  wanted = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, n / kLeastChunk));
  for (int64_t c = wanted; c <= 2 * wanted; ++c)
    if (n % c == 0) return c;
  for (int64_t c = wanted; 2 * c >= wanted && c > 1; --c)
    if (n % c == 0) return c;
  return wanted;
}

// Elements beyond the end of the padded axis must not count: the window's zeros become the operation's neutral element.
Expr neutralise(Expr x, Op op, int axis, int64_t valid) {
  if (op == Op::Sum) return x;
  ir::Graph& g = *x.graph;
  double neutral = 1;
  if (op != Op::Prod && is_float(x.dtype())) neutral = std::numeric_limits<double>::quiet_NaN();
  if (op == Op::ReduceMax && x.dtype() == DType::I32) neutral = std::numeric_limits<int32_t>::min();
  if (op == Op::ReduceMax && x.dtype() == DType::U32) neutral = 0;
  if (op == Op::ReduceMin && x.dtype() == DType::I32) neutral = std::numeric_limits<int32_t>::max();
  if (op == Op::ReduceMin && x.dtype() == DType::U32) neutral = 4294967295.0;
  const Expr inside =
      ir::binary(Op::Lt, ir::iota(g, x.shape(), axis), ir::full(g, i32(x.shape()), static_cast<double>(valid)));
  return ir::select(inside, x, ir::full(g, x.type(), neutral));
}

Expr split(Expr x, Op op, std::span<const int64_t> axes, int64_t results, const Target& target,
           std::set<uint32_t>& partial) {
  int axis = static_cast<int>(axes[0]);
  for (int64_t a : axes)
    if (x.shape()[static_cast<int>(a)] > x.shape()[axis]) axis = static_cast<int>(a);
  const int64_t n = x.shape()[axis];
  const int64_t c = chunks(n, (wanted_invocations(target) + results - 1) / results);
  if (c < 2) return {};
  const int64_t length = (n + c - 1) / c;
  if (c * length != n) x = neutralise(ir::window(x, axis, 0, c * length), op, axis, n);
  // A CPU wants each chunk contiguous; on a GPU neighbours in the chunk number should be neighbours in memory.
  const int chunk_axis = target.cpu ? axis : axis + 1;
  Shape shape = x.shape().erased(axis).inserted(axis, target.cpu ? length : c).inserted(axis, target.cpu ? c : length);
  x = ir::reshape(x, shape);
  std::vector<int64_t> inner;
  for (int64_t a : axes) {
    if (a == axis) {
      inner.push_back(target.cpu ? axis + 1 : axis);
    } else {
      inner.push_back(a > axis ? a + 1 : a);
    }
  }
  std::sort(inner.begin(), inner.end());
  const Expr parts = ir::reduce(op, x, inner);
  partial.insert(parts.id.v);
  int remaining = chunk_axis;
  for (int64_t a : inner) remaining -= a < chunk_axis ? 1 : 0;
  return ir::reduce(op, parts, {remaining});
}

}  // namespace

SplitReductions split_reductions(ir::Graph& g, std::span<const NodeId> roots, const Target& target) {
  SplitReductions out;
  ir::Memo memo;
  out.roots = ir::rebuild(g, roots, memo, [&](NodeId, ir::Node n) -> NodeId {
    const bool splittable = n.op == Op::Sum || n.op == Op::Prod || n.op == Op::ReduceMax || n.op == Op::ReduceMin;
    if (splittable) {
      const Expr x{&g, n.in[0]};
      const int64_t results = n.type.shape.count();
      const int64_t elements = x.shape().count();
      if (results > 0 && elements / results >= kWorthIt && results * 2 <= wanted_invocations(target)) {
        const Expr e = split(x, n.op, n.attr, results, target, out.partial);
        if (e) return e.id;
      }
    }
    return g.intern(std::move(n));
  });
  return out;
}

}  // namespace spirograd::lower
