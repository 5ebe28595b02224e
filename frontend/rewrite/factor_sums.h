// Algebra of real numbers on sums of products, for speed: factors that do not change along a summed axis leave the sum,
// and terms that are scatters or products of matrices are summed each on its own (split_sums.h).
// Rounding changes, and so do results that meet infinities (inf * (0.5 + 0) is not inf * 0.5 + inf * 0); simplify() does
// none of this.
#pragma once

#include "frontend/ir/graph.h"
#include "frontend/rewrite/simplify.h"
#include "spirograd/program.h"

namespace spirograd::rewrite {

/// Pre: bulk and simplified. Post: bulk and simplified; equal over the reals.
Program factor_sums(const Program& p, RuleLog* rules = nullptr);

/// One step: sum over axes of a product with a factor that is the same all along one of them -> that factor times the sum
/// over this axis, summed over the others. No expression if there is no such factor. Also sum(-x) -> -sum(x).
ir::Expr factor_out(ir::Expr sum);

}  // namespace spirograd::rewrite
