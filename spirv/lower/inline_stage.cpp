#include "spirv/lower/inline_stage.h"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "spirv/lower/scalar_ops.h"

namespace spirograd::lower {

using ir::Node;
using ir::NodeId;
using ir::Op;
using kernel::KOp;
using kernel::Scalar;
using kernel::Value;
using rewrite::Affine;

namespace {

constexpr size_t kMostLeaves = 26;  // that schedules have names for

Value clamped(kernel::Builder& b, Value v, int64_t extent) {
  const kernel::Interval i = b.interval(v);
  if (i.lo < 0) v = b.op(KOp::Max, v, b.i32(0));
  return i.hi < extent ? v : b.op(KOp::Min, v, b.i32(extent - 1));
}

}  // namespace

std::string ScheduledReduction::how() const {
  char figure[40] = "";
  if (loads > 0) std::snprintf(figure, sizeof figure, "; %.3g loads per element", loads);
  return to_string(schedule) + figure;
}

Inliner::Staging::Staging(Inliner& inliner, const Node& reduction, std::span<const Point> points)
    : inliner_(inliner), b_(inliner.b_), inner_(static_cast<size_t>(reduction.attr.back())) {
  std::vector<Point> operand;
  for (const Point& p : points) operand.push_back(inliner.reduced_operand_point(reduction, p));
  find(reduction.in[0], operand, [&](const AffineRead& r) {
    return std::ranges::any_of(r.place, [&](const Affine& c) { return depends(c, inner_); });
  });
}

Inliner::Staging::Staging(Inliner& inliner, NodeId root, std::span<const Point> points, size_t neighbours)
    : inliner_(inliner), b_(inliner.b_), inner_(kNone) {
  find(root, points, [&](const AffineRead& r) {
    if (r.place.empty() || depends(r.place.back(), neighbours)) return false;
    bool along = false;
    for (size_t axis = 0; axis < variables_.size(); ++axis)
      along = along || (depends(r.place.back(), axis) && variables_[axis].extent > 1);
    return along && std::ranges::any_of(r.place, [&](const Affine& c) { return depends(c, neighbours); });
  });
}

void Inliner::Staging::find(NodeId root, std::span<const Point> points,
                            const std::function<bool(const AffineRead&)>& wanted) {
  for (size_t a = 0; a < points[0].size(); ++a) variables_.push_back(variable_of(a, points));
  const auto is_read = [&](NodeId id, const AffinePlace& at) {
    return is_array(id) || (inner_ != kNone && is_part(id, at));
  };
  for (AffineRead& r : affine_reads(inliner_.graph_, root, is_read)) {
    bool known = true;
    for (const Affine& c : r.place)
      for (size_t axis = 0; axis < variables_.size(); ++axis)
        known = known && (!depends(c, axis) || variables_[axis].kind != Variable::Kind::Unknown);
    if (known && reads_.size() < kMostLeaves && wanted(r)) {
      std::vector<Dimension> d = dimensions(r);
      reads_.push_back({std::move(r), std::move(d)});
    }
  }
}

bool Inliner::Staging::is_array(NodeId id) const {
  return inliner_.node(id).op == Op::Param || inliner_.buffer_of(id) != nullptr;
}

// Whether what is computed here is the same along an axis of the tile, changes along what is reduced, and is more than a
// copy: then the group computes it once for each element that it copies, not for each point that needs it.
bool Inliner::Staging::is_part(NodeId id, const AffinePlace& at) const {
  const Node& n = inliner_.node(id);
  if (!ir::is_pointwise(n.op) || n.type.dtype == DType::Bool) return false;
  std::vector<bool> needs(variables_.size(), false);
  for (const std::optional<Affine>& c : at) {
    if (!c) return false;
    for (size_t axis = 0; axis < variables_.size(); ++axis) needs[axis] = needs[axis] || depends(*c, axis);
  }
  bool same = false;
  for (size_t axis = 0; axis < variables_.size(); ++axis)
    same = same || (variables_[axis].kind == Variable::Kind::Range && variables_[axis].extent > 1 && !needs[axis]);
  return same && needs[inner_] && reads_arrays_only(id);
}

bool Inliner::Staging::reads_arrays_only(NodeId root) const {
  constexpr size_t kMostNodes = 64;
  std::vector<NodeId> open = {root};
  std::set<uint32_t> seen;
  bool reads = false;
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (!seen.insert(id.v).second) continue;
    const Node& n = inliner_.node(id);
    const bool leaf = is_array(id) || ir::kind(n.op) == ir::Kind::Leaf;
    reads = reads || is_array(id);
    if (leaf) continue;
    if (seen.size() > kMostNodes || !(ir::is_pointwise(n.op) || ir::is_unary_layout(n.op) || n.op == Op::Gather))
      return false;
    open.insert(open.end(), n.in.begin(), n.in.end());
  }
  return reads;
}

Inliner::Staging::~Staging() {
  for (const Staged& s : staged_) inliner_.stage_arrays_[s.array].in_use = false;
}

