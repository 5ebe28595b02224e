// A scatter that gives each row one element, as the adjoint of x[i, k[i]] does, is a choice by position in the sum that
// reads it: so the gradient of a cross-entropy with labels is one kernel, without an array of zeros.
#pragma once

#include "frontend/ir/graph.h"
#include "frontend/rewrite/simplify.h"
#include "spirograd/program.h"

namespace spirograd::rewrite {

/// Pre: bulk and simplified. Post: bulk; equal. Only what is added to something or subtracted from it becomes a choice: what
/// is stored as it is, is filled with zeros faster, and products with it read less as gathers.
Program spread_updates(const Program& p, RuleLog* rules = nullptr);

/// Whether a scatter gives each row along one axis of its result one element.
bool is_one_of_each_row(ir::Expr scatter);

}  // namespace spirograd::rewrite
