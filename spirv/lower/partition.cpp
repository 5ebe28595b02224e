#include "spirv/lower/partition.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "frontend/ir/algebra.h"
#include "frontend/ir/traverse.h"
#include "spirograd/executable.h"
#include "spirv/lower/cuts.h"
#include "spirv/lower/element_loops.h"
#include "spirv/lower/marks.h"
#include "spirv/lower/of_its_own.h"
#include "spirv/lower/recompute.h"
#include "spirv/lower/shared_parts.h"
#include "spirv/lower/use.h"
#include "spirv/schedule/cost.h"
#include "spirv/schedule/row_rules.h"

namespace spirograd::lower {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

constexpr double kKeptElements = 16;  // of an array, that an invocation keeps through a loop
constexpr int64_t kSideBySide = 8;    // points that share what they read, at least
constexpr double kTiles = 64;         // points for each busy invocation, in a kernel whose neighbours share all
constexpr double kByLanes = 0.3;      // of the time of one invocation, that lanes take for rows
constexpr double kForMemory = 1.05;   // so much longer may it take to do without a large array

class Chooser {
 public:
  Chooser(Graph& g, std::span<const NodeId> results, const std::set<uint32_t>& forced, const std::set<uint32_t>& dispatched,
          const Scans& scans, Beside beside, const Target& target)
      : g_(g), target_(target), dispatched_(dispatched), scans_(scans), forced_(forced) {
    c_.order = ir::postorder(g, results);
    for (const auto& [id, reduction] : beside) shared_.insert(reduction);
    c_.beside = std::move(beside);
    for (NodeId r : results) forced_.insert(r.v);
    add_marked(g, c_.order, forced_, recomputed_);
    c_.packed = packed_results(g, c_.order, results, target);
  }

  Partition run() {
    for (const uint32_t id : forced_) c_.roots.insert(id);
    for (NodeId id : c_.order) mark_forced(id);
    choose_roots(3);
    if (const std::vector<NodeId> cuts = cuts_.limit_sizes(); !cuts.empty()) {
      for (NodeId id : cuts) forced_.insert(id.v);
      choose_roots(1);  // what several of the smaller kernels compute may be worth storing, too
      cuts_.limit_sizes();
    }
    cuts_.settle();
    return std::move(c_);
  }

 private:
  // What a node costs depends on what below it is stored, and the other way round: decide with what must be stored, then
  // again with that.
  void choose_roots(int rounds) {
    uses_.reserve(c_.order.size());
    for (int round = 0; round < rounds; ++round) {
      recompute_costs(g_, c_.order, c_.roots, target_, cost_);
      stored_before_ = std::move(c_.roots);
      c_.roots.clear();
      for_tiles_.clear();
      have_product_.clear();
      for (auto& [id, uses] : uses_) uses.clear();  // the nodes are the same in every round
      for (auto id = c_.order.rbegin(); id != c_.order.rend(); ++id) visit(*id);
    }
    recompute_costs(g_, c_.order, c_.roots, target_, cost_);
    std::set<uint32_t> bound = for_tiles_;
    bound.insert(forced_.begin(), forced_.end());
    store_shared_parts(g_, c_.order, bound, recomputed_, cost_, target_, c_.roots);
    drop_cheap();
  }

  void force(NodeId id) {
    forced_.insert(id.v);
    c_.roots.insert(id.v);
  }

  void mark_forced(NodeId id) {
    const Node& n = g_[id];
    for (size_t j = 1; j < n.in.size() && n.op == Op::ByKernel; ++j) force(n.in[j]);
    if (ir::is_scatter(n.op) || (has_parts(n) && n.in.size() > kInlinedParts)) force(id);
    if (n.op != Op::MapAccum) return;
    const LoopForm form = dispatched_.contains(id.v) || scans_.contains(id.v) ? LoopForm{} : loop_form(g_, id, target_);
    const bool inside = form.kind != LoopForm::Kind::Dispatches && cuts_.may_run_inside(id);
    if (scans_.contains(id.v) || inside) {
      c_.loops_in_kernel[id.v] = form;
    } else {
      for (NodeId in : n.in) force(in);
    }
  }

  // What is cheap now that something below it is stored: users were asked before what they use.
  void drop_cheap() {
    for (NodeId id : c_.order) {
      const double cost = cost_[id.v] = recompute_cost(g_, id, c_.roots, cost_, target_);
      const bool cheap = ir::is_pointwise(g_[id].op) && cost <= kCheap && !for_tiles_.contains(id.v);
      if (cheap && c_.roots.contains(id.v) && !forced_.contains(id.v)) c_.roots.erase(id.v);
    }
  }

