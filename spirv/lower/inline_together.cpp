// Reductions of one kernel that read the same large array, over the same elements at the same points, share their loops:
// what they read comes from memory once. Rows of a layer's normalisation ask for several sums in the way back.
#include <algorithm>

#include "spirv/lower/combine.h"
#include "spirv/lower/inline.h"

namespace spirograd::lower {

using ir::Kind;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

constexpr size_t kMostVisited = 200;  // nodes between results and their reductions
constexpr size_t kMostTogether = 4;   // accumulators stay in registers

bool is_plain_reduction(const Node& n) { return ir::kind(n.op) == Kind::Reduce && !finds_place(n.op); }

}  // namespace

// From results down to their reductions, by operations that keep the number of elements: the points are as evaluation will
// come by them.
void Inliner::find_together(std::span<const NodeId> results, std::span<const Point> points) {
  const std::vector<Point> at(points.begin(), points.end());
  std::vector<std::pair<NodeId, std::vector<Point>>> stack;
  for (NodeId id : results) stack.emplace_back(id, at);
  std::set<uint32_t> seen;
  streamed_.clear();
  while (!stack.empty() && seen.size() < kMostVisited) {
    auto [id, here] = std::move(stack.back());
    stack.pop_back();
    if (!seen.insert(id.v).second || buffer_of(id)) continue;
    const Node& n = node(id);
    if (is_plain_reduction(n)) {
      streamed_.push_back({id, std::move(here)});
    } else if (ir::is_pointwise(n.op)) {
      for (NodeId in : n.in) stack.emplace_back(in, here);
    } else if (n.op == Op::Reshape || n.op == Op::Transpose) {
      for (Point& p : here) p = operand_point(n, p).point;
      stack.emplace_back(n.in[0], std::move(here));
    }
  }
  if (streamed_.size() < 2) streamed_.clear();
}

// Arrays with an element for each that is reduced, and the reductions in between.
Inliner::Below Inliner::below_reduction(const Node& n) const {
  Below out;
  const int64_t elements = node(n.in[0]).type.shape.count();
  std::set<uint32_t> seen;
  std::vector<NodeId> stack = {n.in[0]};
  while (!stack.empty()) {
    const NodeId id = stack.back();
    stack.pop_back();
    if (!seen.insert(id.v).second) continue;
    const Node& below = node(id);
    if (ir::kind(below.op) == Kind::Reduce) out.reductions.insert(id.v);
    const bool loaded = below.op == Op::Param || buffer_of(id);
    if (loaded && below.type.shape.count() == elements) out.arrays.insert(id.v);
    if (!loaded) stack.insert(stack.end(), below.in.begin(), below.in.end());
  }
  return out;
}

std::vector<NodeId> Inliner::reduced_with(int scope, const Node& n, std::span<const Point> points) const {
  std::vector<NodeId> out;
  const auto same_points = [&](const Streamed& s) {
    return std::equal(s.at.begin(), s.at.end(), points.begin(), points.end());
  };
  const auto own = std::find_if(streamed_.begin(), streamed_.end(),
                                [&](const Streamed& s) { return &node(s.reduction) == &n && same_points(s); });
  if (scope != 0 || own == streamed_.end()) return out;
  const Below below = below_reduction(n);
  std::vector<std::pair<NodeId, Below>> together = {{own->reduction, below}};
  const auto independent = [&](NodeId id, const Below& b) {
    return std::none_of(together.begin(), together.end(), [&](const auto& t) {
      return t.second.reductions.contains(id.v) || b.reductions.contains(t.first.v);
    });
  };
  for (const Streamed& s : streamed_) {
    const Node& m = node(s.reduction);
    if (&m == &n || !same_points(s) || together.size() == kMostTogether) continue;
    const bool alike = m.attr == n.attr && node(m.in[0]).type.shape == node(n.in[0]).type.shape &&
                       m.type.dtype == n.type.dtype && (m.op == Op::Sum) == (n.op == Op::Sum);
    if (!alike || is_known(scope, s.reduction, points)) continue;
    Below other = below_reduction(m);
    const bool common =
        std::any_of(other.arrays.begin(), other.arrays.end(), [&](uint32_t id) { return below.arrays.contains(id); });
    if (!common || !independent(s.reduction, other)) continue;
    out.push_back(s.reduction);
    together.emplace_back(s.reduction, std::move(other));
  }
  return out;
}

bool Inliner::is_known(int scope, NodeId id, std::span<const Point> points) const {
  return std::any_of(memo_.begin(), memo_.end(), [&](const auto& block) {
    return block.contains(Key{scope, id.v, points[0]});
  });
}

}  // namespace spirograd::lower
