// Values with derivatives that users give: closes what a rule said over the terms of its surroundings, as close_loop.h does
// for bodies of loops. Rules are traced over Var nodes: `xs` stand for the arguments `at`, floats.
#pragma once

#include <span>
#include <vector>

#include "frontend/ir/algebra.h"

namespace spirograd::ir {

/// `value` with the tangent `change` for the tangents `directions`. SG0101 if `change` has another type than `value`.
Expr close_jvp(Expr value, std::span<const Expr> at, std::span<const Expr> xs, std::span<const Expr> directions,
               Expr change);

/// `values`, floats, with the cotangents `changes` of the arguments for their cotangents `cts`. SG0101 if a change has
/// another type than its argument.
std::vector<Expr> close_vjp(std::span<const Expr> values, std::span<const Expr> at, std::span<const Expr> xs,
                            std::span<const Expr> cts, std::span<const Expr> changes);

}  // namespace spirograd::ir
