// The inverse of erf, made of what is in algebra.h; SG0101 of what is no float.
#pragma once

#include "frontend/ir/algebra.h"

namespace spirograd::ir {

/// Infinite at -1 and 1, NaN beyond. Its derivative, sqrt(pi) / 2 exp(y^2), has a derivative of its own, 2 y times its
/// square.
Expr erfinv(Expr x);

}  // namespace spirograd::ir
