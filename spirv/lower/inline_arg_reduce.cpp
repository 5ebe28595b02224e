// Argmax and argmin inside kernels: which of two elements it is, and where the one is that several invocations have found.

#include "spirv/lower/combine.h"
#include "spirv/lower/inline.h"
#include "spirv/lower/scalar_ops.h"

namespace spirograd::lower {

using ir::Node;
using ir::Op;
using kernel::KOp;
using kernel::Value;

// Whether x at its place comes before y at its: the first extreme wins; NaN wins only when nothing else is there.
Value Inliner::comes_before(Op op, Value x, Value x_place, Value y, Value y_place) {
  Value before = b_.op(op == Op::ArgMax ? KOp::Gt : KOp::Lt, x, y), same = b_.op(KOp::Eq, x, y);
  if (is_float(b_.type(x))) {
    const Value nan = is_nan(b_, x), other = is_nan(b_, y);
    before = b_.op(KOp::Or, before, b_.logical_and(other, b_.op(KOp::Not, nan)));
    same = b_.op(KOp::Or, same, b_.logical_and(nan, other));
  }
  return b_.op(KOp::Or, before, b_.logical_and(same, b_.op(KOp::Lt, x_place, y_place)));
}

std::vector<Value> Inliner::places(const Node& n, std::span<const Value> best, std::span<const Value> place_vars,
                                   int64_t sharers) {
  const int64_t extent = node(n.in[0]).type.shape[static_cast<int>(n.attr[0])];
  std::vector<Value> out;
  for (size_t u = 0; u < best.size(); ++u) {
    out.push_back(b_.get(place_vars[u]));
    if (sharers > 0) out.back() = joined_place(n.op, best[u], out.back(), sharers);
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
