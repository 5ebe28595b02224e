// Sums of exp(x - h) where h is made of the maximum of x: logsumexp, softmax, and what else keeps exponentials in range.
#pragma once

#include <optional>
#include <set>
#include <span>

#include "frontend/ir/graph.h"

namespace spirograd::lower {

/// sum exp(x - h) along the last axis of x, h being the same there.
struct ShiftedSum {
  ir::NodeId maximum;  // of x along that axis,
  ir::NodeId shift;    // which h is computed from, elementwise
};

std::optional<ShiftedSum> shifted_sum(const ir::Graph& g, ir::NodeId sum);

/// The maxima of all such sums.
std::set<uint32_t> maxima_of_shifted_sums(const ir::Graph& g, std::span<const ir::NodeId> roots);

}  // namespace spirograd::lower
