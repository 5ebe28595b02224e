// Argmax and argmin inside kernels: one loop, in which all points are looked at side by side.

#include "spirv/lower/inline.h"
#include "spirv/lower/scalar_ops.h"

namespace spirograd::lower {

using ir::Node;
using ir::Op;
using kernel::KOp;
using kernel::Scalar;
using kernel::Value;

// The first extreme wins; NaN wins only when nothing else is there. The operand is evaluated in one place, in the loop, for
// it may be large.
std::vector<Value> Inliner::arg_reduce(int scope, const Node& n, std::span<const Point> points) {
  const Type& from = node(n.in[0]).type;
  const size_t axis = static_cast<size_t>(n.attr[0]);
  const Scalar t = scalar_of(from.dtype);
  const int64_t extent = from.shape[static_cast<int>(axis)];
  std::vector<Point> at;
  std::vector<Value> best, place;
  for (const Point& p : points) {
    at.push_back(reduced_operand_point(n, p));
    hoist(scope, n.in[0], at.back());
    best.push_back(b_.var(zero(b_, t)));
    place.push_back(b_.var(b_.i32(0)));
  }
  const Value counter = b_.begin_loop(b_.i32(extent)), first = b_.op(KOp::Eq, counter, b_.i32(0));
  push_block();
  for (Point& p : at) p[axis] = counter;
  const std::vector<Value> values = eval(scope, n.in[0], at);
  for (size_t u = 0; u < at.size(); ++u) {
    const Value x = values[u], old = b_.get(best[u]);
    Value better = b_.op(n.op == Op::ArgMax ? KOp::Gt : KOp::Lt, x, old);
    if (is_float(from.dtype))
      better = b_.op(KOp::Or, better, b_.logical_and(is_nan(b_, old), b_.op(KOp::Not, is_nan(b_, x))));
    better = b_.op(KOp::Or, better, first);
    b_.set(best[u], b_.select(better, x, old));
    b_.set(place[u], b_.select(better, counter, b_.get(place[u])));
  }
  pop_block();
  b_.end_loop();
  std::vector<Value> out;
  for (Value v : place) {
    out.push_back(b_.get(v));
    b_.assume(out.back(), {0, extent - 1});
  }
  return out;
}

}  // namespace spirograd::lower
