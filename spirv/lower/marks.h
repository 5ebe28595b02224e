// What users say of values that several kernels need: prefer_store, prefer_recompute.
#pragma once

#include <set>
#include <span>

#include "frontend/ir/graph.h"
#include "spirv/lower/access.h"

namespace spirograd::lower {

/// Adds the marked values: those to be stored; and those not to be, with all that they are computed of element by element.
/// Where both are said of a value the first counts.
void add_marked(const ir::Graph& g, std::span<const ir::NodeId> order, std::set<uint32_t>& stored, NodeSet& recomputed);

}  // namespace spirograd::lower
