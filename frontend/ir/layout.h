// Typed constructors of layout operations, a part of algebra.h. Axes count from the front; negative axes are the surfaces'
// business.
#pragma once

#include <span>
#include <string_view>

#include "frontend/ir/graph.h"

namespace spirograd::ir {

Expr broadcast(Expr a, Shape result, std::span<const int64_t> axes);  // axes[j]: result axis of operand axis j
Expr broadcast(Expr a, Shape result, std::initializer_list<int64_t> axes);
Expr replicate(Expr a, int axis, int64_t n);  // new axis of extent n; a broadcast
Expr transpose(Expr a, std::span<const int64_t> perm);
Expr transpose(Expr a, std::initializer_list<int64_t> perm);
Expr move_axis(Expr a, int from, int to);  // a itself if from == to
Expr reshape(Expr a, Shape shape);
Expr window(Expr a, int axis, int64_t lo, int64_t n);
Expr reverse(Expr a, int axis);
Expr concat(std::span<const Expr> parts, int axis);  // at least one part
Expr stack(std::span<const Expr> parts, int axis);   // at least one part
/// The layout operation of `n` on other operands.
Expr layout_with(const Node& n, std::span<const Expr> in);

/// NumPy's rule: axes are matched from the right, extents are equal or 1. `what` names the operation in errors.
Shape broadcast_shapes(const Shape& a, const Shape& b, std::string_view what);
/// `a` stretched to `shape` by that rule (reshape drops stretched axes of extent 1, then broadcast). a itself if equal.
Expr broadcast_to(Expr a, Shape shape);

}  // namespace spirograd::ir
