// Interval arithmetic over the integer operations of the IR, one case per operation.
#include "frontend/rewrite/interval.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "frontend/base/checked.h"
#include "frontend/ir/op_table.h"

namespace spirograd::rewrite {
namespace {

using ir::Kind;
using ir::LayoutOp;
using ir::LeafOp;
using ir::Node;
using ir::NodeId;
using ir::Op;
using ir::ReduceOp;

constexpr Interval kTruth{0, 1};

// The bounds come from integers of 32 bits, or from products that stop at the ends of 64.
Interval fitted(int64_t lo, int64_t hi, DType t) {
  const Interval w = whole(t);
  if (lo < w.lo || hi > w.hi) return w;
  return {lo, hi};
}

Interval hull(Interval a, Interval b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

Interval with_zero(Interval a) { return hull(a, {0, 0}); }

Interval rows(int64_t extent) { return extent == 0 ? Interval{0, 0} : fitted(0, extent - 1, DType::I32); }

Interval times(Interval a, Interval b, DType t) {
  const int64_t p[] = {saturating_mul(a.lo, b.lo), saturating_mul(a.lo, b.hi), saturating_mul(a.hi, b.lo),
                       saturating_mul(a.hi, b.hi)};
  return fitted(*std::min_element(p, p + 4), *std::max_element(p, p + 4), t);
}

// A divisor of 0 reads as 1; the quotient is truncated.
Interval quot(Interval a, Interval b, DType t) {
  if (b.lo >= 1) {
    const int64_t q[] = {a.lo / b.lo, a.lo / b.hi, a.hi / b.lo, a.hi / b.hi};
    return {*std::min_element(q, q + 4), *std::max_element(q, q + 4)};
  }
  if (a.lo == whole(t).lo && t == DType::I32) return whole(t);  // the least integer divided by -1 wraps
  if (b.lo >= 0) return with_zero(a);
  const int64_t m = std::max(std::abs(a.lo), std::abs(a.hi));
  return fitted(-m, m, t);
}

// The remainder has the sign of the dividend, and is smaller than the divisor and not greater than the dividend.
Interval rem(Interval a, Interval b) {
  if (b.lo >= 1 && a.within(-(b.lo - 1), b.lo - 1)) return a;
  Interval r = with_zero(a);
  if (b.lo >= 0) {
    const int64_t most = std::max<int64_t>(b.hi - 1, 0);
    r = {std::max(r.lo, -most), std::min(r.hi, most)};
  }
  return r;
}

// What two numbers have in common is not negative and no greater than either of them that is not.
Interval common_bits(Interval a, Interval b, DType t) {
  if (a.lo < 0 && b.lo < 0) return whole(t);
  return {0, a.lo < 0 ? b.hi : b.lo < 0 ? a.hi : std::min(a.hi, b.hi)};
}

Interval truth(bool always, bool never) { return always ? Interval{1, 1} : never ? Interval{0, 0} : kTruth; }

Interval less(Interval a, Interval b) { return truth(a.hi < b.lo, a.lo >= b.hi); }
Interval less_equal(Interval a, Interval b) { return truth(a.hi <= b.lo, a.lo > b.hi); }
Interval equal(Interval a, Interval b) { return truth(a.is_single() && a == b, a.hi < b.lo || b.hi < a.lo); }
Interval inverted(Interval a) { return {1 - a.hi, 1 - a.lo}; }

Interval converted(Interval a, DType from, DType to) {
  if (is_float(from) || is_float(to)) return whole(to);
  if (to == DType::Bool) return truth(a.outside(0, 0), a == Interval{0, 0});
  return fitted(a.lo, a.hi, to);
}

bool has_range(DType t) { return !is_float(t); }

Interval magnitude(Interval a, DType t) {
  const int64_t most = std::max(std::abs(a.lo), std::abs(a.hi));
  return fitted(a.outside(0, 0) ? std::min(std::abs(a.lo), std::abs(a.hi)) : 0, most, t);
}

int64_t sign(int64_t x) { return x > 0 ? 1 : x == 0 ? 0 : -1; }

Interval least(Interval a, Interval b) { return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)}; }
Interval greatest(Interval a, Interval b) { return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)}; }

// Of the operands; `type` is that of the result, `from` that of the first operand. Predicates see ranges of integers only.
struct Ranges {
  Interval a, b, c;
  DType type, from;
};
struct Row {
  Op op;
  Interval (*range)(const Ranges&);
};

