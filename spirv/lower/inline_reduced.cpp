// What reductions inside kernels run over: how many elements, at which points, of how much code; short ones are written out.
#include <algorithm>
#include <set>
#include <utility>

#include "spirv/lower/access.h"
#include "spirv/lower/combine.h"
#include "spirv/lower/inline.h"
#include "spirv/lower/partition.h"
#include "spirv/lower/scalar_ops.h"
#include "spirv/schedule/cost.h"
#include "spirv/schedule/legal.h"

namespace spirograd::lower {

using ir::Node;
using ir::NodeId;
using ir::Op;
using kernel::Value;

std::vector<Value> Inliner::reduce(int scope, NodeId id, std::span<const Point> points) {
  const Node& n = node(id);
  const int64_t length = reduced_length(graph_, n);
  if (length == 0) return std::vector<Value>(points.size(), of_nothing(b_, n.op, scalar_of(n.type.dtype)));
  const bool unrolled = length <= kUnrolled || in_registers(scope, n.in[0]) || (scope == 0 && length == row_);
  if (unrolled) return reduce_unrolled(scope, n, points);
  const std::vector<Point> of_lanes = finds_place(n.op) ? std::vector<Point>{} : points_of_lanes(scope, points);
  if (of_lanes.empty()) return reduce_loop(scope, id, points);
  if (of_rows_.contains(id.v)) return {of_lane(eval(scope, id, of_lanes))};
  return reduce_loop(scope, id, of_lanes, true);
}

void Inliner::set_rows_of_lanes(Value own, std::vector<Value> places, std::span<const NodeId> results, bool known) {
  row_of_lane_ = own, rows_of_lanes_ = std::move(places);
  std::set<uint32_t> seen;
  std::vector<NodeId> stack(results.begin(), results.end());
  while (!stack.empty()) {
    const NodeId id = stack.back();
    stack.pop_back();
    const Node& n = node(id);
    if (!seen.insert(id.v).second || n.op == Op::Param || buffer_of(id)) continue;
    if (ir::kind(n.op) == ir::Kind::Reduce) of_rows_.merge(below_reduction(n).reductions);
    if (ir::kind(n.op) == ir::Kind::Reduce && known) of_rows_.insert(id.v);
    stack.insert(stack.end(), n.in.begin(), n.in.end());
  }
}

// Of a point that each lane has for itself. Empty: it has not, or that is not all that makes them differ.
std::vector<Point> Inliner::points_of_lanes(int scope, std::span<const Point> points) const {
  if (rows_of_lanes_.empty() || scope != 0 || open_ > 0 || points.size() != 1) return {};
  std::vector<Point> out;
  for (Value place : rows_of_lanes_) {
    Point& p = out.emplace_back(points[0]);
    std::ranges::replace(p, row_of_lane_, place);
  }
  return out[0] != points[0] && together(out) == team_ ? out : std::vector<Point>{};
}

// The elements that one result is made of.
std::vector<Point> Inliner::reduced_points(const Node& n, const Point& point) {
  const Shape& from = node(n.in[0]).type.shape;
  Shape extents;
  for (int64_t a : n.attr) extents.push_back(from[static_cast<int>(a)]);
  std::vector<Point> out;
  for (int64_t j = 0; j < extents.count(); ++j) {
    Point q = reduced_operand_point(n, point);
    int64_t rest = j;
    for (int a = extents.rank() - 1; a >= 0; --a) {
      q[static_cast<size_t>(n.attr[static_cast<size_t>(a)])] = b_.i32(rest % extents[a]);
      rest /= extents[a];
    }
    out.push_back(std::move(q));
  }
  return out;
}

std::vector<Value> Inliner::reduce_unrolled(int scope, const Node& n, std::span<const Point> points) {
  std::vector<Point> all;
  for (const Point& p : points) std::ranges::move(reduced_points(n, p), std::back_inserter(all));
  const std::vector<Value> values = eval(scope, n.in[0], all);
  const size_t length = all.size() / points.size();
  std::vector<Value> out;
  for (size_t u = 0; u < points.size(); ++u) {
    Found acc = {values[u * length], b_.i32(0)};
    for (size_t j = 1; j < length; ++j) {
      const Found x = {values[u * length + j], b_.i32(static_cast<int64_t>(j))};
      acc = finds_place(n.op) ? better_in_order(b_, n.op, acc, x) : Found{combine(b_, n.op, acc.value, x.value), 0};
    }
    out.push_back(finds_place(n.op) ? acc.place : acc.value);
  }
  return out;
}

// Written out element by element, for all points side by side. Terms that are 0, or not numbers, are added from the back, so
// that the rows of a triangular matrix have the sums of those above the diagonal in common.
std::vector<Value> Inliner::reduce_straight(int scope, const Node& n, std::span<const Point> points) {
  const kernel::Scalar t = scalar_of(n.type.dtype);
  std::vector<std::vector<Value>> zeros(points.size());
  std::vector<Value> out(points.size(), lower::identity(b_, n.op, t));
  std::vector<std::vector<Point>> elements;  // of each point
  for (const Point& p : points) elements.push_back(reduced_points(n, p));
  for (size_t k = 0; k < elements[0].size(); ++k) {
    std::vector<Point> at;
    for (const std::vector<Point>& e : elements) at.push_back(e[k]);
    const std::vector<Value> values = eval(scope, n.in[0], at);
    for (size_t u = 0; u < points.size(); ++u) {
      if (n.op == Op::Sum && is_zero(values[u]))
        zeros[u].push_back(values[u]);
      else
        out[u] = combine(b_, n.op, out[u], values[u]);
    }
  }
  for (size_t u = 0; u < points.size(); ++u) {
    if (zeros[u].empty()) continue;
    Value sum = zeros[u].back();
    for (size_t j = zeros[u].size() - 1; j-- > 0;) sum = combine(b_, n.op, sum, zeros[u][j]);
    out[u] = combine(b_, n.op, out[u], sum);
  }
  return out;
}

// Instructions that one element of a reduction takes, about: down to what is in memory, and to the parameters of a loop's
// body. What does not depend on the place along the reduced axes stands before the loops.
Inliner::ReducedElement Inliner::reduced_element(int scope, const Node& reduction) {
  constexpr Coordinate moves = {1, -1};
  constexpr int64_t kFindsPlace = 6;  // comparisons, tests for NaN, choices
  ReducedElement out;
  if (finds_place(reduction.op)) out.code = kFindsPlace;
  std::set<uint32_t> seen;
  std::vector<std::pair<NodeId, Place>> stack;
  const auto visit_operands = [&](const Node& n, const Place& place) {
    for (size_t j = 0; j < n.in.size(); ++j) stack.emplace_back(n.in[j], operand_place(graph_, n, j, place, moves));
  };
  visit_operands(reduction, Place(static_cast<size_t>(reduction.type.shape.rank())));
  while (!stack.empty()) {
    const auto [at, place] = std::move(stack.back());
    stack.pop_back();
    const bool inside = std::any_of(place.begin(), place.end(), [](const Coordinate& c) { return c.axes != 0; });
    if (!inside || !seen.insert(at.v).second) continue;
    const Node& n = node(at);
    const bool loaded = n.op == Op::Param || (scope == 0 && buffer_of(at));
    const bool reduces = ir::kind(n.op) == ir::Kind::Reduce;
    out.code += loaded ? 2 : op_cost(n);
    out.loops = out.loops || (!loaded && reduces && reduced_length(graph_, n) > kUnrolled);
    out.parts = out.parts || (loaded && reduces && schedule::reads_rows(target_));
    if (!loaded) visit_operands(n, place);
  }
  return out;
}

// Of a reduction that runs as loops, and the others that they compute, too.
schedule::ReduceFacts Inliner::facts_of(int scope, const Node& n, std::span<const NodeId> others,
                                        std::span<const Point> points) {
  constexpr int64_t kUncompensated = 32;  // f32 sums of at most this many elements need no compensation
  const Type& from = node(n.in[0]).type;
  schedule::ReduceFacts facts;
  facts.dtype = from.dtype;
  facts.points = static_cast<int64_t>(points.size() * (1 + others.size()));
  for (size_t j = 0; j <= others.size(); ++j) {
    const ReducedElement e = reduced_element(scope, j == 0 ? n : node(others[j - 1]));
    facts.code += e.code;
    facts.loops |= e.loops, facts.parts |= e.parts;
  }
  for (int64_t a : n.attr) facts.extents.push_back(from.shape[static_cast<int>(a)]);
  if (n.op == Op::Sum && scalar_of(from.dtype) == kernel::Scalar::F32 && reduced_length(graph_, n) > kUncompensated)
    facts.plain = schedule::kPlainSum;
  facts.copies = copies_;
  facts.results = points_;
  facts.inside = open_ > 0;
  describe_sharers(facts, scope, points);
  facts.shared = b_.shared_bytes();
  return facts;
}

}  // namespace spirograd::lower
