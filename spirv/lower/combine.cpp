#include "spirv/lower/combine.h"

#include <limits>

#include "spirv/lower/scalar_ops.h"

namespace spirograd::lower {

using ir::Op;
using kernel::Builder;
using kernel::KOp;
using kernel::Scalar;
using kernel::Value;

Value identity(Builder& b, Op op, Scalar t) {
  if (op == Op::Sum) return b.constant(t, 0);
  if (op == Op::Prod) return b.constant(t, 1);
  if (is_float(t)) return b.constant(t, std::numeric_limits<double>::quiet_NaN());
  if (op == Op::ReduceMax || op == Op::ArgMax)
    return b.constant(t, t == Scalar::I32 ? std::numeric_limits<int32_t>::min() : 0.0);
  return b.constant(t, t == Scalar::I32 ? std::numeric_limits<int32_t>::max() : 4294967295.0);
}

Value of_nothing(Builder& b, Op op, Scalar t) {
  const double inf = std::numeric_limits<double>::infinity();
  if (op == Op::ReduceMax && is_float(t)) return b.constant(t, -inf);
  if (op == Op::ReduceMin && is_float(t)) return b.constant(t, inf);
  return identity(b, op, t);
}

Value combine(Builder& b, Op op, Value acc, Value x) {
  const bool floats = is_float(b.type(x));
  if (op == Op::Sum) {
    // Sums promise an error bound, not bits: a product need not be rounded before it is added.
    const auto product = floats ? b.factors(x) : std::nullopt;
    return product ? b.mul_add(product->first, product->second, acc) : b.add(acc, x);
  }
  if (op == Op::Prod) return b.mul(acc, x);
  const bool max = op == Op::ReduceMax;
  if (!floats) return b.op(max ? KOp::Max : KOp::Min, acc, x);
  const Value keep = b.op(KOp::Or, {b.op(max ? KOp::Ge : KOp::Le, acc, x), is_nan(b, x)});
  return b.select(keep, acc, x);
}

namespace {

Value comes_before(Builder& b, Op op, const Found& x, const Found& y) {
  Value before = b.op(op == Op::ArgMax ? KOp::Gt : KOp::Lt, x.value, y.value), same = b.op(KOp::Eq, x.value, y.value);
  if (is_float(b.type(x.value))) {
    const Value nan = is_nan(b, x.value), other = is_nan(b, y.value);
    before = b.op(KOp::Or, before, b.logical_and(other, b.op(KOp::Not, nan)));
    same = b.op(KOp::Or, same, b.logical_and(nan, other));
  }
  return b.op(KOp::Or, before, b.logical_and(same, b.op(KOp::Lt, x.place, y.place)));
}

Value is_better(Builder& b, Op op, Value x, Value best) {
  const bool max = op == Op::ArgMax;
  if (!is_float(b.type(x))) return b.op(max ? KOp::Gt : KOp::Lt, x, best);
  const Value no_worse_before = b.op(max ? KOp::Ge : KOp::Le, best, x);  // not where either is NaN
  return b.logical_and({b.op(KOp::Not, no_worse_before), b.op(KOp::Not, is_nan(b, x))});
}

Found one_of(Builder& b, Value first, const Found& x, const Found& y) {
  return {b.select(first, x.value, y.value), b.select(first, x.place, y.place)};
}

}  // namespace

Found better(Builder& b, Op op, const Found& x, const Found& y) { return one_of(b, comes_before(b, op, x, y), x, y); }

Found better_in_order(Builder& b, Op op, const Found& best, const Found& next) {
  return one_of(b, is_better(b, op, next.value, best.value), next, best);
}

}  // namespace spirograd::lower
