// Arrays that are computed in the loops of a reduction which reads what they read, as the gradient of a sum beside the sum:
// one pass over memory instead of two, a dispatch less, and what both compute is computed once.
#pragma once

#include <map>
#include <set>
#include <span>

#include "spirograd/target.h"
#include "spirv/lower/rfactor.h"

namespace spirograd::lower {

/// Nodes that have an element for each element of a reduction, and that reduction.
using Beside = std::map<uint32_t, uint32_t>;

/// Those of `results` that may be computed beside one of `partial`: they take nothing but elementwise operations, from
/// parameters, one of which the reduction reads as well. Those in `alone` may not, and searches for places are loops of
/// their own.
Beside find_beside(const ir::Graph& g, std::span<const ir::NodeId> results, const Partials& partial,
                   const std::set<uint32_t>& alone, const Target& target);

/// The next node on the way from the operand of a reduction to the array that was cut for it; none: it is no cut.
std::optional<ir::NodeId> below_cut(const ir::Graph& g, ir::NodeId at);

}  // namespace spirograd::lower
