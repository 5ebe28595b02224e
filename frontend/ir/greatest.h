// The few greatest elements of rows, without putting all of them into order.
#pragma once

#include "frontend/ir/algebra.h"

namespace spirograd::ir {

inline constexpr int64_t kMostGreatest = 32;

/// i32 positions of the `k` greatest of each row of a matrix, as its decreasing order has them: `[rows, k]`.
/// Pre: 0 < k <= kMostGreatest, and rows have as many elements.
Expr greatest_of_rows(Expr x, int64_t k);

}  // namespace spirograd::ir
