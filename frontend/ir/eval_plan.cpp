// Scheduling for the interpreter, see eval_plan.h. Recursion goes over nested builds only, of which there are at most 64.
#include "frontend/ir/eval_plan.h"

#include <string>
#include <unordered_map>
#include <unordered_set>

namespace spirograd::ir {
namespace {

class Planner {
 public:
  explicit Planner(const Graph& g) : g_(g) {}

  Plan run(std::span<const NodeId> roots) {
    plan_.outermost = make_block(-1, roots);
    for (NodeId r : roots) plan_.results.push_back(slot(r));
    note_last_uses(plan_.blocks[static_cast<size_t>(plan_.outermost)]);
    plan_.slots = slots_;
    return std::move(plan_);
  }

 private:
  std::span<const NodeId> needs(NodeId id) {
    const Node& n = g_[id];
    if (n.op == Op::Build) return plan_.blocks[static_cast<size_t>(block_of(id))].frontier;
    return n.in;
  }

  int block_of(NodeId build) {
    if (auto it = block_of_.find(build.v); it != block_of_.end()) return it->second;
    const Node& n = g_[build];
    const int block = make_block(n.attr[0], n.in);
    plan_.blocks[static_cast<size_t>(block)].result = slot(n.in[0]);
    return block_of_[build.v] = block;
  }

  int slot(NodeId id) {
    if (auto it = slot_of_.find(id.v); it != slot_of_.end()) return it->second;
    const Node& n = g_[id];
    int s = slots_;
    if (n.op == Op::Proj) {
      s = slot(n.in[0]) + static_cast<int>(n.attr[0]);
    } else {
      slots_ += n.op == Op::MapAccum ? static_cast<int>(g_.function(n.attr[0]).results.size()) : 1;
    }
    return slot_of_[id.v] = s;
  }

  // level -1: all nodes. Otherwise those that depend on the index of that level.
  int make_block(int64_t level, std::span<const NodeId> roots) {
    Block block;
    std::unordered_set<uint32_t> seen;
    std::vector<std::pair<NodeId, size_t>> stack;
    const auto enter = [&](NodeId id) {
      if (!seen.insert(id.v).second) return;
      const Node& n = g_[id];
      const bool inside = level < 0 || (n.free_vars >> level & 1) != 0;
      if (!inside) {
        block.frontier.push_back(id);
      } else if (n.has_var || (level < 0 && n.free_vars != 0)) {
        throw Error("SG0900", "internal: a free variable in " + std::string(name(n.op)) + " : " + to_string(n.type));
      } else {
        stack.emplace_back(id, 0);
      }
    };
    for (NodeId root : roots) {
      enter(root);
      while (!stack.empty()) {
        const NodeId id = stack.back().first;
        const std::span<const NodeId> below = needs(id);
        if (stack.back().second < below.size()) {
          enter(below[stack.back().second++]);
          continue;
        }
        stack.pop_back();
        if (g_[id].op != Op::Proj) block.steps.push_back(make_step(id));
      }
    }
    plan_.blocks.push_back(std::move(block));
    return static_cast<int>(plan_.blocks.size()) - 1;
  }

  Step make_step(NodeId id) {
    Step step;
    step.node = &g_[id];
    step.slot = slot(id);
    for (NodeId operand : needs(id)) {
      step.in.push_back(slot(operand));
      step.in_type.push_back(&g_[operand].type);
    }
    if (step.node->op == Op::Build) step.block = block_of(id);
    if (step.node->op == Op::MapAccum) step.loop = plan_.loops++;
    return step;
  }

  void note_last_uses(Block& block) {
    std::unordered_map<int, size_t> last;
    for (size_t i = 0; i < block.steps.size(); ++i) {
      const Step& step = block.steps[i];
      const Node& n = *step.node;
      const int made = n.op == Op::MapAccum ? static_cast<int>(g_.function(n.attr[0]).results.size()) : 1;
      for (int j = 0; j < made; ++j) last[step.slot + j] = i;
      for (int s : step.in) last[s] = i;
    }
    for (int s : plan_.results) last.erase(s);
    for (auto [s, i] : last) block.steps[i].release.push_back(s);
  }

  const Graph& g_;
  Plan plan_;
  int slots_ = 0;
  std::unordered_map<uint32_t, int> slot_of_, block_of_;
};

}  // namespace

Plan make_plan(const Graph& g, std::span<const NodeId> roots) { return Planner(g).run(roots); }

}  // namespace spirograd::ir
