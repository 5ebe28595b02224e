// What the typed constructors share: the checks of shapes and axes, and a node out of operands. Private to the constructors
// of this folder; everybody else calls algebra.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frontend/ir/graph.h"

namespace spirograd::ir {

/// Throws SG0101.
[[noreturn]] void fail(std::string what);

/// The shape itself, after a look at its extents and the number of its elements. `what` names the operation in errors.
Shape checked(const Shape& s, std::string_view what);
void check_rank(int rank, std::string_view what);
void check_axis(int64_t axis, int rank, std::string_view what);
void check_dtype(Op op, DType t);
/// For operations that are made of others, under the name that the user wrote.
void require_float(Expr a, std::string_view what);
void require_numbers(Expr a, std::string_view what);  // not bools

Expr make(Graph& g, Node n);
Expr make(Op op, Type type, std::span<const Expr> in, std::vector<int64_t> attr = {});  // at least one operand
Expr make1(Op op, Type type, Expr a, std::vector<int64_t> attr = {});

}  // namespace spirograd::ir
