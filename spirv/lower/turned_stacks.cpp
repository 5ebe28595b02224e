#include "spirv/lower/turned_stacks.h"

#include <algorithm>

#include "frontend/ir/loop.h"

namespace spirograd::lower {

using ir::Node;
using ir::NodeId;
using ir::Op;

TurnedStacks turn_stacks(const ir::Graph& g, std::span<const NodeId> results, Partition& partition) {
  TurnedStacks out;
  std::map<uint32_t, std::vector<NodeId>> users;  // of stacks
  for (NodeId id : partition.order)
    for (NodeId in : g[id].in) {
      const Node& n = g[in];
      if (n.op == Op::Proj && partition.loops_in_kernel.contains(n.in[0].v) &&
          n.attr[0] >= ir::loop_parts(g, g[n.in[0]]).n_acc)
        users[in.v].push_back(id);
    }
  for (const auto& [stack, by] : users) {
    const bool is_result = std::any_of(results.begin(), results.end(), [&](NodeId r) { return r.v == stack; });
    if (is_result || by.size() != 1 || g[by[0]].op != Op::Transpose) continue;
    partition.packed.erase(stack);
    partition.roots.insert(by[0].v);
    out[stack] = by[0];
  }
  return out;
}

}  // namespace spirograd::lower
