#include "spirv/lower/joined_axes.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "frontend/base/checked.h"
#include "frontend/ir/algebra.h"
#include "frontend/ir/reshape_groups.h"
#include "frontend/ir/traverse.h"
#include "spirv/lower/access.h"

namespace spirograd::lower {

using ir::Expr;
using ir::Graph;
using ir::Kind;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

// Sets of pairs of neighbouring axes: all pairs of a set are joined, or none.
class Pairs {
 public:
  static constexpr uint32_t kApart = 0;  // a pair that is never joined
  uint32_t add(size_t n) {
    const auto first = static_cast<uint32_t>(parent_.size());
    parent_.resize(parent_.size() + n);
    std::iota(parent_.begin() + first, parent_.end(), first);
    return first;
  }
  uint32_t find(uint32_t x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  void unite(uint32_t a, uint32_t b) {
    a = find(a), b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }
  bool joined(uint32_t x) { return find(x) != kApart; }

 private:
  std::vector<uint32_t> parent_ = {kApart};
};

// Of an axis: they are counted in 32 bits. What is reduced may have more.
constexpr int64_t kMostElements = std::numeric_limits<int32_t>::max();

// Arrays that are there, whatever their shape.
bool is_array(const Node& n) { return n.op == Op::Param || n.op == Op::Const; }

bool knows_axes(Op op) {
  const Kind kind = ir::kind(op);
  return kind == Kind::Pointwise || kind == Kind::Layout || kind == Kind::Reduce || op == Op::Gather;
}

class JoinedAxes {
 public:
  JoinedAxes(Graph& g, std::span<const NodeId> roots) : g_(g), order_(ir::postorder(g, roots)) {
    for (const NodeId id : order_)
      if (const Node& n = g_[id]; n.type.shape.rank() > 1)
        first_[id.v] = pairs_.add(static_cast<size_t>(n.type.shape.rank() - 1));
    for (const NodeId id : order_) constrain(id);
  }

  bool any() {
    return std::ranges::any_of(first_, [&](const auto& node) {
      const int pairs = g_[NodeId{node.first}].type.shape.rank() - 1;
      for (int a = 0; a < pairs; ++a)
        if (pairs_.joined(pair({node.first}, a))) return true;
      return false;
    });
  }

  std::vector<NodeId> rebuilt(std::span<const NodeId> roots) {
    for (const NodeId id : order_) {
      const Expr made = with_joined(id, g_[id]);
      g_.copy_loc(g_, id, made.id);
      made_[id.v] = made;
    }
    std::vector<NodeId> out;
    for (const NodeId id : roots) out.push_back(made_.at(id.v).id);
    return out;
  }

 private:
  using Groups = std::vector<int64_t>;  // of each axis, the axis that it becomes a part of

  // The pair of axes a and a + 1 of a node.
  uint32_t pair(NodeId id, int a) { return first_.at(id.v) + static_cast<uint32_t>(a); }
  bool has_pairs(NodeId id) const { return first_.contains(id.v); }

  void set_apart(NodeId id) {
    for (int a = 0; has_pairs(id) && a + 1 < g_[id].type.shape.rank(); ++a) pairs_.unite(pair(id, a), Pairs::kApart);
  }

  void constrain(NodeId id) {
    const Node& n = g_[id];
    const Shape& shape = n.type.shape;
    if (std::accumulate(shape.begin(), shape.end(), int64_t{1}, saturating_mul) > kMostElements) set_apart(id);
    if (is_array(n)) return;
    if (n.op == Op::Iota) return constrain_iota(id, n);
    const bool none = n.type.shape.count() == 0;
    if (none || !knows_axes(n.op)) {
      set_apart(id);
      for (const NodeId in : n.in) set_apart(in);
      return;
    }
    if (n.op == Op::Reshape) return constrain_reshape(id, n);
    for (size_t j = 0; j < n.in.size(); ++j) constrain_operand(id, n, j);
  }

  void constrain_iota(NodeId id, const Node& n) {
    const auto axis = static_cast<int>(n.attr[0]);
    if (axis > 0) pairs_.unite(pair(id, axis - 1), Pairs::kApart);
    if (axis + 1 < n.type.shape.rank()) pairs_.unite(pair(id, axis), Pairs::kApart);
  }

  // Axes within a group may be joined on either side as they like; where one group ends and the next begins, either both
  // sides do it or none.
  void constrain_reshape(NodeId id, const Node& n) {
    const NodeId in = n.in[0];
    const auto groups = ir::reshape_groups(g_[in].type.shape, n.type.shape);
    for (size_t k = 1; k < groups.size(); ++k) {
      const auto& [from, to] = groups[k];
      const bool inner_from = from.first > 0 && from.first < g_[in].type.shape.rank();
      const bool inner_to = to.first > 0 && to.first < n.type.shape.rank();
      if (inner_from && inner_to) pairs_.unite(pair(in, from.first - 1), pair(id, to.first - 1));
    }
  }

