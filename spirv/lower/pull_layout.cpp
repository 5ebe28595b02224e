// Index arithmetic of the layout operations, and hoisting of what does not depend on a loop about to open.
#include <algorithm>

#include "spirv/lower/pull.h"
#include "spirv/lower/scalar_ops.h"

namespace spirograd::lower {

using ir::Node;
using ir::NodeId;
using ir::Op;
using kernel::KOp;
using kernel::Value;

Point Puller::unlinear(Value linear, std::span<const int64_t> shape) {
  Point p(shape.size());
  Value rest = linear;
  for (size_t a = shape.size(); a-- > 1;) {
    const Value extent = b_.i32(shape[a]);
    p[a] = b_.op(KOp::Rem, rest, extent);
    rest = b_.op(KOp::Quot, rest, extent);
  }
  if (!p.empty()) p[0] = rest;
  return p;
}

Value Puller::linear(const Point& point, const Shape& shape) {
  Value v = b_.i32(0);
  for (int a = 0; a < shape.rank(); ++a) {
    const Value x = point[static_cast<size_t>(a)];
    if (x == kUnknown) return kUnknown;
    v = b_.add(b_.mul(v, b_.i32(shape[a])), x);
  }
  return v;
}

// Row-major reinterpretation. The two shapes are cut into groups of axes with equal element counts, so that axes which the
// reshape leaves alone cost nothing and divisions stay inside of a group.
Point Puller::reshape_point(const Shape& from, const Shape& to, const Point& point) {
  Point out(static_cast<size_t>(from.rank()), b_.i32(0));
  int a = 0, c = 0;
  while (a < from.rank() || c < to.rank()) {
    const int a0 = a, c0 = c;
    int64_t na = a < from.rank() ? from[a++] : 1, nc = c < to.rank() ? to[c++] : 1;
    while (na != nc) {
      if (na < nc ? a < from.rank() : c >= to.rank()) {
        na *= from[a++];
      } else {
        nc *= to[c++];
      }
    }
    const Shape from_group = from.slice(a0, a), to_group = to.slice(c0, c);
    const Value number = linear(Point(point.begin() + c0, point.begin() + c), to_group);
    Point group(static_cast<size_t>(a - a0), kUnknown);
    if (number != kUnknown) group = unlinear(number, from_group);
    std::copy(group.begin(), group.end(), out.begin() + a0);
  }
  return out;
}

// Pre: one of Broadcast, Transpose, Reshape, Reverse, Window.
Puller::Guarded Puller::operand_point(const Node& n, const Point& point) {
  const Shape& from = node(n.in[0]).type.shape;
  if (n.op == Op::Reshape) return {reshape_point(from, n.type.shape, point), {}};
  if (n.op == Op::Broadcast) {
    Point p;
    for (int64_t a : n.attr) p.push_back(point[static_cast<size_t>(a)]);
    return {p, {}};
  }
  Point p = point;
  if (n.op == Op::Transpose) {
    for (size_t j = 0; j < point.size(); ++j) p[static_cast<size_t>(n.attr[j])] = point[j];
    return {p, {}};
  }
  const int axis = static_cast<int>(n.attr[0]);
  Value& x = p[static_cast<size_t>(axis)];
  if (x == kUnknown) return {p, {}};
  if (n.op == Op::Reverse) {
    x = b_.sub(b_.i32(from[axis] - 1), x);
    return {p, {}};
  }
  const Value moved = b_.add(x, b_.i32(n.attr[1]));
  std::optional<Value> inside;
  x = in_range({&moved, 1}, from.slice(axis, axis + 1), inside)[0];
  return {p, inside};
}

// The operand's point with the reduced axes unknown.
Point Puller::reduced_operand_point(const Node& n, const Point& point) const {
  Point p;
  size_t next = 0;
  for (int a = 0; a < node(n.in[0]).type.shape.rank(); ++a) {
    const bool reduced = std::find(n.attr.begin(), n.attr.end(), a) != n.attr.end();
    p.push_back(reduced ? kUnknown : point[next++]);
  }
  return p;
}

void Puller::hoist(int scope, NodeId id, const Point& point, int guard) {
  hoisted_.clear();
  hoist_below(scope, id, point, guard);
}

void Puller::hoist_below(int scope, NodeId id, const Point& point, int guard) {
  const Node& n = node(id);
  const bool known = std::find(point.begin(), point.end(), kUnknown) == point.end();
  const bool in_memory = scope == 0 && buffer_of(id);
  if (n.op == Op::Const || n.op == Op::Iota) return;
  if (known && n.op != Op::MapAccum && !(scope == guard && varies(scope, id))) {
    eval(scope, id, point);
    return;
  }
  if (in_memory) return;
  if (!hoisted_.insert(Key{scope, id.v, point}).second) return;
  switch (n.op) {
    case Op::Broadcast: case Op::Transpose: case Op::Reshape: case Op::Reverse: case Op::Window:
      if (node(n.in[0]).type.shape.count() > 0) hoist_below(scope, n.in[0], operand_point(n, point).point, guard);
      return;
    case Op::Sum: case Op::Prod: case Op::ReduceMax: case Op::ReduceMin: case Op::ArgMax: case Op::ArgMin:
      hoist_below(scope, n.in[0], reduced_operand_point(n, point), guard);
      return;
    case Op::Gather: {
      const auto m = static_cast<ptrdiff_t>(node(n.in[1]).type.shape.rank());
      const Point outer(point.begin(), point.begin() + m);
      for (size_t j = 1; j < n.in.size(); ++j) hoist_below(scope, n.in[j], outer, guard);
      if (node(n.in[0]).type.shape.count() == 0) return;
      Point inner(n.in.size() - 1, kUnknown);
      inner.insert(inner.end(), point.begin() + m, point.end());
      hoist_below(scope, n.in[0], inner, guard);
      return;
    }
    case Op::Param: {
      const ParamSource source = scopes_[static_cast<size_t>(scope)].params[static_cast<size_t>(n.attr[0])];
      if (source.kind != ParamSource::Kind::Outer) return;
      Point outer = point;
      if (source.stacked) outer.insert(outer.begin(), source.step);
      hoist_below(source.scope, source.node, outer, guard);
      return;
    }
    case Op::Concat: case Op::Stack: case Op::Const: case Op::Iota: case Op::IndexVar: case Op::Var: case Op::Scatter:
    case Op::Build: case Op::MapAccum: case Op::Proj:
      return;
    case Op::Neg: case Op::Abs: case Op::Sign: case Op::Not: case Op::Floor: case Op::Sqrt: case Op::Exp: case Op::Log:
    case Op::Sin: case Op::Cos: case Op::Tan: case Op::Asin: case Op::Acos: case Op::Atan: case Op::Sinh: case Op::Cosh:
    case Op::Tanh: case Op::Asinh: case Op::Acosh: case Op::Atanh: case Op::Erf: case Op::Logistic:
    case Op::Log1p: case Op::Expm1: case Op::Cast:
    case Op::StopGradient: case Op::Add: case Op::Sub: case Op::Mul: case Op::Div: case Op::Pow: case Op::Atan2:
    case Op::Min:
    case Op::Max: case Op::Quot: case Op::Rem: case Op::Eq: case Op::Ne: case Op::Lt: case Op::Le: case Op::Gt: case Op::Ge:
    case Op::And: case Op::Or: case Op::Select: case Op::MaskedMul: case Op::MaskedDiv: case Op::StrongMul:
      for (NodeId in : n.in) hoist_below(scope, in, point, guard);
      return;
  }
}

}  // namespace spirograd::lower
