#include "spirv/lower/turned_stacks.h"

#include <algorithm>
#include <set>

#include "frontend/ir/loop.h"
#include "spirv/lower/loops.h"

namespace spirograd::lower {

using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

// Turned stacks have buffers of their own, where loops leave all of their results in a few.
class Turning {
 public:
  Turning(const ir::Graph& g, Partition& partition, TurnedStacks& turned)
      : g_(g), partition_(partition), turned_(turned), extent_(g, partition.roots) {
    for (NodeId id : partition.order)
      if (g[id].op == Op::Proj) results_[g[id].in[0].v].push_back(id);
  }

  void turn(uint32_t stack, NodeId transpose) {
    if (const auto packed = partition_.packed.find(stack); packed != partition_.packed.end()) {
      packed_before_.insert(*packed);
      partition_.packed.erase(packed);
    }
    if (!partition_.roots.contains(transpose.v)) new_roots_.insert(transpose.v);
    partition_.roots.insert(transpose.v);
    turned_[stack] = transpose;
  }

  // Those that the kernel of `id` reads or writes stay as they are, if it has more buffers than it may. Whether any does.
  bool give_up(NodeId id, size_t most) {
    const bool loop = partition_.loops_in_kernel.contains(id.v);
    if (!loop && (g_[id].op == Op::MapAccum || !partition_.roots.contains(id.v))) return false;
    std::vector<NodeId> arrays = extent_(id).leaves;
    size_t own = 1;
    if (loop) {
      arrays.insert(arrays.end(), results_[id.v].begin(), results_[id.v].end());
      own = arrays_inside(g_, id).size();
    }
    if (buffers_of(partition_, arrays) + own <= most) return false;
    bool any = false;
    for (NodeId array : arrays)
      if (turned_.contains(array.v) || new_roots_.contains(array.v)) any |= turn_back(array);
    return any;
  }

 private:
  bool turn_back(NodeId stack_or_transpose) {
    const auto is = [&](const auto& t) { return t.first == stack_or_transpose.v || t.second == stack_or_transpose; };
    const auto at = std::find_if(turned_.begin(), turned_.end(), is);
    if (at == turned_.end()) return false;
    if (const auto packed = packed_before_.find(at->first); packed != packed_before_.end())
      partition_.packed.insert(*packed);
    if (new_roots_.erase(at->second.v) != 0) partition_.roots.erase(at->second.v);
    turned_.erase(at);
    return true;
  }

  const ir::Graph& g_;
  Partition& partition_;
  TurnedStacks& turned_;
  ExtentWalk extent_;
  std::map<uint32_t, std::vector<NodeId>> results_;  // of loops
  PackedResults packed_before_;
  std::set<uint32_t> new_roots_;
};

}  // namespace

TurnedStacks turn_stacks(const ir::Graph& g, std::span<const NodeId> results, Partition& partition, const Target& target) {
  TurnedStacks out;
  std::map<uint32_t, std::vector<NodeId>> users;  // of stacks
  for (NodeId id : partition.order)
    for (NodeId in : g[id].in)
      if (is_stack(g, g[in]) && partition.loops_in_kernel.contains(g[in].in[0].v)) users[in.v].push_back(id);
  Turning turning(g, partition, out);
  for (const auto& [id, by] : users) {
    const NodeId stack{id};
    const bool is_result = std::find(results.begin(), results.end(), stack) != results.end();
    if (!is_result && by.size() == 1 && g[by[0]].op == Op::Transpose) turning.turn(id, by[0]);
  }
  for (bool again = !out.empty(); again;) {
    again = false;
    for (NodeId id : partition.order) again |= turning.give_up(id, kernel_buffers(target));
  }
  return out;
}

}  // namespace spirograd::lower
