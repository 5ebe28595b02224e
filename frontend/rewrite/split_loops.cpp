#include "frontend/rewrite/split_loops.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "frontend/ir/algebra.h"
#include "frontend/ir/own_graph.h"
#include "frontend/ir/traverse.h"
#include "frontend/rewrite/vectorise.h"

namespace spirograd::rewrite {

using namespace ir;

namespace {

constexpr int64_t kLeastSum = 64;                  // elements of a sum that leaves: registers hold fewer
constexpr int64_t kLeastLength = 16;               // elements per result of a reduction that leaves
constexpr double kLeastWork = 65536;               // elements that a scatter or loop goes through in all steps, if it leaves
constexpr int64_t kMostStored = int64_t{1} << 26;  // elements of what it leaves for all steps

// An accumulator that becomes `accumulator + term`, or `accumulator - term`.
struct Sum {
  size_t slot = 0;
  NodeId term;
  bool negative = false;
  std::vector<NodeId> stored;  // of the body, that the term is computed from, beside the loop's own rows and constants
};

// What is computed before the loop: for each step, or once.
struct Early {
  NodeId node;
  bool row = false;
  Expr value = {};
};

bool mentions(const Graph& g, std::span<const NodeId> roots, size_t slot) {
  for (NodeId id : postorder(g, roots))
    if (g[id].op == Op::Param && g[id].attr[0] == static_cast<int64_t>(slot)) return true;
  return false;
}

class SplitLoop {
 public:
  SplitLoop(Graph& g, NodeId loop)
      : g_(g),
        n_(g[loop]),
        parts_(loop_parts(g, n_)),
        f_(g.function(parts_.function)),
        n_acc_(static_cast<size_t>(parts_.n_acc)) {}

  // What the results of the loop become; nothing if no sum leaves it.
  std::vector<Expr> run() {
    if (parts_.length < 2) return {};
    find_early();
    for (size_t j = 0; j < n_acc_; ++j)
      if (std::optional<Sum> s = sum_of(j)) sums_.push_back(std::move(*s));
    return sums_.empty() && early_.empty() ? std::vector<Expr>{} : rewritten();
  }

 private:
  // The nodes that leave the loop to the front: those highest up.
  void find_early() {
    struct Facts {
      bool state = false, heavy = false, row = false;
    };
    std::unordered_map<uint32_t, Facts> facts;
    const std::vector<NodeId> order = postorder(g_, f_.results);
    for (NodeId id : order) {
      const Node& n = g_[id];
      Facts f;
      if (n.op == Op::Param) {
        f.state = n.attr[0] < parts_.n_acc;
        f.row = !f.state && n.attr[0] < parts_.n_acc + parts_.n_es;
      }
      int64_t read = 1;
      for (NodeId in : n.in) {
        const Facts& i = facts.at(in.v);
        f = {f.state || i.state, f.heavy || i.heavy, f.row || i.row};
        read = g_[in].type.shape.count();
      }
      if (info(n.op).kind == Kind::Reduce)
        f.heavy = f.heavy || read >= kLeastLength * std::max<int64_t>(1, n.type.shape.count());
      // Once, but not for every step: a stack of what they make would be large.
      if (n.op == Op::MapAccum || ir::is_scatter(n.op))
        (f.row || work_of(id) * static_cast<double>(parts_.length) < kLeastWork ? f.state : f.heavy) = true;
      if (f.state) waiting_.insert(id.v);
      facts[id.v] = f;
    }
    std::unordered_set<uint32_t> seen;
    const auto leaves = [&](NodeId id) {
      while (is_unary_layout(g_[id].op)) id = g_[id].in[0];  // moved where it is read
      const Facts& f = facts.at(id.v);
      const Shape& shape = g_[id].type.shape;
      if (f.state || !f.heavy || shape.count() * (f.row ? parts_.length : 1) > kMostStored) return;
      if (shape.rank() + 1 < kMaxRank && seen.insert(id.v).second) early_.push_back({id, f.row});
    };
    for (NodeId id : order)
      if (facts.at(id.v).state)
        for (NodeId in : g_[id].in)
          if (!facts.at(in.v).state) leaves(in);
    for (NodeId r : f_.results)
      if (!facts.at(r.v).state) leaves(r);
  }

