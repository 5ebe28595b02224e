// Rows for broadcasts, permutations, windows and joins. The normal form has at most one of each between two
// computations: windows are ordered by axis, broadcasts stand outermost and carry no transpose.
#include <algorithm>

#include "frontend/rewrite/axes.h"
#include "frontend/rewrite/simplify_rules.h"

namespace spirograd::rewrite {

using namespace ir;

namespace {

Expr empty_array(Facts&, Expr e) {
  if (e.shape().count() != 0) return no();
  const Expr z = zeros(*e.graph, e.type());
  return z == e ? no() : z;
}

// ---- broadcast -------------------------------------------------------------------------------------------------------

Expr broadcast_identity(Facts&, Expr e) { return e.shape() == e.in(0).shape() ? e.in(0) : no(); }
Expr broadcast_broadcast(Facts&, Expr e) {
  const Expr b = e.in(0);
  if (b.op() != Op::Broadcast) return no();
  Axes axes;
  for (int64_t t : b.node().attr) axes.push_back(e.attr(static_cast<int>(t)));
  return broadcast(b.in(0), e.shape(), axes);
}
Expr broadcast_iota(Facts&, Expr e) {
  return e.in(0).op() == Op::Iota ? iota(*e.graph, e.shape(), static_cast<int>(e.attr(axis_of(e.in(0))))) : no();
}
// Axes of extent 1 that a reshape has put in are left to the broadcast.
Expr broadcast_ones(Facts&, Expr e) {
  const Expr a = e.in(0);
  const Axes wide = wide_axes(a.shape());
  if (static_cast<int>(wide.size()) == a.rank()) return no();
  Shape kept;
  Axes axes;
  for (int64_t t : wide) {
    kept.push_back(a.shape()[static_cast<int>(t)]);
    axes.push_back(e.attr(static_cast<int>(t)));
  }
  return broadcast(reshape(a, kept), e.shape(), axes);
}

// ---- transpose -------------------------------------------------------------------------------------------------------

Expr transpose_identity(Facts&, Expr e) {
  return std::is_sorted(e.node().attr.begin(), e.node().attr.end()) ? e.in(0) : no();
}
Expr transpose_transpose(Facts&, Expr e) {
  if (e.in(0).op() != Op::Transpose) return no();
  Axes perm;
  for (int64_t t : e.node().attr) perm.push_back(e.in(0).attr(static_cast<int>(t)));
  return transpose(e.in(0).in(0), perm);
}
Expr transpose_broadcast(Facts&, Expr e) {
  const Expr b = e.in(0);
  if (b.op() != Op::Broadcast) return no();
  const TransposedBroadcast moved = transposed_broadcast(b.node().attr, e.node().attr);
  return broadcast(transpose(b.in(0), moved.operand), e.shape(), moved.axes);
}
Expr transpose_iota(Facts&, Expr e) {
  if (e.in(0).op() != Op::Iota) return no();
  const auto& perm = e.node().attr;
  return iota(*e.graph, e.shape(), static_cast<int>(std::find(perm.begin(), perm.end(), e.in(0).attr(0)) - perm.begin()));
}
// Only axes of extent 1 move.
Expr transpose_ones(Facts&, Expr e) {
  Axes wide;
  for (int64_t t : e.node().attr)
    if (e.in(0).shape()[static_cast<int>(t)] != 1) wide.push_back(t);
  return std::is_sorted(wide.begin(), wide.end()) ? reshape(e.in(0), e.shape()) : no();
}
Expr transpose_stack(Facts&, Expr e) {
  const Expr s = e.in(0);
  if (s.op() != Op::Stack) return no();
  const auto& perm = e.node().attr;
  const int at = static_cast<int>(std::find(perm.begin(), perm.end(), s.attr(0)) - perm.begin());
  Axes inner;
  for (int64_t t : perm)
    if (t != s.attr(0)) inner.push_back(t > s.attr(0) ? t - 1 : t);
  std::vector<Expr> parts;
  for (size_t j = 0; j < s.node().in.size(); ++j) parts.push_back(transpose(s.in(static_cast<int>(j)), inner));
  return stack(parts, at);
}

// ---- reshape ---------------------------------------------------------------------------------------------------------

Expr reshape_identity(Facts&, Expr e) { return e.shape() == e.in(0).shape() ? e.in(0) : no(); }
Expr reshape_reshape(Facts&, Expr e) { return e.in(0).op() == Op::Reshape ? reshape(e.in(0).in(0), e.shape()) : no(); }
Expr reshape_iota(Facts&, Expr e) {
  const Expr a = e.in(0);
  if (a.op() != Op::Iota || !same_but_ones(a.shape(), e.shape()) || a.shape()[axis_of(a)] == 1) return no();
  const Axes from = wide_axes(a.shape()), to = wide_axes(e.shape());
  const size_t k = static_cast<size_t>(std::find(from.begin(), from.end(), a.attr(0)) - from.begin());
  return iota(*e.graph, e.shape(), static_cast<int>(to[k]));
}
// A broadcast under a reshape that keeps all wide axes, or whose operand is a scalar.
Expr reshape_broadcast(Facts&, Expr e) {
  const Expr b = e.in(0);
  if (b.op() != Op::Broadcast) return no();
  if (b.in(0).rank() == 0) return broadcast(b.in(0), e.shape(), {});
  if (!same_but_ones(b.shape(), e.shape())) return no();
  const Axes from = wide_axes(b.shape()), to = wide_axes(e.shape());
  Shape kept;
  Axes axes;
  for (int64_t t : b.node().attr) {
    const auto it = std::find(from.begin(), from.end(), t);
    if (it == from.end()) continue;
    kept.push_back(b.shape()[static_cast<int>(t)]);
    axes.push_back(to[static_cast<size_t>(it - from.begin())]);
  }
  return broadcast(reshape(b.in(0), kept), e.shape(), axes);
}

// Axes of extent 1 that reshapes have put into all operands are put in once, behind: arrays of few shapes share kernels.
Expr pointwise_ones(Facts&, Expr e) {
  Shape dense;
  for (int64_t t : wide_axes(e.shape())) dense.push_back(e.shape()[static_cast<int>(t)]);
  bool reshaped = false;
  std::vector<Expr> in;
  for (size_t j = 0; j < e.node().in.size() && dense != e.shape(); ++j) {
    const Expr x = e.in(static_cast<int>(j));
    const auto constant = uniform(x);
    if (!constant && (x.op() != Op::Reshape || x.in(0).shape() != dense)) return no();
    reshaped = reshaped || !constant;
    in.push_back(constant ? full(*e.graph, {x.dtype(), dense}, *constant) : x.in(0));
  }
  return reshaped ? reshape(with_operands(*e.graph, e.node(), in), e.shape()) : no();
}

// ---- window, reverse -------------------------------------------------------------------------------------------------

bool window_inside(Expr e) {
  const int t = axis_of(e);
  return e.attr(1) >= 0 && e.attr(1) + e.shape()[t] <= e.in(0).shape()[t];
}
Expr window_identity(Facts&, Expr e) { return e.attr(1) == 0 && e.shape() == e.in(0).shape() ? e.in(0) : no(); }
Expr window_outside(Facts&, Expr e) {
  const int t = axis_of(e);
  const bool outside = e.attr(1) >= e.in(0).shape()[t] || e.attr(1) + e.shape()[t] <= 0;
  return outside || is_uniform(e.in(0), 0) ? zeros(*e.graph, e.type()) : no();
}
// Two windows on one axis are one unless the inner one cuts off something that the outer one would see again.
Expr window_window(Facts&, Expr e) {
  const Expr w = e.in(0);
  if (w.op() != Op::Window || w.attr(0) != e.attr(0)) return no();
  const int t = axis_of(e);
  const int64_t lo1 = w.attr(1), lo2 = e.attr(1), n1 = w.shape()[t], n2 = e.shape()[t], n = w.in(0).shape()[t];
  const bool below = lo2 >= 0 || lo1 <= 0 || lo1 + lo2 >= n;
  const bool above = lo2 + n2 <= n1 || lo1 + n1 >= n || lo1 + lo2 + n2 <= 0;
  return below && above ? window(w.in(0), t, lo1 + lo2, n2) : no();
}
Expr window_order(Facts&, Expr e) {
  const Expr w = e.in(0);
  if (w.op() != Op::Window || w.attr(0) <= e.attr(0)) return no();
  const int t = axis_of(e), u = axis_of(w);
  return window(window(w.in(0), t, e.attr(1), e.shape()[t]), u, w.attr(1), w.shape()[u]);
}
Expr window_broadcast(Facts&, Expr e) {
  const Expr b = e.in(0);
  if (b.op() != Op::Broadcast) return no();
  const auto it = std::find(b.node().attr.begin(), b.node().attr.end(), e.attr(0));
  if (it == b.node().attr.end()) return window_inside(e) ? broadcast(b.in(0), e.shape(), b.node().attr) : no();
  const int k = static_cast<int>(it - b.node().attr.begin());
  return broadcast(window(b.in(0), k, e.attr(1), e.shape()[axis_of(e)]), e.shape(), b.node().attr);
}
Expr window_iota(Facts&, Expr e) {
  const Expr a = e.in(0);
  if (a.op() != Op::Iota || !window_inside(e)) return no();
  const Expr i = iota(*e.graph, e.shape(), axis_of(a));
  return a.attr(0) == e.attr(0) ? i + full(*e.graph, e.type(), static_cast<double>(e.attr(1))) : i;
}
Expr window_concat(Facts&, Expr e) {
  const Expr c = e.in(0);
  if (c.op() != Op::Concat || c.attr(0) != e.attr(0) || !window_inside(e)) return no();
  const int t = axis_of(e);
  int64_t start = 0;
  for (size_t j = 0; j < c.node().in.size(); ++j) {
    const Expr part = c.in(static_cast<int>(j));
    const int64_t n = part.shape()[t];
    if (e.attr(1) >= start && e.attr(1) + e.shape()[t] <= start + n) return window(part, t, e.attr(1) - start, e.shape()[t]);
    start += n;
  }
  return no();
}
Expr window_stack(Facts&, Expr e) {
  const Expr s = e.in(0);
  if (s.op() != Op::Stack || s.attr(0) != e.attr(0) || !window_inside(e)) return no();
  const int t = axis_of(e);
  std::vector<Expr> parts;
  for (int64_t j = 0; j < e.shape()[t]; ++j) parts.push_back(s.in(static_cast<int>(e.attr(1) + j)));
  return stack(parts, t);
}

Expr reverse_reverse(Facts&, Expr e) {
  return e.in(0).op() == Op::Reverse && e.in(0).attr(0) == e.attr(0) ? e.in(0).in(0) : no();
}
Expr reverse_short(Facts&, Expr e) { return e.shape()[axis_of(e)] <= 1 ? e.in(0) : no(); }
Expr reverse_broadcast(Facts&, Expr e) {
  const Expr b = e.in(0);
  if (b.op() == Op::Iota) {
    if (b.attr(0) != e.attr(0)) return b;
    return full(*e.graph, e.type(), static_cast<double>(e.shape()[axis_of(e)] - 1)) - b;
  }
  if (b.op() != Op::Broadcast) return no();
  const auto it = std::find(b.node().attr.begin(), b.node().attr.end(), e.attr(0));
  if (it == b.node().attr.end()) return b;
  return broadcast(reverse(b.in(0), static_cast<int>(it - b.node().attr.begin())), e.shape(), b.node().attr);
}

// ---- concat, stack ---------------------------------------------------------------------------------------------------

// Long concats are not joined further: each level of `concat(t, t)` would double the list.
constexpr size_t kMostParts = 64;

Expr concat_flat(Facts&, Expr e) {
  const int t = axis_of(e);
  std::vector<Expr> parts;
  bool changed = e.node().in.size() == 1;
  size_t all = e.node().in.size();
  for (size_t j = 0; j < e.node().in.size(); ++j) {
    const Expr p = e.in(static_cast<int>(j));
    if (p.shape()[t] == 0) {
      changed = true;
    } else if (p.op() == Op::Concat && p.attr(0) == e.attr(0) && all - 1 + p.node().in.size() <= kMostParts) {
      changed = true;
      all += p.node().in.size() - 1;
      for (size_t k = 0; k < p.node().in.size(); ++k) parts.push_back(p.in(static_cast<int>(k)));
    } else {
      parts.push_back(p);
    }
  }
  if (!changed || parts.empty()) return no();
  return parts.size() == 1 ? parts[0] : concat(parts, t);
}

// The same array again and again is a stretched axis.
Expr concat_same(Facts&, Expr e) {
  const int t = axis_of(e);
  const auto count = static_cast<int64_t>(e.node().in.size());
  for (int j = 1; j < count; ++j)
    if (e.in(j) != e.in(0)) return no();
  return count > 1 && e.in(0).rank() < kMaxRank ? reshape(replicate(e.in(0), t, count), e.shape()) : no();
}

// Neighbouring windows of one array join again.
Expr concat_windows(Facts&, Expr e) {
  const int t = axis_of(e);
  const auto source = [&](Expr p) { return p.op() == Op::Window && axis_of(p) == t ? p.in(0) : p; };
  const auto start = [&](Expr p) { return p.op() == Op::Window && axis_of(p) == t ? p.attr(1) : 0; };
  std::vector<Expr> parts = {e.in(0)};
  for (size_t j = 1; j < e.node().in.size(); ++j) {
    const Expr p = e.in(static_cast<int>(j)), last = parts.back();
    if (source(p) == source(last) && start(last) + last.shape()[t] == start(p))
      parts.back() = window(source(p), t, start(last), last.shape()[t] + p.shape()[t]);
    else
      parts.push_back(p);
  }
  if (parts.size() == e.node().in.size()) return no();
  return concat(parts, t);
}
Expr stack_one(Facts&, Expr e) { return e.node().in.size() == 1 ? reshape(e.in(0), e.shape()) : no(); }
Expr stack_same(Facts&, Expr e) {
  for (size_t j = 1; j < e.node().in.size(); ++j)
    if (e.node().in[j] != e.node().in[0]) return no();
  return replicate(e.in(0), axis_of(e), e.shape()[axis_of(e)]);
}

std::vector<Op> not_leaves() {
  std::vector<Op> ops;
  for (const OpInfo& i : kOps)
    if (i.kind != Kind::Leaf && i.op != Op::MapAccum && i.op != Op::Build) ops.push_back(i.op);
  return ops;
}

}  // namespace

const std::vector<Rule>& layout_rules() {
  // clang-format off
  static const std::vector<Rule> rules = {
    {"empty-array", not_leaves(), empty_array,
     "def f(a: f32[0]) = sin(a)",
     "def f(a: f32[0]) = zeros([0])"},
    {"broadcast-identity", {Op::Broadcast}, broadcast_identity,
     "def f(a: f32[3]) = broadcast(a, [3], [0])",
     "def f(a: f32[3]) = a"},
    {"broadcast-broadcast", {Op::Broadcast}, broadcast_broadcast,
     "def f(a: f32[3]) = broadcast(broadcast(a, [2, 3], [1]), [2, 4, 3], [0, 2])",
     "def f(a: f32[3]) = broadcast(a, [2, 4, 3], [2])"},
    {"broadcast-iota", {Op::Broadcast}, broadcast_iota,
     "def f() = broadcast(iota(3), [2, 3], [1])",
     "def f() = iota([2, 3], axis=1)"},
    {"broadcast-ones", {Op::Broadcast}, broadcast_ones,
     "def f(a: f32[3, 1]) = broadcast(a, [3, 1, 4], [0, 1])",
     "def f(a: f32[3, 1]) = broadcast(reshape(a, [3]), [3, 1, 4], [0])"},
    {"transpose-identity", {Op::Transpose}, transpose_identity,
     "def f(a: f32[2, 3]) = transpose(a, [0, 1])",
     "def f(a: f32[2, 3]) = a"},
    {"transpose-transpose", {Op::Transpose}, transpose_transpose,
     "def f(a: f32[2, 3, 4]) = transpose(transpose(a, [1, 2, 0]), [1, 0, 2])",
     "def f(a: f32[2, 3, 4]) = transpose(a, [2, 1, 0])"},
    {"transpose-broadcast", {Op::Transpose}, transpose_broadcast,
     "def f(a: f32[2, 3]) = transpose(broadcast(a, [2, 3, 4], [0, 1]), [1, 2, 0])",
     "def f(a: f32[2, 3]) = broadcast(transpose(a, [1, 0]), [3, 4, 2], [0, 2])"},
    {"transpose-iota", {Op::Transpose}, transpose_iota,
     "def f() = transpose(iota([2, 3], axis=0), [1, 0])",
     "def f() = iota([3, 2], axis=1)"},
    {"transpose-ones", {Op::Transpose}, transpose_ones,
     "def f(a: f32[2, 1, 3]) = transpose(a, [1, 0, 2])",
     "def f(a: f32[2, 1, 3]) = reshape(a, [1, 2, 3])"},
    {"transpose-stack", {Op::Transpose}, transpose_stack,
     "def f(a: f32[3], b: f32[3]) = transpose(stack(a, b, axis=0), [1, 0])",
     "def f(a: f32[3], b: f32[3]) = stack(transpose(a, [0]), transpose(b, [0]), axis=1)"},
    {"reshape-identity", {Op::Reshape}, reshape_identity,
     "def f(a: f32[3]) = reshape(a, [3])",
     "def f(a: f32[3]) = a"},
    {"reshape-reshape", {Op::Reshape}, reshape_reshape,
     "def f(a: f32[6]) = reshape(reshape(a, [2, 3]), [3, 2])",
     "def f(a: f32[6]) = reshape(a, [3, 2])"},
    {"reshape-iota", {Op::Reshape}, reshape_iota,
     "def f() = reshape(iota([2, 3], axis=1), [2, 1, 3])",
     "def f() = iota([2, 1, 3], axis=2)"},
    {"reshape-broadcast", {Op::Reshape}, reshape_broadcast,
     "def f(a: f32[3]) = reshape(broadcast(a, [3, 4], [0]), [3, 1, 4])",
     "def f(a: f32[3]) = broadcast(reshape(a, [3]), [3, 1, 4], [0])"},
    {"pointwise-ones", pointwise_ops(), pointwise_ones,
     "def f(a: f32[3], b: f32[3]) = reshape(a, [3, 1]) * reshape(b, [3, 1])",
     "def f(a: f32[3], b: f32[3]) = reshape(a * b, [3, 1])"},
    {"window-identity", {Op::Window}, window_identity,
     "def f(a: f32[3]) = window(a, axis=0, lo=0, n=3)",
     "def f(a: f32[3]) = a"},
    {"window-outside", {Op::Window}, window_outside,
     "def f(a: f32[3]) = window(a, axis=0, lo=3, n=2)",
     "def f(a: f32[3]) = zeros([2])"},
    {"window-window", {Op::Window}, window_window,
     "def f(a: f32[5]) = window(window(a, axis=0, lo=1, n=4), axis=0, lo=1, n=2)",
     "def f(a: f32[5]) = window(a, axis=0, lo=2, n=2)"},
    {"window-order", {Op::Window}, window_order,
     "def f(a: f32[3, 4]) = window(window(a, axis=1, lo=1, n=2), axis=0, lo=1, n=2)",
     "def f(a: f32[3, 4]) = window(window(a, axis=0, lo=1, n=2), axis=1, lo=1, n=2)"},
    {"window-broadcast", {Op::Window}, window_broadcast,
     "def f(a: f32[3]) = window(broadcast(a, [3, 4], [0]), axis=1, lo=1, n=2)",
     "def f(a: f32[3]) = broadcast(a, [3, 2], [0])"},
    {"window-iota", {Op::Window}, window_iota,
     "def f() = window(iota(5), axis=0, lo=2, n=3)",
     "def f() = iota(3) + 2"},
    {"window-concat", {Op::Window}, window_concat,
     "def f(a: f32[3], b: f32[4]) = window(concat(a, b, axis=0), axis=0, lo=4, n=2)",
     "def f(a: f32[3], b: f32[4]) = window(b, axis=0, lo=1, n=2)"},
    {"window-stack", {Op::Window}, window_stack,
     "def f(a: f32[3], b: f32[3]) = window(stack(a, b, axis=0), axis=0, lo=1, n=1)",
     "def f(a: f32[3], b: f32[3]) = stack(b, axis=0)"},
    {"reverse-reverse", {Op::Reverse}, reverse_reverse,
     "def f(a: f32[3]) = reverse(reverse(a, axis=0), axis=0)",
     "def f(a: f32[3]) = a"},
    {"reverse-short", {Op::Reverse}, reverse_short,
     "def f(a: f32[1]) = reverse(a, axis=0)",
     "def f(a: f32[1]) = a"},
    {"reverse-broadcast", {Op::Reverse}, reverse_broadcast,
     "def f(a: f32[3]) = reverse(broadcast(a, [3, 4], [0]), axis=1)",
     "def f(a: f32[3]) = broadcast(a, [3, 4], [0])"},
    {"concat-flat", {Op::Concat}, concat_flat,
     "def f(a: f32[3], b: f32[0]) = concat(a, b, axis=0)",
     "def f(a: f32[3], b: f32[0]) = a"},
    {"concat-same", {Op::Concat}, concat_same,
     "def f(a: f32[3]) = concat(a, a, axis=0)",
     "def f(a: f32[3]) = reshape(replicate(a, 2, axis=0), [6])"},
    {"concat-windows", {Op::Concat}, concat_windows,
     "def f(a: f32[5], b: f32[2]) = concat(window(a, axis=0, lo=0, n=2), window(a, axis=0, lo=2, n=2), b, axis=0)",
     "def f(a: f32[5], b: f32[2]) = concat(window(a, axis=0, lo=0, n=4), b, axis=0)"},
    {"stack-one", {Op::Stack}, stack_one,
     "def f(a: f32[3]) = stack(a, axis=0)",
     "def f(a: f32[3]) = reshape(a, [1, 3])"},
    {"stack-same", {Op::Stack}, stack_same,
     "def f(a: f32[3]) = stack(a, a, axis=0)",
     "def f(a: f32[3]) = replicate(a, 2, axis=0)"},
  };
  // clang-format on
  return rules;
}

}  // namespace spirograd::rewrite
