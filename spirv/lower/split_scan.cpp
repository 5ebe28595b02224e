#include "spirv/lower/split_scan.h"

#include <algorithm>

#include "frontend/ir/composite.h"
#include "frontend/ir/traverse.h"
#include "frontend/rewrite/build_rules.h"
#include "spirv/lower/associative.h"
#include "spirv/lower/partition.h"
#include "spirv/schedule/cost.h"
#include "spirv/schedule/legal.h"

namespace spirograd::lower {

using ir::Expr;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

// Terms, the states before chunks and what they have lost, and what is asked for: four results at most.
constexpr uint32_t kScanBuffers = 8;

Op reduction_of(Op step) { return step == Op::Add ? Op::Sum : step == Op::Max ? Op::ReduceMax : Op::ReduceMin; }

// The operand order that ignores NaN in terms (associative.h).
Expr stepped(Op op, Expr state, Expr term) { return op == Op::Add ? state + term : ir::binary(op, term, state); }

// What a step of the body computes, of all steps at once, has one more axis. Loops and scatters inside of the body would
// need far more memory that way.
bool has_bulk_form(const Graph& g, const ir::Function& f) {
  const std::vector<NodeId> order = ir::postorder(g, f.results);
  return std::none_of(order.begin(), order.end(), [&](NodeId id) {
    const Node& n = g[id];
    return n.op == Op::MapAccum || ir::is_scatter(n.op) || n.type.shape.rank() == kMaxRank;
  });
}

// Which states of an accumulator are read besides the last one: those before each step, those behind it, and what these have
// lost.
struct Needs {
  bool before = false, after = false, lost = false;
};

// Those that the walk down from `from` meets, of each accumulator of the body.
std::vector<Needs> states_read(const Graph& g, const ir::Function& f, size_t n_acc, std::span<const NodeId> from) {
  std::vector<Needs> out(n_acc);
  std::set<uint32_t> seen;
  std::vector<NodeId> stack(from.begin(), from.end());
  while (!stack.empty()) {
    const NodeId at = stack.back();
    stack.pop_back();
    if (!seen.insert(at.v).second) continue;
    const Node& n = g[at];
    if (n.op == Op::Param && n.attr[0] < static_cast<int64_t>(n_acc)) out[static_cast<size_t>(n.attr[0])].before = true;
    const auto end = f.results.begin() + static_cast<ptrdiff_t>(n_acc), state = std::find(f.results.begin(), end, at);
    if (state != end) {
      out[static_cast<size_t>(state - f.results.begin())].after = true;
    } else {
      stack.insert(stack.end(), n.in.begin(), n.in.end());
    }
  }
  return out;
}

// Sums of f32 are a rounded number and what it lacks of the sum, to be taken off the next term: 0 as far as the graph knows.
struct Terms {
  Expr values, lost;  // lost: none if nothing
};
struct States {
  Expr last, last_lost, before, after, lost;
};

bool is_compensated(Op op, Expr values) { return op == Op::Add && values.dtype() == DType::F32; }

class Splitter {
 public:
  Splitter(Graph& g, const Target& target, const schedule::Scheduler& scheduler)
      : g_(g), target_(target), scheduler_(scheduler), ranges_(g) {}

  // What becomes of the results of a loop: none where it stays.
  const std::vector<Expr>& results(NodeId loop) {
    const auto [it, fresh] = results_.try_emplace(loop.v);
    if (fresh) it->second = split(loop);
    return it->second;
  }

  std::set<uint32_t> stored;
  Scans scans;

 private:
  std::vector<Expr> split(NodeId loop);
  States scan(Op op, Terms terms, Expr start, bool reverse, Needs needs, const schedule::ScanSchedule& s);
  Terms totals(Op op, Terms terms, bool reverse, int64_t chunks, int64_t length);
  Expr last_state(Op op, Terms terms, Expr start, bool reverse);
  schedule::ScanSchedule scheduled(Op op, Expr terms, bool chunkable);

