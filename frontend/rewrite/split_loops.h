// What no step of a loop has to wait for, or nobody in it waits for, leaves the loop. A matrix times the row that a step
// is given, in all steps at once, is a product of matrices before the loop. A sum of outer products, the adjoint of a matrix
// that every step multiplies with, is another one behind it, instead of a matrix that every step reads and writes.
#pragma once

#include "frontend/rewrite/simplify.h"
#include "spirograd/program.h"

namespace spirograd::rewrite {

/// Pre: bulk and simplified. Post: bulk and simplified; equal over the reals. Before the loop are computed: reductions that
/// do not depend on the state, and scatters and loops that do not depend on the step either, with what is computed from them
/// alone. Behind it: accumulators to which the loop adds terms that are computed from at most half as many elements that
/// depend on the state, which the loop stacks; of products of matrices, from at most as many. Loops in the bodies of others
/// are left alone.
Program split_loops(const Program& p, RuleLog* rules = nullptr);

}  // namespace spirograd::rewrite
