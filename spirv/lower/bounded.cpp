#include "spirv/lower/bounded.h"

#include <algorithm>
#include <type_traits>
#include <unordered_set>

#include "frontend/ir/strip_mine.h"
#include "frontend/ir/traverse.h"
#include "spirv/lower/access.h"
#include "spirv/lower/beside.h"
#include "spirv/lower/ordered.h"
#include "spirv/lower/panels.h"
#include "spirv/schedule/cost.h"

namespace spirograd::lower {

using ir::Expr;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

int64_t reduced_elements(const Graph& g, const Node& n) {
  return g[n.in[0]].type.shape.count() / std::max<int64_t>(1, n.type.shape.count());
}

// The reductions that the computation of `root` meets first and that have no buffer yet. What they contain themselves stays
// with them: their own kernel may be small enough, and arrays further inside are larger.
std::vector<NodeId> first_reductions(const Graph& g, NodeId root, const std::set<uint32_t>& stored) {
  std::vector<NodeId> out;
  std::unordered_set<uint32_t> seen = {root.v};
  std::vector<NodeId> stack(g[root].in.begin(), g[root].in.end());
  while (!stack.empty()) {
    const NodeId id = stack.back();
    stack.pop_back();
    const Node& n = g[id];
    if (stored.contains(id.v) || n.op == Op::Proj || !seen.insert(id.v).second) continue;
    if (ir::info(n.op).kind == ir::Kind::Reduce && reduced_elements(g, n) > kUnrolled) {
      out.push_back(id);
    } else {
      stack.insert(stack.end(), n.in.begin(), n.in.end());
    }
  }
  return out;
}

// Operands that are computed where they are used.
std::vector<NodeId> computed_operands(const Graph& g, NodeId root, const std::set<uint32_t>& stored) {
  std::vector<NodeId> out;
  for (NodeId id : g[root].in) {
    const Node& n = g[id];
    if (!stored.contains(id.v) && ir::info(n.op).kind != ir::Kind::Leaf && n.op != Op::Proj) out.push_back(id);
  }
  return out;
}

// Whether its code is that of several points, which may as well be computed one by one.
bool has_tile(const Compute& s) { return s.kind == Compute::Kind::Map && schedule::tile(s.schedule) > 1; }

// Gives the terms of a scan a buffer. False: they have one.
bool store_terms(const Graph& g, Draft& draft, NodeId scan) {
  const ir::LoopParts parts = ir::loop_parts(g, g[scan]);
  bool changed = false;
  for (int j = parts.n_acc; j < parts.n_acc + parts.n_es; ++j) {
    const NodeId id = g[scan].in[static_cast<size_t>(j)];
    const Node& n = g[id];
    if (ir::info(n.op).kind != ir::Kind::Leaf && n.op != Op::Proj) changed |= draft.stored.insert(id.v).second;
  }
  return changed;
}

// What has become of the nodes that the draft knows.
void move_nodes(Draft& draft, const ir::Memo& memo) {
  const auto moved = [&](uint32_t id) {
    const auto it = memo.find(id);
    return it == memo.end() ? id : it->second.v;
  };
  for (std::set<uint32_t>* nodes :
       {&draft.stored, &draft.stretched, &draft.alone, &draft.single, &draft.dispatched, &draft.turns}) {
    std::set<uint32_t> all;
    for (uint32_t id : *nodes) all.insert(moved(id));
    *nodes = std::move(all);
  }
  const auto move_schedules = [&](auto& schedules) {
    std::remove_reference_t<decltype(schedules)> all;
    for (auto& [id, s] : schedules) all[moved(id)] = std::move(s);
    schedules = std::move(all);
  };
  move_schedules(draft.scans);
  move_schedules(draft.scatters);
  move_schedules(draft.partial);
}

// Puts other results in the place of a loop's own, everywhere in the draft. `others` are mapped to what they become.
void replace_loop(Graph& g, Draft& draft, NodeId loop, std::span<const Expr> results, std::span<NodeId> others) {
  ir::Memo memo;
  const std::vector<Expr> old = ir::projections(g, loop);
  for (size_t j = 0; j < old.size(); ++j) memo[old[j].id.v] = results[j].id;
  draft.roots = ir::rebuild(g, draft.roots, memo);
  move_nodes(draft, memo);
  for (NodeId& id : others)
    if (const auto it = memo.find(id.v); it != memo.end()) id = it->second;
}

// The arrays of a loop over chunks have one more axis.
bool rank_left(const Graph& g, const Node& n, const ir::LoopParts& parts) {
  int most = 0;
  for (int j = 0; j < parts.n_es; ++j)
    most = std::max(most, g[n.in[static_cast<size_t>(parts.n_acc + j)]].type.shape.rank());
  for (NodeId r : g.function(parts.function).results) most = std::max(most, g[r].type.shape.rank() + 1);
  return most < kMaxRank;
}

bool amend_loop(Graph& g, Draft& draft, NodeId loop, uint64_t iterations, uint64_t limit, std::span<NodeId> others) {
  const ir::LoopParts parts = ir::loop_parts(g, g[loop]);
  const uint64_t per_step = std::max<uint64_t>(1, iterations / static_cast<uint64_t>(parts.length));
  const uint64_t most = limit / 10 * 9 / per_step;
  if (most < 2 || parts.length < 2 || !rank_left(g, g[loop], parts)) return draft.dispatched.insert(loop.v).second;
  const int64_t chunk = ir::chunk_length(parts.length, static_cast<int64_t>(std::min<uint64_t>(most, parts.length - 1)));
  const ir::StripMined mined = ir::strip_mine(g, loop, chunk, ir::map_accum);
  draft.dispatched.insert(mined.outer.v);
  replace_loop(g, draft, loop, mined.results, others);
  return true;
}

}  // namespace

