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

bool may_be_moved(const Node& n) {
  const Shape& s = n.type.shape;
  return (is_reduce(n) || ir::is_pointwise(n.op)) && s.rank() >= 3 && s.count() >= kManyPages && s[0] >= kLong &&
         s.count() / s[0] * device_bytes(n.type.dtype) >= kFarApart;
}

// By elements that reductions run through: those that step along the first axis for a fixed place along another one, the
// last axis aside; and those that do so the other way round.
struct Votes {
  double to_move = 0, to_stay = 0;
  int behind = 0;  // the axis behind which the first one belongs
};

class Readers {
 public:
  Readers(const ir::Graph& g, const Partition& partition, std::span<const NodeId> results) : g_(g), partition_(partition) {
    for (NodeId r : results) results_.insert(r.v);
    for (NodeId id : partition.order)
      if (is_reduce(g[id]) && g[g[id].in[0]].type.shape.count() >= kManyPages) ask(g[id]);
  }
  const std::map<uint32_t, Votes>& votes() const { return votes_; }

 private:
  void ask(const Node& reduction) {
    const Shape& from = g_[reduction.in[0]].type.shape;
    struct Read {
      NodeId node;
      Place place;
    };
    Place own;
    for (int a = 0; a < from.rank(); ++a) own.push_back({1u << a, a});
    std::vector<Read> stack = {{reduction.in[0], std::move(own)}};
    for (size_t visits = 0; !stack.empty() && visits < kMostNodesBetween; ++visits) {
      const Read r = std::move(stack.back());
      stack.pop_back();
      const Node& n = g_[r.node];
      if (partition_.roots.contains(r.node.v)) {
        if (may_be_moved(n) && !results_.contains(r.node.v))
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
  NodeSet results_;
  std::map<uint32_t, Votes> votes_;
};

}  // namespace

Rewritten order_arrays(ir::Graph& g, std::span<const NodeId> roots, const std::set<uint32_t>& stored, const Scans& scans,
                       const Target& target) {
  Rewritten out;
  out.roots.assign(roots.begin(), roots.end());
  const std::vector<NodeId> order = ir::postorder(g, roots);
  // Where neighbours are served together they read the last axis in any case.
  if (target.price.coalesces || std::none_of(order.begin(), order.end(), [&](NodeId id) { return may_be_moved(g[id]); }))
    return out;
  const Partition partition = choose_partition(g, roots, stored, {}, scans, {}, target);
  const Readers readers(g, partition, roots);
  out.roots = ir::rebuild(g, roots, out.moved, [&](NodeId old, NodeId built) {
    const auto it = readers.votes().find(old.v);
    if (it == readers.votes().end() || it->second.to_move <= it->second.to_stay || stored.contains(old.v)) return built;
    const Expr array{&g, built};
    std::vector<int64_t> axes(static_cast<size_t>(array.rank())), back(axes.size());
    std::iota(axes.begin(), axes.end(), 0);
    std::rotate(axes.begin(), axes.begin() + 1, axes.begin() + it->second.behind + 1);
    for (size_t j = 0; j < axes.size(); ++j) back[static_cast<size_t>(axes[j])] = static_cast<int64_t>(j);
    const Expr moved = ir::transpose(array, axes);
    out.stored.insert(moved.id.v);
    return ir::transpose(moved, back).id;
  });
  return out;
}

}  // namespace spirograd::lower
