#include "spirv/lower/ordered.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "frontend/ir/algebra.h"
#include "spirv/lower/partition.h"

namespace spirograd::lower {

using ir::Expr;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

constexpr int64_t kManyPages = int64_t{1} << 18;  // elements: smaller arrays are in a cache, with all their pages
constexpr int64_t kFarApart = 1024;               // bytes between two steps
constexpr int64_t kLong = 64;                     // steps
constexpr size_t kMostNodesBetween = 64;          // nodes between a reduction and what it reads

bool is_reduce(const Node& n) { return ir::info(n.op).kind == ir::Kind::Reduce; }

using Predicate = bool (*)(const ir::Graph&, const Node&);

bool may_be_moved(const ir::Graph&, const Node& n) {
  const Shape& s = n.type.shape;
  return (is_reduce(n) || ir::is_pointwise(n.op)) && s.rank() >= 3 && s.count() >= kManyPages && s[0] >= kLong &&
         s.count() / s[0] * device_bytes(n.type.dtype) >= kFarApart;
}

// One whose neighbours are far apart may cost several passes over it.
bool may_be_turned(const ir::Graph&, const Node& n) {
  constexpr int64_t kLarge = int64_t{1} << 16;  // elements
  return (is_reduce(n) || ir::is_pointwise(n.op)) && n.type.shape.rank() >= 2 && n.type.shape.count() >= kLarge;
}

// Windows are made with the axes that they move along in front, whatever lies along the last one.
bool is_large_window(const ir::Graph& g, const Node& n) { return is_window(g, n) && may_be_turned(g, n); }

std::vector<int64_t> in_order(int rank) {
  std::vector<int64_t> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// By elements that reductions run through: those that step along the first axis for a fixed place along another one, the
// last axis aside; and those that do so the other way round.
struct Votes {
  double to_move = 0, to_stay = 0;
  int behind = 0;  // the axis behind which the first one belongs
};

struct ReadAt {
  NodeId node;
  Place place;
};

class Readers {
 public:
  Readers(const ir::Graph& g, const Partition& partition, std::span<const NodeId> results, Predicate may_be_of_use)
      : g_(g), partition_(partition), may_be_of_use_(may_be_of_use) {
    for (NodeId r : results) results_.insert(r.v);
    for (NodeId id : partition.order)
      if (is_reduce(g[id]) && g[g[id].in[0]].type.shape.count() >= kManyPages) ask(g[id]);
  }

  /// The order of its axes in which an array is to be stored; none: as it is.
  std::vector<int64_t> order_of(NodeId array) const {
    const auto it = votes_.find(array.v);
    if (it == votes_.end() || it->second.to_move <= it->second.to_stay) return {};
    std::vector<int64_t> axes = in_order(g_[array].type.shape.rank());
    std::rotate(axes.begin(), axes.begin() + 1, axes.begin() + it->second.behind + 1);
    return axes;
  }

 private:
  void ask(const Node& reduction) {
    const Shape& from = g_[reduction.in[0]].type.shape;
    std::vector<ReadAt> stack = {{reduction.in[0], place_of_point(from)}};
    for (size_t visits = 0; !stack.empty() && visits < kMostNodesBetween; ++visits) {
      const ReadAt r = std::move(stack.back());
      stack.pop_back();
      const Node& n = g_[r.node];
      if (partition_.roots.contains(r.node.v)) {
        if (may_be_of_use_(g_, n) && !results_.contains(r.node.v))
          vote(r.node, r.place, reduction, static_cast<double>(from.count()));
      } else if (ir::is_pointwise(n.op) || ir::is_unary_layout(n.op)) {
        for (size_t j = 0; j < n.in.size(); ++j) stack.push_back({n.in[j], operand_place(g_, n, j, r.place)});
      }
    }
  }

  void vote(NodeId array, const Place& place, const Node& reduction, double elements) {
    const auto is_reduced = [&](size_t axis) {
      return std::find(reduction.attr.begin(), reduction.attr.end(), place[axis].same_as) != reduction.attr.end();
    };
    if (place[0].same_as < 0) return;
    for (size_t axis = 1; axis + 1 < place.size(); ++axis) {
      if (place[axis].same_as < 0 || is_reduced(axis) == is_reduced(0)) continue;
      Votes& v = votes_[array.v];
      (is_reduced(0) ? v.to_move : v.to_stay) += elements;
      if (is_reduced(0) && v.behind == 0) v.behind = static_cast<int>(axis);
      return;
    }
  }

  const ir::Graph& g_;
  const Partition& partition_;
  const Predicate may_be_of_use_;
  NodeSet results_;
  std::map<uint32_t, Votes> votes_;
};

// What neighbouring invocations of kernels read, by the axis of the array along which their places are neighbours.
class Neighbours {
 public:
  Neighbours(const ir::Graph& g, const Partition& partition, std::span<const NodeId> results, Predicate may_be_of_use)
      : g_(g), partition_(partition) {
    for (NodeId id : partition.order)
      if (partition.roots.contains(id.v) && may_be_of_use(g, g[id])) votes_[id.v].resize(rank(id));
    for (NodeId r : results) votes_.erase(r.v);
    if (votes_.empty()) return;
    for (NodeId id : partition.order)
      if (partition.roots.contains(id.v) &&
          (is_reduce(g[id]) || ir::is_pointwise(g[id].op) || ir::is_unary_layout(g[id].op)))
        ask(id);
  }

  std::vector<int64_t> order_of(NodeId array) const {
    const auto it = votes_.find(array.v);
    if (it == votes_.end()) return {};
    const auto most = std::max_element(it->second.begin(), it->second.end());
    if (*most <= it->second.back()) return {};
    std::vector<int64_t> axes = in_order(g_[array].type.shape.rank());
    const auto axis = axes.begin() + (most - it->second.begin());
    std::rotate(axis, axis + 1, axes.end());
    return axes;
  }

 private:
  size_t rank(NodeId id) const { return static_cast<size_t>(g_[id].type.shape.rank()); }

  void ask(NodeId kernel) {
    const Shape& domain = g_[kernel].type.shape;
    if (const auto own = votes_.find(kernel.v); own != votes_.end())
      for (const Access& a : accesses(g_, kernel, partition_.roots, kMostNodesBetween).reads)
        vote_own(own->second, a.last, static_cast<double>(domain.count()));
    const uint32_t neighbours = kLastReducedAxis | (domain.rank() > 0 ? 1u << (domain.rank() - 1) : 0);
    std::set<std::pair<uint32_t, Place>> seen;
    std::vector<ReadAt> stack = {{kernel, place_of_point(domain)}};
    while (!stack.empty() && seen.size() < kMostNodesBetween) {
      const ReadAt r = std::move(stack.back());
      stack.pop_back();
      if (!seen.emplace(r.node.v, r.place).second) continue;
      const Node& n = g_[r.node];
      if (r.node == kernel || !partition_.roots.contains(r.node.v)) {
        for (size_t j = 0; j < n.in.size(); ++j) stack.push_back({n.in[j], place_below(n, j, r.place)});
      } else if (const auto read = votes_.find(r.node.v); read != votes_.end()) {
        vote(read->second, r.place, neighbours, static_cast<double>(n.type.shape.count()));
      }
    }
  }

  // The invocations of a workgroup are neighbours along a reduced axis if it is long enough to be shared.
  Place place_below(const Node& n, size_t j, const Place& place) const {
    const bool reduces = is_reduce(n) && g_[n.in[j]].type.shape[static_cast<int>(n.attr.back())] < kLong;
    return reduces ? operand_place(g_, n, j, place, {kReducedAxis}) : place_of_operand(g_, n, j, place);
  }

  static void vote(std::vector<double>& votes, const Place& place, uint32_t neighbours, double elements) {
    for (size_t axis = place.size(); axis-- > 0;) {
      if (!(place[axis].axes & neighbours)) continue;
      votes[axis] += elements;
      return;
    }
  }

  // `last`: what the last coordinate of an array that its own kernel reads depends on. What is reduced is read in any order.
  static void vote_own(std::vector<double>& votes, uint32_t last, double elements) {
    for (size_t axis = votes.size(); axis-- > 0;) {
      if (!(last >> axis & 1)) continue;
      votes[axis] += elements;
      return;
    }
    if (last & kLastReducedAxis) votes.back() += elements;
  }

  const ir::Graph& g_;
  const Partition& partition_;
  std::map<uint32_t, std::vector<double>> votes_;  // of arrays that may be turned, for each axis: elements
};

using Orders = std::map<uint32_t, std::vector<int64_t>>;  // of axes, by array

// The same values, with the arrays stored in these orders.
Rewritten stored_in(ir::Graph& g, std::span<const NodeId> roots, const Orders& orders) {
  Rewritten out;
  out.roots = ir::rebuild(g, roots, out.moved, [&](NodeId old, NodeId built) {
    const auto it = orders.find(old.v);
    if (it == orders.end()) return built;
    const Expr array{&g, built};
    const std::vector<int64_t>& axes = it->second;
    std::vector<int64_t> back(axes.size());
    for (size_t j = 0; j < axes.size(); ++j) back[static_cast<size_t>(axes[j])] = static_cast<int64_t>(j);
    const Expr moved = ir::transpose(array, axes);
    out.stored.insert(moved.id.v);
    return ir::transpose(moved, back).id;
  });
  return out;
}

template <class Votings>
Rewritten order(ir::Graph& g, std::span<const NodeId> roots, const std::set<uint32_t>& stored, const Scans& scans,
                const Target& target, Predicate may_be_of_use) {
  const std::vector<NodeId> nodes = ir::postorder(g, roots);
  Orders orders;
  if (std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) { return may_be_of_use(g, g[id]); })) {
    const Partition partition = choose_partition(g, roots, stored, {}, scans, {}, target);
    const Votings votings(g, partition, roots, may_be_of_use);
    for (NodeId id : nodes)
      if (std::vector<int64_t> axes = votings.order_of(id); !axes.empty() && !stored.contains(id.v))
        orders.emplace(id.v, std::move(axes));
  }
  if (!orders.empty()) return stored_in(g, roots, orders);
  Rewritten same;
  same.roots.assign(roots.begin(), roots.end());
  return same;
}

}  // namespace

Rewritten order_for_pages(ir::Graph& g, std::span<const NodeId> roots, const std::set<uint32_t>& stored, const Scans& scans,
                          const Target& target) {
  return order<Readers>(g, roots, stored, scans, target, may_be_moved);
}

Rewritten order_for_neighbours(ir::Graph& g, std::span<const NodeId> roots, const std::set<uint32_t>& stored,
                               const Scans& scans, const Target& target) {
  return order<Neighbours>(g, roots, stored, scans, target, target.price.coalesces ? may_be_turned : is_large_window);
}

}  // namespace spirograd::lower
