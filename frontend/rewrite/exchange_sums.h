// A sum of products with another sum, in the other order: sum_i a[i, m] (sum_k b[i, k] c[k, n]) is
// sum_k (sum_i a[i, m] b[i, k]) c[k, n].
#pragma once

#include "frontend/rewrite/simplify.h"
#include "spirograd/program.h"

namespace spirograd::rewrite {

/// Pre: bulk and simplified. Post: bulk; equal over the reals. Where what is summed first is much smaller afterwards and not
/// more is computed: the gradient of a sum over a batch keeps no array of inner products for each element of the batch. And
/// where half as much is computed, if nobody else reads the inner sum, or next to nothing: (a @ b) @ v is a @ (b @ v), and
/// its gradient computes no product of matrices. Factors leave the new sums (factor_sums.h).
Program exchange_sums(const Program& p, RuleLog* rules = nullptr);

}  // namespace spirograd::rewrite
