#include "spirv/lower/panels.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "frontend/ir/algebra.h"
#include "spirv/lower/contractions.h"
#include "spirv/schedule/cost.h"
#include "spirv/schedule/legal.h"
#include "spirv/schedule/product_rules.h"

namespace spirograd::lower {

using ir::Expr;
using ir::Node;
using ir::NodeId;
using ir::Op;
using schedule::Bind;

namespace {

constexpr int64_t kWorthIt = 512;  // elements that are reduced in all: of less, nobody asks

// A tile of a subgroup, as the schedule of a reduction of its own says it.
struct PanelTile {
  int lanes = -1, rows = -1;  // axes of the domain; none: -1
  int64_t width = 1;          // points along the lanes
  int64_t own_rows = 1;
  bool team = false;  // it is a short product: reductions inside are written out, too
};

// Where the last tile of a subgroup of several begins earlier (kGatheredLoads), the array is one panel.
PanelTile tile_of(const schedule::MapSchedule& m, const Shape& domain) {
  PanelTile t;
  t.team = m.team > 0;
  for (size_t a = 0; a < m.axes.size() && !m.flat; ++a) {
    const int64_t lanes = schedule::extent(m.axes[a], Bind::Lane), own = schedule::extent(m.axes[a], Bind::Register);
    if (lanes > 1) {
      t.lanes = static_cast<int>(a);
      t.width = m.team > 0 && domain[t.lanes] % (lanes * own) != 0 ? domain[t.lanes] : lanes * own;
    } else if (own > 1) {
      t.rows = static_cast<int>(a);
      t.own_rows = own;
    }
  }
  return t;
}

// Of a workgroup, whose invocations have points of their own along two axes.
bool is_group_tile(const schedule::MapSchedule& m) {
  return m.group > 0 && m.team == 0 && std::ranges::count_if(m.axes, [](const schedule::Split& axis) {
                                         return schedule::extent(axis, Bind::Local) > 1;
                                       }) == 2;
}

// What a reduction reads along the lanes, and not along the rows: what all rows of tiles read again. It may read the same
// array elsewhere, too, as both operands of x x^T: that goes on to read the array itself.
struct Operand {
  NodeId node;
  Place place;
  NodeId used_as = node;  // the node with its axes in the order in which they are read
};

// Axes of the packed copy: what other axes of the domain decide, the number of the panel, what is reduced, the place in the
// panel. `order`: of the operand's axes, with that along the lanes at the end.
struct Layout {
  std::vector<int64_t> order;
  int64_t panel_axis = 0;
};

class Packing {
 public:
  Packing(ir::Graph& g, const Partition& partition, const Target& target, const schedule::Scheduler& scheduler,
          Rewritten& out)
      : g_(g),
        partition_(partition),
        outermost_(outermost_contractions(g, partition)),
        target_(target),
        scheduler_(scheduler),
        out_(out) {}

  NodeId visit(NodeId old, NodeId built) {
    const NodeId id = outermost_.contains(old.v) ? reduction(built, g_[built]) : built;
    if (partition_.roots.contains(old.v)) stored_.insert(id.v);
    return id;
  }

 private:
  NodeId reduction(NodeId id, Node n) {
    const Shape domain = n.type.shape, from = g_[n.in[0]].type.shape;
    if (domain.count() == 0 || from.count() < 2 * domain.count()) return id;
    const schedule::MapSchedule chosen = schedule_of(id);
    if (is_group_tile(chosen)) return with_longer_last(n, schedule::kStaged).value_or(id);
    const PanelTile tile = tile_of(chosen, domain);
    if (tile.lanes < 0 || tile.rows < 0) return id;
    std::vector<Operand> found = operands(id, n, tile);
    if (found.empty()) return id;
    if (const std::optional<NodeId> other_order = with_longer_last(n, target_.subgroup_size)) {
      id = *other_order;
      n = g_[id];
      found = operands(id, n, tile);
    }
    ir::Memo memo;
    for (const Operand& o : found)
      if (const std::optional<NodeId> panels = packed(o, domain, tile))
        memo[o.used_as.v] = ir::substitute(g_, o.used_as, {{o.node.v, *panels}});
    if (memo.empty()) return id;
    n.in[0] = replaced(n.in[0], std::move(memo));
    return g_.intern(std::move(n));
  }

