// Signs of what is computed, whatever the inputs are: squares, magnitudes, differences to a maximum.
#pragma once

#include "frontend/ir/graph.h"

namespace spirograd::ir {

/// Of all elements of a float array that are not NaN.
enum class Sign : uint8_t {
  Any,
  Zero,  // not negative and not positive
  NotNegative,
  NotPositive,
  NotPositiveOrInfinite,  // x - finite_max(x): infinite where x is
};

/// Holds for every order of rounding, but differences to a maximum may be a little above 0 where devices compute the same
/// element twice, and not alike. Conservative: looks at a few dozen nodes, and not into loops.
Sign sign_of(const Graph& g, NodeId id);

}  // namespace spirograd::ir
