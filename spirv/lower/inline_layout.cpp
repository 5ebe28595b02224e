// Index arithmetic of the layout operations, and hoisting of what does not depend on a loop about to open.
#include <algorithm>

#include "frontend/ir/index_map.h"
#include "frontend/ir/reshape_groups.h"
#include "spirv/lower/access.h"
#include "spirv/lower/beside.h"
#include "spirv/lower/inline.h"
#include "spirv/lower/scalar_ops.h"
#include "spirv/schedule/cost.h"

namespace spirograd::lower {

using ir::Kind;
using ir::Node;
using ir::NodeId;
using ir::Op;
using kernel::KOp;
using kernel::Value;

namespace {

constexpr int64_t kHoisted = 8;  // elements of a reduction in registers whose operands are kept through the loop

}  // namespace

Point Inliner::unlinear(Value linear, std::span<const int64_t> shape) {
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

Value Inliner::linear(const Point& point, const Shape& shape) {
  for (const auto& numbers : numbers_)
    if (const auto counted = numbers.find(point); counted != numbers.end())
      for (const auto& [of, number] : counted->second)
        if (of == shape) return number;
  Value v = b_.i32(0);
  for (int a = 0; a < shape.rank(); ++a) {
    const Value x = point[static_cast<size_t>(a)];
    if (x == kUnknown) return kUnknown;
    v = b_.add(b_.mul(v, b_.i32(shape[a])), x);
  }
  return v;
}

// Row-major reinterpretation, by groups: axes which the reshape leaves alone cost nothing, divisions stay inside of a group.
Point Inliner::reshape_point(const Shape& from, const Shape& to, const Point& point) {
  Point out(static_cast<size_t>(from.rank()), b_.i32(0));
  for (const ir::ReshapeGroup& g : ir::reshape_groups(from, to)) {
    const Shape from_group = from.slice(g.from.first, g.from.end), to_group = to.slice(g.to.first, g.to.end);
    const Value number = linear(Point(point.begin() + g.to.first, point.begin() + g.to.end), to_group);
    Point group(static_cast<size_t>(from_group.rank()), kUnknown);
    if (number != kUnknown) group = unlinear(number, from_group);
    std::copy(group.begin(), group.end(), out.begin() + g.from.first);
  }
  return out;
}

// Coordinates as values; a read beyond the operand is clamped, and `inside` says so.
struct Inliner::IndexArithmetic {
  Inliner& inliner;
  const Shape& from;
  std::optional<Value> inside;

  Value reversed(Value x, int64_t extent) { return x == kUnknown ? x : inliner.b_.sub(inliner.b_.i32(extent - 1), x); }
  Value shifted(Value x, int64_t by, int axis) {
    if (x == kUnknown) return x;
    const Value moved = inliner.b_.add(x, inliner.b_.i32(by));
    return inliner.in_range({&moved, 1}, from.slice(axis, axis + 1), inside)[0];
  }
  Point reshaped(const Shape& operand, const Shape& to, std::span<const Value> p) {
    return inliner.reshape_point(operand, to, Point(p.begin(), p.end()));
  }
};

bool Inliner::counts_through(NodeId id) {
  const auto [known, fresh] = counts_through_.try_emplace(id.v, false);
  if (fresh) known->second = lies_flat(graph_, id, [this](NodeId at) { return buffer_of(at) != nullptr; });
  return known->second;
}

// Pre: of one operand. Where elements are counted through, the point of a reshape has the number of its operand's: what is
// read is a row for whoever reads rows.
Inliner::Guarded Inliner::operand_point(const Node& n, const Point& point) {
  const size_t before = b_.size();
  IndexArithmetic arithmetic{*this, node(n.in[0]).type.shape, {}};
  Point p = ir::layout_operand(n, arithmetic.from, std::span<const Value>(point), arithmetic);
  if (n.op == Op::Reshape && schedule::reads_rows(target_) && counts_through(n.in[0])) {
    unused_ += b_.size() - before;
    if (const Value number = linear(point, n.type.shape); number != kUnknown) number_point(arithmetic.from, p, number);
  }
  return {std::move(p), arithmetic.inside};
}

Point Inliner::point_below(NodeId id, const Point& at) {
  const Node& n = node(id);
  if (n.op != Op::Gather) return operand_point(n, at).point;
  const Point outer(at.begin(), at.begin() + node(n.in[1]).type.shape.rank());
  std::vector<Value> index;
  for (size_t j = 1; j < n.in.size(); ++j) index.push_back(eval(0, n.in[j], outer));
  return table_point(n, at, index).point;
}

// The operand's point with the reduced axes unknown.
Point Inliner::reduced_operand_point(const Node& n, const Point& point) const {
  return ir::reduced_operand(n, node(n.in[0]).type.shape, std::span<const Value>(point), kUnknown);
}

// The place in the array that was cut for the reduction.
Inliner::Guarded Inliner::uncut_point(const Node& reduction, Point at, const Shape& whole) {
  Guarded out{std::move(at), {}};
  for (NodeId id = reduction.in[0]; node(id).type.shape != whole; id = *below_cut(graph_, id)) {
    Guarded below = operand_point(node(id), out.point);
    out.point = std::move(below.point);
    if (below.inside) out.inside = out.inside ? b_.logical_and(*out.inside, *below.inside) : *below.inside;
  }
  return out;
}

void Inliner::hoist(int scope, NodeId id, const Point& point, int guard) {
  hoisted_.clear();
  hoist_below(scope, id, point, guard);
}

void Inliner::hoist_below(int scope, NodeId id, const Point& point, int guard) {
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
    case Kind::Reduce:
      if (reduced_length(graph_, n) <= kHoisted && in_registers(scope, n.in[0])) {  // written out: what each needs is known
        for (const Point& p : reduced_points(n, point)) hoist_below(scope, n.in[0], p, guard);
      } else {
        hoist_below(scope, n.in[0], reduced_operand_point(n, point), guard);
      }
      return;
    case Kind::Indexed: {
      if (ir::is_scatter(n.op)) {  // a single update
        for (size_t j = 1; j < n.in.size(); ++j) hoist_below(scope, n.in[j], Point{}, guard);
        hoist_below(scope, n.in[0], Point(point.begin() + static_cast<ptrdiff_t>(n.attr.size()), point.end()), guard);
        return;
      }
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
      hoist_below(source.scope, source.node, outer_point(source, point), guard);
      return;
    }
    case Kind::Binder:
    case Kind::Rule:
    case Kind::Loop: return;
  }
}

}  // namespace spirograd::lower
