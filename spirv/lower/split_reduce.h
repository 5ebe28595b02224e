// Long reductions with few results become two: partial results of many chunks, then their combination. An identity on values
// (up to rounding); it gives the device something to do in parallel.
#pragma once

#include <set>
#include <vector>

#include "frontend/ir/traverse.h"
#include "spirograd/target.h"

namespace spirograd::lower {

struct SplitReductions {
  std::vector<ir::NodeId> roots;  // in place of the given ones
  std::set<uint32_t> partial;     // nodes that must be materialised: the partial results
  ir::Memo moved;                 // what has become of the nodes below
};
SplitReductions split_reductions(ir::Graph& g, std::span<const ir::NodeId> roots, const Target& target);

}  // namespace spirograd::lower
