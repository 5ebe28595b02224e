// Derivatives of elementary functions as programs: formulas that keep all digits where the textbook's lose some, and whose
// own derivatives are right.
#pragma once

#include "ad/deriv_rules.h"

namespace spirograd::ad {

/// The number in the type of the first operand.
ir::Expr num(const Point& p, double value);
inline ir::Expr sq(ir::Expr e) { return e * e; }

ir::Expr asinh_slope(const Point& p);               // 1 / sqrt(1 + u^2)
ir::Expr atan_slope(const Point& p);                // 1 / (1 + u^2)
ir::Expr logistic_slope(const Point& p);            // e / (1 + e)^2, e = exp(-|u|)
ir::Expr tanh_slope(const Point& p);                // 4 e / (1 + e)^2, e = exp(-2 |u|)
ir::Expr erf_slope(const Point& p);                 // 2 / sqrt(pi) exp(-u^2)
ir::Expr trigamma(const Point& p);                  // of u
ir::Expr over_length(const Point& p, bool want_v);  // one of u and v over u^2 + v^2
/// u^(exponent + lost), where `lost` is what rounding took from the exponent.
ir::Expr power(const Point& p, ir::Expr exponent, ir::Expr lost);
/// |a| > limit.
ir::Expr above(ir::Expr a, double limit);

}  // namespace spirograd::ad
