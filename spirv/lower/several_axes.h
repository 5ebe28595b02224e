// Contractions over several axes as sums of short ones, over one axis: what the last axes have in common is written out,
// each element of the others has a sum of its own. Arrays that are read at places which may lie beyond their ends, a few
// elements, are copied with zeros around them, so that nothing is asked where they are read.
#pragma once

#include <optional>

#include "spirv/lower/access.h"
#include "spirv/lower/rewritten.h"

namespace spirograd::lower {

struct ShortSums {
  ir::Expr partial;           // over the last axes, the last of its operand; other axes that are reduced come first
  int others = 0;             // so many
  std::set<uint32_t> stored;  // copies
};

/// Of a sum over several axes. None: its last axis is longer than what is added plainly, and has no part that would do.
std::optional<ShortSums> short_sums(ir::Graph& g, ir::NodeId id, const NodeSet& stored);

}  // namespace spirograd::lower
