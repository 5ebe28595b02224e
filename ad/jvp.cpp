// Forward mode: Delta terms evaluated upwards.
#include <algorithm>

#include "ad/scope.h"

namespace spirograd::ad {

using namespace ir;

Expr times(Expr k, Expr t) {
  if (is_number(t, 1)) return k;
  return is_number(k, 1) ? t : k * t;
}

Expr or_zeros(Graph& g, Expr e, Type type) { return e ? e : zeros(g, type); }

namespace {

Expr apply_linear(Graph& g, const Delta& d, const std::vector<Expr>& tangent) {
  const Node& n = d.k.node();
  std::vector<Expr> in;
  for (size_t j = 0; j < n.in.size(); ++j) {
    const int operand = static_cast<int>(j);
    if (j < d.in.size() && tangent[d.in[j]])
      in.push_back(tangent[d.in[j]]);
    else if (differentiable(g, n, operand))
      in.push_back(zeros(g, d.k.in(operand).type()));
    else
      in.push_back(d.k.in(operand));
  }
  if (n.op == Op::Cast) return cast(in[0], d.type.dtype);
  return with_operands(g, n, in);
}

// Whether a tangent of one of the operands does. A rule of the user's may give none, which is not the same as zeros: those
// would meet infinite slopes.
bool arrives(const Delta& d, const std::vector<Expr>& tangent) {
  if (d.kind == DeltaKind::Input || d.kind == DeltaKind::Loop || d.kind == DeltaKind::Proj) return true;
  return std::any_of(d.in.begin(), d.in.end(), [&](DeltaId operand) { return static_cast<bool>(tangent[operand]); });
}

}  // namespace

Derivative push_forward(Graph& g, std::span<const Expr> roots, std::span<const Expr> inputs, std::span<const Expr> tangents,
                        std::span<const Zeros> input_zeros) {
  const std::vector<Expr> prepared = expand_products(g, roots, inputs);
  const DualScope dual = dualise(g, prepared, inputs);
  const std::vector<Zeros> zeros = zeros_upwards(g, dual.deltas, input_zeros);
  std::vector<Expr> tangent(dual.deltas.size());
  std::unordered_map<DeltaId, std::vector<Expr>> loop_results;
  Replaced replaced;
  for (DeltaId id = 1; id < dual.deltas.size(); ++id) {
    const Delta& d = dual.deltas[id];
    if (!arrives(d, tangent)) continue;
    const auto in = [&](size_t j) { return or_zeros(g, tangent[d.in[j]], d.type); };
    switch (d.kind) {
      case DeltaKind::Zero: break;
      case DeltaKind::Input: tangent[id] = tangents[static_cast<size_t>(d.which)]; break;
      case DeltaKind::Add: {
        // a + (-b) is a - b.
        const Delta& right = dual.deltas[d.in[1]];
        const bool subtracts = right.kind == DeltaKind::Neg && tangent[right.in[0]];
        tangent[id] = subtracts ? in(0) - tangent[right.in[0]] : in(0) + in(1);
        break;
      }
      case DeltaKind::Neg: tangent[id] = -in(0); break;
      case DeltaKind::Scale:
      case DeltaKind::Over: tangent[id] = multiplied(d, in(0), zeros[d.in[0]]); break;
      case DeltaKind::Choose: tangent[id] = select(d.k, in(0), in(1)); break;
      case DeltaKind::Linear: tangent[id] = apply_linear(g, d, tangent); break;
      case DeltaKind::Given: {
        std::vector<Expr> arguments;
        for (DeltaId operand : d.in) arguments.push_back(tangent[operand]);
        tangent[id] = push_given(g, d, arguments);
        break;
      }
      case DeltaKind::Loop: {
        std::vector<Expr> operands;
        std::vector<Zeros> operand_zeros;
        for (DeltaId operand : d.in) operands.push_back(tangent[operand]), operand_zeros.push_back(zeros[operand]);
        loop_results[id] = push_loop(g, d, operands, operand_zeros, replaced);
        break;
      }
      case DeltaKind::Proj: tangent[id] = or_zeros(g, loop_results.at(d.in[0])[static_cast<size_t>(d.which)], d.type); break;
    }
  }
  std::vector<Expr> all = prepared;
  std::vector<size_t> place(roots.size(), 0);
  for (size_t j = 0; j < roots.size(); ++j) {
    if (dual.roots[j] == kZeroDelta) continue;
    place[j] = all.size();
    all.push_back(tangent[dual.roots[j]]);
  }
  all = resolve(g, all, replaced);
  Derivative out;
  out.primal.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(roots.size()));
  for (size_t p : place) out.linear.push_back(p == 0 ? Expr{} : all[p]);
  return out;
}

std::vector<Expr> resolve(Graph& g, std::span<const Expr> roots, const Replaced& replaced) {
  std::vector<Expr> out(roots.begin(), roots.end());
  if (replaced.empty()) return out;
  std::unordered_map<uint32_t, NodeId> done;
  struct Frame {
    NodeId id;
    size_t next;
  };
  std::vector<Frame> stack;
  for (Expr& root : out) {
    if (!root) continue;
    stack.push_back({root.id, 0});
    while (!stack.empty()) {
      Frame& top = stack.back();
      const NodeId id = top.id;
      if (top.next == 0 && done.contains(id.v)) {
        stack.pop_back();
        continue;
      }
      const auto substitute = replaced.find(id.v);
      const std::span<const NodeId> below =
          substitute == replaced.end() ? std::span<const NodeId>(g[id].in) : std::span<const NodeId>(&substitute->second, 1);
      if (top.next < below.size()) {
        const NodeId operand = below[top.next++];
        if (!done.contains(operand.v)) stack.push_back({operand, 0});
        continue;
      }
      if (substitute != replaced.end()) {
        done[id.v] = done.at(substitute->second.v);
      } else {
        Node n = g[id];
        for (NodeId& operand : n.in) operand = done.at(operand.v);
        done[id.v] = g.intern(std::move(n));
      }
      stack.pop_back();
    }
    root.id = done.at(root.id.v);
  }
  return out;
}

}  // namespace spirograd::ad
