// Values with derivatives that users give: closes what a rule said over the terms of its surroundings, as close_loop.h does
// for bodies of loops. Rules are traced over Var nodes: `xs` stand for the arguments `at`, floats.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "frontend/ir/algebra.h"

namespace spirograd::ir {

/// `value` with the tangent `change` for the tangents `directions`. SG0101 if `change` has another type than `value`.
Expr close_jvp(Expr value, std::span<const Expr> at, std::span<const Expr> xs, std::span<const Expr> directions,
               Expr change);

/// The same with the tangent that `rule` makes of placeholders for the arguments and for their tangents.
Expr with_tangent(Expr value, const std::vector<Expr>& at,
                  const std::function<Expr(std::span<const Expr> xs, std::span<const Expr> directions)>& rule);

/// `values` with the cotangents `changes` of the arguments for their cotangents `cts`; those that are no floats stay as they
/// are. SG0101 if a change has another type than its argument.
std::vector<Expr> close_vjp(std::vector<Expr> values, std::span<const Expr> at, std::span<const Expr> xs,
                            std::span<const Expr> cts, std::span<const Expr> changes);
/// The same for one value, with the cotangents that `rule` makes of placeholders for the arguments and for its own.
Expr with_cotangents(Expr value, const std::vector<Expr>& at,
                     const std::function<std::vector<Expr>(std::span<const Expr> xs, Expr cotangent)>& rule);
/// What stands for the cotangents of `values` while a rule is traced: placeholders, and zeros of what is no float.
std::vector<Expr> cotangents_of(std::span<const Expr> values);

}  // namespace spirograd::ir