Draft first_draft(Graph& g, const Turns& turns, const Target& target, const schedule::Scheduler& scheduler) {
  Draft draft;
  if (turns.loop) draft.turns = draft.dispatched = {turns.loop.v};
  SplitScans scans = split_scans(g, turns.roots, draft.turns, target, scheduler);
  move_nodes(draft, scans.moved);
  draft.roots = std::move(scans.roots);
  draft.stored = std::move(scans.stored);
  draft.scans = std::move(scans.scans);
  const auto go_on_with = [&](auto& made) {
    move_nodes(draft, made.moved);
    draft.roots = std::move(made.roots);
  };
  SplitScatters scatters = split_scatters(g, draft.roots, target, scheduler);
  go_on_with(scatters);
  draft.scatters = std::move(scatters.scatters);
  const auto store_as = [&](Rewritten made) {
    go_on_with(made);
    draft.stored.merge(made.stored);
  };
  if (!target.price.coalesces) store_as(order_for_pages(g, draft.roots, draft.stored, draft.scans, target));
  LongProducts products = products_in_parts(g, draft.roots, draft.stored, draft.scans, target);
  store_as(std::move(products.made));
  draft.dispatched.merge(products.loops);
  FactoredReductions factored = factor_reductions(g, draft.roots, target, scheduler);
  go_on_with(factored);
  for (const auto& [id, s] : factored.partial) draft.stored.insert(id);
  draft.stretched = factored.stored;
  draft.stored.merge(factored.stored);
  for (NodeId part : split_results(g, draft.roots, factored.taken, factored.partial)) draft.stored.insert(part.v);
  draft.partial = std::move(factored.partial);
  store_as(pack_operands(g, draft.roots, draft.stored, draft.scans, target, scheduler));
  if (target.price.coalesces || schedule::stores_rows(target))
    store_as(order_for_neighbours(g, draft.roots, draft.stored, draft.scans, target));
  return draft;
}

bool amend(Graph& g, Draft& draft, std::span<const Excess> excesses, uint64_t limit) {
  bool changed = false;
  std::vector<NodeId> loops;
  std::vector<uint64_t> iterations;
  for (const Excess& e : excesses) {
    std::vector<NodeId> nodes;
    for (const Compute& s : e.computes) {
      for (const std::vector<Store>* stores : {&s.stores, &s.rows})
        for (const Store& store : *stores) nodes.push_back(store.value);
      for (const auto& [reduction, store] : s.beside) nodes.push_back(store.value);
      if (s.stores.empty()) nodes.push_back(s.node);
    }
    const bool is_loop = g[nodes[0]].op == Op::MapAccum;
    const bool of_rows = e.too_large && e.computes[0].of_rows;
    if (of_rows && has_tile(e.computes[0]) && draft.single.insert(nodes[0].v).second) {
      changed = true;
    } else if (nodes.size() > 1 || of_rows) {
      for (NodeId id : nodes) changed |= draft.alone.insert(id.v).second;
    } else if (draft.scans.contains(nodes[0].v)) {
      // Terms that are read are few instructions, and no loops. A scan that is beyond even so is a loop like others.
      if (!store_terms(g, draft, nodes[0])) draft.scans.erase(nodes[0].v);
      changed = true;
    } else if (is_loop && e.too_large) {
      changed |= draft.dispatched.insert(nodes[0].v).second;
    } else if (is_loop) {
      loops.push_back(nodes[0]);
      iterations.push_back(e.iterations);
    } else if (e.too_large && has_tile(e.computes[0]) && draft.single.insert(nodes[0].v).second) {
      changed = true;
    } else if (e.too_large) {
      for (NodeId id : e.repeated.empty() ? computed_operands(g, nodes[0], draft.stored) : e.repeated)
        changed |= draft.stored.insert(id.v).second;
    } else {
      bool inner = false;
      for (NodeId id : first_reductions(g, nodes[0], draft.stored)) inner |= draft.stored.insert(id.v).second;
      changed |= inner || draft.scatters.erase(nodes[0].v) > 0;
    }
  }
  for (size_t j = 0; j < loops.size(); ++j)
    changed |= amend_loop(g, draft, loops[j], iterations[j], limit, std::span(loops).subspan(j + 1));
  return changed;
}

Error refusal(const Excess& e, const Target& target) {
  std::string what;
  for (const Compute& s : e.computes) what += (what.empty() ? "" : "; ") + s.label;
  const std::string kernel = "kernel '" + e.kernel + "' (" + what + ")";
  if (e.too_large)
    return Error("SG0602", kernel + " grows beyond what drivers compile in reasonable time, and cannot be cut")
        .hint("compute fewer different elements of one array in one expression");
  return Error("SG0303", kernel + " may run " + std::to_string(e.iterations) +
                             " loop iterations in one invocation; the device ends loops after " +
                             std::to_string(target.max_loop_iterations))
      .hint("compute the inner reduction or loop as a value of its own, or choose a device without that limit");
}

}  // namespace spirograd::lower