  Graph& g_;
  const Target& target_;
  const schedule::Scheduler& scheduler_;
  rewrite::Intervals ranges_;
  std::map<uint32_t, std::vector<Expr>> results_;
  const NodeSet nothing_;
  ExtentWalk extent_{g_, nothing_};
};

schedule::ScanSchedule Splitter::scheduled(Op op, Expr terms, bool chunkable) {
  const Shape row = terms.shape().slice(1, terms.rank());
  const Expr total = ir::reduce(reduction_of(op), terms, {0});
  const std::vector<schedule::Reduction> found = accesses(g_, total.id, nothing_, kLookedAt).reductions;
  const int64_t code = extent_(terms.id, schedule::kKernelCode).written_out;
  schedule::ScanFacts facts{terms.dtype(), terms.shape()[0], row.count(), code};
  facts.contiguous = found.empty() || found[0].contiguous || row.count() == 1;
  facts.chunkable = chunkable && terms.rank() < kMaxRank;
  return schedule::legal(facts, scheduler_.scan(facts, target_), target_);
}

// Of the first `chunks` chunks of `length` steps, in the order of the loop. What sums lack is 0. Sums of f32 are compensated
// at every step, as those of a loop are: the blocks of a reduction are less exact.
Terms Splitter::totals(Op op, Terms terms, bool reverse, int64_t chunks, int64_t length) {
  const Shape row = terms.values.shape().slice(1, terms.values.rank());
  const auto cut = [&](Expr e) {
    const Expr forward = ir::window(reverse ? ir::reverse(e, 0) : e, 0, 0, chunks * length);
    return ir::reshape(forward, row.inserted(0, length).inserted(0, chunks));
  };
  if (!is_compensated(op, terms.values)) {
    const Expr out = ir::reduce(reduction_of(op), cut(terms.values), {1});
    stored.insert(out.id.v);
    return {out, {}};
  }
  const auto in_chunks = [&](Expr e) { return e ? ir::move_axis(cut(e), 1, 0) : e; };
  const Terms all = {in_chunks(terms.values), in_chunks(terms.lost)};
  const Expr none = ir::zeros(g_, {DType::F32, row.inserted(0, chunks)});
  const States states = scan(op, all, none, false, {}, scheduled(op, all.values, false));
  return {states.last, states.last_lost};
}

Expr Splitter::last_state(Op op, Terms terms, Expr start, bool reverse) {
  if (!is_compensated(op, terms.values)) return stepped(op, start, ir::reduce(reduction_of(op), terms.values, {0}));
  const schedule::ScanSchedule s = scheduled(op, terms.values, true);
  const int64_t chunks = schedule::chunks(s);
  if (chunks == 1) return scan(op, terms, start, reverse, {}, s).last;
  return last_state(op, totals(op, terms, reverse, chunks, schedule::chunk_length(s)), start, false);
}

States Splitter::scan(Op op, Terms terms, Expr start, bool reverse, Needs needs, const schedule::ScanSchedule& s) {
  const bool compensated = is_compensated(op, start);
  const int64_t chunks = schedule::chunks(s);
  const Expr nothing_lost = ir::zeros(g_, start.type());
  ir::Loop loop{.function = 0, .reverse = reverse, .length = terms.values.shape()[0], .acc = {start}, .es = {terms.values}};
  if (compensated) loop.acc.push_back(nothing_lost);
  if (terms.lost) loop.es.push_back(terms.lost);
  if (chunks > 1) {
    const Terms all = totals(op, terms, reverse, chunks - 1, schedule::chunk_length(s));
    const Needs behind = {.before = false, .after = true, .lost = compensated};
    const States states = scan(op, all, start, false, behind, scheduled(op, all.values, true));
    loop.consts.push_back(ir::scan_rows(start, states.after));
    if (compensated) loop.consts.push_back(ir::scan_rows(nothing_lost, states.lost));
  }
  std::vector<Expr> vars;
  for (Expr e : loop.acc) vars.push_back(ir::fresh_var(g_, e.type()));
  for (size_t j = 0; j < loop.es.size(); ++j) vars.push_back(ir::fresh_var(g_, start.type()));
  for (Expr e : loop.consts) vars.push_back(ir::fresh_var(g_, e.type()));
  std::vector<Expr> results = {stepped(op, vars[0], vars[loop.acc.size()])};
  if (compensated) results.push_back(terms.lost ? vars[1] + vars[3] : vars[1]);
  if (needs.before) results.push_back(vars[0]);
  if (needs.after) results.push_back(results[0]);
  if (needs.lost) results.push_back(results[1]);
  loop.function = ir::close_function(g_, vars, results);
  const std::vector<Expr> made = ir::map_accum(g_, loop);
  // Compensated ones have a kernel of their kind even as one loop: what they lose is a result.
  if (compensated || !schedule::is_serial(s)) scans[made[0].in(0).id.v] = s;
  size_t next = 0;
  const auto take = [&](bool is_result) { return is_result ? made[next++] : Expr(); };
  return {.last = take(true),
          .last_lost = take(compensated),
          .before = take(needs.before),
          .after = take(needs.after),
          .lost = take(needs.lost)};
}

std::vector<Expr> Splitter::split(NodeId id) {
  const Node n = g_[id];
  const ir::LoopParts parts = ir::loop_parts(g_, n);
  const ir::Function& f = g_.function(parts.function);
  const auto n_acc = static_cast<size_t>(parts.n_acc), n_es = static_cast<size_t>(parts.n_es);
  if (n_acc == 0 || parts.length < 2 || !has_bulk_form(g_, f)) return {};
  std::vector<AssociativeStep> steps;
  for (int64_t slot = 0; slot < parts.n_acc; ++slot) {
    std::optional<AssociativeStep> step = associative_step(g_, f, slot);
    if (!step || f.params[static_cast<size_t>(slot)].shape.count() == 0) return {};
    steps.push_back(*std::move(step));
  }

  // The body with every operand in the place of its parameter; stacks at an index that stands for the step.
  const Expr step_index = ir::index_var(g_, 0, parts.length);
  const auto at_step = [&](Expr stack) { return ir::gather(stack, {&step_index, 1}); };
  ir::Memo given;
  for (size_t j = n_acc; j < n.in.size(); ++j) {
    const Expr operand{&g_, n.in[j]};
    given[ir::param(g_, static_cast<int64_t>(j), f.params[j]).id.v] = (j < n_acc + n_es ? at_step(operand) : operand).id;
  }
  rewrite::Lifting lifting(g_, ranges_, 0, parts.length);
  std::map<uint32_t, Expr> stacks;  // of all steps, there already
  const auto bulk = [&](NodeId node) {
    if (const auto it = stacks.find(node.v); it != stacks.end()) return it->second;
    ir::Memo memo = given;
    const NodeId roots[] = {node};
    return lifting.lift({&g_, ir::rebuild(g_, roots, memo)[0]});
  };

  std::vector<std::vector<Needs>> of_terms;
  std::vector<NodeId> readers(f.results.begin() + parts.n_acc, f.results.end());
  for (const AssociativeStep& step : steps) {
    of_terms.push_back(states_read(g_, f, n_acc, step.terms));
    readers.insert(readers.end(), step.terms.begin(), step.terms.end());
  }
  const std::vector<Needs> needs = states_read(g_, f, n_acc, readers);

  // Accumulators one after the other: terms may depend on the states of those before.
  const auto state_param = [&](size_t slot) { return ir::param(g_, static_cast<int64_t>(slot), f.params[slot]).id; };
  std::vector<Expr> out(n_acc);
  for (size_t made = 0; made < n_acc; ++made) {
    const auto ready = [&](size_t slot) {
      if (out[slot]) return false;
      for (size_t other = 0; other < n_acc; ++other)
        if (!out[other] && (of_terms[slot][other].before || of_terms[slot][other].after)) return false;
      return true;
    };
    size_t slot = 0;
    while (slot < n_acc && !ready(slot)) ++slot;
    if (slot == n_acc) return {};
    const AssociativeStep& step = steps[slot];
    Expr terms;
    for (size_t j = step.terms.size(); j-- > 0;) {
      const Expr t = bulk(step.terms[j]), signed_term = step.negative[j] ? -t : t;
      terms = terms ? stepped(step.op, terms, signed_term) : signed_term;
    }
    const schedule::ScanSchedule s = scheduled(step.op, terms, true);
    if (schedule::is_serial(s)) return {};
    const Expr start{&g_, n.in[slot]};
    if (!needs[slot].before && !needs[slot].after) {
      out[slot] = last_state(step.op, {terms, {}}, start, parts.reverse);
      continue;
    }
    const States states = scan(step.op, {terms, {}}, start, parts.reverse, needs[slot], s);
    out[slot] = states.last;
    const auto keep = [&](NodeId state, Expr stack) {
      given[state.v] = at_step(stack).id;
      stacks[state.v] = stack;
    };
    if (needs[slot].before) keep(state_param(slot), states.before);
    if (needs[slot].after) keep(f.results[slot], states.after);
  }
  for (NodeId r : std::span(f.results).subspan(n_acc)) out.push_back(bulk(r));
  return out;
}

}  // namespace

SplitScans split_scans(Graph& g, std::span<const NodeId> roots, const std::set<uint32_t>& alone, const Target& target,
                       const schedule::Scheduler& scheduler) {
  Splitter splitter(g, target, scheduler);
  SplitScans out;
  out.roots.assign(roots.begin(), roots.end());
  if (!g.has(Op::MapAccum)) return out;
  out.roots = ir::rebuild(g, roots, out.moved, [&](NodeId old, NodeId built) -> NodeId {
    const Node& n = g[built];
    if (n.op != Op::Proj || kernel_buffers(target) < kScanBuffers || alone.contains(g[old].in[0].v)) return built;
    const std::vector<Expr>& made = splitter.results(n.in[0]);
    return made.empty() ? built : made[static_cast<size_t>(n.attr[0])].id;
  });
  out.stored = std::move(splitter.stored);
  out.scans = std::move(splitter.scans);
  return out;
}

}  // namespace spirograd::lower
