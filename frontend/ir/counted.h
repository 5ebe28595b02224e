// How many steps a `while` takes at most, where its condition counts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "frontend/ir/graph.h"

namespace spirograd::ir {

struct CountedSteps {
  std::optional<int64_t> at_most;
  std::string why;  // it is not known; "" if it is
};

/// Of a loop from `start` that goes on while `condition` holds: `state` are the placeholders over which that and the next
/// state were traced, empty in `next` where nothing is known of it. The condition counts if it compares a whole number of
/// the state with a known one, alone or as one of several that have to hold, and each step moves that number by a known
/// amount towards the end, which it reaches without wrapping around. Known is what depends on no parameter and no
/// placeholder.
CountedSteps counted_steps(const Graph& g, std::span<const Expr> start, std::span<const Expr> state, Expr condition,
                           std::span<const Expr> next);

}  // namespace spirograd::ir
