// Which nodes of a program read back from its text as weak values.
#pragma once

#include <span>
#include <unordered_set>

#include "frontend/ir/graph.h"

namespace spirograd::text {

/// Literals, and what is made of them alone, as the Elaborator sees it: by node number.
std::unordered_set<uint32_t> weak_nodes(const ir::Graph& g, std::span<const ir::NodeId> roots);

}  // namespace spirograd::text
