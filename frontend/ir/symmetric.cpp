#include "frontend/ir/symmetric.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "frontend/ir/reshape_groups.h"

namespace spirograd::ir {
namespace {

constexpr int kMostPairs = 256;  // of nodes that are compared

/// How one array relates to another one.
enum class Relation : uint8_t { Other, Same, Opposite };

Relation times(Relation a, Relation b) {
  if (a == Relation::Other || b == Relation::Other) return Relation::Other;
  return a == b ? Relation::Same : Relation::Opposite;
}

using Axes = std::vector<int>;  // of one array: which axis of the other one lies along each

bool in_order(const Axes& axes) { return std::ranges::is_sorted(axes); }

class Comparison {
 public:
  explicit Comparison(const Graph& g) : g_(g) {}

  /// Of `a` at any point to `b` at the point with the axes moved.
  Relation relation(NodeId a, NodeId b, const Axes& axes) {
    if (a == b && in_order(axes)) return Relation::Same;
    if (++pairs_ > kMostPairs) return Relation::Other;
    const Node& m = g_[a];
    if (m.op == Op::Transpose) return relation(m.in[0], b, behind_transpose(m, axes));
    const Node& n = g_[b];
    if (n.op == Op::Transpose) return relation(a, n.in[0], before_transpose(n, axes));
    if (m.op != n.op || m.in.size() != n.in.size() || !extents_fit(m.type.shape, n.type.shape, axes)) return Relation::Other;
    switch (kind(m.op)) {
      case Kind::Pointwise: return of_pointwise(a, b, axes);
      case Kind::Layout:
        if (m.op == Op::Broadcast) return of_spread(operand(whole(a)), operand(whole(b)), axes);
        if (m.op == Op::Reshape) return of_reshape(m, n, axes);
        return is_unary_layout(m.op) ? of_layout_along(m, n, axes) : Relation::Other;
      case Kind::Reduce: return of_reduction(m, n, axes);
      case Kind::Leaf: return same(m.op == Op::Iota && axes[at(m.attr[0])] == n.attr[0]);
      case Kind::Indexed:
      case Kind::Binder:
      case Kind::Loop:
      case Kind::Rule: break;
    }
    return Relation::Other;
  }

 private:
  static Relation same(bool is) { return is ? Relation::Same : Relation::Other; }
  static size_t at(int64_t axis) { return static_cast<size_t>(axis); }

  // What is only reduced, or lies behind a window, may be longer in one of them.
  static bool extents_fit(const Shape& a, const Shape& b, const Axes& axes) {
    if (a.rank() != b.rank()) return false;
    for (int j = 0; j < a.rank(); ++j)
      if (a[j] != b[axes[at(j)]]) return false;
    return true;
  }

  // a = transpose(x): axis j of `a` is axis perm[j] of x.
  static Axes behind_transpose(const Node& n, const Axes& axes) {
    Axes out(axes.size());
    for (size_t j = 0; j < axes.size(); ++j) out[at(n.attr[j])] = axes[j];
    return out;
  }
  static Axes before_transpose(const Node& n, const Axes& axes) {
    Axes out;
    for (const int axis : axes) out.push_back(static_cast<int>(n.attr[at(axis)]));
    return out;
  }

  Relation of_pointwise(NodeId a, NodeId b, const Axes& axes) {
    const Node &m = g_[a], &n = g_[b];
    if (m.type.dtype != n.type.dtype) return Relation::Other;
    if (m.op == Op::Mul) return of_product(a, b, axes);
    if (m.op == Op::Neg) return relation(m.in[0], n.in[0], axes);
    if (m.op == Op::Abs) return same(relation(m.in[0], n.in[0], axes) != Relation::Other);
    if (m.op == Op::Div) return of_quotient(m, n, axes);
    if (m.op == Op::Add || m.op == Op::Sub) return of_sum(m, n, axes);
    if (operands_same(m, n, axes)) return Relation::Same;
    return same(has_flag(m.op, kCommutative) && relation(m.in[0], n.in[1], axes) == Relation::Same &&
                relation(m.in[1], n.in[0], axes) == Relation::Same);
  }

  // By a difference that turns its sign: where it is 0 there is no sign, and the infinity keeps that of the numerator.
  Relation of_quotient(const Node& m, const Node& n, const Axes& axes) {
    return relation(m.in[1], n.in[1], axes) == Relation::Same ? relation(m.in[0], n.in[0], axes) : Relation::Other;
  }

  bool operands_same(const Node& m, const Node& n, const Axes& axes) {
    for (size_t j = 0; j < m.in.size(); ++j)
      if (relation(m.in[j], n.in[j], axes) != Relation::Same) return false;
    return true;
  }

  Relation of_sum(const Node& m, const Node& n, const Axes& axes) {
    const auto of = [&](size_t first, size_t second) {
      const Relation r = relation(m.in[0], n.in[first], axes);
      return r != Relation::Other && relation(m.in[1], n.in[second], axes) == r ? r : Relation::Other;
    };
    if (const Relation straight = of(0, 1); straight != Relation::Other) return straight;
    const Relation crossed = of(1, 0);
    return m.op == Op::Sub ? times(crossed, Relation::Opposite) : crossed;
  }