// clang-format off
constexpr Row kRows[] = {
    {Op::Neg,          [](const Ranges& r) { return fitted(-r.a.hi, -r.a.lo, r.type); }},
    {Op::Abs,          [](const Ranges& r) { return magnitude(r.a, r.type); }},
    {Op::Sign,         [](const Ranges& r) { return Interval{sign(r.a.lo), sign(r.a.hi)}; }},
    {Op::Not,          [](const Ranges& r) { return inverted(r.a); }},
    {Op::Bits,         [](const Ranges& r) { return whole(r.type); }},
    {Op::FromBits,     [](const Ranges& r) { return whole(r.type); }},
    {Op::Cast,         [](const Ranges& r) { return converted(r.a, r.from, r.type); }},
    {Op::StopGradient, [](const Ranges& r) { return r.a; }},
    {Op::PreferStore,  [](const Ranges& r) { return r.a; }},
    {Op::PreferRecompute, [](const Ranges& r) { return r.a; }},
    {Op::Add,          [](const Ranges& r) { return fitted(r.a.lo + r.b.lo, r.a.hi + r.b.hi, r.type); }},
    {Op::Sub,          [](const Ranges& r) { return fitted(r.a.lo - r.b.hi, r.a.hi - r.b.lo, r.type); }},
    {Op::Mul,          [](const Ranges& r) { return times(r.a, r.b, r.type); }},
    {Op::Min,          [](const Ranges& r) { return least(r.a, r.b); }},
    {Op::Max,          [](const Ranges& r) { return greatest(r.a, r.b); }},
    {Op::Quot,         [](const Ranges& r) { return quot(r.a, r.b, r.type); }},
    {Op::Rem,          [](const Ranges& r) { return rem(r.a, r.b); }},
    {Op::BitAnd,       [](const Ranges& r) { return common_bits(r.a, r.b, r.type); }},
    {Op::BitOr,        [](const Ranges& r) { return whole(r.type); }},
    {Op::BitXor,       [](const Ranges& r) { return whole(r.type); }},
    {Op::ShiftLeft,    [](const Ranges& r) { return whole(r.type); }},
    {Op::ShiftRight,   [](const Ranges& r) { return with_zero(r.a.lo < 0 ? hull(r.a, {-1, -1}) : r.a); }},
    {Op::Eq,           [](const Ranges& r) { return equal(r.a, r.b); }},
    {Op::Ne,           [](const Ranges& r) { return inverted(equal(r.a, r.b)); }},
    {Op::Lt,           [](const Ranges& r) { return less(r.a, r.b); }},
    {Op::Le,           [](const Ranges& r) { return less_equal(r.a, r.b); }},
    {Op::Gt,           [](const Ranges& r) { return less(r.b, r.a); }},
    {Op::Ge,           [](const Ranges& r) { return less_equal(r.b, r.a); }},
    {Op::And,          [](const Ranges& r) { return least(r.a, r.b); }},
    {Op::Or,           [](const Ranges& r) { return greatest(r.a, r.b); }},
    {Op::Select,       [](const Ranges& r) { return r.a.is_single() ? (r.a.lo == 1 ? r.b : r.c) : hull(r.b, r.c); }},
};
// clang-format on

constexpr auto kTable = ir::op_table<kRows, ir::kIntegerOnes>();

}  // namespace

Interval whole(DType t) {
  switch (t) {
    case DType::Bool: return kTruth;
    case DType::U32: return {0, std::numeric_limits<uint32_t>::max()};
    case DType::I32:
    case DType::F16:
    case DType::F32:
    case DType::F64: break;
  }
  return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
}

Interval Intervals::known(NodeId id) const {
  auto it = memo_.find(id.v);
  return it == memo_.end() ? whole(g_[id].type.dtype) : it->second;
}

Interval Intervals::of(NodeId root) {
  std::vector<NodeId> stack = {root};
  while (!stack.empty()) {
    const NodeId id = stack.back();
    const Node& n = g_[id];
    if (memo_.contains(id.v)) {
      stack.pop_back();
      continue;
    }
    const size_t before = stack.size();
    if (has_range(n.type.dtype) && n.op != Op::Proj)
      for (NodeId operand : n.in)
        if (!memo_.contains(operand.v) && has_range(g_[operand].type.dtype)) stack.push_back(operand);
    if (stack.size() > before) continue;
    memo_[id.v] = derive(n);
    stack.pop_back();
  }
  return memo_.at(root.v);
}

