// Values that kernels of somebody's own compute: a dispatch each, of arrays in memory.
#pragma once

#include "spirv/lower/computes.h"

namespace spirograd::lower {

/// The program without what these values stand for: nothing of it is lowered.
Program without_references(const Program& p);
/// The program with what they stand for in their place.
Program without_own_kernels(const Program& p);

/// Whether the body of a loop, or of loops inside of it, has such values: then its steps are dispatches.
bool calls_kernels(const ir::Graph& g, int64_t function);

/// Adds the dispatch that computes node `id`, and its kernel for the target's binding form if the plan does not have it.
/// SG0303 if the kernel is not made for that form, SG0308 if it is none or reaches for more arrays than there are.
void add_own_dispatch(const Region& r, ir::NodeId id, Plan& plan);

/// Once all kernels are made: numbers those that are given behind the others.
void number_given_kernels(Plan& plan);

}  // namespace spirograd::lower
