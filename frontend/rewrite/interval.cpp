// Interval arithmetic over the integer operations of the IR, one case per operation.
#include "frontend/rewrite/interval.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace spirograd::rewrite {
namespace {

using ir::Node;
using ir::NodeId;
using ir::Op;

using Wide = __int128;

constexpr Interval kTruth{0, 1};

Interval fitted(Wide lo, Wide hi, DType t) {
  const Interval w = whole(t);
  if (lo < w.lo || hi > w.hi) return w;
  return {static_cast<int64_t>(lo), static_cast<int64_t>(hi)};
}

Interval hull(Interval a, Interval b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

Interval with_zero(Interval a) { return hull(a, {0, 0}); }

Interval rows(int64_t extent) { return extent == 0 ? Interval{0, 0} : fitted(0, extent - 1, DType::I32); }

Interval times(Interval a, Interval b, DType t) {
  const Wide p[] = {Wide{a.lo} * b.lo, Wide{a.lo} * b.hi, Wide{a.hi} * b.lo, Wide{a.hi} * b.hi};
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
  return fitted(-Wide{m}, m, t);
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

}  // namespace

Interval whole(DType t) {
  switch (t) {
    case DType::Bool: return kTruth;
    case DType::U32: return {0, std::numeric_limits<uint32_t>::max()};
    case DType::I32: case DType::F32: case DType::F64: break;
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
  const DType t = n.type.dtype;
  if (!has_range(t)) return whole(t);
  if (n.type.shape.count() == 0) return {0, 0};
  const auto in = [&](size_t j) { return known(n.in[j]); };
  const auto operand_type = [&](size_t j) -> const Type& { return g_[n.in[j]].type; };
  const auto reduced = [&] { return operand_type(0).shape.count() / n.type.shape.count(); };
  const bool comparable = !n.in.empty() && has_range(operand_type(0).dtype);
  switch (n.op) {
    case Op::Param: case Op::Var: case Op::MapAccum: case Op::Proj: return whole(t);
    case Op::Const: {
      const auto [lo, hi] = std::minmax_element(n.data.begin(), n.data.end());
      return {static_cast<int64_t>(*lo), static_cast<int64_t>(*hi)};
    }
    case Op::Iota: return rows(n.type.shape[static_cast<int>(n.attr[0])]);
    case Op::IndexVar: return rows(n.attr[1]);
    case Op::Neg: return fitted(-Wide{in(0).hi}, -Wide{in(0).lo}, t);
    case Op::Abs: {
      const Interval a = in(0);
      const int64_t most = std::max(std::abs(a.lo), std::abs(a.hi));
      return fitted(a.outside(0, 0) ? std::min(std::abs(a.lo), std::abs(a.hi)) : 0, most, t);
    }
    case Op::Sign: return {in(0).lo > 0 ? 1 : in(0).lo == 0 ? 0 : -1, in(0).hi > 0 ? 1 : in(0).hi == 0 ? 0 : -1};
    case Op::Not: return inverted(in(0));
    case Op::Floor: case Op::Sqrt: case Op::Exp: case Op::Log: case Op::Sin: case Op::Cos: case Op::Tan: case Op::Asin:
    case Op::Acos: case Op::Atan: case Op::Sinh: case Op::Cosh: case Op::Tanh: case Op::Asinh: case Op::Acosh:
    case Op::Atanh: case Op::Erf: case Op::Logistic: case Op::Log1p: case Op::Expm1: case Op::Div: case Op::Pow:
    case Op::Atan2: case Op::MaskedMul: case Op::MaskedDiv: case Op::StrongMul:
      return whole(t);
    case Op::Cast: return converted(in(0), operand_type(0).dtype, t);
    case Op::Add: return fitted(Wide{in(0).lo} + in(1).lo, Wide{in(0).hi} + in(1).hi, t);
    case Op::Sub: return fitted(Wide{in(0).lo} - in(1).hi, Wide{in(0).hi} - in(1).lo, t);
    case Op::Mul: return times(in(0), in(1), t);
    case Op::Min: return {std::min(in(0).lo, in(1).lo), std::min(in(0).hi, in(1).hi)};
    case Op::Max: return {std::max(in(0).lo, in(1).lo), std::max(in(0).hi, in(1).hi)};
    case Op::Quot: return quot(in(0), in(1), t);
    case Op::Rem: return rem(in(0), in(1));
    case Op::Eq: return comparable ? equal(in(0), in(1)) : kTruth;
    case Op::Ne: return comparable ? inverted(equal(in(0), in(1))) : kTruth;
    case Op::Lt: return comparable ? less(in(0), in(1)) : kTruth;
    case Op::Le: return comparable ? less_equal(in(0), in(1)) : kTruth;
    case Op::Gt: return comparable ? less(in(1), in(0)) : kTruth;
    case Op::Ge: return comparable ? less_equal(in(1), in(0)) : kTruth;
    case Op::And: return {std::min(in(0).lo, in(1).lo), std::min(in(0).hi, in(1).hi)};
    case Op::Or: return {std::max(in(0).lo, in(1).lo), std::max(in(0).hi, in(1).hi)};
    case Op::Select: return in(0).is_single() ? in(in(0).lo == 1 ? 1 : 2) : hull(in(1), in(2));
    case Op::StopGradient: case Op::Broadcast: case Op::Transpose: case Op::Reshape: case Op::Reverse: return in(0);
    case Op::Build: return in(0);
    case Op::Window: {
      const int axis = static_cast<int>(n.attr[0]);
      const int64_t lo = n.attr[1], extent = operand_type(0).shape[axis];
      const bool inside = lo >= 0 && lo <= extent && n.type.shape[axis] <= extent - lo;
      return inside ? in(0) : operand_type(0).shape.count() == 0 ? Interval{0, 0} : with_zero(in(0));
    }
    case Op::Concat: case Op::Stack: {
      Interval all{1, 0};
      for (size_t j = 0; j < n.in.size(); ++j)
        if (operand_type(j).shape.count() > 0) all = all.lo > all.hi ? in(j) : hull(all, in(j));
      return all;
    }
    case Op::Sum: {
      const int64_t terms = reduced();
      return terms == 0 ? Interval{0, 0} : times(in(0), {terms, terms}, t);
    }
    case Op::Prod: return reduced() == 0 ? Interval{1, 1} : reduced() == 1 ? in(0) : whole(t);
    case Op::ReduceMax: case Op::ReduceMin: return reduced() == 0 ? whole(t) : in(0);
    case Op::ArgMax: case Op::ArgMin: return rows(operand_type(0).shape[static_cast<int>(n.attr[0])]);
    case Op::Gather: {
      if (operand_type(0).shape.count() == 0) return {0, 0};
      bool inside = true;
      for (size_t j = 1; j < n.in.size(); ++j)
        inside = inside && in(j).within(0, operand_type(0).shape[static_cast<int>(j) - 1] - 1);
      return inside ? in(0) : with_zero(in(0));
    }
    case Op::Scatter: {
      const int64_t terms = operand_type(1).shape.count();  // at most so many updates meet in one place
      if (terms == 0) return {0, 0};
      const Interval some = with_zero(in(0));
      return times(some, {1, terms}, t);
    }
  }
  return whole(t);
}

Interval interval(ir::Expr e) { return Intervals(*e.graph).of(e); }

}  // namespace spirograd::rewrite
