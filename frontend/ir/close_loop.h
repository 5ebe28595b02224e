// Closes a traced loop body over the terms of its surroundings. Loop functions are closed; lambdas of the surfaces are not:
// what a body captures from outside becomes a loop-invariant operand, evaluated once before the loop.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "frontend/ir/algebra.h"

namespace spirograd::ir {

/// Each largest term below `results` that uses none of `vars` and no index of a build inside, in the order in which a walk
/// in postorder meets them; of a broadcast, its operand. Var placeholders of builds and loops that are still open around
/// count as such outer terms. Literals, iotas and broadcasts of these do not, nor what a few operations of i32 make of them:
/// they stay inside, as does what is computed cheaply of arrays that are captured anyway.
std::vector<Expr> captured_terms(Graph& g, std::span<const Expr> vars, std::span<const Expr> results);

/// `vars`: the Var nodes that stood for the state and then for the elements while the body was traced, one per entry of
/// `acc` and then of `es`. `results`: what the body returned, the new state first, then the values to be stacked.
/// Captured terms become the "consts" of the loop. Results as map_accum: final state, then stacks.
std::vector<Expr> close_loop(Graph& g, std::span<const Expr> acc, std::span<const Expr> es, std::span<const Expr> vars,
                             std::span<const Expr> results, bool reverse, int64_t length);

/// The state after `n` steps: state = step(i, state) for i = 0 .. n-1, or from n-1 down to 0. At least one array.
std::vector<Expr> counted_loop(int64_t n, std::span<const Expr> start, bool reverse,
                               const std::function<std::vector<Expr>(Expr i, const std::vector<Expr>& state)>& step);

}  // namespace spirograd::ir
