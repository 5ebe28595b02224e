// How an expression depends on directions: tangents or cotangents for which a user's rule gives tangents or cotangents.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "frontend/ir/algebra.h"

namespace spirograd::ad {

enum class Dependence : uint8_t {
  Zero,    // zeros, whatever the directions are
  None,    // not at all
  Linear,  // a linear map of them
  Other,   // in another way, or not seen to be linear
};

constexpr bool is_linear(Dependence d) { return d == Dependence::Zero || d == Dependence::Linear; }

/// Per root. Loops are followed; a product, a min and the like of directions are Other.
std::vector<Dependence> dependence(ir::Graph& g, std::span<const ir::NodeId> roots, std::span<const ir::Expr> directions);

}  // namespace spirograd::ad
