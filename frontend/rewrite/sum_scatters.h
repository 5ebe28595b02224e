// Sums in which scatters are terms: sum_n (scatter(a[n], i[n]) + scatter(b[n], j[n])) is one scatter of all rows of a, and
// one of those of b; no array of zeros is kept for each n.
#pragma once

#include "frontend/ir/graph.h"

namespace spirograd::rewrite {

/// One step: the sum of an expression that is linear in scatters - of sums and differences of them, of products with
/// something else, of choices between them - as sums of one scatter each and sums of what is left; equal over the reals. No
/// expression where there is no such scatter of which a summed axis is one that its indices name.
ir::Expr sum_scatters(ir::Expr sum);

}  // namespace spirograd::rewrite
