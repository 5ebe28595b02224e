// Loops keep what reaches a used result. Needed accumulators are a fixed point: one is needed if its final value is read or
// if the next value of a needed result reads it.
#include "frontend/rewrite/prune_loops.h"

#include <algorithm>
#include <unordered_map>

#include "frontend/ir/algebra.h"
#include "frontend/ir/traverse.h"

namespace spirograd::rewrite {

using namespace ir;

namespace {

// Parameter slots that the given results of a body read.
std::vector<bool> slots_read(const Graph& g, const Function& f, std::span<const NodeId> results) {
  std::vector<bool> read(f.params.size(), false);
  for (NodeId id : postorder(g, results))
    if (g[id].op == Op::Param) read[static_cast<size_t>(g[id].attr[0])] = true;
  return read;
}

// An array whose rows along axis 0 are all equal: one row.
Expr common_row(Expr e) {
  if (e.op() != Op::Broadcast) return {};
  const auto& axes = e.node().attr;
  if (std::find(axes.begin(), axes.end(), 0) != axes.end()) return {};
  const Shape row = e.shape().slice(1, e.rank());
  std::vector<int64_t> moved;
  for (int64_t t : axes) moved.push_back(t - 1);
  return row == e.in(0).shape() ? e.in(0) : broadcast(e.in(0), row, moved);
}

class Prune {
 public:
  Prune(Graph& g, const Node& n, const std::vector<bool>& used)
      : g_(g), n_(n), parts_(loop_parts(g, n)), f_(g.function(parts_.function)), used_(used) {}

  // Replacement of each result (none for unused ones), or nothing at all if the loop is as it should be.
  std::vector<NodeId> run() {
    const size_t n_acc = static_cast<size_t>(parts_.n_acc), n_es = static_cast<size_t>(parts_.n_es);
    std::vector<NodeId> out(f_.results.size());
    if (parts_.length == 0) {
      for (size_t j = 0; j < out.size(); ++j) out[j] = j < n_acc ? n_.in[j] : zeros(g_, stacked(g_[f_.results[j]].type)).id;
      return out;
    }
    std::vector<bool> constant(n_acc), needed(n_acc);
    for (size_t j = 0; j < n_acc; ++j) {
      const Node& r = g_[f_.results[j]];
      constant[j] = r.op == Op::Param && r.attr[0] == static_cast<int64_t>(j);
      needed[j] = used_[j] && !constant[j];
    }
    std::vector<bool> read;
    std::vector<size_t> kept;
    for (bool changed = true; changed;) {
      kept.clear();
      std::vector<NodeId> results;
      for (size_t j = 0; j < f_.results.size(); ++j)
        if (j < n_acc ? needed[j] : used_[j]) {
          kept.push_back(j);
          results.push_back(f_.results[j]);
        }
      read = slots_read(g_, f_, results);
      changed = false;
      for (size_t j = 0; j < n_acc; ++j)
        if (read[j] && !constant[j] && !needed[j]) needed[j] = changed = true;
    }
    for (size_t j = 0; j < n_acc; ++j)
      if (constant[j]) out[j] = n_.in[j];
    if (kept.empty()) return out;

    Loop loop;
    loop.reverse = parts_.reverse;
    loop.length = parts_.length;
    std::vector<size_t> acc_slots, es_slots, const_slots;
    bool changed = kept.size() != f_.results.size();
    for (size_t j = 0; j < n_.in.size(); ++j) {
      const Expr e{&g_, n_.in[j]};
      if (j < n_acc && !constant[j]) {
        if (!needed[j]) continue;
        loop.acc.push_back(e);
        acc_slots.push_back(j);
        continue;
      }
      if (!read[j]) {
        changed = true;
        continue;
      }
      const Expr row = j >= n_acc && j < n_acc + n_es ? common_row(e) : Expr{};
      if (j < n_acc || row || j >= n_acc + n_es) {
        changed |= j < n_acc + n_es;
        loop.consts.push_back(row ? row : e);
        const_slots.push_back(j);
      } else {
        loop.es.push_back(e);
        es_slots.push_back(j);
      }
    }
    if (!changed) return {};
    loop.function = renumbered(kept, {acc_slots, es_slots, const_slots});
    const std::vector<Expr> results = map_accum(g_, loop);
    for (size_t k = 0; k < kept.size(); ++k) out[kept[k]] = results[k].id;
    return out;
  }

 private:
  Type stacked(Type t) const {
    t.shape = t.shape.inserted(0, parts_.length);
    return t;
  }

  int64_t renumbered(const std::vector<size_t>& kept, const std::vector<std::vector<size_t>>& slots) {
    Memo memo;
    Function f;
    for (const auto& group : slots)
      for (size_t slot : group) {
        const Type t = f_.params[slot];
        const Expr old = param(g_, static_cast<int64_t>(slot), t);
        memo[old.id.v] = param(g_, static_cast<int64_t>(f.params.size()), t).id;
        f.params.push_back(t);
      }
    std::vector<NodeId> results;
    for (size_t j : kept) results.push_back(f_.results[j]);
    f.results = rebuild(g_, results, memo);
    return g_.intern(std::move(f));
  }

  Graph& g_;
  const Node n_;
  const LoopParts parts_;
  const Function f_;
  const std::vector<bool>& used_;
};

}  // namespace

std::vector<NodeId> prune_loops(Graph& g, std::vector<NodeId> roots) {
  if (!g.has(Op::MapAccum)) return roots;
  const std::vector<NodeId> order = postorder(g, roots);
  std::unordered_map<uint32_t, std::vector<bool>> used;
  for (NodeId id : order) {
    const Node& n = g[id];
    if (n.op == Op::MapAccum) used[id.v].assign(g.function(n.attr[0]).results.size(), false);
    if (n.op == Op::Proj) used[n.in[0].v][static_cast<size_t>(n.attr[0])] = true;
  }
  if (used.empty()) return roots;
  Memo memo;
  std::unordered_map<uint32_t, std::vector<NodeId>> replaced;  // by old loop: its results
  return rebuild(g, roots, memo, [&](NodeId old, NodeId built) -> NodeId {
    const Node& n = g[built];
    if (n.op == Op::MapAccum) replaced[old.v] = Prune(g, n, used.at(old.v)).run();
    if (n.op != Op::Proj) return built;
    const std::vector<NodeId>& results = replaced.at(g[old].in[0].v);
    return results.empty() ? built : results[static_cast<size_t>(n.attr[0])];
  });
}

}  // namespace spirograd::rewrite
