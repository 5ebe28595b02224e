// Loops whose steps are associative become scans: what a step adds, of all steps at once, then the totals of chunks of
// steps, the states before each chunk, and all states. An identity on values (up to rounding); it gives the device something
// to do in parallel.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "frontend/ir/traverse.h"
#include "spirv/schedule/rules.h"

namespace spirograd::lower {

/// A loop of one accumulator, one stack of terms and, if there are several chunks, the states before each chunk as its
/// invariant operand: the body does not need them, the kernel does. Of sums of f32 there are two of each, the second of what
/// the first one has lost by rounding: 0 in the loop, and there may be none for the terms.
using Scans = std::map<uint32_t, schedule::ScanSchedule>;  // by MapAccum node

struct SplitScans {
  std::vector<ir::NodeId> roots;  // in place of the given ones
  std::set<uint32_t> stored;      // nodes that must be materialised: the totals of chunks
  Scans scans;
  ir::Memo moved;  // what has become of the nodes below
};
/// Loops in `alone` stay as they are.
SplitScans split_scans(ir::Graph& g, std::span<const ir::NodeId> roots, const std::set<uint32_t>& alone,
                       const Target& target, const schedule::Scheduler& scheduler);

}  // namespace spirograd::lower
