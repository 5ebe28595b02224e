// The dual transformation: from primal nodes to Delta terms, through the derivative table.
#include "ad/delta.h"

#include <unordered_map>

#include "ad/dependence.h"
#include "ad/scope.h"
#include "frontend/ir/broken_row.h"
#include "frontend/ir/traverse.h"

namespace spirograd::ad {

using namespace ir;

DeltaId Deltas::push(Delta d) {
  nodes_.push_back(std::move(d));
  return size() - 1;
}

DeltaId Deltas::input(Type type, int64_t which) { return push({DeltaKind::Input, type, {}, {}, which}); }

DeltaId Deltas::add(DeltaId a, DeltaId b) {
  if (a == kZeroDelta) return b;
  if (b == kZeroDelta) return a;
  return push({DeltaKind::Add, nodes_[a].type, {a, b}, {}});
}

DeltaId Deltas::neg(DeltaId a) {
  if (a == kZeroDelta) return a;
  if (nodes_[a].kind == DeltaKind::Neg) return nodes_[a].in[0];
  return push({DeltaKind::Neg, nodes_[a].type, {a}, {}});
}

DeltaId Deltas::scale(Expr k, DeltaId a, Zeros kept_from, bool strong) {
  if (a == kZeroDelta || is_number(k, 0)) return kZeroDelta;
  if (is_number(k, 1)) return a;
  return push({DeltaKind::Scale, k.type(), {a}, k, 0, {}, kept_from, strong});
}

DeltaId Deltas::over(DeltaId a, Expr k) {
  if (a == kZeroDelta || is_number(k, 1)) return a;
  return push({DeltaKind::Over, k.type(), {a}, k, 0, {}, Zeros::Choice});
}

DeltaId Deltas::choose(Expr mask, DeltaId a, DeltaId b, Zeros zeros) {
  if (a == b) return a;
  return push({DeltaKind::Choose, nodes_[a == kZeroDelta ? b : a].type, {a, b}, mask, 0, {}, zeros});
}

DeltaId Deltas::linear(Expr node, std::vector<DeltaId> in) {
  for (DeltaId d : in)
    if (d != kZeroDelta) return push({DeltaKind::Linear, computed_as(node.type()), std::move(in), node});
  return kZeroDelta;
}

DeltaId Deltas::loop(Expr map_accum, std::vector<DeltaId> in, std::vector<bool> active) {
  return push({DeltaKind::Loop, map_accum.type(), std::move(in), map_accum, 0, std::move(active)});
}

DeltaId Deltas::proj(DeltaId loop, int64_t j, Type type) { return push({DeltaKind::Proj, type, {loop}, {}, j}); }

DeltaId Deltas::given(Expr with_vjp, std::vector<DeltaId> in) {
  for (DeltaId d : in)
    if (d != kZeroDelta) return push({DeltaKind::Given, with_vjp.type(), std::move(in), with_vjp});
  return kZeroDelta;
}

namespace {

// Of a broken row: where it chooses, what it should have thrown away; else the other sign.
Factor wrong(Factor f) {
  if (f.kind == FactorKind::Keep || f.kind == FactorKind::Drop)
    f.kind = f.kind == FactorKind::Keep ? FactorKind::Drop : FactorKind::Keep;
  else
    f.negative = !f.negative;
  return f;
}

class Dualiser {
 public:
  Dualiser(Graph& g, Deltas& deltas) : g_(g), deltas_(deltas) {}

  void bind(Expr input, int64_t which) { of_[input.id.v] = deltas_.input(computed_as(input.type()), which); }
  DeltaId of(NodeId id) const {
    auto it = of_.find(id.v);
    return it == of_.end() ? kZeroDelta : it->second;
  }

  void visit(NodeId id) {
    if (of_.contains(id.v)) return;
    const Node& n = g_[id];
    const DeltaId d = dual(id, n);
    if (d != kZeroDelta) of_[id.v] = d;
  }

