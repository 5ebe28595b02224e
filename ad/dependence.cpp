#include "ad/dependence.h"

#include <algorithm>
#include <unordered_map>

#include "ad/deriv_rules.h"
#include "frontend/ir/traverse.h"

namespace spirograd::ad {

using namespace ir;

namespace {

using Known = std::unordered_map<uint32_t, Dependence>;

Dependence sum(Dependence a, Dependence b) {
  if (a == Dependence::Zero || a == b) return b;
  return b == Dependence::Zero ? a : Dependence::Other;
}

// Of a times b: linear in one of them at most.
Dependence product(Dependence a, Dependence b) {
  if (a == Dependence::Zero || b == Dependence::Zero) return Dependence::Zero;
  if (a == Dependence::None) return b;
  return b == Dependence::None ? a : Dependence::Other;
}

void follow(Graph& g, std::span<const NodeId> roots, Known& known);

// Of the results of a loop. An accumulator depends in the way that holds in every step.
std::vector<Dependence> of_loop(Graph& g, const Node& n, std::vector<Dependence> operands) {
  const LoopParts parts = loop_parts(g, n);
  const Function f = g.function(parts.function);
  const auto n_acc = static_cast<size_t>(parts.n_acc);
  for (;;) {
    Known known;
    for (size_t j = 0; j < f.params.size(); ++j) known[param(g, static_cast<int64_t>(j), f.params[j]).id.v] = operands[j];
    follow(g, f.results, known);
    std::vector<Dependence> results;
    for (NodeId r : f.results) results.push_back(known.at(r.v));
    bool grown = false;
    for (size_t j = 0; j < n_acc; ++j) {
      const Dependence both = sum(operands[j], results[j]);
      grown |= both != operands[j];
      results[j] = operands[j] = both;
    }
    if (!grown) return results;
  }
}

bool adds_up(Op op) { return rule(op).kind == RuleKind::Linear || op == Op::Add || op == Op::Sub || op == Op::Neg; }

Dependence of_node(Graph& g, NodeId id, const std::vector<Dependence>& in) {
  const Node& n = g[id];
  if (n.op == Op::Const && std::all_of(n.data.begin(), n.data.end(), [](double x) { return x == 0; }))
    return Dependence::Zero;
  if (kind(n.op) == Kind::Rule) return in[0];
  if (n.op == Op::Mul || n.op == Op::MaskedMul || n.op == Op::StrongMul) return product(in[0], in[1]);
  if ((n.op == Op::Div || n.op == Op::MaskedDiv) && in[1] <= Dependence::None) return in[0];
  if (n.op == Op::Select && in[0] <= Dependence::None) return sum(in[1], in[2]);
  Dependence all = Dependence::Zero;
  bool any = false;
  for (size_t j = 0; j < in.size(); ++j) {
    const bool adds = adds_up(n.op) && differentiable(g, n, static_cast<int>(j));
    if (adds)
      all = sum(all, in[j]);
    else if (in[j] > Dependence::None)
      return Dependence::Other;
    any |= adds;
  }
  return any ? all : Dependence::None;
}

// Fills `known` for all below `roots`.
void follow(Graph& g, std::span<const NodeId> roots, Known& known) {
  std::unordered_map<uint32_t, std::vector<Dependence>> loops;
  for (NodeId id : postorder(g, roots)) {
    if (known.contains(id.v)) continue;
    const Node& n = g[id];
    std::vector<Dependence> in;
    for (NodeId operand : n.in) in.push_back(known.at(operand.v));
    if (n.op == Op::MapAccum) {
      loops[id.v] = of_loop(g, n, std::move(in));
      known[id.v] = Dependence::None;
    } else if (n.op == Op::Proj) {
      known[id.v] = loops.at(n.in[0].v)[static_cast<size_t>(n.attr[0])];
    } else {
      known[id.v] = of_node(g, id, in);
    }
  }
}

}  // namespace

std::vector<Dependence> dependence(Graph& g, std::span<const NodeId> roots, std::span<const Expr> directions) {
  Known known;
  for (Expr d : directions) known[d.id.v] = Dependence::Linear;
  follow(g, roots, known);
  std::vector<Dependence> out;
  for (NodeId r : roots) out.push_back(known.at(r.v));
  return out;
}

}  // namespace spirograd::ad