  // Elements that a scatter or a loop goes through, those of inner loops in each of its steps.
  double work_of(NodeId id) const {
    const Node& n = g_[id];
    if (ir::is_scatter(n.op)) return static_cast<double>(g_[n.in[0]].type.shape.count());
    if (n.op != Op::MapAccum) return static_cast<double>(n.type.shape.count());
    const LoopParts parts = loop_parts(g_, n);
    double step = 0;
    for (NodeId inner : postorder(g_, g_.function(parts.function).results)) step += work_of(inner);
    return static_cast<double>(parts.length) * step;
  }

  std::optional<Sum> sum_of(size_t slot) const {
    const NodeId result = f_.results[slot];
    const Node& n = g_[result];
    if (n.op != Op::Add && n.op != Op::Sub) return std::nullopt;
    const auto is_slot = [&](NodeId id) { return g_[id].op == Op::Param && g_[id].attr[0] == static_cast<int64_t>(slot); };
    const size_t own = is_slot(n.in[0]) ? 0 : 1;
    if (!is_slot(n.in[own]) || (own == 1 && n.op == Op::Sub)) return std::nullopt;
    Sum sum{slot, n.in[1 - own], n.op == Op::Sub, {}};
    std::vector<NodeId> others = {sum.term};
    for (size_t j = 0; j < f_.results.size(); ++j)
      if (j != slot) others.push_back(f_.results[j]);
    if (mentions(g_, others, slot) || !find_stored(sum)) return std::nullopt;
    return sum;
  }

  bool find_stored(Sum& sum) const {
    const int64_t all = g_[sum.term].type.shape.count();
    if (all < kLeastSum) return false;
    int64_t elements = 0;
    bool product = false;  // of matrices: all steps are a longer one, and the term is more work than to add it
    bool scatters = false;
    struct Asked {
      NodeId id;
      int64_t part;  // elements of the term, or of that part of it which this one makes
    };
    std::vector<Asked> stack = {{sum.term, all}};
    std::unordered_set<uint32_t> seen;
    while (!stack.empty()) {
      const auto [id, part] = stack.back();
      stack.pop_back();
      if (!seen.insert(id.v).second) continue;
      const Node& n = g_[id];
      const bool given = n.op == Op::Param && n.attr[0] >= static_cast<int64_t>(n_acc_);
      if (given || n.op == Op::Const || n.op == Op::Iota || is_early(id)) continue;
      const bool of_parts = n.op == Op::Concat || n.op == Op::Stack;
      const auto ask_operands = [&, part = part] {
        for (NodeId in : n.in) stack.push_back({in, of_parts ? g_[in].type.shape.count() : part});
      };
      const bool moves = is_pointwise(n.op) || is_unary_layout(n.op) || of_parts,
                 joins = n.op == Op::Sum || n.op == Op::Scatter;
      if ((moves || joins) && 2 * n.type.shape.count() > part) {
        product = product || n.op == Op::Sum;
        scatters = scatters || n.op == Op::Scatter;
        ask_operands();
        continue;
      }
      if ((moves || n.op == Op::Gather) && !waiting_.contains(id.v)) {  // computed again behind the loop
        ask_operands();
        continue;
      }
      elements += n.type.shape.count();
      if (elements > all) return false;
      sum.stored.push_back(id);
    }
    return (!sum.stored.empty() || scatters) && (product || 2 * elements <= all);
  }

  bool is_early(NodeId id) const {
    return std::any_of(early_.begin(), early_.end(), [&](const Early& e) { return e.node == id; });
  }

  // What the rows and constants of the loop are at one step; and what has left it to the front, as far as it is known.
  Memo given_at(Expr step) const {
    Memo memo;
    const auto row_of = [&](Expr rows) { return gather(rows, std::vector<Expr>{step}).id; };
    for (size_t j = n_acc_; j < n_.in.size(); ++j) {
      const Expr e{&g_, n_.in[j]};
      const bool row = j < n_acc_ + static_cast<size_t>(parts_.n_es);
      memo[param(g_, static_cast<int64_t>(j), f_.params[j]).id.v] = row ? row_of(e) : e.id;
    }
    for (const Early& e : early_)
      if (e.value) memo[e.node.v] = e.row ? row_of(e.value) : e.value.id;
    return memo;
  }

