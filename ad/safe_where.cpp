// Automatic double where. A cotangent that a select threw away is an exact zero, and zero times an infinite slope is NaN. So
// an operation with infinite slopes whose result is used only in lanes where some masks hold computes on a harmless constant
// in the other lanes. No value and no derivative in a used lane changes. A value that is also used without a mask keeps its
// argument, and its infinite slope with it.
#include <algorithm>

#include "ad/scope.h"
#include "frontend/ir/traverse.h"

namespace spirograd::ad {

using namespace ir;

namespace {

// A mask, spread over an array: axis j of the mask is axis axes[j] of the array, increasing.
struct Guard {
  NodeId mask;
  bool holds;
  std::vector<int64_t> axes;
  bool operator==(const Guard&) const = default;
};
// Outermost first. Bounded, so that a deep chain of selects costs linear time: forgetting a guard protects fewer lanes only.
using Guards = std::vector<Guard>;
constexpr size_t kMaxGuards = 8;

bool contains(const Guards& guards, const Guard& guard) {
  return std::find(guards.begin(), guards.end(), guard) != guards.end();
}

Guards with(Guards guards, Guard guard) {
  if (contains(guards, guard)) return guards;
  if (guards.size() == kMaxGuards) guards.erase(guards.begin());
  guards.push_back(std::move(guard));
  return guards;
}

// The guard of the branches of a select. A stretched mask counts as what was stretched: it passes through more operations.
Guard guard_of(const Graph& g, NodeId mask, bool holds) {
  Guard guard{mask, holds, {}};
  for (int64_t a = 0; a < g[mask].type.shape.rank(); ++a) guard.axes.push_back(a);
  while (g[guard.mask].op == Op::Broadcast) {
    std::vector<int64_t> axes;
    for (int64_t a : g[guard.mask].attr) axes.push_back(guard.axes[static_cast<size_t>(a)]);
    guard.axes = std::move(axes);
    guard.mask = g[guard.mask].in[0];
  }
  return guard;
}

// The guard of a result as a guard of the operands: along every axis of the mask an element of the operand must be read for
// results at one position only. A scalar mask passes through everything.
bool pass_to_operand(const Node& n, Guard& guard) {
  std::vector<int64_t>& axes = guard.axes;
  const auto keeps = [&](int64_t axis) { return std::find(axes.begin(), axes.end(), axis) == axes.end(); };
  if (axes.empty() || is_pointwise(n.op)) return true;
  if (n.op == Op::Window || n.op == Op::Reverse || n.op == Op::Concat) return keeps(n.attr[0]);
  if (info(n.op).kind == Kind::Reduce) {
    for (int64_t& a : axes)
      for (int64_t dropped : n.attr) a += dropped <= a ? 1 : 0;
    return true;
  }
  if (n.op == Op::Broadcast) {
    for (int64_t& a : axes) {
      const auto it = std::find(n.attr.begin(), n.attr.end(), a);
      if (it == n.attr.end()) return false;
      a = it - n.attr.begin();
    }
    return true;
  }
  if (n.op == Op::Transpose) {
    for (int64_t& a : axes) a = n.attr[static_cast<size_t>(a)];
    return std::is_sorted(axes.begin(), axes.end());
  }
  return false;
}

// The guards under which each node is used: what all its uses have in common.
class GuardTable {
 public:
  GuardTable(const Graph& g, std::span<const NodeId> roots, const std::vector<NodeId>& order) {
    for (NodeId r : roots) use(r, {});
    for (size_t j = order.size(); j-- > 0;) {
      const Node& n = g[order[j]];
      const Guards own = passed(n, of(order[j]));
      for (size_t k = 0; k < n.in.size(); ++k)
        use(n.in[k], n.op == Op::Select && k > 0 ? with(own, guard_of(g, n.in[0], k == 1)) : own);
    }
  }

  const Guards& of(NodeId id) const { return guards_.at(id.v); }

 private:
  static Guards passed(const Node& n, const Guards& guards) {
    Guards out;
    for (Guard guard : guards)
      if (pass_to_operand(n, guard)) out.push_back(std::move(guard));
    return out;
  }
  void use(NodeId id, const Guards& guards) {
    const auto [it, first] = guards_.try_emplace(id.v, guards);
    if (!first) std::erase_if(it->second, [&](const Guard& mine) { return !contains(guards, mine); });
  }
  std::unordered_map<uint32_t, Guards> guards_;
};

// The arguments with infinite slopes and a value where all is well.
struct Hazard {
  size_t operand;
  double safe;
};
std::span<const Hazard> hazards(Op op) {
  static constexpr Hazard one[] = {{0, 1}}, zero[] = {{0, 0}}, two[] = {{0, 2}}, divisor[] = {{1, 1}},
                          point[] = {{0, 0}, {1, 1}};
  if (op == Op::Log || op == Op::Sqrt || op == Op::Pow) return one;
  if (op == Op::Asin || op == Op::Acos || op == Op::Atanh) return zero;
  if (op == Op::Exp || op == Op::Sinh || op == Op::Cosh) return zero;  // overflow: the slope is infinite with the value
  if (op == Op::Acosh) return two;
  if (op == Op::Div || op == Op::Rem) return divisor;
  if (op == Op::Atan2) return point;
  return {};
}

Expr guarded(Expr x, double safe, const Guards& guards, const Memo& memo) {
  Graph& g = *x.graph;
  const Expr constant = number(g, x.type(), safe);
  Expr mask;
  bool holds = true;
  for (const Guard& guard : guards) {
    Expr m = {&g, memo.at(guard.mask.v)};
    if (m.rank() < x.rank()) m = broadcast(m, x.shape(), guard.axes);
    // The user may have written the inner select already.
    if (x.op() == Op::Select && x.in(0) == m && is_number(x.in(guard.holds ? 2 : 1), safe)) continue;
    if (!mask) {
      mask = m, holds = guard.holds;
      continue;
    }
    if (!holds) mask = unary(Op::Not, mask), holds = true;
    mask = binary(Op::And, mask, guard.holds ? m : unary(Op::Not, m));
  }
  if (!mask) return x;
  return holds ? select(mask, x, constant) : select(mask, constant, x);
}

}  // namespace

std::vector<Expr> guard_hazards(Graph& g, std::span<const Expr> roots, std::span<const Expr> inputs) {
  std::vector<Expr> out(roots.begin(), roots.end());
  std::vector<NodeId> ids;
  for (Expr r : roots) ids.push_back(r.id);
  const std::vector<NodeId> order = postorder(g, ids);
  bool selects = false, hazardous = false;
  for (NodeId id : order) selects |= g[id].op == Op::Select, hazardous |= !hazards(g[id].op).empty();
  if (!selects || !hazardous) return out;

  const Activity active = find_active(g, roots, inputs);
  const GuardTable table(g, ids, order);
  Memo memo;
  // Every path to a guarded node leads through a select on the mask, whose mask comes first in the order: memo has it.
  ids = rebuild(g, ids, memo, [&](NodeId old, Node n) -> NodeId {
    const std::span<const Hazard> found = hazards(n.op);
    if (!found.empty() && active[old] && is_float(n.type.dtype))
      for (const Hazard& h : found) n.in[h.operand] = guarded({&g, n.in[h.operand]}, h.safe, table.of(old), memo).id;
    return g.intern(std::move(n));
  });
  for (size_t j = 0; j < out.size(); ++j) out[j].id = ids[j];
  return out;
}

}  // namespace spirograd::ad