  void visit(NodeId id) {
    const Node& n = g_[id];
    if (n.op == Op::MapAccum || n.op == Op::ByKernel) {
      c_.roots.insert(id.v);
      use_loop_operands(id);
      return;
    }
    if (n.op == Op::Proj) return;  // its loop is a root
    const bool constant_array = n.op == Op::Const && n.type.shape.rank() > 0;
    if (n.op == Op::Param || constant_array) return;
    if (forced_.contains(id.v) || (!is_leaf(n) && (worth_storing(id) || is_further_product(id)))) {
      c_.roots.insert(id.v);
      const double invocations = count(ir::is_scatter(n.op) ? g_[n.in[0]].type.shape : n.type.shape);
      const auto other = c_.beside.find(id.v);
      const uint32_t kernel = other == c_.beside.end() ? id.v : other->second;
      Place own = ir::is_scatter(n.op) ? Place() : place_of_point(n.type.shape);
      uses_[id.v] = {{kernel, invocations, {}, Place(static_cast<size_t>(n.type.shape.rank())), std::move(own)}};
    }
    std::vector<Use>& uses = uses_[id.v];
    for (const Use& u : uses) pass_on(id, u);
    uses.clear();
  }

  void pass_on(NodeId id, const Use& u) {
    const Node& n = g_[id];
    const bool same_points = ir::is_pointwise(n.op) || ir::info(n.op).kind == ir::Kind::Reduce;
    for (size_t j = 0; j < n.in.size(); ++j) {
      Use v = operand_use(g_, n, j, u);
      // A stored part is computed at its own places, by a kernel that is also that of others alike.
      if (has_parts(n) && c_.roots.contains(id.v)) v.invocations = count(g_[n.in[j]].type.shape);
      add_use(n.in[j], std::move(v), same_points);
    }
  }

  // Pointwise users of one kernel ask for the same points, so the node is evaluated once for all of them; others add up.
  void add_use(NodeId id, Use v, bool same_points) {
    std::vector<Use>& uses = uses_[id.v];
    if (same_points || shared_.contains(v.kernel)) {
      for (Use& u : uses) {
        if (u.kernel != v.kernel) continue;
        if (evaluations(v) > evaluations(u)) u = std::move(v);
        return;
      }
    }
    if (uses.size() < 64) uses.push_back(std::move(v));
  }

  void use_loop_operands(NodeId id) {
    if (!c_.loops_in_kernel.contains(id.v)) return;  // its operands are roots anyway
    const Node& n = g_[id];
    const ir::LoopParts parts = ir::loop_parts(g_, n);
    if (const auto scan = scans_.find(id.v); scan != scans_.end()) {
      use_scan_operands(id, parts, scan->second);
      return;
    }
    const LoopForm& form = c_.loops_in_kernel.at(id.v);
    if (form.kind == LoopForm::Kind::Together) {
      use_operands_together(id, parts, form);
      return;
    }
    const std::vector<double> loads = loads_of_operands(g_, id, form);
    for (size_t j = 0; j < n.in.size(); ++j) {
      Use u{id.v, count(form.state), {}, Place(static_cast<size_t>(g_[n.in[j]].type.shape.rank()))};
      if (loads[j] > 1) {
        u.loops = {loads[j]};
        u.place[0].axes = 1;
      }
      add_use(n.in[j], std::move(u), false);
    }
  }

  // What does not change from step to step is kept, or read at every step where that is too much, or where steps read
  // others.
  void use_operands_together(NodeId id, const ir::LoopParts& parts, const LoopForm& form) {
    const Node& n = g_[id];
    const auto members = static_cast<double>(invocations(form));
    const std::vector<bool> anywhere = read_anywhere(g_, id, true);
    for (size_t j = 0; j < n.in.size(); ++j) {
      const Shape& s = g_[n.in[j]].type.shape;
      const auto k = static_cast<int>(j);
      const double own = std::max(1.0, count(s) / members);
      Use u{id.v, std::min(members, count(s)), {}, Place(static_cast<size_t>(s.rank()))};
      const bool kept = k < parts.n_acc || (own <= kKeptElements && !anywhere[j]);
      if (s.rank() > 0) {
        u.loops = {kept || (k < parts.n_acc + parts.n_es) ? own : own * static_cast<double>(parts.length)};
        u.place[0].axes = 1;
      }
      add_use(n.in[j], std::move(u), false);
    }
  }

