// Arrays of several shapes as one vector, and back.
#pragma once

#include <span>
#include <vector>

#include "frontend/ir/graph.h"

namespace spirograd::ir {

/// The elements of all arrays of floats, one array after the other, row-major: [n]. Other arrays are left out. SG0101 where
/// no array has floats, or their element types differ.
Expr ravel(std::span<const Expr> arrays);

/// The inverse: arrays of the types of `like`, with the elements of `v`; those that are no floats are those of `like`.
/// SG0101 where `v` is no vector of as many elements of that type.
std::vector<Expr> unravel(std::span<const Expr> like, Expr v);

}  // namespace spirograd::ir