  // Factors of factors have any order.
  Relation of_product(NodeId a, NodeId b, const Axes& axes) {
    std::vector<Spread> left, right;
    add_factors(whole(a), left);
    add_factors(whole(b), right);
    if (left.size() != right.size()) return Relation::Other;
    Relation out = Relation::Same;
    for (const Spread& factor : left) {
      Relation found = Relation::Other;
      size_t j = 0;
      for (; j < right.size() && found == Relation::Other; ++j) found = of_spread(factor, right[j], axes);
      out = times(out, found);
      if (out == Relation::Other) return out;
      right.erase(right.begin() + static_cast<ptrdiff_t>(j - 1));
    }
    return out;
  }

  // An array that is repeated along the other axes of a larger one: where each of its own axes lies there.
  struct Spread {
    NodeId id;
    Axes place;
  };

  Spread whole(NodeId id) const {
    Axes place(static_cast<size_t>(g_[id].type.shape.rank()));
    std::iota(place.begin(), place.end(), 0);
    return {id, std::move(place)};
  }

  Spread operand(const Spread& s) const {
    const Node& n = g_[s.id];
    Spread out{n.in[0], {}};
    for (const int64_t axis : n.attr) out.place.push_back(s.place[at(axis)]);
    return out;
  }

  void add_factors(const Spread& s, std::vector<Spread>& out) const {
    const Node& n = g_[s.id];
    if (n.op == Op::Broadcast) return add_factors(operand(s), out);
    if (n.op != Op::Mul) return out.push_back(s);
    for (const NodeId factor : n.in) add_factors({factor, s.place}, out);
  }

  Relation of_spread(const Spread& a, const Spread& b, const Axes& axes) {
    if (a.place.size() != b.place.size()) return Relation::Other;
    Axes out;
    for (const int axis : a.place) {
      const auto there = std::ranges::find(b.place, axes[at(axis)]);
      if (there == b.place.end()) return Relation::Other;
      out.push_back(static_cast<int>(there - b.place.begin()));
    }
    return relation(a.id, b.id, out);
  }

  // What is done along one axis.
  Relation of_layout_along(const Node& m, const Node& n, const Axes& axes) {
    const bool alike = axes[at(m.attr[0])] == n.attr[0] &&
                       std::ranges::equal(m.attr.begin() + 1, m.attr.end(), n.attr.begin() + 1, n.attr.end());
    return alike ? relation(m.in[0], n.in[0], axes) : Relation::Other;
  }

  // Groups of axes that are one reshape each, whole ones in the places of whole ones.
  Relation of_reshape(const Node& m, const Node& n, const Axes& axes) {
    if (m.type.shape.count() == 0) return Relation::Other;
    const Shape &from = g_[m.in[0]].type.shape, &other_from = g_[n.in[0]].type.shape;
    const std::vector<ReshapeGroup> groups = reshape_groups(from, m.type.shape),
                                    others = reshape_groups(other_from, n.type.shape);
    Axes out(static_cast<size_t>(from.rank()));
    for (const ReshapeGroup& group : groups) {
      const auto there = std::ranges::find_if(others, [&](const ReshapeGroup& o) {
        if (group.to.count() == 0 || o.to.count() != group.to.count() || o.from.count() != group.from.count()) return false;
        for (int j = 0; j < group.to.count(); ++j)
          if (axes[at(group.to.first + j)] != o.to.first + j) return false;
        for (int j = 0; j < group.from.count(); ++j)
          if (from[group.from.first + j] != other_from[o.from.first + j]) return false;
        return true;
      });
      if (there == others.end()) return Relation::Other;
      for (int j = 0; j < group.from.count(); ++j) out[at(group.from.first + j)] = there->from.first + j;
    }
    return groups.size() == others.size() ? relation(m.in[0], n.in[0], out) : Relation::Other;
  }

  // What is reduced lies along the same axes in order.
  Relation of_reduction(const Node& m, const Node& n, const Axes& axes) {
    if (finds_place(m.op) || m.attr.size() != n.attr.size()) return Relation::Other;
    const Axes left = kept(m), right = kept(n);
    Axes out(left.size() + m.attr.size());
    for (size_t j = 0; j < left.size(); ++j) out[at(left[j])] = right[at(axes[j])];
    for (size_t j = 0; j < m.attr.size(); ++j) out[at(m.attr[j])] = static_cast<int>(n.attr[j]);
    const Relation r = relation(m.in[0], n.in[0], out);
    return m.op == Op::Sum || r == Relation::Same ? r : Relation::Other;
  }

  Axes kept(const Node& n) const {
    Axes out;
    for (int a = 0; a < g_[n.in[0]].type.shape.rank(); ++a)
      if (std::ranges::find(n.attr, a) == n.attr.end()) out.push_back(a);
    return out;
  }

  const Graph& g_;
  int pairs_ = 0;
};

}  // namespace

std::optional<std::pair<int, int>> symmetric_axes(const Graph& g, NodeId id) {
  const Shape& shape = g[id].type.shape;
  for (int a = 0; a < shape.rank(); ++a)
    for (int b = a + 1; b < shape.rank(); ++b) {
      if (shape[a] != shape[b] || shape[a] < 2) continue;
      Axes swapped(static_cast<size_t>(shape.rank()));
      std::iota(swapped.begin(), swapped.end(), 0);
      std::swap(swapped[static_cast<size_t>(a)], swapped[static_cast<size_t>(b)]);
      if (Comparison(g).relation(id, id, swapped) == Relation::Same) return std::pair(a, b);
    }
  return std::nullopt;
}

}  // namespace spirograd::ir