  // The same reduction with another axis last, which has so many elements, where its own last one has not. Tiles take that
  // many at a time: what lanes have in common each evaluates for one of them, and workgroups copy them to shared memory.
  std::optional<NodeId> with_longer_last(Node n, int64_t elements) {
    const Expr from{&g_, n.in[0]};
    std::vector<int64_t> reduced(n.attr.begin(), n.attr.end()), order(static_cast<size_t>(from.rank()));
    const auto is_longer = [&](int64_t axis) { return from.shape()[static_cast<int>(axis)] >= elements; };
    const auto longer = std::find_if(reduced.rbegin(), reduced.rend(), is_longer);
    if (stored_.contains(from.id.v) || longer == reduced.rbegin() || longer == reduced.rend()) return std::nullopt;
    std::rotate(reduced.rbegin(), longer, longer + 1);
    std::iota(order.begin(), order.end(), 0);
    for (size_t j = 0; j < reduced.size(); ++j) order[static_cast<size_t>(n.attr[j])] = reduced[j];
    n.in[0] = ir::transpose(from, order).id;
    return g_.intern(std::move(n));
  }

  schedule::MapSchedule schedule_of(NodeId id) {
    schedule::MapFacts f = contraction_facts(g_, id, stored_);
    schedule::MapFacts copied = facts_when_copied(f);  // as it will be
    if (schedule::wants_short_products(copied, target_)) return scheduler_.map(copied, target_);
    f.operations.clear();
    return scheduler_.map(f, target_);
  }

  std::vector<Operand> operands(NodeId id, const Node& n, const PanelTile& tile) const {
    constexpr size_t kMostSteps = 64;
    const uint32_t lanes = 1u << tile.lanes, rows = 1u << tile.rows;
    const Place own = place_of_point(n.type.shape);
    std::vector<Operand> out, stack = {{n.in[0], operand_place(g_, g_[id], 0, own, {kReducedAxis, -1})}};
    for (size_t visits = 0; !stack.empty() && visits < kMostSteps; ++visits) {
      const Operand o = std::move(stack.back());
      stack.pop_back();
      const Node& at = g_[o.node];
      const uint32_t axes = axes_of(o.place);
      if ((axes & lanes) == 0 || (axes & kReducedAxis) == 0) continue;
      if ((axes & rows) == 0) {
        out.push_back(below_layout(o));
      } else if (!stored_.contains(o.node.v) &&
                 (ir::is_pointwise(at.op) || ir::is_unary_layout(at.op) || (tile.team && at.op == Op::Sum))) {
        for (size_t j = at.in.size(); j-- > 0;)
          stack.push_back({at.in[j], operand_place(g_, at, j, o.place, {kReducedAxis, -1})});
      }
    }
    return out;
  }

  // Without the operations that only order axes, for the copy does so itself.
  Operand below_layout(Operand o) const {
    for (;;) {
      const Node& n = g_[o.node];
      if (stored_.contains(o.node.v) || (n.op != Op::Transpose && n.op != Op::Broadcast)) return o;
      o.place = operand_place(g_, n, 0, o.place);
      o.node = n.in[0];
    }
  }

  // Whether the operand is a view of an array in panels as wide as the tile.
  bool lies_in_panels(const Operand& o, const PanelTile& tile) const {
    const Node& whole = g_[o.node];
    if (whole.op != Op::Reshape || stored_.contains(o.node.v)) return false;
    const Node& panels = g_[whole.in[0]];
    const Shape& shape = panels.type.shape;
    const int last = shape.rank() - 1;
    return panels.op == Op::Transpose && last == whole.type.shape.rank() && shape[last] == tile.width &&
           panels.attr[static_cast<size_t>(last)] == last;
  }

  // The operand of a reduction on other operands of its own; what has a buffer stays as it is.
  NodeId replaced(NodeId root, ir::Memo memo) {
    std::vector<NodeId> stack = {root};
    std::set<uint32_t> seen;
    while (!stack.empty()) {
      const NodeId id = stack.back();
      stack.pop_back();
      if (memo.contains(id.v) || !seen.insert(id.v).second) continue;
      if (stored_.contains(id.v)) {
        memo[id.v] = id;
      } else {
        stack.insert(stack.end(), g_[id].in.begin(), g_[id].in.end());
      }
    }
    return ir::substitute(g_, root, std::move(memo));
  }

  // None: an axis mixes what should be apart.
  std::optional<Layout> layout_of(const Operand& o, const PanelTile& tile) const {
    std::vector<int64_t> before, reduced;
    std::optional<int64_t> along;
    for (size_t a = 0; a < o.place.size(); ++a) {
      const Coordinate& c = o.place[a];
      const auto axis = static_cast<int64_t>(a);
      if (c.axes >> tile.lanes & 1) {
        if (along || c.same_as != tile.lanes) return std::nullopt;
        along = axis;
      } else if ((c.axes & kReducedAxis) != 0) {
        reduced.push_back(axis);
      } else {
        before.push_back(axis);
      }
    }
    if (!along || o.place.size() + 1 > static_cast<size_t>(kMaxRank)) return std::nullopt;
    Layout out{std::move(before), 0};
    out.panel_axis = static_cast<int64_t>(out.order.size());
    out.order.insert(out.order.end(), reduced.begin(), reduced.end());
    out.order.push_back(*along);
    return out;
  }

