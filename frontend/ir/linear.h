// Linear algebra of dense matrices: by rows, of large ones by blocks of rows, with derivatives given as formulas. Floats;
// matrices have two axes, batches are comprehensions (SG0101 otherwise). Singular matrices give infinities and NaN.
#pragma once

#include "frontend/ir/algebra.h"

namespace spirograd::ir {

Expr eye(Graph& g, int64_t n, DType t);
Expr diagonal(Expr x);         // of the last two axes
Expr triu(Expr x, int64_t k);  // last two axes: 0 below diagonal k
Expr tril(Expr x, int64_t k);  // 0 above diagonal k
Expr cross(Expr a, Expr b);    // along the last axis, of extent 3

/// sqrt of the sum of squares along axes. Derivative sum(x dx) / r, 0 where r is 0.
Expr norm(Expr x, std::span<const int64_t> axes);
Expr variance(Expr x, std::span<const int64_t> axes);  // mean of (x - mean)^2

/// Lower triangular L with L L^T = (a + a^T) / 2; NaN from the first row on that makes it not positive definite.
Expr cholesky(Expr a);
/// x with t x = b, for a lower (or upper) triangular t, whose other half is not read; b: a vector, or columns.
Expr solve_triangular(Expr t, Expr b, bool lower);
/// x with a x = b, by elimination with row pivots.
Expr solve(Expr a, Expr b);
Expr inv(Expr a);
Expr det(Expr a);

}  // namespace spirograd::ir