Inliner::Staging::Variable Inliner::Staging::variable_of(size_t axis, std::span<const Point> points) const {
  const GroupTile& tile = *inliner_.tile_;
  const Value first = points[0][axis];
  if (first == kUnknown) return {.kind = Variable::Kind::Reduced};
  Variable v{.offsets = std::vector<Value>(points.size(), b_.i32(0))};
  const bool same = std::all_of(points.begin(), points.end(), [&](const Point& p) { return p[axis] == first; });
  if (same && b_.uniform(first)) {
    v.origin = first;
    return v;
  }
  size_t of_tile = 0;
  for (size_t u = 0; u < points.size(); ++u) {
    const auto own = tile.own.find(points[u][axis]);
    if (own == tile.own.end()) return {.kind = Variable::Kind::Unknown};
    assert(u == 0 || own->second.axis == of_tile);  // one function of all points, and no two axes have a value in common
    of_tile = own->second.axis;
    v.offsets[u] = own->second.offset;
  }
  v.origin = tile.axes[of_tile].origin;
  v.extent = tile.axes[of_tile].extent;
  return v;
}

std::vector<Inliner::Staging::Dimension> Inliner::Staging::dimensions(const AffineRead& r) const {
  constexpr int64_t kFarApart = 8;  // factors from which on a row-major number is taken apart again
  std::vector<Dimension> out;
  for (size_t c = 0; c < r.place.size(); ++c) {
    std::vector<std::pair<size_t, int64_t>> terms;  // that range over more than one number
    for (size_t axis = 0; axis < variables_.size(); ++axis)
      if (const int64_t factor = r.place[c].term[axis].a; factor != 0 && (axis == inner_ || variables_[axis].extent > 1))
        terms.emplace_back(axis, factor);
    std::stable_sort(terms.begin(), terms.end(),
                     [](const auto& x, const auto& y) { return std::abs(x.second) > std::abs(y.second); });
    if (terms.size() > 1 && std::abs(terms[0].second) < kFarApart) {
      out.push_back({c, {terms.begin(), terms.end()}, 1});
      continue;
    }
    for (const auto& [axis, factor] : terms) out.push_back({c, {{axis, factor < 0 ? -1 : 1}}, std::abs(factor)});
  }
  return out;
}

// Different values of the sum while a block is reduced.
int64_t Inliner::Staging::extent(const Dimension& d) const {
  int64_t n = 1;
  for (const auto& [axis, factor] : d.terms) n += std::abs(factor) * (variables_[axis].extent - 1);
  return n;
}

std::vector<schedule::Leaf> Inliner::Staging::leaves() const {
  std::vector<schedule::Leaf> out;
  for (const Read& r : reads_) {
    schedule::Leaf leaf{inliner_.node(r.at.leaf).type.dtype};
    std::set<std::vector<Value>> own;
    std::set<size_t> axes;
    for (const Dimension& d : r.dimensions) {
      const auto along = d.terms.find(inner_);
      leaf.place.push_back({extent(d), along == d.terms.end() ? 0 : std::abs(along->second)});
      for (const auto& [axis, factor] : d.terms)
        if (variables_[axis].kind == Variable::Kind::Range) axes.insert(axis);
    }
    const size_t points = axes.empty() ? 1 : variables_[*axes.begin()].offsets.size();
    for (size_t u = 0; u < points; ++u) {
      std::vector<Value> place;
      for (size_t a : axes) place.push_back(variables_[a].offsets[u]);
      own.insert(std::move(place));
    }
    leaf.own = static_cast<int64_t>(own.size());
    out.push_back(std::move(leaf));
  }
  return out;
}

void Inliner::Staging::take_arrays(const schedule::ReduceSchedule& s) {
  variables_[inner_].extent = schedule::staged_elements(s);
  for (const schedule::Stage& stage : s.stages) take_array(reads_[stage.leaf], stage.pad);
}

void Inliner::Staging::take_arrays() {
  for (const Read& r : reads_) take_array(r, 1);
}

void Inliner::Staging::take_array(const Read& r, int64_t pad) {
  Staged staged{&r, {}, {}, 0};
  for (const Dimension& d : r.dimensions) staged.tile.push_back(extent(d));
  staged.padded = staged.tile;
  staged.padded[staged.tile.rank() - 1] += pad;
  const Scalar t = scalar_of(inliner_.node(r.at.leaf).type.dtype);
  const int64_t count = staged.padded.count();
  std::vector<StageArray>& arrays = inliner_.stage_arrays_;
  const auto free = std::find_if(arrays.begin(), arrays.end(),
                                 [&](const StageArray& a) { return !a.in_use && a.type == t && a.count == count; });
  staged.array = static_cast<size_t>(free - arrays.begin());
  if (free == arrays.end())
    arrays.push_back({t, count, b_.shared("tile" + std::to_string(arrays.size()), t, static_cast<uint32_t>(count)), false});
  arrays[staged.array].in_use = true;
  staged_.push_back(std::move(staged));
}

