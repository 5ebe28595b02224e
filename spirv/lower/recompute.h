// What it costs to compute a node again rather than to load it.
#pragma once

#include <span>
#include <unordered_map>

#include "frontend/ir/graph.h"
#include "spirograd/target.h"
#include "spirv/lower/access.h"
#include "spirv/lower/use.h"

namespace spirograd::lower {

inline constexpr double kCheap = 20;   // operations that are recomputed rather than stored, but for tiles of products
inline constexpr double kGiven = 0.4;  // of the price of a load: inputs, which expressions often read at the same place

/// Operations per element, by node; at most 1e15.
using Costs = std::unordered_map<uint32_t, double>;

/// Of a node, computed from what is stored: everything else below it is computed again. Pre: `below` has its operands.
double recompute_cost(const ir::Graph& g, ir::NodeId id, const NodeSet& stored, const Costs& below, const Target& t);
/// Of all nodes of a postorder, into `cost`, whatever it has of them.
void recompute_costs(const ir::Graph& g, std::span<const ir::NodeId> order, const NodeSet& stored, const Target& t,
                     Costs& cost);

/// What less it is, for a large array that costs `cost` an element, because users load the same arrays in any case, and sums
/// over the same elements share their loops; in operations of a busy device, over all uses.
double saved_with_others(const ir::Graph& g, ir::NodeId id, double cost, std::span<const Use> uses, const NodeSet& stored,
                         const Target& t);

}  // namespace spirograd::lower
