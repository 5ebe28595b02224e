// Sums of exp(x - h) where h is made of the maximum of x: logsumexp, softmax, and what else keeps exponentials in range.
#pragma once

#include <map>
#include <span>

#include "frontend/ir/graph.h"

namespace spirograd::lower {

/// sum exp(x - h) along the last axis of x, h being the same there.
struct ShiftedSum {
  ir::NodeId maximum;  // of x along that axis,
  ir::NodeId shift;    // which h is computed from, elementwise
};

/// All such sums, by their nodes.
std::map<uint32_t, ShiftedSum> find_shifted_sums(const ir::Graph& g, std::span<const ir::NodeId> roots);

}  // namespace spirograd::lower