  // A chunk reads the state before it once, and a term per step.
  void use_scan_operands(NodeId id, const ir::LoopParts& parts, const schedule::ScanSchedule& s) {
    const Node& n = g_[id];
    const double chunks = static_cast<double>(schedule::chunks(s)),
                 side = std::max(1.0, static_cast<double>(schedule::group(s)));
    for (size_t j = 0; j < n.in.size(); ++j) {
      const Shape& shape = g_[n.in[j]].type.shape;
      Use u{id.v, chunks * count(n.type.shape) * side, {}, Place(static_cast<size_t>(shape.rank()))};
      if (static_cast<int>(j) >= parts.n_acc && static_cast<int>(j) < parts.n_acc + parts.n_es) {
        u.loops = {static_cast<double>(schedule::chunk_length(s)) / side};
        u.place[0].axes = 1;
      }
      add_use(n.in[j], std::move(u), false);
    }
  }

  bool worth_storing(NodeId id) {
    const Node& n = g_[id];
    // Layout costs index arithmetic only; if anything is worth storing, it is the operand.
    const bool reduces = ir::info(n.op).kind == ir::Kind::Reduce, computes = ir::is_pointwise(n.op) && !reads_f16(g_, n);
    const bool cheap = !reduces && (!computes || cost_.at(id.v) <= kCheap);
    const auto it = uses_.find(id.v);
    if (it == uses_.end() || it->second.empty() || recomputed_.contains(id.v)) return false;
    if (computes && worth_storing_for_tiles(id, it->second)) for_tiles_.insert(id.v);
    if (cheap) return for_tiles_.contains(id.v);
    // Time in operations of a busy device: to compute the node wherever it is used, and to compute, store and load it.
    const double size = count(n.type.shape), cost = cost_.at(id.v);
    const double alone = reduces ? alone_cost(id, cost) : cost;
    const bool apart = reduces && own_.is_short_sums(id);  // tiles are what makes it fast
    double again = 0, stored = size * (alone + target_.price.store) * schedule::idle(size, target_) + target_.price.dispatch;
    for (const Use& u : it->second) {
      const double e = evaluations(u) / (reduces ? 1 : points_that_share(id, u)),
                   slow = schedule::idle(reduces ? u.invocations : at_work(u, target_), target_);
      const bool inside = evaluations(u) > u.invocations && !(reduces && !apart && shares_reads(id, u));
      again += e * (inside ? in_loop(cost, reduces, target_) : alone) * slow;
      stored += e * target_.price.load * slow;
    }
    if (again <= stored || !ir::is_pointwise(n.op)) return again > stored;
    return again - saved_with_others(g_, id, cost, it->second, stored_before_, target_) > kForMemory * stored;
  }

  // What is cheap, but an operand of products whose tiles have it in common: all lanes compute the same element, each tile
  // again, where they would load it. So is what is left of what is dear, if that is stored which makes it so.
  bool worth_storing_for_tiles(NodeId id, std::span<const Use> uses) {
    if (!schedule::tiles_by_lanes(target_)) return false;
    const double size = count(g_[id].type.shape), cost = std::min(cost_.at(id.v), kCheap);
    const double more = cost - kGiven * target_.price.load;
    double saved = 0;
    for (const Use& u : uses)
      if (lanes_have_in_common(u)) saved += more * evaluations(u) / static_cast<double>(schedule::kOwnColumns);
    const double stored = size * (cost + target_.price.store) * schedule::idle(size, target_);
    return saved > stored + target_.price.dispatch && is_made_of_as_many(id);
  }

  // Whether what is read for an array is no smaller: windows are not stored.
  bool is_made_of_as_many(NodeId id) {
    const std::vector<Access> reads = accesses(g_, id, stored_before_, kLookedAt).reads;
    return std::ranges::any_of(reads,
                               [&](const Access& a) { return g_[a.leaf].type.shape.count() >= g_[id].type.shape.count(); });
  }

  // Whether neighbours along the last axis of the kernel all go through these elements, for long.
  bool lanes_have_in_common(const Use& u) const {
    const Shape& domain = g_[NodeId{u.kernel}].type.shape;
    const int last = domain.rank() - 1;
    if (last < 0 || u.point.empty() || domain[last] < schedule::width_of(target_)) return false;
    return evaluations(u) >= OfItsOwn::kContraction * u.invocations &&
           std::ranges::none_of(u.point, [last](const Coordinate& c) { return (c.axes >> last & 1) != 0; });
  }