 private:
  DeltaId dual(NodeId id, const Node& n) {
    if (n.op == Op::MapAccum) return loop(id, n);
    if (n.op == Op::WithJvp) return ruled(n);
    if (n.op == Op::ByKernel) return of(n.in[0]);
    if (n.op == Op::WithVjp) {
      std::vector<DeltaId> in;
      for (size_t j = 1; j <= static_cast<size_t>(n.attr[1]); ++j) in.push_back(of(n.in[j]));
      if (g_[n.in[0]].op == Op::WithJvp) in.push_back(of(n.in[0]));
      return deltas_.given({&g_, id}, std::move(in));
    }
    if (n.op == Op::Proj) {
      const DeltaId loop = of(n.in[0]);
      if (loop == kZeroDelta || !deltas_[loop].active[static_cast<size_t>(n.attr[0])]) return kZeroDelta;
      return deltas_.proj(loop, n.attr[0], n.type);
    }
    if (n.op == Op::Prod && of(n.in[0]) != kZeroDelta) throw Error("SG0900", "internal: a product was not expanded");
    if (n.op == Op::Build) throw Error("SG0900", "internal: derivative of a build that was not vectorised");
    std::vector<DeltaId> in(n.in.size(), kZeroDelta);
    bool any = false;
    for (size_t j = 0; j < in.size(); ++j) {
      if (!differentiable(g_, n, static_cast<int>(j))) continue;
      in[j] = of(n.in[j]);
      any |= in[j] != kZeroDelta;
    }
    if (!any) return kZeroDelta;
    const DerivRule& r = rule(n.op);
    return r.kind == RuleKind::Linear ? deltas_.linear({&g_, id}, std::move(in)) : sum_of_partials(id, n, r, in);
  }

  // Partials are formed only for operands with a tangent.
  DeltaId sum_of_partials(NodeId id, const Node& n, const DerivRule& r, const std::vector<DeltaId>& in) {
    Point p{.a = {}, .b = {}, .c = {}, .y = {&g_, id}};
    Expr* slots[] = {&p.a, &p.b, &p.c};
    for (size_t j = 0; j < in.size(); ++j) *slots[j] = {&g_, n.in[j]};
    // Twice the same: what arrives is doubled, which is often less than the product.
    if (n.op == Op::Mul && n.in[0] == n.in[1] && in[0] != kZeroDelta && !is_broken("partial", name(n.op), 0)) {
      const DeltaId once = deltas_.scale(p.a, in[0], Zeros::Mask, r.partial[0](p).strong);
      return deltas_.scale(full(g_, n.type, 2), once, Zeros::Mask, false);
    }
    DeltaId total = kZeroDelta;
    std::array<DeltaId, 2> branch{};
    Expr mask;
    for (size_t j = 0; j < in.size(); ++j) {
      if (in[j] == kZeroDelta) continue;
      Factor f = r.partial[j](p);
      if (is_broken("partial", name(n.op), j)) f = wrong(f);
      DeltaId d = kZeroDelta;
      switch (f.kind) {
        case FactorKind::None: break;
        case FactorKind::One: d = in[j]; break;
        case FactorKind::Scale:
          d = deltas_.scale(f.k, in[j], n.op == Op::Mul ? Zeros::Mask : Zeros::Choice, f.strong);
          break;
        case FactorKind::Over: d = deltas_.over(in[j], f.k); break;
        case FactorKind::Keep: mask = f.k, branch[0] = in[j]; break;
        case FactorKind::Drop: mask = f.k, branch[1] = in[j]; break;
      }
      total = deltas_.add(total, f.negative ? deltas_.neg(d) : d);
    }
    if (mask) total = deltas_.choose(mask, branch[0], branch[1], n.op == Op::Select ? Zeros::Mask : Zeros::Choice);
    // A reduction: the partial lives on the operand, the sum over the axes brings it to the result.
    if (info(n.op).kind == Kind::Reduce && total != kZeroDelta)
      total = deltas_.linear(reduce(Op::Sum, p.a, n.attr), {total});
    return total;
  }

  void require_linear(const Function& f, size_t first) const {
    std::vector<Expr> tangents;
    for (size_t j = first; j < f.params.size(); ++j) tangents.push_back(param(g_, static_cast<int64_t>(j), f.params[j]));
    if (is_linear(dependence(g_, f.results, tangents)[0])) return;
    throw Error("SG0207", "a derivative given by custom_jvp is not linear in its tangents")
        .hint("multiply tangents by what the arguments give, add them up, choose by conditions on the arguments");
  }

