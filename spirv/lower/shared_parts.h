// Which of two nodes one above the other has the buffer: what is dear, where what is made of it costs next to nothing and
// other kernels compute the dear one as well.
#pragma once

#include <set>
#include <span>

#include "spirv/lower/recompute.h"

namespace spirograd::lower {

/// A root that is cheap once a node below it, which is dear and is computed by another kernel, too, has a buffer, gives its
/// own to that one: as many kernels, and nothing is computed twice. Roots in `bound` stay, nodes in `unwanted` become none.
/// Pre: `cost` of all nodes in `order`, a postorder, from what is stored.
void store_shared_parts(const ir::Graph& g, std::span<const ir::NodeId> order, const std::set<uint32_t>& bound,
                        const NodeSet& unwanted, const Costs& cost, const Target& t, NodeSet& roots);

}  // namespace spirograd::lower
