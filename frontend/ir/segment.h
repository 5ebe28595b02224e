// Rows that share the number of a segment, 0 .. n-1, brought together: out[k] of the rows i with segment[i] == k. Rows of
// other numbers are dropped; of no rows it is what a reduction gives over nothing.
#pragma once

#include "frontend/ir/algebra.h"

namespace spirograd::ir {

Expr segment_sum(Expr x, Expr segment, int64_t n);
/// Any factors may be 0: the derivative is a product of the others.
Expr segment_prod(Expr x, Expr segment, int64_t n);
/// NaN only if all are NaN. The derivative is that of the first extreme one.
Expr segment_max(Expr x, Expr segment, int64_t n);
Expr segment_min(Expr x, Expr segment, int64_t n);

}  // namespace spirograd::ir
