// What the arrays in scratch are, for people; and which of them are rows that a loop keeps for a loop that walks its steps
// back: those of reverse mode.
#pragma once

#include <span>
#include <string>

#include "spirv/lower/computes.h"
#include "spirv/lower/plan.h"

namespace spirograd::lower {

/// Adds to Plan::kept the arrays among `places` that a loop of the region gives, a row for each step, and that the elements
/// of a loop in the other direction are computed from. `order`: the nodes of the region.
void note_kept_rows(Plan& plan, const ir::Graph& g, std::span<const ir::NodeId> order, const Materialised& places);

/// What a node computes and where the source asks for it: "sum at model.sg:3:5".
std::string value_text(const ir::Graph& g, ir::NodeId id);

}  // namespace spirograd::lower
