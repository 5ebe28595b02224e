// A graph in which some arrays between kernels are kept another way.
#pragma once

#include <set>
#include <vector>

#include "frontend/ir/traverse.h"

namespace spirograd::lower {

struct Rewritten {
  std::vector<ir::NodeId> roots;  // in place of the given ones
  std::set<uint32_t> stored;      // nodes that must be materialised
  ir::Memo moved;                 // what has become of the nodes below
};

}  // namespace spirograd::lower
