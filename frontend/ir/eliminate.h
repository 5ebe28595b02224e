// Elimination with row pivots, without derivatives: by rows where matrices are small, by blocks of columns where they are
// large, most of whose work is products of matrices.
#pragma once

#include "frontend/ir/algebra.h"

namespace spirograd::ir {

/// Of [a | b]: what becomes of b, x of a x = b, and the determinant of a. b: columns, or none of them.
struct Eliminated {
  Expr x, det;
};
Eliminated eliminated(Expr a, Expr b);

/// a^-1 c, or a^-T c, of a matrix that has been eliminated with b: where it is large, of the factors that this has left.
Expr solved_again(Expr a, Expr b, Expr c, bool transposed);

}  // namespace spirograd::ir