  // The function's body for directions that are 0, each marked to be a node of its own; its Deltas by them take their place.
  DeltaId ruled(const Node& n) {
    const Function f = g_.function(n.attr[0]);
    const auto n_xs = static_cast<size_t>(n.attr[1]);
    std::vector<NodeId> arguments(n.in.begin() + 1, n.in.end());
    Dualiser inner(g_, deltas_);
    std::vector<Expr> directions;
    for (size_t j = 0; j < n_xs; ++j) {
      Expr direction = zeros(g_, f.params[arguments.size()]);
      if (const DeltaId d = of(n.in[1 + j]); d != kZeroDelta) {
        for (size_t k = 0; k <= j; ++k) direction = unary(Op::StopGradient, direction);
        inner.of_[direction.id.v] = d;
        directions.push_back(direction);
      }
      arguments.push_back(direction.id);
    }
    if (directions.empty()) return kZeroDelta;
    require_linear(f, f.params.size() - n_xs);
    const Expr tangent{&g_, with_arguments(g_, f.results, arguments)[0]};
    const NodeId root = expand_products(g_, {&tangent, 1}, directions)[0].id;
    for (NodeId id : postorder(g_, {&root, 1})) inner.visit(id);
    return inner.of(root);
  }

  DeltaId loop(NodeId id, const Node& n) {
    std::vector<DeltaId> in;
    std::vector<bool> operands;
    bool any = false;
    for (NodeId operand : n.in) {
      in.push_back(of(operand));
      operands.push_back(in.back() != kZeroDelta);
      any |= operands.back();
    }
    if (!any) return kZeroDelta;
    return deltas_.loop({&g_, id}, std::move(in), active_loop_results(g_, n, std::move(operands)));
  }

  Graph& g_;
  Deltas& deltas_;
  std::unordered_map<uint32_t, DeltaId> of_;
};

}  // namespace

DualScope dualise(Graph& g, std::span<const Expr> roots, std::span<const Expr> inputs) {
  DualScope scope;
  Dualiser dualiser(g, scope.deltas);
  for (size_t j = 0; j < inputs.size(); ++j) dualiser.bind(inputs[j], static_cast<int64_t>(j));
  for (NodeId id : postorder(g, ids_of(roots))) dualiser.visit(id);
  for (Expr r : roots) scope.roots.push_back(dualiser.of(r.id));
  return scope;
}

Activity find_active(Graph& g, std::span<const Expr> roots, std::span<const Expr> inputs) {
  Activity active;
  active.node.resize(g.size(), false);
  for (Expr e : inputs) active.node[e.id.v] = true;
  std::unordered_map<uint32_t, std::vector<bool>> loops;
  for (NodeId id : postorder(g, ids_of(roots))) {
    const Node& n = g[id];
    bool on = active[id];
    if (n.op == Op::MapAccum) {
      std::vector<bool> operands;
      for (NodeId operand : n.in) on |= operands.emplace_back(active[operand]);
      if (on) loops[id.v] = active_loop_results(g, n, std::move(operands));
    } else if (n.op == Op::Proj) {
      auto it = loops.find(n.in[0].v);
      on = it != loops.end() && it->second[static_cast<size_t>(n.attr[0])];
    } else if (n.op == Op::Prod || n.op == Op::ByKernel) {
      on = active[n.in[0]];
    } else if (kind(n.op) == Kind::Rule) {
      for (size_t j = 1; j <= static_cast<size_t>(n.attr[1]) && !on; ++j) on = active[n.in[j]];
    } else {
      for (size_t j = 0; j < n.in.size() && !on; ++j) on = active[n.in[j]] && differentiable(g, n, static_cast<int>(j));
    }
    active.node[id.v] = on;
  }
  return active;
}

std::vector<bool> active_loop_results(Graph& g, const Node& map_accum, std::vector<bool> operands) {
  const LoopParts parts = loop_parts(g, map_accum);
  const Function f = g.function(parts.function);
  std::vector<Expr> roots, params(f.params.size());
  for (NodeId r : f.results) roots.push_back({&g, r});
  for (size_t j = 0; j < params.size(); ++j) params[j] = param(g, static_cast<int64_t>(j), f.params[j]);
  for (;;) {
    std::vector<Expr> inputs;
    for (size_t j = 0; j < params.size(); ++j)
      if (operands[j] && is_float(f.params[j].dtype)) inputs.push_back(params[j]);
    const Activity active = find_active(g, roots, inputs);
    std::vector<bool> results;
    for (Expr r : roots) results.push_back(active[r.id]);
    // A step that makes an accumulator active makes it active for all later steps.
    bool grown = false;
    for (size_t j = 0; j < static_cast<size_t>(parts.n_acc); ++j) {
      if (results[j] && !operands[j]) operands[j] = grown = true;
      results[j] = results[j] || operands[j];
    }
    if (!grown) return results;
  }
}

}  // namespace spirograd::ad
