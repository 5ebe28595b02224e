// Derivatives of one scope: a whole program or the body of a loop, given by its root expressions and its Param nodes.
// An empty Expr stands for a symbolic zero throughout.
#pragma once

#include <unordered_map>

#include "ad/delta.h"

namespace spirograd::ad {

struct Derivative {
  std::vector<ir::Expr> primal;  // of the roots
  std::vector<ir::Expr> linear;  // jvp: tangents of the roots; vjp: cotangents of the inputs
  std::vector<ir::Expr> others;  // vjp: the other expressions, which share the loops of the derivative
};

/// Forward mode: `tangents` per input. Defined in jvp.cpp.
Derivative push_forward(ir::Graph& g, std::span<const ir::Expr> roots, std::span<const ir::Expr> inputs,
                        std::span<const ir::Expr> tangents);

/// Reverse mode: `cotangents` per root. `others` are not differentiated. Defined in transpose.cpp.
Derivative pull_back(ir::Graph& g, std::span<const ir::Expr> roots, std::span<const ir::Expr> inputs,
                     std::span<const ir::Expr> cotangents, std::span<const ir::Expr> others = {});

/// Nodes that give way to others once the whole derivative stands: results of a loop, to those of the loop that computes
/// what the derivative needs as well. Operands of the new nodes may again mention replaced nodes.
using Replaced = std::unordered_map<uint32_t, ir::NodeId>;
std::vector<ir::Expr> resolve(ir::Graph& g, std::span<const ir::Expr> roots, const Replaced& replaced);

/// Tangents of all results of a loop from the tangents of its operands: one loop over pairs, which replaces the primal.
std::vector<ir::Expr> push_loop(ir::Graph& g, const Delta& loop, std::span<const ir::Expr> tangents, Replaced& replaced);

/// Cotangents of the operands of a loop from those of its results: a loop in the other direction. The primal loop gives way
/// to one that also returns the accumulators before each step, as far as the transposed body reads them.
std::vector<ir::Expr> pull_loop(ir::Graph& g, const Delta& loop, std::span<const ir::Expr> cotangents, Replaced& replaced);

/// Rewrites every Prod that an input reaches into a balanced tree of multiplications of slices.
std::vector<ir::Expr> expand_products(ir::Graph& g, std::span<const ir::Expr> roots, std::span<const ir::Expr> inputs);

/// Gives operations with infinite slopes a harmless argument in the lanes where every user throws their result away.
std::vector<ir::Expr> guard_hazards(ir::Graph& g, std::span<const ir::Expr> roots, std::span<const ir::Expr> inputs);

/// k * t without multiplying by a visible 1.
ir::Expr times(ir::Expr k, ir::Expr t);

/// `e`, or zeros of that type for a symbolic zero.
ir::Expr or_zeros(ir::Graph& g, ir::Expr e, Type type);

}  // namespace spirograd::ad
