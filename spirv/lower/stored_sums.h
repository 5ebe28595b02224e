// Contractions as sums of shorter ones that are stored: of parts of a long axis, over some of several axes, of what a sum
// around reads elsewhere, and in tiles of a symmetric square. Short ones have kernels that read rows (product_rules).
#pragma once

#include <optional>

#include "spirograd/target.h"
#include "spirv/lower/access.h"
#include "spirv/lower/rewritten.h"
#include "spirv/schedule/product_rules.h"

namespace spirograd::lower {

/// Elements of a sum, and of the arrays that a kernel for it reads.
int64_t elements_around(const ir::Graph& g, ir::NodeId id, const NodeSet& stored);

/// A sum over one axis: parts of so many elements, as many as `how` says in one kernel, and their sum. Notes in `stored`
/// what is stored.
ir::Expr sum_of_parts(ir::Graph& g, ir::NodeId id, const schedule::LongProduct& how, std::set<uint32_t>& stored);

/// A sum in one of the other ways; none: none fits.
std::optional<ir::Expr> sum_of_stored(ir::Graph& g, ir::NodeId sum, const NodeSet& now_stored, const Target& target,
                                      std::set<uint32_t>& stored);

}  // namespace spirograd::lower
