// Index arrays that are known, and go up or down by one or stay where they are for long, as those of borders that mirror or
// repeat their last element: what is scattered by them is slices added up.
#pragma once

#include "frontend/rewrite/simplify_rules.h"

namespace spirograd::rewrite {

/// The rule "scatter-runs" of scatter_rules().
ir::Expr scatter_runs(Facts& facts, ir::Expr e);

}  // namespace spirograd::rewrite
