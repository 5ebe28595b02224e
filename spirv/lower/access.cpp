#include "spirv/lower/access.h"

#include <algorithm>
#include <set>
#include <utility>

#include "frontend/ir/algebra.h"
#include "frontend/ir/index_map.h"
#include "frontend/ir/reshape_groups.h"
#include "spirv/lower/affine.h"
#include "spirv/schedule/cost.h"

namespace spirograd::lower {

using ir::Kind;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

uint32_t all_axes(const Place& p, size_t from, size_t to) {
  uint32_t axes = 0;
  for (size_t j = from; j < to; ++j) axes |= p[j].axes;
  return axes;
}

// Of the coordinate along which elements lie side by side in memory.
uint32_t last_axes(const Shape& s, const Place& p) {
  for (int a = s.rank(); a-- > 0;)
    if (s[a] != 1) return p[static_cast<size_t>(a)].axes;
  return 0;
}

bool all_sums(const Place& p) {
  return std::all_of(p.begin(), p.end(), [](const Coordinate& c) { return c.sum; });
}

// A group of one axis before and after keeps its coordinate, axes of extent 1 aside; else all may depend on all.
Place reshape_place(const Shape& from, const Shape& to, const Place& p) {
  const auto longer = [](const Shape& s, const ir::AxisRange& r) {
    return std::count_if(s.begin() + r.first, s.begin() + r.end, [](int64_t n) { return n != 1; });
  };
  Place out(static_cast<size_t>(from.rank()));
  if (from.count() == 0) return out;
  for (const ir::ReshapeGroup& g : ir::reshape_groups(from, to)) {
    Coordinate c{all_axes(p, static_cast<size_t>(g.to.first), static_cast<size_t>(g.to.end)), -1};
    if (longer(from, g.from) == 1)
      for (int a = g.to.first; a < g.to.end; ++a)
        if (to[a] == to.slice(g.to.first, g.to.end).count()) c = p[static_cast<size_t>(a)];
    for (int a = g.from.first; a < g.from.end; ++a)
      if (from[a] != 1) out[static_cast<size_t>(a)] = c;
  }
  return out;
}

// What elements of an array depend on: of arithmetic on coordinates, those that are asked for; else all.
uint32_t axes_of_elements(const ir::Graph& g, NodeId id, const Place& p) {
  constexpr size_t kMostVisits = 64;
  std::set<uint32_t> seen;
  std::vector<NodeId> stack = {id};
  uint32_t axes = 0;
  while (!stack.empty()) {
    const NodeId at = stack.back();
    stack.pop_back();
    if (!seen.insert(at.v).second) continue;
    const Node& n = g[at];
    const bool number = n.op == Op::Const && n.type.shape.rank() == 0;
    if (n.op == Op::Iota) axes |= p[static_cast<size_t>(n.attr[0])].axes;
    if (n.op == Op::Iota || number || (n.op == Op::Broadcast && n.attr.empty())) continue;
    if (seen.size() > kMostVisits || !ir::is_pointwise(n.op))
      return all_axes(p, 0, static_cast<size_t>(g[id].type.shape.rank()));
    stack.insert(stack.end(), n.in.begin(), n.in.end());
  }
  return axes;
}

// Of an index of a gather, at the place `p` of a point.
Coordinate index_coordinate(const ir::Graph& g, NodeId index, const Place& p) {
  const std::optional<rewrite::Affine> f = affine_elements(g, index);
  if (!f) return {axes_of_elements(g, index, p), -1, false};
  Coordinate out;
  for (size_t a = 0; a < p.size() && a < f->term.size(); ++a) {
    if (f->term[a].zero()) continue;
    out.axes |= p[a].axes;
    out.sum = out.sum && p[a].sum;
  }
  return out;
}

// Coordinates as what they depend on.
struct Dependences {
  Coordinate reversed(Coordinate x, int64_t) const { return {x.axes, -1, x.sum}; }
  Coordinate shifted(Coordinate x, int64_t, int) const { return {x.axes, -1, x.sum}; }
  Place reshaped(const Shape& from, const Shape& to, std::span<const Coordinate> p) const {
    return reshape_place(from, to, Place(p.begin(), p.end()));
  }
};

}  // namespace

Place place_of_point(const Shape& domain) {
  Place out;
  for (int a = 0; a < domain.rank(); ++a) out.push_back({1u << a, a});
  return out;
}

Place operand_place(const ir::Graph& g, const Node& n, size_t j, const Place& p, Coordinate reduced_axis) {
  const Shape& from = g[n.in[j]].type.shape;
  switch (ir::kind(n.op)) {
    case Kind::Pointwise: return p;
    case Kind::Layout: return ir::layout_operand(n, from, std::span<const Coordinate>(p), Dependences());
    case Kind::Reduce: return ir::reduced_operand(n, from, std::span<const Coordinate>(p), reduced_axis);
    case Kind::Indexed:
      if (ir::is_scatter(n.op)) break;
      return ir::gathered_operand(g, n, j, std::span<const Coordinate>(p),
                                  [&](size_t k, const Place& q) { return index_coordinate(g, n.in[k], q); });
    case Kind::Leaf:
    case Kind::Binder:
    case Kind::Rule:
    case Kind::Loop: break;
  }
  // Scatters and loops read their operands at places of their own.
  return Place(static_cast<size_t>(from.rank()), Coordinate{all_axes(p, 0, p.size()), -1, false});
}

schedule::Read read_of(const Access& a, uint32_t buffer) {
  const bool along = (a.last & kLastReducedAxis) != 0;
  return {buffer, a.axes, a.own, a.reduced, a.reduced && a.sums, a.last & ~kReducedAxes, along, a.outer};
}

