// Chains of linear layout steps, which an index plan puts before and after its core; each can be run forward or transposed.
#pragma once

#include <span>
#include <vector>

#include "frontend/ir/algebra.h"

namespace spirograd::rewrite {

/// One linear step on the leading axes of an array; further axes follow unchanged.
struct LayoutStep {
  enum class Kind { Sum, Window, Reverse, Reshape, Transpose };
  Kind kind = Kind::Sum;
  Shape from, to;
  int axis = 0;               // Sum, Window, Reverse
  int64_t lo = 0;             // Window
  std::vector<int64_t> perm;  // Transpose
};

ir::Expr forward(ir::Expr x, std::span<const LayoutStep> steps);
ir::Expr transposed(ir::Expr x, std::span<const LayoutStep> steps);

}  // namespace spirograd::rewrite
