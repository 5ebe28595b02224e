// Argmax and argmin inside kernels: one loop, in which all points are looked at side by side.

#include "spirv/lower/inline.h"
#include "spirv/lower/scalar_ops.h"
#include "spirv/schedule/cost.h"

namespace spirograd::lower {

using ir::Node;
using ir::NodeId;
using ir::Op;
using kernel::KOp;
using kernel::Scalar;
using kernel::Value;

// Whether x at its place comes before y at its: the first extreme wins; NaN wins only when nothing else is there.
Value Inliner::comes_before(Op op, Value x, Value x_place, Value y, Value y_place) {
  const bool floats = b_.type(x) == Scalar::F32 || b_.type(x) == Scalar::F64;
  Value before = b_.op(op == Op::ArgMax ? KOp::Gt : KOp::Lt, x, y), same = b_.op(KOp::Eq, x, y);
  if (floats) {
    const Value nan = is_nan(b_, x), other = is_nan(b_, y);
    before = b_.op(KOp::Or, before, b_.logical_and(other, b_.op(KOp::Not, nan)));
    same = b_.op(KOp::Or, same, b_.logical_and(nan, other));
  }
  return b_.op(KOp::Or, before, b_.logical_and(same, b_.op(KOp::Lt, x_place, y_place)));
}

// The operand is evaluated in one place, in the loop, for it may be large. Invocations that are at the same points take
// turns at the elements; the last one is perhaps taken several times.
std::vector<Value> Inliner::arg_reduce(int scope, NodeId id, std::span<const Point> points) {
  const Node& n = node(id);
  const Type& from = node(n.in[0]).type;
  const size_t axis = static_cast<size_t>(n.attr[0]);
  const Scalar t = scalar_of(from.dtype);
  const int64_t extent = from.shape[static_cast<int>(axis)];
  int64_t sharers = together(points);
  if (2 * extent <= sharers) sharers = 0;
  std::vector<Point> at;
  std::vector<Value> best, place;
  for (const Point& p : points) {
    at.push_back(reduced_operand_point(n, p));
    hoist(scope, n.in[0], at.back());
    best.push_back(b_.var(zero(b_, t)));
    place.push_back(b_.var(b_.i32(0)));
  }
  const Value count = b_.i32(sharers > 0 ? schedule::divided_up(extent, sharers) : extent);
  const Value counter = b_.begin_loop(trips(count, holds(scope, conditions(scope, id)), false));
  const Value first = b_.op(KOp::Eq, counter, b_.i32(0));
  push_block();
  Value here = counter;
  if (sharers > 0) {
    const Value own = b_.bitcast(Scalar::I32, sharers == team_ ? b_.lane_index() : b_.local_index());
    here = b_.op(KOp::Min, b_.add(b_.mul(counter, b_.i32(sharers)), own), b_.i32(extent - 1));
    if (!b_.constant_bits(here)) b_.assume(here, {0, extent - 1});
  }
  for (Point& p : at) p[axis] = here;
  const std::vector<Value> values = eval(scope, n.in[0], at);
  for (size_t u = 0; u < at.size(); ++u) {
    const Value x = values[u], old = b_.get(best[u]);
    Value better = b_.op(n.op == Op::ArgMax ? KOp::Gt : KOp::Lt, x, old);
    if (is_float(from.dtype))
      better = b_.op(KOp::Or, better, b_.logical_and(is_nan(b_, old), b_.op(KOp::Not, is_nan(b_, x))));
    better = b_.op(KOp::Or, better, first);
    b_.set(best[u], b_.select(better, x, old));
    b_.set(place[u], b_.select(better, here, b_.get(place[u])));
  }
  pop_block();
  b_.end_loop();
  std::vector<Value> out;
  for (size_t u = 0; u < at.size(); ++u) {
    out.push_back(b_.get(place[u]));
    if (sharers > 0) out.back() = joined_place(n.op, b_.get(best[u]), out.back(), sharers);
    b_.assume(out.back(), {0, extent - 1});
  }
  return out;
}

Value Inliner::joined_place(Op op, Value best, Value place, int64_t sharers) {
  const Join join{true, [&](const std::vector<Value>& x, const std::vector<Value>& y) {
                    const Value before = comes_before(op, x[0], x[1], y[0], y[1]);
                    return std::vector{b_.select(before, x[0], y[0]), b_.select(before, x[1], y[1])};
                  }};
  const int64_t size = target_.subgroup_size;
  const bool by_lanes = exchanges_lanes(target_) && sharers % size == 0;
  return joined(join, {best, place}, by_lanes ? static_cast<uint32_t>(size) : 1, static_cast<uint32_t>(sharers))[1];
}

}  // namespace spirograd::lower
