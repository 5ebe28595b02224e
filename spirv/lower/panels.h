// Operands of contractions in the order in which subgroups read them. Where many tiles read one array along their lanes, a
// copy of it in panels, as wide as a tile, is read from neighbouring places: it costs one more pass over the array, and
// saves loads that are far apart. An identity on values, bit for bit.
#pragma once

#include <set>
#include <span>

#include "spirv/lower/rewritten.h"
#include "spirv/lower/split_scan.h"
#include "spirv/schedule/rules.h"

namespace spirograd::lower {

/// `stored`: nodes that get a buffer in any case.
Rewritten pack_operands(ir::Graph& g, std::span<const ir::NodeId> roots, const std::set<uint32_t>& stored,
                        const Scans& scans, const Target& target, const schedule::Scheduler& scheduler);

}  // namespace spirograd::lower
