// The core of an index plan turned round: each target element asks which sources arrive there.
#pragma once

#include <optional>

#include "frontend/rewrite/index_plan.h"

namespace spirograd::rewrite {

/// The core's scatter of x (variables ++ rest) in pull form: each target element sums what arrives. Nothing if a component
/// is not affine or if that would read much more than the scatter writes: |P| * |free variables| > 4 * |m|.
std::optional<ir::Expr> pull(const IndexPlan& plan, ir::Expr x);

}  // namespace spirograd::rewrite
