// Stacks of loops that are wanted in another order of their axes: they are stored so at once.
#pragma once

#include <map>
#include <span>

#include "spirv/lower/partition.h"

namespace spirograd::lower {

/// By the Proj node of a stack that nobody asks for but one Transpose: that Transpose, a root of the partition since.
/// `results`: of the region. No kernel has more buffers by it than the device allows.
using TurnedStacks = std::map<uint32_t, ir::NodeId>;
TurnedStacks turn_stacks(const ir::Graph& g, std::span<const ir::NodeId> results, Partition& partition,
                         const Target& target);

}  // namespace spirograd::lower
