// Derivatives of one scope: a whole program or the body of a loop, given by its root expressions and its Param nodes.
// An empty Expr stands for a symbolic zero throughout.
#pragma once

#include <unordered_map>

#include "ad/arms.h"

namespace spirograd::ad {

struct Derivative {
  std::vector<ir::Expr> primal;  // of the roots
  std::vector<ir::Expr> linear;  // jvp: tangents of the roots; vjp: cotangents of the inputs
  std::vector<ir::Expr> others;  // vjp: the other expressions, which share the loops of the derivative
};

/// Forward mode: `tangents` per input, and what their zeros stand for. Defined in jvp.cpp.
Derivative push_forward(ir::Graph& g, std::span<const ir::Expr> roots, std::span<const ir::Expr> inputs,
                        std::span<const ir::Expr> tangents, std::span<const Zeros> zeros);

/// Reverse mode: `cotangents` per root, and what their zeros stand for. `others` are not differentiated. Defined in
/// transpose.cpp.
Derivative pull_back(ir::Graph& g, std::span<const ir::Expr> roots, std::span<const ir::Expr> inputs,
                     std::span<const ir::Expr> cotangents, std::span<const Zeros> zeros,
                     std::span<const ir::Expr> others = {});

/// Nodes that give way to others once the whole derivative stands: results of a loop, to those of the loop that computes
/// what the derivative needs as well. Operands of the new nodes may again mention replaced nodes.
using Replaced = std::unordered_map<uint32_t, ir::NodeId>;
std::vector<ir::Expr> resolve(ir::Graph& g, std::span<const ir::Expr> roots, const Replaced& replaced);

/// Tangents of all results of a loop from the tangents of its operands: one loop over pairs, which replaces the primal.
std::vector<ir::Expr> push_loop(ir::Graph& g, const Delta& loop, std::span<const ir::Expr> tangents,
                                std::span<const Zeros> zeros, Replaced& replaced);

/// Cotangents of the operands of a loop from those of its results: a loop in the other direction. The primal loop gives way
/// to one that also returns the accumulators before each step, as far as the transposed body reads them.
std::vector<ir::Expr> pull_loop(ir::Graph& g, const Delta& loop, std::span<const ir::Expr> cotangents,
                                std::span<const Zeros> zeros, Replaced& replaced);

/// Of a value whose user gives the cotangents of its arguments: the tangent is the transpose of that, if it is linear.
/// Defined in given.cpp. SG0208 if it is not.
ir::Expr push_given(ir::Graph& g, const Delta& given, std::span<const ir::Expr> tangents);
/// The cotangents of the arguments; empty where nobody asks.
std::vector<ir::Expr> pull_given(ir::Graph& g, const Delta& given, ir::Expr cotangent, Zeros zeros);

/// Rewrites every Prod that an input reaches into a balanced tree of multiplications of slices.
std::vector<ir::Expr> expand_products(ir::Graph& g, std::span<const ir::Expr> roots, std::span<const ir::Expr> inputs);

/// Per Delta, what the zeros of its tangent stand for, given those of the inputs.
std::vector<Zeros> zeros_upwards(ir::Graph& g, const Deltas& deltas, std::span<const Zeros> inputs);
/// Per Delta, what the zeros of its cotangent stand for, given those of the roots.
std::vector<Zeros> zeros_downwards(ir::Graph& g, const DualScope& dual, const DeltaArms& arms, std::span<const Zeros> roots);
/// The same for loops: of the results from those of the operands, and the other way. The least that holds in every step:
/// what a step does to an accumulator is true of all steps.
std::vector<Zeros> push_loop_zeros(ir::Graph& g, const Delta& loop, std::span<const Zeros> operands);
std::vector<Zeros> pull_loop_zeros(ir::Graph& g, const Delta& loop, std::span<const Zeros> results);

/// A Scale or an Over applied to a tangent or a cotangent whose zeros stand for `zeros`.
ir::Expr multiplied(const Delta& d, ir::Expr t, Zeros zeros);

/// k * t without multiplying by a visible 1.
ir::Expr times(ir::Expr k, ir::Expr t);

/// `e`, or zeros of that type for a symbolic zero.
ir::Expr or_zeros(ir::Graph& g, ir::Expr e, Type type);

}  // namespace spirograd::ad
