// Rows for reductions: what of the operand they need not see. The normal form reduces once, over as few axes as possible.
#include <algorithm>

#include "frontend/ir/eval_ops.h"
#include "frontend/ir/traverse.h"
#include "frontend/rewrite/axes.h"
#include "frontend/rewrite/simplify_rules.h"

namespace spirograd::rewrite {

using namespace ir;

namespace {

Expr reduce_empty(Facts&, Expr e) {
  if (e.in(0).shape().count() != 0) return no();
  return full(*e.graph, e.type(), reduction_of_nothing(e.op(), e.dtype()));
}
Expr sum_zeros(Facts&, Expr e) { return is_uniform(e.in(0), 0) ? zeros(*e.graph, e.type()) : no(); }
Expr reduce_ones(Facts&, Expr e) {
  const Shape& s = e.in(0).shape();
  Axes rest;
  Shape kept;
  for (int t = 0; t < s.rank(); ++t) {
    if (contains(e.node().attr, t) && s[t] == 1) continue;
    if (contains(e.node().attr, t)) rest.push_back(kept.rank());
    kept.push_back(s[t]);
  }
  return kept.rank() == s.rank() ? no() : reduce(e.op(), reshape(e.in(0), kept), rest);
}
Expr reduce_reduce(Facts&, Expr e) {
  const Expr r = e.in(0);
  if (r.op() != e.op()) return no();
  Axes axes = r.node().attr;
  int position = 0;
  for (int t = 0; t < r.in(0).rank(); ++t)
    if (!contains(r.node().attr, t) && contains(e.node().attr, position++)) axes.push_back(t);
  std::sort(axes.begin(), axes.end());
  return reduce(e.op(), r.in(0), axes);
}
// Copies along summed axes: n * x. Extremes of copies are the value itself.
Expr reduce_broadcast(Facts&, Expr e) {
  const Expr b = e.in(0);
  if (b.op() != Op::Broadcast) return no();
  Axes inner, kept_axes;
  int64_t copies = 1;
  for (int64_t t : e.node().attr) {
    const auto it = std::find(b.node().attr.begin(), b.node().attr.end(), t);
    if (it == b.node().attr.end())
      copies *= b.shape()[static_cast<int>(t)];
    else
      inner.push_back(it - b.node().attr.begin());
  }
  if (copies == 0) return no();  // an extreme of nothing
  for (int64_t t : b.node().attr) {
    if (contains(e.node().attr, t)) continue;
    int64_t position = t;
    for (int64_t u : e.node().attr) position -= u < t;
    kept_axes.push_back(position);
  }
  Expr r = reduce(e.op(), b.in(0), inner);
  if (e.op() == Op::Sum && copies != 1) {
    const double factor =
        is_integer(e.dtype()) ? wrap(static_cast<uint64_t>(copies), e.dtype()) : static_cast<double>(copies);
    r = r * full(*e.graph, r.type(), factor);
  }
  return r.shape() == e.shape() ? r : broadcast(r, e.shape(), kept_axes);
}
Expr reduce_transpose(Facts&, Expr e) {
  const Expr x = e.in(0);
  if (x.op() != Op::Transpose) return no();
  Axes axes, left;
  for (int t = 0; t < x.rank(); ++t) (contains(e.node().attr, t) ? axes : left).push_back(x.attr(t));
  std::sort(axes.begin(), axes.end());
  Axes perm;
  for (int64_t t : left) {
    int64_t position = t;
    for (int64_t u : axes) position -= u < t;
    perm.push_back(position);
  }
  return transpose(reduce(e.op(), x.in(0), axes), perm);
}
// An element-wise expression of broadcasts and transposes, and how many transposes it reads; where another order of axes
// costs no more than `most` of them, the expression in that order.
class InOrder {
 public:
  // `perm`: axis of x that each axis of the result is.
  explicit InOrder(Axes perm) : perm_(std::move(perm)) {}

  Expr of(Expr x, int most = 0) {
    Memo done;
    const Expr out = visit(x, done);
    return out && more_ <= most ? out : no();
  }

