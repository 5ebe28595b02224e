// What depends on the order of elements: sorting, positions. Stable; NaN comes last. Axes count from the
// front. The orders themselves carry no derivative: what is moved by them does.
#pragma once

#include "frontend/ir/algebra.h"

namespace spirograd::ir {

/// Whether `a` stands before `b`, by their values alone.
Expr before(Expr a, Expr b, bool descending);

/// i32 positions along the axis, in increasing (or decreasing) order of the numbers there.
Expr argsort(Expr x, int axis, bool descending);
Expr sort(Expr x, int axis, bool descending);

/// For each of `v`: how many elements of the increasing vector `sorted` are less; with `right`, or equal. i32.
Expr searchsorted(Expr sorted, Expr v, bool right);

/// out[.., j, ..] = x[.., index[.., j, ..], ..] along the axis; other extents are equal. 0 out of range.
Expr take_along_axis(Expr x, Expr index, int axis);

/// The k greatest along the last axis in decreasing order, and their i32 positions there, as sort has them.
struct Top {
  Expr values, positions;
};
Top top_k(Expr x, int64_t k);

/// i32 positions, in row-major order, of the first n elements that are not 0 (NaN is not); the number of all elements, which
/// is no position, where there are fewer.
Expr nonzero(Expr x, int64_t n);

}  // namespace spirograd::ir
