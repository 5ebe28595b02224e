#include "ad/cotangent_sum.h"

#include <algorithm>
#include <optional>

#include "frontend/ir/algebra.h"

namespace spirograd::ad {

using ir::Expr;
using ir::Op;

namespace {

// Up to so many parts are padded and added, in one kernel that computes once what they share, unless they tile the whole.
constexpr size_t kFew = 4;

// A cotangent that is zero elsewhere: the elements from `start` on along an axis, all those of the other axes, of an array
// that has been given the shape `view`.
struct Part {
  Shape view;
  int axis = 0;
  int64_t start = 0;
  Expr elements;
  size_t arrived = 0;  // its number among all that arrived
  int64_t end() const { return start + elements.shape()[axis]; }
};

// The transpose of a slice pads.
Part padded(Expr ct) { return {ct.shape(), axis_of(ct), -ct.attr(1), ct.in(0)}; }

// That of a read at a written place scatters to one block of what the indices choose from.
std::optional<Part> scattered(Expr ct) {
  const Shape& shape = ct.shape();
  const int indices = static_cast<int>(ct.node().in.size()) - 1;
  int64_t block = 0, blocks = 1;
  for (int j = 0; j < indices; ++j) {
    const ir::Node& at = ct.in(1 + j).node();
    if (at.op != Op::Const || at.type.shape.rank() > 0 || at.data[0] < 0 || at.data[0] >= static_cast<double>(shape[j]))
      return std::nullopt;
    block = block * shape[j] + static_cast<int64_t>(at.data[0]);
    blocks *= shape[j];
  }
  const Shape rest = shape.slice(indices, shape.rank());
  return Part{Shape{blocks} + rest, 0, block, ir::reshape(ct.in(0), Shape{1} + rest)};
}

std::optional<Part> part_of(Expr ct) {
  const std::optional<Part> p = ct.op() == Op::Window ? padded(ct) : ct.op() == Op::Scatter ? scattered(ct) : std::nullopt;
  return p && p->start >= 0 && p->start < p->end() && p->end() <= p->view[p->axis] ? p : std::nullopt;
}

// In groups along one axis.
std::vector<std::vector<Part>> without_overlaps(std::vector<Part> parts) {
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.start < b.start; });
  std::vector<std::vector<Part>> out;
  for (const Part& p : parts) {
    const auto at = std::find_if(out.begin(), out.end(), [&](const std::vector<Part>& group) {
      return group[0].axis == p.axis && group[0].view == p.view && group.back().end() <= p.start;
    });
    at == out.end() ? out.push_back({p}) : at->push_back(p);
  }
  return out;
}

// Whether they are alike and leave no gaps: then one kernel computes them at the same points, each of them once.
bool tiles_whole(const std::vector<Part>& group) {
  int64_t reached = 0;
  for (const Part& p : group) {
    if (p.start != reached || p.elements.shape() != group[0].elements.shape()) return false;
    reached = p.end();
  }
  return group.size() > 1 && reached == group[0].view[group[0].axis];
}

Expr joined(const std::vector<Part>& group, const Type& type) {
  const Part& first = group[0];
  std::vector<Expr> pieces;
  int64_t reached = 0;
  const auto zeros_until = [&](int64_t start) {
    Shape gap = first.view;
    gap[first.axis] = start - reached;
    if (start > reached) pieces.push_back(ir::zeros(*first.elements.graph, {type.dtype, gap}));
  };
  for (const Part& p : group) {
    zeros_until(p.start);
    pieces.push_back(p.elements);
    reached = p.end();
  }
  zeros_until(first.view[first.axis]);
  return ir::reshape(ir::concat(pieces, first.axis), type.shape);
}

// The terms of the same sum, parts that were joined last.
std::vector<Expr> with_parts_joined(const std::vector<Expr>& arrived) {
  std::vector<Part> parts;
  for (size_t j = 0; j < arrived.size(); ++j)
    if (std::optional<Part> p = part_of(arrived[j])) parts.push_back(*p), parts.back().arrived = j;
  std::vector<bool> is_joined(arrived.size());
  std::vector<Expr> wholes, terms;
  for (const std::vector<Part>& group : without_overlaps(std::move(parts))) {
    if (group.size() <= kFew && !tiles_whole(group)) continue;
    wholes.push_back(joined(group, arrived[0].type()));
    for (const Part& p : group) is_joined[p.arrived] = true;
  }
  for (size_t j = 0; j < arrived.size(); ++j)
    if (!is_joined[j]) terms.push_back(arrived[j]);
  terms.insert(terms.end(), wholes.begin(), wholes.end());
  return terms;
}

Expr sum_of(const std::vector<Expr>& terms) {
  Expr sum;
  for (const Expr term : terms) sum = sum ? sum + term : term;
  return sum;
}

}  // namespace

Expr CotangentSum::value() const { return arrived_.size() > 1 ? sum_of(with_parts_joined(arrived_)) : sum_of(arrived_); }

}  // namespace spirograd::ad
