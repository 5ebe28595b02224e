// What a loop keeps of each step for its reverse mode, and a program for one that is run later.
#pragma once

#include <span>
#include <vector>

#include "frontend/ir/graph.h"

namespace spirograd::ad {

/// Of the values that a step computes from its state: those of the fewest bytes from which `results`, a transposed step,
/// follow together with elements and constants. `state`: parameters of the step. Of several such lists the one nearest to
/// the state. The state itself, as far as it is read, where finding better would take long.
std::vector<ir::Expr> least_kept(ir::Graph& g, std::span<const ir::Expr> state, std::span<const ir::Expr> results);

/// Of a program and its derivative: the fewest bytes from which `results`, which use placeholders for cotangents, follow.
/// They are parameters and what is computed of them; what loops, reductions and scatters give is never computed again.
std::vector<ir::Expr> least_passed(ir::Graph& g, std::span<const ir::Expr> results);

/// How many bytes a loop keeps for each step if all floats that it is given have tangents. For the budget of `keeping`.
int64_t bytes_per_step(ir::Graph& g, ir::NodeId map_accum);

}  // namespace spirograd::ad