 private:
  Expr visit(Expr x, Memo& done) {
    constexpr size_t kMost = 32;
    if (const auto it = done.find(x.id.v); it != done.end()) return {x.graph, it->second};
    if (done.size() > kMost) return no();
    Expr out;
    if (x.op() == Op::Broadcast) {
      out = broadcast_in_order(x);
    } else if (x.op() == Op::Transpose) {
      out = transpose_in_order(x);
    } else if (is_pointwise(x.op())) {
      Node n = x.node();
      n.type.shape = permuted(n.type.shape);
      for (NodeId& in : n.in) {
        const Expr operand = visit({x.graph, in}, done);
        if (!operand) return no();
        in = operand.id;
      }
      out = {x.graph, x.graph->intern(std::move(n))};
    }
    if (out) done[x.id.v] = out.id;
    return out;
  }

  Expr transpose_in_order(Expr x) {
    Axes inner;
    for (int64_t t : perm_) inner.push_back(x.attr(static_cast<int>(t)));
    if (!std::is_sorted(inner.begin(), inner.end())) return transpose(x.in(0), inner);
    --more_;
    return x.in(0);
  }

  Expr broadcast_in_order(Expr b) {
    auto [axes, inner] = transposed_broadcast(b.node().attr, perm_);
    Expr x = b.in(0);
    if (!std::is_sorted(inner.begin(), inner.end())) {
      ++more_;
      if (x.op() == Op::Transpose) {
        for (int64_t& t : inner) t = x.attr(static_cast<int>(t));
        x = x.in(0);
        more_ -= std::is_sorted(inner.begin(), inner.end()) ? 2 : 1;
      }
      if (!std::is_sorted(inner.begin(), inner.end())) x = transpose(x, inner);
    }
    return broadcast(x, permuted(b.shape()), axes);
  }

  Shape permuted(const Shape& shape) const {
    Shape out;
    for (int64_t t : perm_) out.push_back(shape[static_cast<int>(t)]);
    return out;
  }

