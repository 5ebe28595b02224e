// A sum of sums as several sums, where each of them alone is less work: of scatters, and of products of matrices.
#pragma once

#include "frontend/ir/graph.h"

namespace spirograd::rewrite {

/// One step, as all of these: the sum of an expression that is linear in scatters - of sums and differences of them, of
/// products with something else, of choices between them - as sums of one scatter each and sums of what is left; equal over
/// the reals. So sum_n (scatter(a[n], i[n]) + scatter(b[n], j[n])) is one scatter of all rows of a, and one of those of b;
/// no array of zeros is kept for each n. No expression where there is no such scatter, much larger than its updates, of
/// which a summed axis is one that its indices name.
ir::Expr scatters_apart(ir::Expr sum);

/// A long sum of sums and differences of products, none of which has a factor with all axes: each product has tiles of its
/// own, where one kernel would read the operands of all. The cotangent of what several products of matrices read is such a
/// sum. No expression where a term is something else.
ir::Expr products_apart(ir::Expr sum);

}  // namespace spirograd::rewrite
