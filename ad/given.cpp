// Derivatives that users give as cotangents (custom_vjp): a function of the arguments and the cotangent of the value.
// Reverse mode calls it. Where it is linear in the cotangent, which is seen from its body, zeros of cotangents stay what
// they stand for on the way through it, and forward mode has its transpose; if the value has no tangent by a rule of its own
// (custom_jvp), which is taken else.
#include "ad/dependence.h"
#include "ad/scope.h"
#include "frontend/ir/traverse.h"

namespace spirograd::ad {

using namespace ir;

namespace {

size_t argument_count(const Delta& given) { return static_cast<size_t>(given.k.node().attr[1]); }

// The body at the arguments, for a placeholder of the cotangent.
struct Opened {
  Expr cotangent;
  std::vector<Expr> changes;  // of the arguments that `wanted` names
  std::vector<size_t> places;
  bool linear = true;
};

Opened open(Graph& g, const Delta& given, const std::vector<bool>& wanted) {
  const Node n = given.k.node();
  const Function f = g.function(n.attr[0]);
  Opened out;
  out.cotangent = fresh_var(g, n.type);
  std::vector<NodeId> arguments(n.in.begin() + 1, n.in.end());
  arguments.push_back(out.cotangent.id);
  std::vector<NodeId> roots;
  for (size_t j = 0; j < wanted.size(); ++j) {
    if (!wanted[j]) continue;
    roots.push_back(f.results[j]);
    out.places.push_back(j);
  }
  roots = with_arguments(g, roots, arguments);
  for (NodeId r : roots) out.changes.push_back({&g, r});
  for (Dependence d : dependence(g, roots, {&out.cotangent, 1})) out.linear &= is_linear(d);
  return out;
}

// What is linear in a placeholder may still mention it, multiplied by zeros or beside what is used.
Expr without(Expr placeholder, Expr e, Expr instead) {
  return e ? Expr{e.graph, substitute_vars(*e.graph, {&e.id, 1}, {{placeholder.id.v, instead.id}})[0]} : e;
}

}  // namespace

Expr push_given(Graph& g, const Delta& given, std::span<const Expr> tangents) {
  if (tangents.size() > argument_count(given)) return or_zeros(g, tangents.back(), given.type);
  std::vector<bool> wanted;
  for (Expr t : tangents) wanted.push_back(static_cast<bool>(t));
  const Opened o = open(g, given, wanted);
  if (!o.linear)
    throw Error("SG0208",
                "a derivative given by custom_vjp is not linear in the cotangent, so there is no forward derivative")
        .hint("give it by custom_jvp, which serves both modes, or differentiate in reverse mode: grad, vjp");
  std::vector<Expr> directions;
  for (size_t j : o.places) directions.push_back(tangents[j]);
  const std::vector<Zeros> zeros(directions.size(), Zeros::Mask);
  const Expr tangent = pull_back(g, o.changes, {&o.cotangent, 1}, directions, zeros).linear[0];
  return without(o.cotangent, tangent, ir::zeros(g, given.type));
}

std::vector<Expr> pull_given(Graph& g, const Delta& given, Expr cotangent, Zeros zeros) {
  std::vector<bool> wanted;
  for (size_t j = 0; j < argument_count(given); ++j) wanted.push_back(given.in[j] != kZeroDelta);
  const Opened o = open(g, given, wanted);
  std::vector<Expr> changes = o.changes, out(given.in.size());
  if (o.linear) changes = push_forward(g, o.changes, {&o.cotangent, 1}, {&cotangent, 1}, {&zeros, 1}).linear;
  for (size_t j = 0; j < changes.size(); ++j)
    out[o.places[j]] = without(o.cotangent, changes[j], o.linear ? ir::zeros(g, given.type) : cotangent);
  return out;
}

}  // namespace spirograd::ad
