// The engine: every node is brought into normal form once, operands first, and the rules are indexed by operation. A rule
// may return new nodes; they are normalised in the same way before the result counts. Depth lives on an explicit stack.
#include "frontend/rewrite/simplify.h"

#include <array>
#include <unordered_set>

#include "frontend/ir/broken_row.h"
#include "frontend/ir/own_graph.h"
#include "frontend/ir/traverse.h"
#include "frontend/rewrite/prune_loops.h"
#include "frontend/rewrite/simplify_rules.h"

namespace spirograd::rewrite {

using namespace ir;

namespace {

// Replacements that may follow one another from one node; a guard against rows that undo each other.
constexpr int kFuel = 200;
constexpr int kMaxRounds = 8;

using Tables = std::array<std::vector<const Rule*>, kOpCount>;

const std::vector<Rule>* const* all_tables() {
  static const std::vector<Rule>* const tables[] = {&algebra_rules(), &layout_rules(),  &reduction_rules(),
                                                    &gather_rules(),  &scatter_rules(), nullptr};
  return tables;
}

const Tables& rules_by_op() {
  static const Tables tables = [] {
    Tables t;
    for (auto table = all_tables(); *table; ++table)
      for (const Rule& r : **table)
        for (Op op : r.ops) t[static_cast<size_t>(op)].push_back(&r);
    return t;
  }();
  return tables;
}

class Engine {
 public:
  Engine(Graph& g, RuleLog* rules) : g_(g), rules_(rules), facts_(g) {}

  std::vector<NodeId> scope(std::vector<NodeId> roots) {
    for (int round = 0; round < kMaxRounds; ++round) {
      std::vector<NodeId> next;
      for (NodeId r : roots) next.push_back(normal(r));
      next = prune_loops(g_, next);
      if (next == roots) break;
      roots = std::move(next);
    }
    return roots;
  }

 private:
  struct Frame {
    NodeId id;
    int fuel;
    size_t next = 0;     // operand to look at
    NodeId built;        // the node with normal operands
    NodeId replacement;  // what a rule made of it
  };

  NodeId normal(NodeId root) {
    std::vector<Frame> stack = {{root, kFuel, 0, {}, {}}};
    while (!stack.empty()) {
      Frame& f = stack.back();
      if (f.next == 0 && !f.built && memo_.contains(f.id.v)) {
        stack.pop_back();
      } else if (f.replacement) {
        const auto it = memo_.find(f.replacement.v);
        finish(f, it == memo_.end() ? f.replacement : it->second);
        stack.pop_back();
      } else if (!operands(stack)) {
        rewrite(stack);
      }
    }
    return memo_.at(root.v);
  }

  // Pushes the first operand that is not in normal form yet. A node that is being rewritten further down stands for itself.
  bool operands(std::vector<Frame>& stack) {
    Frame& f = stack.back();
    if (f.built) return false;
    if (f.next == 0) active_.insert(f.id.v);
    const Node& n = g_[f.id];
    while (f.next < n.in.size()) {
      const NodeId operand = n.in[f.next++];
      if (memo_.contains(operand.v) || active_.contains(operand.v)) continue;
      stack.push_back({operand, f.fuel, 0, {}, {}});
      return true;
    }
    return false;
  }

  void rewrite(std::vector<Frame>& stack) {
    Frame& f = stack.back();
    Node n = g_[f.id];
    for (NodeId& operand : n.in)
      if (const auto it = memo_.find(operand.v); it != memo_.end()) operand = it->second;
    if (has_function(n.op)) n.attr[0] = function(n.attr[0]);
    f.built = g_.intern(std::move(n));
    f.next = 1;
    if (f.built != f.id) g_.copy_loc(g_, f.id, f.built);
    if (const auto it = memo_.find(f.built.v); it != memo_.end() || (f.built != f.id && active_.contains(f.built.v))) {
      finish(f, it == memo_.end() ? f.built : it->second);
      stack.pop_back();
      return;
    }
    active_.insert(f.built.v);
    const NodeId r = f.fuel > 0 ? apply(f.built) : NodeId{};
    if (!r || active_.contains(r.v)) {
      finish(f, f.built);
      stack.pop_back();
      return;
    }
    f.replacement = r;
    g_.copy_loc(g_, f.id, r);
    const int fuel = f.fuel - 1;
    if (!memo_.contains(r.v)) stack.push_back({r, fuel, 0, {}, {}});
  }

  void finish(const Frame& f, NodeId result) {
    memo_[f.id.v] = result;
    if (f.built) memo_[f.built.v] = result;
    memo_.try_emplace(result.v, result);
    active_.erase(f.id.v);
    active_.erase(f.built.v);
  }

  NodeId apply(NodeId id) {
    const Expr e{&g_, id};
    for (const Rule* r : rules_by_op()[static_cast<size_t>(e.op())]) {
      if (rules_ && rules_->total >= rules_->most) return {};
      Expr out = r->apply(facts_, e);
      // No array differs from one that is empty: there a broken rule does not apply.
      if (out && is_broken("simplify", r->name)) out = out.shape().count() == 0 ? Expr() : wrong(out);
      if (!out || out == e) continue;
      if (rules_) note(*r, e);
      return out.id;
    }
    return {};
  }

  void note(const Rule& r, Expr e) {
    ++rules_->applied[r.name];
    ++rules_->total;
    rules_->last = std::string(r.name) + " at " + std::string(name(e.op())) + " " + to_string(e.type());
  }

  int64_t function(int64_t index) {
    if (const auto it = functions_.find(index); it != functions_.end()) return it->second;
    Function f = g_.function(index);
    f.results = scope(f.results);
    const int64_t out = g_.intern(std::move(f));
    functions_[index] = functions_[out] = out;
    return out;
  }

  Graph& g_;
  RuleLog* rules_;
  Facts facts_;
  // Normal forms do not depend on the scope of a node, so one memo serves the program and all loop bodies.
  Memo memo_;
  std::unordered_set<uint32_t> active_;
  std::unordered_map<int64_t, int64_t> functions_;
};

}  // namespace

Program simplify(const Program& program, RuleLog* rules) {
  Program out = program;
  Graph& g = *make_graph_private(out);
  std::vector<NodeId> roots;
  for (const ProgramResult& r : out.results) roots.push_back({r.node});
  roots = Engine(g, rules).scope(std::move(roots));
  for (size_t j = 0; j < roots.size(); ++j) out.results[j].node = roots[j].v;
  return out;
}

std::string rules_markdown() {
  const auto cell = [](std::string_view text) {
    std::string out;
    for (char c : text) out += c == '|' ? std::string("\\|") : c == '\n' ? std::string("<br>") : std::string(1, c);
    return out.empty() ? out : "`" + out + "`";
  };
  std::string out = "| rule | before | after |\n|---|---|---|\n";
  for (auto table = all_tables(); *table; ++table)
    for (const Rule& r : **table)
      out += "| " + std::string(r.name) + " | " + cell(r.before) + " | " + cell(r.after) + " |\n";
  return out;
}

}  // namespace spirograd::rewrite
