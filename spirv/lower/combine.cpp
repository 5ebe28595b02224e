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
  const Value keep = b.op(KOp::Or, b.op(max ? KOp::Ge : KOp::Le, acc, x), is_nan(b, x));
  return b.select(keep, acc, x);
}

Value is_better(Builder& b, Op op, Value x, Value best) {
  const bool max = op == Op::ArgMax;
  if (!is_float(b.type(x))) return b.op(max ? KOp::Gt : KOp::Lt, x, best);
  const Value no_worse_before = b.op(max ? KOp::Ge : KOp::Le, best, x);  // not where either is NaN
  return b.logical_and(b.op(KOp::Not, no_worse_before), b.op(KOp::Not, is_nan(b, x)));
}

}  // namespace spirograd::lower