// The least value of the coordinate in the block: variables with negative factors are at the end of their ranges.
Value Inliner::Staging::origin(const Affine& c) const {
  Value v = b_.i32(c.c);
  for (size_t axis = 0; axis < variables_.size(); ++axis) {
    const Variable& x = variables_[axis];
    const int64_t factor = c.term[axis].a;
    if (factor != 0) v = b_.add(v, b_.mul(b_.i32(factor), b_.add(x.origin, b_.i32(factor < 0 ? x.extent - 1 : 0))));
  }
  return v;
}

// The number along a dimension for point u and the element of the block at `along`.
Value Inliner::Staging::offset(const Dimension& d, size_t u, Value along) const {
  Value v = b_.i32(0);
  for (const auto& [axis, factor] : d.terms) {
    const Variable& x = variables_[axis];
    const Value from_origin = axis == inner_ ? along : x.offsets[u];
    v = b_.add(v, b_.mul(b_.i32(factor), b_.sub(from_origin, b_.i32(factor < 0 ? x.extent - 1 : 0))));
  }
  return v;
}

// Where element `first + member` is. Trailing axes that the group covers whole are the same for every `first`.
Point Inliner::Staging::place_in_tile(Value member, int64_t first, const Shape& tile) const {
  int head = tile.rank();
  int64_t row = 1;
  while (head > 0 && inliner_.group_ % (row * tile[head - 1]) == 0) row *= tile[--head];
  const Value of_row = b_.i32(row), rows = b_.add(b_.op(KOp::Quot, member, of_row), b_.i32(first / row));
  Point p = inliner_.unlinear(rows, tile.slice(0, head));
  const Point rest = inliner_.unlinear(b_.op(KOp::Rem, member, of_row), tile.slice(head, tile.rank()));
  p.insert(p.end(), rest.begin(), rest.end());
  return p;
}

void Inliner::Staging::copy(const std::map<size_t, Value>& place) {
  if (staged_.empty()) return;
  for (const auto& [axis, at] : place) variables_[axis].origin = at;
  struct Element {
    uint32_t array;
    Value slot, value;
    std::optional<Value> inside;  // none: always
  };
  std::vector<Element> elements;
  const Value member = b_.bitcast(Scalar::I32, b_.local_index());
  for (const Staged& s : staged_) {
    const Shape& shape = inliner_.node(s.read->at.leaf).type.shape;
    Point origins;
    for (const Affine& c : s.read->at.place) origins.push_back(origin(c));
    const int64_t count = s.tile.count();
    for (int64_t first = 0; first < count; first += inliner_.group_) {
      const Point in_tile = place_in_tile(member, first, s.tile);
      std::optional<Value> inside;
      if (first + inliner_.group_ > count) inside = b_.op(KOp::Lt, b_.add(member, b_.i32(first)), b_.i32(count));
      Point at = origins;
      for (size_t d = 0; d < in_tile.size(); ++d) {
        const Dimension& dimension = s.read->dimensions[d];
        at[dimension.coordinate] = b_.add(at[dimension.coordinate], b_.mul(in_tile[d], b_.i32(dimension.step)));
      }
      // Tiles reach beyond arrays where points do, where the operand is masked, and behind their own end: nobody uses what
      // is there.
      for (size_t c = 0; c < at.size(); ++c) at[c] = clamped(b_, at[c], shape[static_cast<int>(c)]);
      const Value value = inliner_.compute(0, s.read->at.leaf, std::span(&at, 1))[0];
      elements.push_back({inliner_.stage_arrays_[s.array].array, inliner_.linear(in_tile, s.padded), value, inside});
    }
  }
  b_.barrier();  // until nobody reads the last block any more; loads are under way meanwhile
  for (const Element& e : elements) {
    if (e.inside) b_.begin_if(*e.inside);
    b_.shared_store(e.array, e.slot, e.value);
    if (e.inside) b_.end_if();
  }
  b_.barrier();
}

void Inliner::Staging::provide(const std::map<size_t, Value>& place, size_t u, const Point& at) {
  const Value along = inner_ == kNone ? b_.i32(0) : b_.sub(place.at(inner_), variables_[inner_].origin);
  for (const Staged& s : staged_) {
    Point place_of_leaf = at, in_tile;
    for (NodeId id : s.read->at.path) place_of_leaf = inliner_.point_below(id, place_of_leaf);
    for (const Dimension& d : s.read->dimensions) in_tile.push_back(offset(d, u, along));
    const Value value = b_.shared_load(inliner_.stage_arrays_[s.array].array, inliner_.linear(in_tile, s.padded));
    inliner_.memo_.back()[Key{0, s.read->at.leaf.v, std::move(place_of_leaf)}] = value;
  }
}

std::vector<Value> Inliner::eval_staged(NodeId node, std::span<const Point> points) {
  Staging staging(*this, node, points, points[0].size() - 1);
  staging.take_arrays();
  staging.copy();
  for (size_t u = 0; u < points.size(); ++u) staging.provide({}, u, points[u]);
  return eval(0, node, points);
}

}  // namespace spirograd::lower
