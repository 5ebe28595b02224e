// What the elements up to each one come to, along an axis that counts from the front.
#pragma once

#include "frontend/ir/algebra.h"

namespace spirograd::ir {

/// Sums, products of the elements up to each one along an axis, itself included. No division: the derivative of a product
/// is exact where factors are 0.
Expr cumsum(Expr a, int axis);
Expr cumprod(Expr a, int axis);
/// The largest, least of the elements up to each one along an axis, itself included.
Expr cummax(Expr a, int axis);
Expr cummin(Expr a, int axis);
/// log(cumsum(exp a)) without overflow.
Expr log_cumsum_exp(Expr a, int axis);

}  // namespace spirograd::ir
