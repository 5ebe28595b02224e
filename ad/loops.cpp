// Loops. Forward: one loop over pairs (value, tangent); nothing is stored. Reverse: the primal loop also returns stacks of
// what each step keeps, which is the accumulators before it or less; the transposed loop runs the other way, its
// accumulators are the cotangents of the accumulators and the running sums of the cotangents of the constants. Bodies are
// differentiated here, when a tangent or a cotangent really arrives, so nested loops cost one derivative per level.
#include <algorithm>
#include <set>

#include "ad/kept.h"
#include "ad/scope.h"
#include "frontend/ir/traverse.h"

namespace spirograd::ad {

using namespace ir;

namespace {

// The body of a loop, its Param nodes, and which operands carry tangents (accumulators: from any step on).
struct Body {
  Node node;
  LoopParts parts{};
  Function function;
  std::vector<Expr> params, roots;
  std::vector<bool> active;     // per operand
  std::vector<Expr> inputs;     // the active ones of params
  std::vector<size_t> slot_of;  // input -> operand
  size_t n_acc = 0, n_es = 0, n_consts = 0, n_bs = 0;

  size_t consts(size_t j) const { return n_acc + n_es + j; }
  Expr operand(size_t j) const { return {params[j].graph, node.in[j]}; }
};

Body open_body(Graph& g, const Delta& loop) {
  const Node& n = loop.k.node();
  Body b;
  b.node = n;
  b.parts = loop_parts(g, n);
  b.function = g.function(n.attr[0]);
  b.n_acc = static_cast<size_t>(b.parts.n_acc);
  b.n_es = static_cast<size_t>(b.parts.n_es);
  b.n_consts = static_cast<size_t>(b.parts.n_consts);
  b.n_bs = static_cast<size_t>(b.parts.n_bs);
  for (NodeId r : b.function.results) b.roots.push_back({&g, r});
  for (size_t j = 0; j < b.function.params.size(); ++j) {
    b.params.push_back(param(g, static_cast<int64_t>(j), b.function.params[j]));
    b.active.push_back(loop.in[j] != kZeroDelta || (j < b.n_acc && loop.active[j]));
    if (!b.active[j]) continue;
    b.inputs.push_back(b.params[j]);
    b.slot_of.push_back(j);
  }
  return b;
}

// Results of the old loop -> results of the new one.
void replace_results(Graph& g, NodeId old_loop, std::span<const Expr> results, Replaced& replaced) {
  const std::vector<Expr> old = projections(g, old_loop);
  for (size_t j = 0; j < old.size(); ++j) replaced[old[j].id.v] = results[j].id;
}

// The Deltas of a body. Those of its inputs come first, so input j is Delta j + 1.
DualScope dual_body(Graph& g, const Body& b) { return dualise(g, expand_products(g, b.roots, b.inputs), b.inputs); }

// Slots of the parameters that `roots` read.
std::set<size_t> used_slots(const Graph& g, std::span<const Expr> roots) {
  std::set<size_t> slots;
  for (NodeId id : postorder(g, ids_of(roots)))
    if (g[id].op == Op::Param) slots.insert(static_cast<size_t>(g[id].attr[0]));
  return slots;
}

std::vector<Expr> with_replaced(Graph& g, std::vector<Expr> roots, Memo& memo) {
  if (memo.empty()) return roots;
  const std::vector<NodeId> ids = rebuild(g, ids_of(roots), memo);
  for (size_t j = 0; j < roots.size(); ++j) roots[j].id = ids[j];
  return roots;
}

bool runs_other_loops(const Graph& g, std::span<const Expr> roots, std::span<const NodeId> than) {
  std::set<uint32_t> loops;
  for (NodeId id : postorder(g, than))
    if (g[id].op == Op::MapAccum) loops.insert(id.v);
  const std::vector<NodeId> order = postorder(g, ids_of(roots));
  return std::any_of(order.begin(), order.end(),
                     [&](NodeId id) { return g[id].op == Op::MapAccum && !loops.contains(id.v); });
}

// The values `kept` of all steps, from a loop that takes the place of the primal one. Where they stem from loops of the step
// that keep something in their turn, the step runs these; `primal` are its results then.
std::vector<Expr> kept_stacks(Graph& g, const Delta& loop, const Body& b, std::span<const Expr> primal,
                              std::span<const Expr> kept, Replaced& replaced) {
  if (kept.empty()) return {};
  Function saving = b.function;
  if (runs_other_loops(g, kept, saving.results))
    for (size_t j = 0; j < primal.size(); ++j) saving.results[j] = primal[j].id;
  for (Expr e : kept) saving.results.push_back(e.id);
  Node n = b.node;
  n.attr[0] = g.intern(std::move(saving));
  const std::vector<Expr> all = projections(g, g.intern(std::move(n)));
  for (Expr e : all) g.copy_loc(g, loop.k.id, e.id);
  replace_results(g, loop.k.id, all, replaced);
  return {all.begin() + static_cast<std::ptrdiff_t>(b.roots.size()), all.end()};
}

}  // namespace

std::vector<Zeros> push_loop_zeros(Graph& g, const Delta& loop, std::span<const Zeros> operands) {
  const Body b = open_body(g, loop);
  const DualScope dual = dual_body(g, b);
  std::vector<Zeros> slots(operands.begin(), operands.end()), results(b.roots.size());
  for (bool grown = true; grown;) {
    grown = false;
    std::vector<Zeros> inputs;
    for (size_t slot : b.slot_of) inputs.push_back(std::max(slots[slot], Zeros::None));
    const std::vector<Zeros> zeros = zeros_upwards(g, dual.deltas, inputs);
    for (size_t j = 0; j < results.size(); ++j) {
      results[j] = zeros[dual.roots[j]];
      if (j >= b.n_acc) continue;
      grown |= results[j] > slots[j];
      results[j] = slots[j] = std::max(slots[j], results[j]);
    }
  }
  return results;
}

std::vector<Zeros> pull_loop_zeros(Graph& g, const Delta& loop, std::span<const Zeros> results) {
  const Body b = open_body(g, loop);
  const DualScope dual = dual_body(g, b);
  const DeltaArms arms(g, dual);
  std::vector<Zeros> roots(results.begin(), results.end()), operands(b.params.size(), Zeros::Absent);
  for (size_t j = 0; j < b.n_acc; ++j)
    if (!b.active[j]) roots[j] = Zeros::Absent;
  for (bool grown = true; grown;) {
    grown = false;
    const std::vector<Zeros> zeros = zeros_downwards(g, dual, arms, roots);
    for (size_t j = 0; j < b.inputs.size(); ++j) {
      const size_t slot = b.slot_of[j];
      operands[slot] = zeros[j + 1];
      if (slot >= b.n_acc) continue;
      grown |= operands[slot] > roots[slot];
      operands[slot] = roots[slot] = std::max(roots[slot], operands[slot]);
    }
  }
  return operands;
}

std::vector<Expr> push_loop(Graph& g, const Delta& loop, std::span<const Expr> tangents, std::span<const Zeros> zeros,
                            Replaced& replaced) {
  const Body b = open_body(g, loop);
  const std::vector<Zeros> result_zeros = push_loop_zeros(g, loop, zeros);
  std::vector<Zeros> input_zeros;
  for (size_t slot : b.slot_of)
    input_zeros.push_back(std::max(slot < b.n_acc ? result_zeros[slot] : zeros[slot], Zeros::None));
  std::vector<Expr> dots(b.params.size()), input_dots;
  for (size_t slot : b.slot_of) input_dots.push_back(dots[slot] = fresh_var(g, b.params[slot].type()));
  const Derivative d = push_forward(g, b.roots, b.inputs, input_dots, input_zeros);

  Loop pair{.function = 0, .reverse = b.parts.reverse, .length = b.parts.length, .acc = {}, .es = {}, .consts = {}};
  std::vector<Expr> vars, results;
  const auto add_class = [&](size_t from, size_t to, std::vector<Expr>& operands) {
    for (size_t j = from; j < to; ++j) vars.push_back(b.params[j]), operands.push_back(b.operand(j));
    for (size_t j = from; j < to; ++j)
      if (b.active[j]) vars.push_back(dots[j]), operands.push_back(or_zeros(g, tangents[j], b.operand(j).type()));
  };
  add_class(0, b.n_acc, pair.acc);
  add_class(b.n_acc, b.consts(0), pair.es);
  add_class(b.consts(0), b.params.size(), pair.consts);

  const size_t n_results = b.n_acc + b.n_bs;
  std::vector<size_t> primal_at(n_results), dot_at(n_results, SIZE_MAX);
  const auto add_results = [&](size_t from, size_t to, bool fill) {
    for (size_t j = from; j < to; ++j) primal_at[j] = results.size(), results.push_back(d.primal[j]);
    for (size_t j = from; j < to; ++j) {
      if (fill ? !b.active[j] : !d.linear[j]) continue;
      dot_at[j] = results.size();
      results.push_back(or_zeros(g, d.linear[j], d.primal[j].type()));
    }
  };
  add_results(0, b.n_acc, true);
  add_results(b.n_acc, n_results, false);

  pair.function = close_function(g, vars, results);
  const std::vector<Expr> all = map_accum(g, pair);
  std::vector<Expr> primal, out(n_results);
  for (size_t j = 0; j < n_results; ++j) {
    primal.push_back(all[primal_at[j]]);
    if (dot_at[j] != SIZE_MAX) out[j] = all[dot_at[j]];
  }
  replace_results(g, loop.k.id, primal, replaced);
  return out;
}

std::vector<Expr> pull_loop(Graph& g, const Delta& loop, std::span<const Expr> cotangents, std::span<const Zeros> zeros,
                            Replaced& replaced) {
  const Body b = open_body(g, loop);
  // Cotangents of accumulators come from the step behind as well as from outside. Where none ever comes there is none: a
  // zero in its place would have to stay zero whatever it meets.
  const std::vector<Zeros> operand_zeros = pull_loop_zeros(g, loop, zeros);
  std::vector<Zeros> root_zeros(zeros.begin(), zeros.end());
  std::copy_n(operand_zeros.begin(), b.n_acc, root_zeros.begin());
  std::vector<Expr> root_cts(b.roots.size());
  for (size_t j = 0; j < b.roots.size(); ++j)
    if (root_zeros[j] != Zeros::Absent) root_cts[j] = fresh_var(g, b.roots[j].type());
  const Derivative d = pull_back(g, b.roots, b.inputs, root_cts, root_zeros);
  std::vector<Expr> grads(b.params.size());
  for (size_t j = 0; j < b.inputs.size(); ++j) grads[b.slot_of[j]] = d.linear[j];

  Loop back;
  back.reverse = !b.parts.reverse;
  back.length = b.parts.length;
  std::vector<Expr> vars, results;
  std::vector<size_t> operand_of;  // result of the transposed loop -> operand of the primal one
  for (size_t j = 0; j < b.n_acc; ++j) {
    if (!root_cts[j]) continue;
    vars.push_back(root_cts[j]);
    back.acc.push_back(or_zeros(g, cotangents[j], b.params[j].type()));
    results.push_back(or_zeros(g, grads[j], b.params[j].type()));
    operand_of.push_back(j);
  }
  for (size_t j = b.consts(0); j < b.params.size(); ++j) {
    if (!grads[j]) continue;
    vars.push_back(fresh_var(g, b.params[j].type()));
    back.acc.push_back(ir::zeros(g, b.params[j].type()));
    results.push_back(vars.back() + grads[j]);
    operand_of.push_back(j);
  }
  for (size_t j = b.n_acc; j < b.consts(0); ++j)
    if (grads[j]) results.push_back(grads[j]), operand_of.push_back(j);
  std::vector<Expr> out(b.params.size());
  if (results.empty()) return out;

  for (size_t j = b.n_acc; j < b.roots.size(); ++j)
    if (root_cts[j]) vars.push_back(root_cts[j]), back.es.push_back(cotangents[j]);
  // What the transposed body reads of the primal: what each step keeps, elements, constants, in that order.
  const std::vector<Expr> kept = least_kept(g, std::span(b.params).first(b.n_acc), results);
  const std::vector<Expr> stacks = kept_stacks(g, loop, b, d.primal, kept, replaced);
  Memo computed;  // kept values that are no state: they are read as they are, so what is below them is not
  for (size_t j = 0; j < kept.size(); ++j) {
    vars.push_back(kept[j].op() == Op::Param ? kept[j] : fresh_var(g, kept[j].type()));
    back.es.push_back(stacks[j]);
    if (kept[j] != vars.back()) computed[kept[j].id.v] = vars.back().id;
  }
  results = with_replaced(g, results, computed);
  for (size_t slot : used_slots(g, results)) {
    if (slot < b.n_acc) continue;
    vars.push_back(b.params[slot]);
    (slot < b.consts(0) ? back.es : back.consts).push_back(b.operand(slot));
  }
  back.function = close_function(g, vars, results);
  const std::vector<Expr> all = map_accum(g, back);
  for (size_t j = 0; j < all.size(); ++j) out[operand_of[j]] = all[j];
  return out;
}

}  // namespace spirograd::ad