  void constrain_operand(NodeId id, const Node& n, size_t j) {
    const NodeId in = n.in[j];
    const int rank = n.type.shape.rank();
    const Place place = place_in_operand(n, j);
    std::vector<bool> kept(static_cast<size_t>(std::max(0, rank - 1)), false);  // own pairs that are pairs of the operand's
    for (size_t k = 0; k + 1 < place.size(); ++k) {
      const int a = place[k].same_as;
      const bool neighbours = a >= 0 && place[k + 1].same_as == a + 1;
      if (neighbours) kept[static_cast<size_t>(a)] = true;
      if (reduced(place[k]) && reduced(place[k + 1])) continue;
      pairs_.unite(pair(in, static_cast<int>(k)), neighbours ? pair(id, a) : Pairs::kApart);
    }
    uint32_t axes = 0;  // that the operand has
    for (const Coordinate& c : place) axes |= c.axes;
    // What the index of a gather stands for is told by the index.
    const int from = n.op == Op::Gather && j == 0 ? g_[n.in[1]].type.shape.rank() : 0;
    for (int a = from; a + 1 < rank; ++a)
      if (!kept[static_cast<size_t>(a)] && (axes >> a & 3u) != 0) pairs_.unite(pair(id, a), Pairs::kApart);
  }

  Place place_in_operand(const Node& n, size_t j) const {
    return operand_place(g_, n, j, place_of_point(n.type.shape), {kReducedAxis, -1});
  }
  static bool reduced(const Coordinate& c) { return (c.axes & kReducedAxis) != 0; }

  Groups groups_of(NodeId id) {
    Groups out;
    for (int a = 0; a < g_[id].type.shape.rank(); ++a)
      out.push_back(a == 0 ? 0 : out.back() + (has_pairs(id) && pairs_.joined(pair(id, a - 1)) ? 0 : 1));
    return out;
  }

  static Shape joined_shape(const Shape& shape, const Groups& groups) {
    Shape out;
    for (int a = 0; a < shape.rank(); ++a) {
      const auto at = static_cast<int>(groups[static_cast<size_t>(a)]);
      if (at < out.rank())
        out = out.erased(at).inserted(at, out[at] * shape[a]);
      else
        out = out.inserted(at, shape[a]);
    }
    return out;
  }

  Expr with_joined(NodeId id, Node n) {
    const Groups own = groups_of(id);
    const Shape shape = joined_shape(n.type.shape, own);
    if (n.op == Op::Iota) return ir::iota(g_, shape, static_cast<int>(own[static_cast<size_t>(n.attr[0])]));
    std::vector<Expr> in;
    for (const NodeId operand : n.in) in.push_back(made_.at(operand.v));
    if (n.op == Op::Reshape && in[0].shape() == shape) return in[0];
    n.type.shape = shape;
    const Kind kind = ir::kind(n.op);
    if (kind == Kind::Reduce || kind == Kind::Layout) rename_axes(n, own, groups_of(n.in[0]));
    return ir::with_operands(g_, n, in);
  }

  // The axes that a reduction or a layout operation names, where those of the node become `own`, of its operand `below`.
  static void rename_axes(Node& n, const Groups& own, const Groups& below) {
    const auto renamed = [&](const Groups& named, const Groups& groups) {
      Groups out;  // once for each axis that there is in the end
      for (size_t a = 0; a < groups.size(); ++a)
        if (a == 0 || groups[a] != groups[a - 1]) out.push_back(named[static_cast<size_t>(n.attr[a])]);
      n.attr.assign(out.begin(), out.end());
    };
    if (n.op == Op::Broadcast) return renamed(own, below);
    if (n.op == Op::Transpose) return renamed(below, own);
    if (n.op == Op::Reshape) return;
    if (ir::kind(n.op) == Kind::Layout) {
      n.attr[0] = own[static_cast<size_t>(n.attr[0])];
      return;
    }
    Groups axes;
    for (const int64_t a : n.attr)
      if (const int64_t to = below[static_cast<size_t>(a)]; axes.empty() || axes.back() != to) axes.push_back(to);
    n.attr.assign(axes.begin(), axes.end());
  }

  Graph& g_;
  std::vector<NodeId> order_;
  Pairs pairs_;
  std::unordered_map<uint32_t, uint32_t> first_;  // node -> its first pair
  std::unordered_map<uint32_t, Expr> made_;
};

}  // namespace

std::vector<NodeId> with_joined_axes(Graph& g, std::span<const NodeId> roots) {
  JoinedAxes axes(g, roots);
  if (!axes.any()) return {roots.begin(), roots.end()};
  return axes.rebuilt(roots);
}

}  // namespace spirograd::lower