  Axes perm_;
  int more_ = 0;
};

// A transpose that an element-wise expression reads, if there is one.
Expr transpose_in(Expr x) {
  constexpr size_t kMost = 32;
  std::vector<Expr> open = {x};
  for (size_t j = 0; j < open.size() && j < kMost; ++j) {
    const Expr at = open[j];
    if (at.op() == Op::Transpose) return at;
    if (is_pointwise(at.op()))
      for (NodeId in : at.node().in) open.push_back({at.graph, in});
  }
  return no();
}

// What is reduced is read in the order in which it is stored, whichever axis the source has put first.
Expr reduce_in_order(Facts&, Expr e) {
  const Expr x = e.in(0), turned = is_pointwise(x.op()) ? transpose_in(x) : no();
  if (!turned) return no();
  Axes perm(static_cast<size_t>(x.rank())), axes, kept;
  for (int t = 0; t < x.rank(); ++t) perm[static_cast<size_t>(turned.attr(t))] = t;
  for (int t = 0; t < x.rank(); ++t)
    contains(e.node().attr, perm[static_cast<size_t>(t)]) ? axes.push_back(t) : kept.push_back(perm[static_cast<size_t>(t)]);
  if (!std::is_sorted(kept.begin(), kept.end())) return no();
  const Expr in_order = InOrder(std::move(perm)).of(x, -1);
  return in_order ? reduce(e.op(), in_order, axes) : no();
}

// What contracts arrays, however its axes were ordered in the source, computes its result in the order in which it is
// stored.
Expr transpose_reduce(Facts&, Expr e) {
  const Expr r = e.in(0);
  if (info(r.op()).kind != Kind::Reduce || finds_place(r.op())) return no();
  Axes kept, perm;
  for (int t = 0; t < r.in(0).rank(); ++t) {
    perm.push_back(t);
    if (!contains(r.node().attr, t)) kept.push_back(t);
  }
  for (int j = 0; j < e.rank(); ++j)
    perm[static_cast<size_t>(kept[static_cast<size_t>(j)])] = kept[static_cast<size_t>(e.attr(j))];
  const Expr x = InOrder(std::move(perm)).of(r.in(0));
  return x ? reduce(r.op(), x, r.node().attr) : no();
}
Expr reduce_reverse(Facts&, Expr e) {
  return e.in(0).op() == Op::Reverse && contains(e.node().attr, e.in(0).attr(0))
             ? reduce(e.op(), e.in(0).in(0), e.node().attr)
             : no();
}
Expr reduce_reshape(Facts&, Expr e) {
  const Expr x = e.in(0);
  if (x.op() != Op::Reshape || e.rank() != 0 || x.in(0).rank() == 0 || same_but_ones(x.shape(), x.in(0).shape()))
    return no();
  Axes axes;
  for (int t = 0; t < x.in(0).rank(); ++t) axes.push_back(t);
  return reduce(e.op(), x.in(0), axes);
}
// A window that only pads adds zeros.
Expr sum_padding(Facts&, Expr e) {
  const Expr w = e.in(0);
  if (w.op() != Op::Window || !contains(e.node().attr, w.attr(0))) return no();
  const int t = axis_of(w);
  const int64_t n = w.in(0).shape()[t];
  return w.attr(1) <= 0 && w.attr(1) + w.shape()[t] >= n ? reduce(Op::Sum, w.in(0), e.node().attr) : no();
}
Expr arg_short(Facts&, Expr e) { return e.in(0).shape()[axis_of(e)] == 1 ? zeros(*e.graph, e.type()) : no(); }

std::vector<Op> reductions() { return {Op::Sum, Op::Prod, Op::ReduceMax, Op::ReduceMin}; }
std::vector<Op> all_but_products() { return {Op::Sum, Op::ReduceMax, Op::ReduceMin}; }

}  // namespace

const std::vector<Rule>& reduction_rules() {
  // clang-format off
  static const std::vector<Rule> rules = {
    {"reduce-empty", reductions(), reduce_empty,
     "def f(a: f32[0, 3]) = reduce_max(a, axis=0)",
     "def f(a: f32[0, 3]) = full([3], -inf)"},
    {"sum-zeros", {Op::Sum}, sum_zeros,
     "def f() = sum(zeros([4, 3]), axis=0)",
     "def f() = zeros([3])"},
    {"reduce-reduce", reductions(), reduce_reduce,
     "def f(a: f32[2, 3]) = sum(sum(a, axis=1), axis=0)",
     "def f(a: f32[2, 3]) = sum(a, axis=[0, 1])"},
    {"reduce-ones", reductions(), reduce_ones,
     "def f(a: f32[1, 3]) = sum(a, axis=0)",
     "def f(a: f32[1, 3]) = reshape(a, [3])"},
    {"reduce-broadcast", all_but_products(), reduce_broadcast,
     "def f(a: f32[3]) = sum(broadcast(a, [3, 4], [0]), axis=1)",
     "def f(a: f32[3]) = a * 4.0"},
    {"reduce-transpose", reductions(), reduce_transpose,
     "def f(a: f32[2, 3, 4]) = sum(transpose(a, [2, 1, 0]), axis=0)",
     "def f(a: f32[2, 3, 4]) = transpose(sum(a, axis=2), [1, 0])"},
    {"reduce-in-order", reductions(), reduce_in_order,
     "def f(a: f32[2, 3], r: f32[2]) = sum(transpose(a, [1, 0]) * broadcast(r, [3, 2], [1]), axis=1)",
     "def f(a: f32[2, 3], r: f32[2]) = sum(a * broadcast(r, [2, 3], [0]), axis=0)"},
    {"transpose-reduce", {Op::Transpose}, transpose_reduce,
     "def f(a: f32[2, 3], b: f32[4, 3]) = transpose(sum(broadcast(a, [2, 4, 3], [0, 2]) * broadcast(b, [2, 4, 3], [1, 2]), axis=2))",
     "def f(a: f32[2, 3], b: f32[4, 3]) = sum(broadcast(a, [4, 2, 3], [1, 2]) * broadcast(b, [4, 2, 3], [0, 2]), axis=2)"},
    {"reduce-reverse", reductions(), reduce_reverse,
     "def f(a: f32[3]) = sum(reverse(a, axis=0), axis=0)",
     "def f(a: f32[3]) = sum(a, axis=0)"},
    {"reduce-reshape", reductions(), reduce_reshape,
     "def f(a: f32[2, 3]) = sum(reshape(a, [6]), axis=0)",
     "def f(a: f32[2, 3]) = sum(a, axis=[0, 1])"},
    {"sum-padding", {Op::Sum}, sum_padding,
     "def f(a: f32[3]) = sum(window(a, axis=0, lo=-1, n=5), axis=0)",
     "def f(a: f32[3]) = sum(a, axis=0)"},
    {"arg-short", {Op::ArgMax, Op::ArgMin}, arg_short,
     "def f(a: f32[3, 1]) = argmax(a, axis=1)",
     "def f(a: f32[3, 1]) = full([3], 0)"},
  };
  // clang-format on
  return rules;
}

}  // namespace spirograd::rewrite
