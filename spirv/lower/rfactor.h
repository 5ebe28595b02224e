// Reductions in two (rfactor), as schedules say: partial results, then their combination. An identity on values, up to
// rounding; it gives the device something to do in parallel.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "frontend/ir/traverse.h"
#include "spirv/schedule/rules.h"

namespace spirograd::lower {

/// Nodes that hold partial results, and how these were cut.
using Partials = std::map<uint32_t, schedule::PartialSchedule>;

struct FactoredReductions {
  std::vector<ir::NodeId> roots;  // in place of the given ones
  Partials partial;               // nodes that must be materialised
  ir::Memo moved;                 // what has become of the nodes below
  /// Of reductions of all elements of an array that leave some of so many to another kernel: the elements that they take.
  std::map<int64_t, int64_t> taken;
  /// What reductions in parts read in memory, where each element of it is a reduction.
  std::set<uint32_t> stored;
};
FactoredReductions factor_reductions(ir::Graph& g, std::span<const ir::NodeId> roots, const Target& target,
                                     const schedule::Scheduler& scheduler);

}  // namespace spirograd::lower
