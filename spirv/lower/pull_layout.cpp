// Index arithmetic of the layout operations, and hoisting of what does not depend on a loop about to open.
#include <algorithm>

#include "spirv/lower/pull.h"
#include "spirv/lower/scalar_ops.h"

namespace spirograd::lower {

using ir::Kind;
using ir::LayoutOp;
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

// Pre: of one operand.
Puller::Guarded Puller::operand_point(const Node& n, const Point& point) {
  const Shape& from = node(n.in[0]).type.shape;
  Point p = point;
  const auto moved = [&] { return static_cast<size_t>(n.attr[0]); };
  switch (ir::layout_op(n.op)) {
    case LayoutOp::Broadcast:
      p.clear();
      for (int64_t a : n.attr) p.push_back(point[static_cast<size_t>(a)]);
      return {p, {}};
    case LayoutOp::Transpose:
      for (size_t j = 0; j < point.size(); ++j) p[static_cast<size_t>(n.attr[j])] = point[j];
      return {p, {}};
    case LayoutOp::Reshape: return {reshape_point(from, n.type.shape, point), {}};
    case LayoutOp::Reverse: {
      Value& x = p[moved()];
      if (x != kUnknown) x = b_.sub(b_.i32(from[static_cast<int>(n.attr[0])] - 1), x);
      return {p, {}};
    }
    case LayoutOp::Window: {
      const int axis = static_cast<int>(n.attr[0]);
      Value& x = p[moved()];
      if (x == kUnknown) return {p, {}};
      const Value before = b_.add(x, b_.i32(n.attr[1]));
      std::optional<Value> inside;
      x = in_range({&before, 1}, from.slice(axis, axis + 1), inside)[0];
      return {p, inside};
    }
    case LayoutOp::Concat:
    case LayoutOp::Stack: break;
  }
  throw Error("SG0900", "internal: " + std::string(ir::name(n.op)) + " has no single operand");
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
  switch (ir::kind(n.op)) {
    case Kind::Pointwise:
      for (NodeId in : n.in) hoist_below(scope, in, point, guard);
      return;
    case Kind::Layout:
      if (ir::is_unary_layout(n.op) && node(n.in[0]).type.shape.count() > 0)
        hoist_below(scope, n.in[0], operand_point(n, point).point, guard);
      return;
    case Kind::Reduce: hoist_below(scope, n.in[0], reduced_operand_point(n, point), guard); return;
    case Kind::Indexed: {
      if (n.op == Op::Scatter) return;
      const auto m = static_cast<ptrdiff_t>(node(n.in[1]).type.shape.rank());
      const Point outer(point.begin(), point.begin() + m);
      for (size_t j = 1; j < n.in.size(); ++j) hoist_below(scope, n.in[j], outer, guard);
      if (node(n.in[0]).type.shape.count() == 0) return;
      Point inner(n.in.size() - 1, kUnknown);
      inner.insert(inner.end(), point.begin() + m, point.end());
      hoist_below(scope, n.in[0], inner, guard);
      return;
    }
    case Kind::Leaf: {
      if (n.op != Op::Param) return;
      const ParamSource source = scopes_[static_cast<size_t>(scope)].params[static_cast<size_t>(n.attr[0])];
      if (source.kind != ParamSource::Kind::Outer) return;
      Point outer = point;
      if (source.stacked) outer.insert(outer.begin(), source.step);
      hoist_below(source.scope, source.node, outer, guard);
      return;
    }
    case Kind::Binder:
    case Kind::Loop: return;
  }
}

}  // namespace spirograd::lower
