// Scatters to copies of their result: each copy takes a part of the updates, and a reduction adds the copies up. An identity
// on values, up to rounding; invocations need not wait for each other.
#pragma once

#include <map>
#include <vector>

#include "frontend/ir/traverse.h"
#include "spirv/lower/extent.h"
#include "spirv/schedule/rules.h"

namespace spirograd::lower {

/// By Scatter node. Of one to copies, the first index is the number of the copy, which follows from that of the update.
using Scatters = std::map<uint32_t, schedule::ScatterSchedule>;

/// `extent`: how far what is computed for the updates reaches down.
schedule::ScatterFacts scatter_facts(const ir::Graph& g, ir::NodeId scatter, ExtentWalk& extent, const Target& target);

struct SplitScatters {
  std::vector<ir::NodeId> roots;  // in place of the given ones
  Scatters scatters;
  ir::Memo moved;  // what has become of the nodes below
};
SplitScatters split_scatters(ir::Graph& g, std::span<const ir::NodeId> roots, const Target& target,
                             const schedule::Scheduler& scheduler);

}  // namespace spirograd::lower
