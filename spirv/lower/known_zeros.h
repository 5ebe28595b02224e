// Elements that are 0 by where they are, as those above the diagonal of a triangular matrix: nothing else decides them than
// numbers and coordinates.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "frontend/ir/graph.h"
#include "spirv/lower/access.h"

namespace spirograd::lower {

/// Of an element; none: not known.
using KnownPlace = std::vector<std::optional<int64_t>>;

/// Whether an element is 0, and not -0, where coordinates that are known decide it.
bool is_known_zero(const ir::Graph& g, ir::NodeId id, const KnownPlace& at);

/// Whether any element may be known: a condition on coordinates, or padding, stands above all else.
bool chooses_by_place(const ir::Graph& g, ir::NodeId id);

/// Tells of reductions around others which part of the terms inside is no multiple of a known 0.
void count_terms_left(const ir::Graph& g, Accesses& found);

}  // namespace spirograd::lower
