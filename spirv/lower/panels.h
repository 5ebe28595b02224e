// Operands of contractions in the order in which subgroups read them. Where many tiles read one array along their lanes, a
// copy of it in panels, as wide as a tile, is read from neighbouring places: it costs one more pass over the array, and
// saves loads that are far apart. An identity on values, bit for bit.
#pragma once

#include <set>
#include <vector>

#include "frontend/ir/traverse.h"
#include "spirv/lower/split_scan.h"
#include "spirv/schedule/rules.h"

namespace spirograd::lower {

struct PackedOperands {
  std::vector<ir::NodeId> roots;  // in place of the given ones
  std::set<uint32_t> panels;      // nodes that must be materialised
  ir::Memo moved;                 // what has become of the nodes below
};
/// `stored`: nodes that get a buffer in any case.
PackedOperands pack_operands(ir::Graph& g, std::span<const ir::NodeId> roots, const std::set<uint32_t>& stored,
                             const Scans& scans, const Target& target, const schedule::Scheduler& scheduler);

}  // namespace spirograd::lower
