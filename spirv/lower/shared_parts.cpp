#include "spirv/lower/shared_parts.h"

#include <algorithm>
#include <vector>

#include "spirv/lower/extent.h"

namespace spirograd::lower {

using ir::Graph;
using ir::Kind;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

constexpr size_t kMostBetween = 16;  // nodes between a root and what is dear below it

// Which roots' kernels compute a node: none, one, or several.
class Owners {
 public:
  Owners(const Graph& g, std::span<const NodeId> order, const NodeSet& roots) {
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      const uint32_t owner = roots.contains(id->v) ? id->v : of(*id);
      for (NodeId in : g[*id].in) add(in, owner);
    }
  }
  bool several(NodeId id) const { return of(id) == kSeveral; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX, kSeveral = UINT32_MAX - 1;
  uint32_t of(NodeId id) const { return id.v < owner_.size() ? owner_[id.v] : kNone; }
  void add(NodeId id, uint32_t owner) {
    if (id.v >= owner_.size()) owner_.resize(id.v + 1, kNone);
    owner_[id.v] = of(id) == kNone || of(id) == owner ? owner : kSeveral;
  }
  std::vector<uint32_t> owner_;  // by id
};

class Search {
 public:
  Search(const Graph& g, const Owners& owners, const NodeSet& unwanted, const Costs& cost, const Target& t,
         const NodeSet& roots)
      : g_(g), owners_(owners), unwanted_(unwanted), cost_(cost), target_(t), roots_(roots) {}

  /// The node that the buffer of `root` is better for; none: it stays.
  NodeId below(NodeId root) {
    seen_.clear();
    dear_ = {};
    left_ = kCheap;
    const bool found = visit_operands(g_[root]) && dear_ && g_[dear_].type.shape.count() <= g_[root].type.shape.count();
    return found ? dear_ : NodeId{};
  }

 private:
  // False: there is more that is dear.
  bool visit(NodeId id) {
    if (std::find(seen_.begin(), seen_.end(), id.v) != seen_.end()) return true;
    seen_.push_back(id.v);
    const Node& n = g_[id];
    if (roots_.contains(id.v) || n.op == Op::Proj) return pays(target_.price.load);
    if (cost_.at(id.v) <= kCheap) return pays(cost_.at(id.v));
    const bool computes = ir::is_pointwise(n.op) || ir::info(n.op).kind == Kind::Reduce;
    if (computes && !dear_ && owners_.several(id) && !unwanted_.contains(id.v)) {
      dear_ = id;
      return pays(target_.price.load);
    }
    return (ir::is_pointwise(n.op) || ir::is_unary_layout(n.op)) && seen_.size() < kMostBetween && visit_operands(n);
  }

  bool visit_operands(const Node& n) {
    return pays(op_cost(n)) && std::all_of(n.in.begin(), n.in.end(), [&](NodeId in) { return visit(in); });
  }

  bool pays(double operations) { return (left_ -= operations) >= 0; }

  const Graph& g_;
  const Owners& owners_;
  const NodeSet& unwanted_;
  const Costs& cost_;
  const Target& target_;
  const NodeSet& roots_;
  std::vector<uint32_t> seen_;
  NodeId dear_;
  double left_ = 0;  // operations
};

}  // namespace

void store_shared_parts(const Graph& g, std::span<const NodeId> order, const std::set<uint32_t>& bound,
                        const NodeSet& unwanted, const Costs& cost, const Target& t, NodeSet& roots) {
  const Owners owners(g, order, roots);
  Search search(g, owners, unwanted, cost, t, roots);
  for (NodeId id : order) {
    if (!roots.contains(id.v) || bound.contains(id.v) || !ir::is_pointwise(g[id].op)) continue;
    const NodeId dear = search.below(id);
    if (!dear) continue;
    roots.insert(dear.v);
    roots.erase(id.v);
  }
}

}  // namespace spirograd::lower
