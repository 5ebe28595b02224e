// Reductions that may be contractions in tiles.
#pragma once

#include <span>
#include <vector>

#include "spirv/lower/access.h"
#include "spirv/lower/partition.h"
#include "spirv/schedule/compute.h"

namespace spirograd::lower {

/// A reduction whose kernel may be a map in tiles.
bool is_contraction(const ir::Node& n);

/// Those that run for the points of a kernel, not inside of other reductions.
NodeSet outermost_contractions(const ir::Graph& g, const Partition& partition);

/// The axes that any coordinate of a place depends on.
uint32_t axes_of(const Place& place);

/// The order that undoes another one.
std::vector<int64_t> inverse_of(std::span<const int64_t> order);

/// ir::window, or `x` itself if that is all of the axis.
ir::Expr windowed(ir::Expr x, int axis, int64_t from, int64_t count);

/// Of a reduction in a kernel of its own; `stored`: what has a buffer.
schedule::MapFacts contraction_facts(const ir::Graph& g, ir::NodeId id, const NodeSet& stored);
/// The same where operands are copied in the order in which neighbouring points read them.
schedule::MapFacts facts_when_copied(schedule::MapFacts f);

}  // namespace spirograd::lower
