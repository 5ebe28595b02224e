// Contractions over several axes as sums of short ones over one: as many axes as may be written out are joined, and each
// element of the others has a sum of its own. Arrays that are read at places which may lie beyond their ends, a few
// elements, are copied with zeros around them, so that nothing is asked where they are read.
#pragma once

#include <optional>

#include "spirv/lower/access.h"
#include "spirv/lower/rewritten.h"

namespace spirograd::lower {

struct ShortSums {
  ir::Expr partial;                // over the axes that are joined, the last of its operand; the others come first
  int others = 0;                  // so many
  std::set<uint32_t> stored;       // copies
  std::optional<ir::Expr> inside;  // which of them count; none: all
};

/// Of a sum over several axes; the axis `last` of its results becomes the last one. None: each has more elements than are
/// added plainly, or what is read beyond its ends is computed, and no product.
std::optional<ShortSums> short_sums(ir::Graph& g, ir::NodeId id, const NodeSet& stored, int last);

}  // namespace spirograd::lower