  // Points of the kernel that share an element of what its reductions go through, where an invocation computes a tile of
  // them: neighbours along a long axis that the element does not depend on. No more than use the element.
  double points_that_share(NodeId id, const Use& u) {
    constexpr double kPoints = 4;
    constexpr int64_t kLongAxis = 16;
    if (target_.price.coalesces || u.loops.empty() || u.point.empty() || !stays_along_one(u, ~0u, kLongAxis)) return 1;
    return std::clamp(evaluations(u) / std::max(1.0, count(g_[id].type.shape)), 1.0, kPoints);
  }

  // Whether neighbouring points of the kernel, which it computes side by side, share all that a reduction inside of its
  // loops reads, as they do in a kernel of its own. Workgroups share it through their memory, and in no loop.
  bool shares_reads(NodeId id, const Use& u) {
    if (target_.price.coalesces) return false;
    if (count(g_[NodeId{u.kernel}].type.shape) < kTiles * target_.price.busy) return false;  // so few that tiles are small
    const std::vector<Access> reads = accesses(g_, id, stored_before_, kLookedAt).reads;
    return !u.point.empty() &&
           std::all_of(reads.begin(), reads.end(), [&](const Access& a) { return stays_along_one(u, a.axes, kSideBySide); });
  }

  // Whether the kernel has an axis so long along which these coordinates of the use (bits of axes) stay the same.
  bool stays_along_one(const Use& u, uint32_t axes, int64_t length) const {
    uint32_t depends = 0;
    for (size_t axis = 0; axis < u.point.size(); ++axis)
      if (axes >> axis & 1) depends |= u.point[axis].axes;
    const Shape& domain = g_[NodeId{u.kernel}].type.shape;
    for (int d = 0; d < domain.rank(); ++d)
      if (domain[d] >= length && !(depends >> d & 1)) return true;
    return false;
  }

  // A product whose points are those of the kernel, in which there is another one: lanes have tiles of one product, and of
  // several take far longer.
  bool is_further_product(NodeId id) {
    const std::vector<Use>& uses = uses_[id.v];
    if (recomputed_.contains(id.v) || uses.size() != 1 || !uses[0].loops.empty()) return false;
    if (uses[0].invocations != count(g_[id].type.shape) || !own_.is_product(id)) return false;
    return !have_product_.insert(uses[0].kernel).second;
  }

  // What an element of a reduction costs in a kernel of its own.
  double alone_cost(NodeId id, double cost) {
    if (own_.is_short_sums(id)) return kByLanes * cost;
    if (own_.is_contraction(id)) return schedule::in_tiles(cost);
    return own_.is_row(id) || own_.is_row_of_windows(id) ? kByLanes * cost : cost;
  }

  Graph& g_;
  const Target& target_;
  const std::set<uint32_t>& dispatched_;
  const Scans& scans_;
  Partition c_;
  Cuts cuts_{g_, target_, c_};
  NodeSet recomputed_;     // as the user wants it
  NodeSet stored_before_;  // by the previous round
  const OfItsOwn own_{g_, target_, stored_before_};
  NodeSet shared_;  // reductions beside which other roots are computed: at the same points
  std::set<uint32_t> forced_;
  std::set<uint32_t> for_tiles_;     // stored however cheap they are
  std::set<uint32_t> have_product_;  // kernels
  Costs cost_;
  std::unordered_map<uint32_t, std::vector<Use>> uses_;
};

}  // namespace

size_t buffers_of(const Partition& p, std::span<const NodeId> arrays) {
  std::set<std::pair<uint32_t, int>> packs;
  size_t others = 0;
  for (NodeId array : arrays) {
    const auto it = p.packed.find(array.v);
    if (it != p.packed.end() && p.loops_in_kernel.contains(it->second.loop))
      packs.emplace(it->second.loop, it->second.number);
    else
      ++others;
  }
  return packs.size() + others;
}

uint32_t kernel_buffers(const Target& t) {
  constexpr uint32_t kMost = 16;
  const BindingForm form = t.device_address ? BindingForm::Address : BindingForm::Descriptors;
  return std::min(max_bindings(t, form), kMost);
}

Partition choose_partition(Graph& g, std::span<const NodeId> results, const std::set<uint32_t>& forced,
                           const std::set<uint32_t>& dispatched, const Scans& scans, Beside beside, const Target& target) {
  return Chooser(g, results, forced, dispatched, scans, std::move(beside), target).run();
}

}  // namespace spirograd::lower