Place place_of_operand(const ir::Graph& g, const Node& n, size_t j, const Place& place) {
  Place out = operand_place(g, n, j, place, {kReducedAxis, -1});
  if (ir::info(n.op).kind != ir::Kind::Reduce) return out;
  const Shape& from = g[n.in[j]].type.shape;
  const auto last = std::find_if(n.attr.rbegin(), n.attr.rend(), [&](int64_t a) { return from[static_cast<int>(a)] != 1; });
  if (last != n.attr.rend()) out[static_cast<size_t>(*last)].axes |= kLastReducedAxis;
  return out;
}

Accesses accesses(const ir::Graph& g, NodeId root, const NodeSet& roots, size_t most) {
  struct Visit {
    NodeId id;
    Place place;
    int depth = 0;     // reductions that it is an element of, inside of the outermost one
    double inner = 1;  // elements of those
  };
  Accesses out;
  const Place own = place_of_point(g[root].type.shape);
  std::set<std::pair<uint32_t, Place>> seen;
  std::vector<Visit> stack = {{root, own}};
  bool contiguous = true, loops = false;
  int deepest = 1;
  double most_inner = 1;
  const auto note_work = [&](uint32_t axes, double count, int depth) {
    if (depth < deepest) return;
    if (depth > deepest) out.operations.clear();
    deepest = depth;
    const schedule::Operations work = {axes & ~kReducedAxes, count, (axes & kOuterReducedAxis) != 0,
                                       (axes & kReducedAxis) != 0};
    const auto same = std::ranges::find_if(
        out.operations, [&](const auto& o) { return o.axes == work.axes && o.outer == work.outer && o.each == work.each; });
    if (same == out.operations.end()) {
      out.operations.push_back(work);
    } else {
      same->count += count;
    }
  };
  while (!stack.empty() && seen.size() < most) {
    auto [id, place, depth, inner] = std::move(stack.back());
    stack.pop_back();
    if (!seen.emplace(id.v, place).second) continue;
    const Node& n = g[id];
    const uint32_t axes = all_axes(place, 0, place.size());
    const bool constant_array = n.op == Op::Const && n.type.shape.rank() > 0;
    const bool stored = id != root && (roots.contains(id.v) || n.op == Op::Proj);
    if (n.op == Op::Param || constant_array || stored) {
      const uint32_t last = last_axes(n.type.shape, place);
      out.reads.push_back({id, axes & ~kReducedAxes, place == own && n.type.shape == g[root].type.shape,
                           (axes & kReducedAxis) != 0, all_sums(place), (axes & kOuterReducedAxis) != 0, last});
      contiguous = contiguous && (!(axes & kReducedAxis) || (last & kReducedAxis));
      continue;
    }
    const bool reduces = ir::info(n.op).kind == ir::Kind::Reduce;
    const double results = std::max<double>(1, static_cast<double>(n.type.shape.count()));
    const double length = reduces ? static_cast<double>(g[n.in[0]].type.shape.count()) / results : 0;
    const bool inside = reduces && (axes & kReducedAxis);
    loops = loops || (inside && length > kUnrolled);
    if (inside) inner *= length, most_inner = std::max(most_inner, inner);
    if (reduces && !(axes & kReducedAxis)) {
      const bool position = finds_place(n.op);
      out.reductions.push_back({axes, length, true, position, false, n.attr.size() == 1});
      out.reduced.push_back(id);
    }
    for (Coordinate& c : place)
      if (reduces && (c.axes & kReducedAxis)) c.axes |= kOuterReducedAxis;
    if (reduces) note_work(all_axes(place, 0, place.size()) | kReducedAxis, 1, depth + 1);
    if (ir::is_pointwise(n.op)) note_work(axes, ir::info(n.op).cost, depth);
    for (size_t j = n.in.size(); j-- > 0;)
      stack.push_back({n.in[j], place_of_operand(g, n, j, place), depth + (reduces ? 1 : 0), inner});
  }
  for (schedule::Reduction& r : out.reductions) r.contiguous = contiguous, r.loops = loops, r.inner = most_inner;
  return out;
}

int64_t reduced_length(const ir::Graph& g, const Node& n) {
  int64_t length = 1;
  for (const int64_t a : n.attr) length *= g[n.in[0]].type.shape[static_cast<int>(a)];
  return length;
}

bool is_window(const ir::Graph& g, const Node& n) {
  return ir::kind(n.op) == Kind::Reduce && n.attr.size() > 1 && !finds_place(n.op) &&
         reduced_length(g, n) <= schedule::kMostOfWindow;
}

bool all_below(NodeId x, const std::function<Operands(NodeId)>& operands) {
  constexpr size_t kMostVisits = 200;
  std::vector<NodeId> open = {x};
  std::set<uint32_t> seen;
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (!seen.insert(id.v).second) continue;
    const Operands next = operands(id);
    if (seen.size() > kMostVisits || !next) return false;
    open.insert(open.end(), next->begin(), next->end());
  }
  return true;
}

bool lies_flat(const ir::Graph& g, NodeId x, const std::function<bool(NodeId)>& stored) {
  const Shape& shape = g[x].type.shape;
  return all_below(x, [&](NodeId id) -> Operands {
    const Node& n = g[id];
    if (n.type.shape != shape) return std::nullopt;
    const bool single = n.op == Op::Broadcast && g[n.in[0]].type.shape.count() == 1;
    if (n.op == Op::Param || n.op == Op::Const || stored(id) || single) return Operands(std::in_place);
    return ir::is_pointwise(n.op) ? Operands(n.in) : std::nullopt;
  });
}

}  // namespace spirograd::lower
