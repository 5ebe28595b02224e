// Steps that are no kernels.
#pragma once

#include <optional>

#include "frontend/ir/graph.h"
#include "spirv/lower/plan.h"

namespace spirograd::lower {

/// Copies an array; none: it is empty.
std::optional<Step> copy_step(BufferRef from, BufferRef to, const Type& type);
/// Writes a word everywhere; none: the array is empty.
std::optional<Step> fill_step(BufferRef to, const Type& type, uint32_t word);

/// The word that a large array of one number is made of, where it is an element or two are alike; none: it is another one.
std::optional<uint32_t> filled_with(const ir::Graph& g, ir::NodeId id);

}  // namespace spirograd::lower
