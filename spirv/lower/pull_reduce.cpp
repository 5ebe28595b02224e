// Reductions inside kernels: short ones unrolled, others as loops. Long f32 sums go through blocks whose partial sums are
// added with compensation (Kahan), so that the error does not grow with the length.
#include <algorithm>
#include <limits>

#include "spirv/lower/pull.h"
#include "spirv/lower/scalar_ops.h"

namespace spirograd::lower {

using ir::Node;
using ir::NodeId;
using ir::Op;
using kernel::Builder;
using kernel::KOp;
using kernel::Scalar;
using kernel::Value;

namespace {

constexpr int64_t kBlock = 32;          // elements summed plainly before one compensated addition, about
constexpr int64_t kPlainSum = 32;       // sums of at most this many elements need no compensation
constexpr size_t kUnrollBudget = 160;   // instructions of a loop body that may still be repeated

// Length of the blocks of a long axis: a divisor near kBlock, a multiple of 4 if there is one, so that blocks are equal and
// unroll.
int64_t block_length(int64_t extent) {
  for (int64_t step : {4, 1})
    for (int64_t b = 2 * kBlock; b >= kBlock / 2; --b)
      if (b % step == 0 && extent % b == 0) return b;
  return kBlock;
}

bool is_float(Scalar t) { return t == Scalar::F32 || t == Scalar::F64; }

// Start value of a loop, such that combining it with x gives x. NaN for float extremes: NaN loses against everything.
Value identity(Builder& b, Op op, Scalar t) {
  if (op == Op::Sum) return b.constant(t, 0);
  if (op == Op::Prod) return b.constant(t, 1);
  if (is_float(t)) return b.constant(t, std::numeric_limits<double>::quiet_NaN());
  if (op == Op::ReduceMax) return b.constant(t, t == Scalar::I32 ? std::numeric_limits<int32_t>::min() : 0.0);
  return b.constant(t, t == Scalar::I32 ? std::numeric_limits<int32_t>::max() : 4294967295.0);
}

// Value of a reduction over nothing.
Value of_nothing(Builder& b, Op op, Scalar t) {
  const double inf = std::numeric_limits<double>::infinity();
  if (op == Op::ReduceMax && is_float(t)) return b.constant(t, -inf);
  if (op == Op::ReduceMin && is_float(t)) return b.constant(t, inf);
  return identity(b, op, t);
}

Value combine(Builder& b, Op op, Value acc, Value x) {
  const bool floats = is_float(b.type(x));
  if (op == Op::Sum) return b.add(acc, x);
  if (op == Op::Prod) return b.mul(acc, x);
  const bool max = op == Op::ReduceMax;
  if (!floats) return b.op(max ? KOp::Max : KOp::Min, acc, x);
  const Value keep = b.op(KOp::Or, b.op(max ? KOp::Ge : KOp::Le, acc, x), is_nan(b, x));
  return b.select(keep, acc, x);
}

}  // namespace

std::vector<Value> Puller::reduce(int scope, const Node& n, std::span<const Point> points) {
  const Shape& from = node(n.in[0]).type.shape;
  int64_t length = 1;
  for (int64_t a : n.attr) length *= from[static_cast<int>(a)];
  if (length == 0) return std::vector<Value>(points.size(), of_nothing(b_, n.op, scalar_of(n.type.dtype)));
  return length <= kUnrolled ? reduce_unrolled(scope, n, points) : reduce_loop(scope, n, points);
}

std::vector<Value> Puller::reduce_unrolled(int scope, const Node& n, std::span<const Point> points) {
  const Shape& from = node(n.in[0]).type.shape;
  Shape extents;
  for (int64_t a : n.attr) extents.push_back(from[static_cast<int>(a)]);
  std::vector<Point> all;
  for (const Point& p : points) {
    for (int64_t j = 0; j < extents.count(); ++j) {
      Point q = reduced_operand_point(n, p);
      int64_t rest = j;
      for (int a = extents.rank() - 1; a >= 0; --a) {
        q[static_cast<size_t>(n.attr[static_cast<size_t>(a)])] = b_.i32(rest % extents[a]);
        rest /= extents[a];
      }
      all.push_back(std::move(q));
    }
  }
  const std::vector<Value> values = eval(scope, n.in[0], all);
  const auto length = static_cast<size_t>(extents.count());
  std::vector<Value> out;
  for (size_t u = 0; u < points.size(); ++u) {
    Value acc = values[u * length];
    for (size_t j = 1; j < length; ++j) acc = combine(b_, n.op, acc, values[u * length + j]);
    out.push_back(acc);
  }
  return out;
}

std::vector<Value> Puller::reduce_loop(int scope, const Node& n, std::span<const Point> points) {
  const Shape& from = node(n.in[0]).type.shape;
  const Scalar t = scalar_of(n.type.dtype);
  int64_t length = 1;
  for (int64_t a : n.attr) length *= from[static_cast<int>(a)];
  std::vector<Point> at;
  for (const Point& p : points) {
    at.push_back(reduced_operand_point(n, p));
    hoist(scope, n.in[0], at.back());
  }

  const size_t width = points.size();
  const bool compensated = n.op == Op::Sum && t == Scalar::F32 && length > kPlainSum;
  std::vector<Value> total, lost;  // running result; what compensated additions lost so far
  for (size_t u = 0; u < width; ++u) {
    total.push_back(b_.var(identity(b_, n.op, t)));
    if (compensated) lost.push_back(b_.var(b_.constant(t, 0)));
  }

  int open = 0;
  const auto open_loop = [&](int64_t count) {
    const Value counter = b_.begin_loop(b_.i32(count));
    push_block();
    ++open;
    return counter;
  };
  for (size_t j = 0; j + 1 < n.attr.size(); ++j) {
    const size_t axis = static_cast<size_t>(n.attr[j]);
    const Value counter = open_loop(from[static_cast<int>(axis)]);
    for (Point& p : at) p[axis] = counter;
  }

  // The innermost axis, in blocks when it is long. `base` is where the block starts.
  const size_t inner = static_cast<size_t>(n.attr.back());
  const int64_t extent = from[static_cast<int>(inner)];
  Value base = b_.i32(0), count = b_.i32(extent);
  int64_t steps = extent;
  if (compensated && extent > kBlock) {
    steps = block_length(extent);
    const Value block = open_loop((extent + steps - 1) / steps);
    base = b_.mul(block, b_.i32(steps));
    count = extent % steps == 0 ? b_.i32(steps) : b_.op(KOp::Min, b_.i32(steps), b_.sub(b_.i32(extent), base));
  }
  const bool fixed = b_.constant_bits(count).has_value();
  const int64_t unroll = fixed && steps % 4 == 0 && width <= 16 && t != Scalar::F64 && steps > 4 ? 4 : 1;
  // Independent partial results shorten the chain of dependent operations and keep rounding small.
  const size_t chains = unroll > 1 && width <= 4 ? 4 : 1;
  const bool direct = !compensated && chains == 1;  // straight into the total
  std::vector<Value> partial = direct ? total : std::vector<Value>();
  while (partial.size() < width * chains) partial.push_back(b_.var(identity(b_, n.op, t)));
  const auto accumulate = [&](size_t chain) {
    const std::vector<Value> values = eval(scope, n.in[0], at);
    for (size_t u = 0; u < width; ++u) {
      const Value var = partial[u * chains + chain];
      b_.set(var, combine(b_, n.op, b_.get(var), values[u]));
    }
  };
  const auto place_at = [&](Value step) {
    const Value place = b_.add(base, step);
    if (!b_.constant_bits(place)) b_.assume(place, {0, extent - 1});
    for (Point& p : at) p[inner] = place;
  };

  const Value counter = b_.begin_loop(fixed ? b_.i32(steps / unroll) : count);
  push_block();
  const size_t size_before = b_.size();
  for (int64_t k = 0; k < unroll; ++k) {
    place_at(unroll == 1 ? counter : b_.add(b_.mul(counter, b_.i32(unroll)), b_.i32(k)));
    accumulate(static_cast<size_t>(k) % chains);
    // A large body is not worth repeating: the remaining three quarters run as a loop of their own.
    if (k == 0 && unroll > 1 && b_.size() - size_before > kUnrollBudget) {
      const Value rest = b_.begin_loop(b_.i32(unroll - 1));
      push_block();
      place_at(b_.add(b_.mul(counter, b_.i32(unroll)), b_.add(rest, b_.i32(1))));
      accumulate(0);
      pop_block();
      b_.end_loop();
      break;
    }
  }
  pop_block();
  b_.end_loop();

  for (size_t u = 0; u < width && !direct; ++u) {
    Value part = b_.get(partial[u * chains]);
    if (chains == 4) {
      const auto chain = [&](size_t j) { return b_.get(partial[u * chains + j]); };
      part = combine(b_, n.op, combine(b_, n.op, part, chain(1)), combine(b_, n.op, chain(2), chain(3)));
    }
    const Value before = b_.get(total[u]);
    if (!compensated) {
      b_.set(total[u], combine(b_, n.op, before, part));
      continue;
    }
    // Kahan: y = part - lost; s = total + y; lost = (s - total) - y, and nothing is lost once the sum is infinite.
    const Value y = b_.sub(part, b_.get(lost[u]));
    const Value s = b_.add(before, y);
    const Value rest = b_.sub(b_.sub(s, before), y);
    b_.set(lost[u], b_.select(is_nan(b_, rest), b_.constant(t, 0), rest));
    b_.set(total[u], s);
  }
  for (; open > 0; --open) {
    pop_block();
    b_.end_loop();
  }
  std::vector<Value> out;
  for (Value v : total) out.push_back(b_.get(v));
  return out;
}

// The first extreme wins; NaN wins only when nothing else is there.
Value Puller::arg_reduce(int scope, const Node& n, const Point& point) {
  const Type& from = node(n.in[0]).type;
  const size_t axis = static_cast<size_t>(n.attr[0]);
  Point at = reduced_operand_point(n, point);
  hoist(scope, n.in[0], at);
  const int64_t extent = from.shape[static_cast<int>(axis)];
  at[axis] = b_.i32(0);
  const Value best = b_.var(eval(scope, n.in[0], at)), place = b_.var(b_.i32(0));
  if (extent > 1) {
    const Value counter = b_.begin_loop(b_.i32(extent - 1));
    push_block();
    at[axis] = b_.add(counter, b_.i32(1));
    const Value x = eval(scope, n.in[0], at), old = b_.get(best);
    Value better = b_.op(n.op == Op::ArgMax ? KOp::Gt : KOp::Lt, x, old);
    if (spirograd::is_float(from.dtype))
      better = b_.op(KOp::Or, better, b_.logical_and(is_nan(b_, old), b_.op(KOp::Not, is_nan(b_, x))));
    b_.set(best, b_.select(better, x, old));
    b_.set(place, b_.select(better, at[axis], b_.get(place)));
    pop_block();
    b_.end_loop();
  }
  const Value result = b_.get(place);
  b_.assume(result, {0, extent - 1});
  return result;
}

}  // namespace spirograd::lower
