// Loops that have ended before their last step: those of `while`, of which every step behind the end keeps the state.
#pragma once

#include <vector>

#include "frontend/ir/graph.h"

namespace spirograd::lower {

/// An accumulator, and a condition of its shape: where that is not `value`, a step leaves the accumulator as it is.
struct GoesOn {
  size_t slot;
  ir::NodeId condition;
  bool value;
};

/// Such conditions for the whole state. They depend on the state and on what is the same in all steps: where none of them
/// allows a step to change anything, no later step does. Empty: not known, or each step gives something besides the state.
std::vector<GoesOn> goes_on(const ir::Graph& g, const ir::Node& map_accum);

}  // namespace spirograd::lower