  // Whether it is gathered from an array in which neighbours along an axis of it are neighbours: rows that are read there.
  bool gathers_rows(NodeId id, int64_t axis) const {
    NodeId at = id;
    while (!stored_.contains(at.v) && ir::is_unary_layout(g_[at].op)) at = g_[at].in[0];
    if (stored_.contains(at.v) || g_[at].op != Op::Gather) return false;
    return std::ranges::all_of(accesses(g_, id, stored_).reads,
                               [&](const Access& a) { return !(a.axes >> axis & 1) || ((a.last >> axis & 1) && a.sums); });
  }

  std::optional<NodeId> packed(const Operand& o, const Shape& domain, const PanelTile& tile) {
    const std::optional<Layout> layout = layout_of(o, tile);
    const Expr x{&g_, o.node};
    if (!layout || x.shape().count() == 0 || lies_in_panels(o, tile)) return std::nullopt;
    if (tile.team && gathers_rows(o.node, layout->order.back())) return std::nullopt;
    schedule::PackFacts f;
    f.elements = x.shape().count();
    f.bytes = static_cast<int64_t>(device_bytes(x.dtype()));
    f.row = x.shape()[x.rank() - 1];
    f.neighbours = layout->order.back() == x.rank() - 1;
    f.width = tile.width;
    f.rows = tile.team;
    const uint32_t axes = axes_of(o.place);
    for (int a = 0; a < domain.rank(); ++a)
      if (!(axes >> a & 1)) f.readers *= schedule::divided_up(domain[a], a == tile.rows ? tile.own_rows : 1);
    const schedule::PackSchedule s = schedule::legal(f, scheduler_.pack(f, target_), target_);
    return s.panel == 0 ? std::nullopt : std::optional(through_panels(x, *layout, s.panel));
  }

  // The array itself, read from a copy in panels.
  NodeId through_panels(Expr x, const Layout& layout, int64_t panel) {
    const int last = x.rank() - 1;
    const int64_t n = x.shape()[static_cast<int>(layout.order.back())], panels = schedule::divided_up(n, panel);
    Expr in_order = ir::transpose(x, layout.order);
    const Shape ordered = in_order.shape();
    if (panels * panel != n) in_order = ir::window(in_order, last, 0, panels * panel);
    const Shape parts = ordered.erased(last).inserted(last, panel).inserted(last, panels);
    const Expr copy = ir::move_axis(ir::reshape(in_order, parts), last, static_cast<int>(layout.panel_axis));
    out_.stored.insert(copy.id.v);
    Expr back = ir::move_axis(copy, static_cast<int>(layout.panel_axis), last);
    back = ir::reshape(back, ordered.erased(last).inserted(last, panels * panel));
    if (panels * panel != n) back = ir::window(back, last, 0, n);
    return ir::transpose(back, inverse_of(layout.order)).id;
  }

  ir::Graph& g_;
  const Partition& partition_;
  const NodeSet outermost_;
  NodeSet stored_;  // what the partition would store, as it is now
  const Target& target_;
  const schedule::Scheduler& scheduler_;
  Rewritten& out_;
};

}  // namespace

Rewritten pack_operands(ir::Graph& g, std::span<const NodeId> roots, const std::set<uint32_t>& stored, const Scans& scans,
                        const Target& target, const schedule::Scheduler& scheduler) {
  Rewritten out;
  out.roots.assign(roots.begin(), roots.end());
  const std::vector<NodeId> order = ir::postorder(g, roots);
  const auto may_contract = [&](NodeId id) {
    return is_contraction(g[id]) && g[g[id].in[0]].type.shape.count() >= kWorthIt;
  };
  const bool tiles = schedule::tiles_by_lanes(target) || shares_work(target);
  if (!tiles || std::none_of(order.begin(), order.end(), may_contract)) return out;
  const Partition partition = choose_partition(g, roots, stored, {}, scans, {}, target);
  Packing packing(g, partition, target, scheduler, out);
  out.roots = ir::rebuild(g, roots, out.moved, [&](NodeId old, NodeId built) { return packing.visit(old, built); });
  return out;
}

}  // namespace spirograd::lower
