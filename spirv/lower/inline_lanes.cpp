#include "spirv/lower/inline_lanes.h"

#include <algorithm>
#include <set>

#include "spirv/schedule/cost.h"

namespace spirograd::lower {

using ir::Kind;
using ir::Node;
using ir::NodeId;
using ir::Op;
using kernel::KOp;
using kernel::Scalar;
using kernel::Value;

namespace {

// What a coordinate depends on.
constexpr uint32_t kAlong = 1, kLanes = 2;  // the place along the last reduced axis; the lane

constexpr size_t kMostCommon = 16, kMostVisits = 256;

uint32_t depends_on(const Place& p) {
  uint32_t on = 0;
  for (const Coordinate& c : p) on |= c.axes;
  return on;
}

}  // namespace

Inliner::CommonValues::CommonValues(Inliner& inliner, int scope, const Node& n, std::span<const Point> points)
    : inliner_(inliner), b_(inliner.b_), scope_(scope), inner_(static_cast<size_t>(n.attr.back())) {
  Visit top{{n.in[0], {}}, Place(static_cast<size_t>(inliner.node(n.in[0]).type.shape.rank()))};
  for (const Point& p : points) {
    const Point at = inliner.reduced_operand_point(n, p);
    for (size_t a = 0; a < at.size(); ++a)
      if (at[a] != kUnknown && !b_.uniform_in_subgroup(at[a])) top.place[a].axes = kLanes;
  }
  top.place[inner_].axes = kAlong;
  extent_ = inliner.node(n.in[0]).type.shape[static_cast<int>(inner_)];
  std::vector<Visit> stack = {std::move(top)};
  std::set<std::pair<uint32_t, std::vector<NodeId>>> seen;
  while (!stack.empty() && values_.size() < kMostCommon && seen.size() < kMostVisits) {
    const Visit v = std::move(stack.back());
    stack.pop_back();
    if (!seen.emplace(v.at.node.v, v.at.path).second) continue;
    const uint32_t on = depends_on(v.place);
    if ((on & kAlong) == 0) continue;
    if ((on & kLanes) != 0) {
      if (scope_ > 0 && in_memory(v.at.node)) ++(inliner_.varies(scope_, v.at.node) ? changing_ : staying_);
      visit_operands(v, stack);
    } else if (reads_along(v.at.node, v.place)) {
      values_.push_back(v.at);
    }
  }
}

bool Inliner::CommonValues::in_memory(NodeId id) const {
  return inliner_.node(id).op == Op::Param || inliner_.buffer_of(id) ||
         inliner_.scopes_[static_cast<size_t>(scope_)].shared.contains(id.v);
}

void Inliner::CommonValues::visit_operands(const Visit& v, std::vector<Visit>& stack) const {
  const Node& n = inliner_.node(v.at.node);
  const bool table = n.op == Op::Gather, layout = ir::is_unary_layout(n.op);
  if (in_memory(v.at.node) || (!table && !layout && !ir::is_pointwise(n.op))) return;
  if ((table || layout) && inliner_.node(n.in[0]).type.shape.count() == 0) return;
  Common below = v.at;
  if (table || layout) below.path.push_back(v.at.node);
  for (size_t j = table || layout ? 1 : n.in.size(); j-- > 0;) {
    below.node = n.in[j];
    stack.push_back({below, operand_place(inliner_.graph_, n, j, v.place)});
  }
}

// Whether the computation loads anything that changes along the axis; all else is as cheap in each lane for itself.
bool Inliner::CommonValues::reads_along(NodeId root, const Place& place) const {
  std::vector<std::pair<NodeId, Place>> stack = {{root, place}};
  std::set<std::pair<uint32_t, Place>> seen;
  while (!stack.empty() && seen.size() < kMostVisits) {
    const auto [id, at] = std::move(stack.back());
    stack.pop_back();
    if ((depends_on(at) & kAlong) == 0 || !seen.emplace(id.v, at).second) continue;
    if (in_memory(id)) return true;
    const Node& n = inliner_.node(id);
    for (size_t j = 0; j < n.in.size(); ++j) stack.emplace_back(n.in[j], operand_place(inliner_.graph_, n, j, at));
  }
  return false;
}

// As the evaluation of the operand comes by it.
Point Inliner::CommonValues::point_of(const Common& c, const Point& at) const {
  Point p = at;
  for (NodeId id : c.path) p = inliner_.point_below(id, p);
  return p;
}

// Where pairs are loaded at once, a lane has two neighbours: held_ has the first ones of all lanes, then the second ones.
void Inliner::CommonValues::evaluate(std::span<const Point> at, Value first, int64_t copies) {
  const int64_t lanes = inliner_.lanes_;
  const Value lane = b_.bitcast(Scalar::I32, b_.lane_index());
  own_ = schedule::takes_pairs(inliner_.target_) && copies % (2 * lanes) == 0 ? 2 : 1;
  held_.clear();
  for (int64_t k = 0; k < copies; k += lanes) {
    const int64_t block = k / (own_ * lanes) * (own_ * lanes), which = k / lanes % own_;
    Value own = b_.add(b_.mul(lane, b_.i32(own_)), b_.i32(block + which));
    if (k + lanes > copies) own = b_.op(KOp::Min, own, b_.i32(copies - 1));  // lanes too many take the last one as well
    const Value place = b_.add(first, own);
    b_.assume(place, {0, extent_ - 1});
    std::vector<std::vector<Value>>& values = held_.emplace_back();
    for (const Common& c : values_) {
      std::vector<Point> points;
      for (const Point& p : at) {
        Point q = p;
        q[inner_] = place;
        points.push_back(point_of(c, q));
      }
      values.push_back(inliner_.eval(scope_, c.node, points));
    }
  }
}

void Inliner::CommonValues::provide(std::span<const Point> at, int64_t k) {
  const int64_t lanes = inliner_.lanes_, block = k / (own_ * lanes), in_block = k % (own_ * lanes);
  const Value lane = b_.constant(Scalar::U32, static_cast<double>(in_block / own_));
  const std::vector<std::vector<Value>>& values = held_[static_cast<size_t>(block * own_ + in_block % own_)];
  for (size_t j = 0; j < values_.size(); ++j)
    for (size_t u = 0; u < at.size(); ++u)
      inliner_.memo_.back()[Key{scope_, values_[j].node.v, point_of(values_[j], at[u])}] = b_.broadcast(values[j][u], lane);
}

}  // namespace spirograd::lower
