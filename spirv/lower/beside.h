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

/// Results of which most elements are computed so become two parts, in one array: those `taken` by reductions of as many,
/// and the others. Returns the parts.
std::vector<ir::NodeId> split_results(ir::Graph& g, std::span<ir::NodeId> results, const std::map<int64_t, int64_t>& taken,
                                      const Partials& partial);

/// Those of `results`, and of the parts of these that are `stored`, that may be computed beside one of `partial`: they take
/// nothing but elementwise operations, from parameters, one of which the reduction reads as well. Those in `alone` may not,
/// and searches for places are loops of their own.
Beside find_beside(const ir::Graph& g, std::span<const ir::NodeId> results, const std::set<uint32_t>& stored,
                   const Partials& partial, const std::set<uint32_t>& alone, const Target& target);

/// The next node on the way from the operand of a reduction to the array that was cut for it; none: it is no cut.
std::optional<ir::NodeId> below_cut(const ir::Graph& g, ir::NodeId at);

}  // namespace spirograd::lower
