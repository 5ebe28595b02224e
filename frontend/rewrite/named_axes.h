// Arrays whose axes have names: numbers, the same wherever an axis is met.
#pragma once

#include "frontend/ir/algebra.h"
#include "frontend/rewrite/axes.h"

namespace spirograd::rewrite {

struct Named {
  ir::Expr e;
  Axes axes;  // the name of each axis
};

/// The names of the axes of a broadcast's operand.
Axes names_below(ir::Expr broadcast, const Axes& names);

/// The array repeated along those of `all` that it has not, in that order; `shape`: their extents.
ir::Expr spread(const Named& x, const Axes& all, const Shape& shape);

}  // namespace spirograd::rewrite