  std::vector<Expr> rewritten() {
    for (Early& e : early_) {
      const Expr step = fresh_var(g_, {DType::I32, {}});
      const Expr value{&g_, substitute(g_, e.node, given_at(step))};
      e.value = e.row ? build(parts_.length, step, value) : value;
    }
    std::unordered_set<size_t> gone;
    for (const Sum& s : sums_) gone.insert(s.slot);
    Loop loop{.function = 0, .reverse = parts_.reverse, .length = parts_.length, .acc = {}, .es = {}, .consts = {}};
    std::vector<Expr> vars, results;
    std::vector<size_t> place(f_.results.size());
    const auto add_early = [&](bool row, std::vector<Expr>& to) {
      for (const Early& e : early_) {
        if (e.row != row) continue;
        to.push_back(e.value);
        vars.push_back({&g_, e.node});
      }
    };
    for (size_t j = 0; j < n_.in.size(); ++j) {
      if (j == n_acc_ + static_cast<size_t>(parts_.n_es)) add_early(true, loop.es);
      if (gone.contains(j)) continue;
      const Expr e{&g_, n_.in[j]};
      (j < n_acc_ ? loop.acc : j < n_acc_ + static_cast<size_t>(parts_.n_es) ? loop.es : loop.consts).push_back(e);
      vars.push_back(param(g_, static_cast<int64_t>(j), f_.params[j]));
    }
    if (parts_.n_consts == 0) add_early(true, loop.es);
    add_early(false, loop.consts);
    for (size_t j = 0; j < f_.results.size(); ++j) {
      if (gone.contains(j)) continue;
      place[j] = results.size();
      results.push_back({&g_, f_.results[j]});
    }
    std::unordered_map<uint32_t, size_t> stacks;
    for (const Sum& s : sums_)
      for (NodeId id : s.stored)
        if (stacks.try_emplace(id.v, results.size()).second) results.push_back({&g_, id});
    std::vector<Expr> made;
    if (!results.empty()) {
      loop.function = close_function(g_, vars, results);
      made = map_accum(g_, loop);
    }

    std::vector<Expr> out(f_.results.size());
    for (size_t j = 0; j < out.size(); ++j)
      if (!gone.contains(j)) out[j] = made[place[j]];
    for (const Sum& s : sums_) {
      const Expr step = fresh_var(g_, {DType::I32, {}});
      Memo at_step = given_at(step);
      for (NodeId id : s.stored) at_step[id.v] = gather(made[stacks.at(id.v)], std::vector<Expr>{step}).id;
      const Expr term{&g_, substitute(g_, s.term, at_step)};
      const Expr total = ir::sum(build(parts_.length, step, term), 0), start{&g_, n_.in[s.slot]};
      out[s.slot] = s.negative ? start - total : start + total;
    }
    return out;
  }

  Graph& g_;
  const Node n_;
  const LoopParts parts_;
  const Function f_;
  const size_t n_acc_;
  std::unordered_set<uint32_t> waiting_;  // nodes of the body that depend on the state, or stay in the loop in any case
  std::vector<Early> early_;
  std::vector<Sum> sums_;
};

}  // namespace

Program split_loops(const Program& p, RuleLog* rules) {
  if (!reaches(p, {Op::MapAccum})) return p;
  Program out = p;
  Graph& g = *make_graph_private(out);
  std::vector<NodeId> roots;
  for (const ProgramResult& r : out.results) roots.push_back({r.node});
  std::unordered_map<uint32_t, std::vector<Expr>> changed;  // loop -> what its results become
  Memo memo;
  const std::vector<NodeId> made = rebuild(g, roots, memo, [&](NodeId, NodeId built) {
    const Node& n = g[built];
    if (n.op == Op::Proj)
      if (const auto it = changed.find(n.in[0].v); it != changed.end()) return it->second[static_cast<size_t>(n.attr[0])].id;
    if (n.op == Op::MapAccum)
      if (std::vector<Expr> results = SplitLoop(g, built).run(); !results.empty()) changed[built.v] = std::move(results);
    return built;
  });
  if (changed.empty()) return p;
  for (size_t j = 0; j < made.size(); ++j) out.results[j].node = made[j].v;
  return simplify(vectorise(out), rules);
}

}  // namespace spirograd::rewrite
