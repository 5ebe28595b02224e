// Sums of products of any arrays, by letters for their axes: "ij,jk->ik". SG0404 for letters that say nothing, SG0101 for
// arrays that they do not fit.
#pragma once

#include <span>
#include <string_view>

#include "frontend/ir/algebra.h"

namespace spirograd::ir {

/// A letter twice in one operand is its diagonal; "..." are leading axes that broadcast as in matmul. Letters that the
/// result does not have are summed; without "->" the result has "..." and, in the order of the alphabet, the letters that
/// stand once.
Expr einsum(std::string_view letters, std::span<const Expr> operands);

}  // namespace spirograd::ir
