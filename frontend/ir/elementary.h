// Elementwise functions that are spelt in terms of algebra.h, as those of composite.h are. Operands broadcast; floats unless
// it says otherwise (SG0101).
#pragma once

#include "frontend/ir/algebra.h"

namespace spirograd::ir {

Expr clamp(Expr x, Expr lo, Expr hi);  // min(max(x, lo), hi), any number
Expr mix(Expr x, Expr y, Expr t);      // x + (y - x) t

// Whole numbers, as floats: NaN and infinities stay. No derivative.
Expr ceil(Expr x);
Expr round(Expr x);  // to the nearest, halves to the even one
Expr trunc(Expr x);
/// As i32, saturated; NaN is 0.
Expr ceil_to_int(Expr x);
Expr round_to_int(Expr x);

/// sqrt(x^2 + y^2) without overflow; infinite if either is. Derivative (x dx + y dy) / r, 0 at (0, 0).
Expr hypot(Expr x, Expr y);
/// Of negative numbers, too. Derivative dx / (3 r^2), infinite at 0.
Expr cbrt(Expr x);

}  // namespace spirograd::ir
