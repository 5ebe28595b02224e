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
  for (const auto& [id, by] : users) {
    const NodeId stack{id};
    const bool is_result = std::find(results.begin(), results.end(), stack) != results.end();
    if (is_result || by.size() != 1 || g[by[0]].op != Op::Transpose) continue;
    partition.packed.erase(id);
    partition.roots.insert(by[0].v);
    out[id] = by[0];
  }
  return out;
}

}  // namespace spirograd::lower