Interval Intervals::derive(const Node& n) const {
  if (!has_range(n.type.dtype)) return whole(n.type.dtype);
  if (n.type.shape.count() == 0) return {0, 0};
  switch (ir::kind(n.op)) {
    case Kind::Leaf: return leaf(n);
    case Kind::Pointwise: return pointwise(n);
    case Kind::Layout: return layout(n);
    case Kind::Reduce: return reduction(n);
    case Kind::Indexed: return n.op == Op::Gather ? gather(n) : scatter(n);
    case Kind::Binder: return known(n.in[0]);
    case Kind::Loop: break;
    case Kind::Rule: return known(n.in[0]);
  }
  return whole(n.type.dtype);
}

Interval Intervals::leaf(const Node& n) const {
  switch (ir::leaf_op(n.op)) {
    case LeafOp::Const: {
      const auto [lo, hi] = std::minmax_element(n.data.begin(), n.data.end());
      return {static_cast<int64_t>(*lo), static_cast<int64_t>(*hi)};
    }
    case LeafOp::Iota: return rows(n.type.shape[static_cast<int>(n.attr[0])]);
    case LeafOp::IndexVar: return rows(n.attr[1]);
    case LeafOp::Param:
    case LeafOp::Var: break;
  }
  return whole(n.type.dtype);
}

Interval Intervals::pointwise(const Node& n) const {
  const DType from = g_[n.in[0]].type.dtype;
  if (ir::has_flag(n.op, ir::kPredicate) && !has_range(from)) return kTruth;
  const auto in = [&](size_t j) { return j < n.in.size() ? known(n.in[j]) : Interval{}; };
  return kTable[static_cast<size_t>(n.op)]->range({in(0), in(1), in(2), n.type.dtype, from});
}

Interval Intervals::layout(const Node& n) const {
  const Shape& from = g_[n.in[0]].type.shape;
  switch (ir::layout_op(n.op)) {
    case LayoutOp::Window: {
      const int axis = static_cast<int>(n.attr[0]);
      const int64_t lo = n.attr[1], extent = from[axis];
      const bool inside = lo >= 0 && lo <= extent && n.type.shape[axis] <= extent - lo;
      return inside ? known(n.in[0]) : from.count() == 0 ? Interval{0, 0} : with_zero(known(n.in[0]));
    }
    case LayoutOp::Broadcast:
    case LayoutOp::Transpose:
    case LayoutOp::Reshape:
    case LayoutOp::Reverse:
    case LayoutOp::Concat:
    case LayoutOp::Stack: break;
  }
  Interval all{1, 0};
  for (NodeId operand : n.in)
    if (g_[operand].type.shape.count() > 0) all = all.lo > all.hi ? known(operand) : hull(all, known(operand));
  return all;
}

Interval Intervals::reduction(const Node& n) const {
  const Type& from = g_[n.in[0]].type;
  const DType t = n.type.dtype;
  const int64_t terms = from.shape.count() / n.type.shape.count();
  switch (ir::reduce_op(n.op)) {
    case ReduceOp::Sum: return terms == 0 ? Interval{0, 0} : times(known(n.in[0]), {terms, terms}, t);
    case ReduceOp::Prod: return terms == 0 ? Interval{1, 1} : terms == 1 ? known(n.in[0]) : whole(t);
    case ReduceOp::ReduceMax:
    case ReduceOp::ReduceMin: return terms == 0 ? whole(t) : known(n.in[0]);
    case ReduceOp::ArgMax:
    case ReduceOp::ArgMin: return rows(from.shape[static_cast<int>(n.attr[0])]);
  }
  return whole(t);
}

Interval Intervals::gather(const Node& n) const {
  const Shape& table = g_[n.in[0]].type.shape;
  if (table.count() == 0) return {0, 0};
  bool inside = true;
  for (size_t j = 1; j < n.in.size(); ++j) inside = inside && known(n.in[j]).within(0, table[static_cast<int>(j) - 1] - 1);
  return inside ? known(n.in[0]) : with_zero(known(n.in[0]));
}

Interval Intervals::scatter(const Node& n) const {
  const int64_t terms = g_[n.in[1]].type.shape.count();  // at most so many updates meet in one place
  if (n.op == Op::ScatterMax) return with_zero(known(n.in[0]));
  return terms == 0 ? Interval{0, 0} : times(with_zero(known(n.in[0])), {1, terms}, n.type.dtype);
}

Interval interval(ir::Expr e) { return Intervals(*e.graph).of(e); }

}  // namespace spirograd::rewrite
