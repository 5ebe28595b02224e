// Operations of the surface languages that are no opcodes: each is spelt here once, in terms of algebra.h, so that the same
// function written in C++ and as text is the same program. They throw Error SG0101 as the constructors do.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "frontend/ir/algebra.h"

namespace spirograd::ir {

/// Elementwise; functions of floats say so.
Expr function_of(Op op, Expr a);
/// Elementwise with NumPy's broadcasting made explicit. Dtypes must agree already.
Expr binary_broadcast(Op op, Expr a, Expr b);
Expr select_broadcast(Expr mask, Expr a, Expr b, std::string_view what = "select");
/// Both branches broadcast together, chosen by one scalar bool.
Expr cond(Expr condition, Expr a, Expr b);

/// Arrays of one shape: that to which all of them broadcast. `what`: for messages.
std::vector<Expr> broadcast_together(std::span<const Expr> parts, std::string_view what);
/// table(index...): index arrays broadcast together first.
Expr gather_broadcast(Expr table, std::span<const Expr> index);
/// The same for scatter; scalar updates are spread over the index shape.
Expr scatter_broadcast(Expr updates, std::span<const Expr> index, Shape addressed);

/// All axes of `a`: 0 .. rank-1.
std::vector<int64_t> all_axes(Expr a);
/// `reduced` has lost `axes` of `shape`: stretches it back over them.
Expr restore_axes(Expr reduced, const Shape& shape, std::span<const int64_t> axes);
/// `reduced` with the lost axes as extents 1.
Expr keep_dims(Expr reduced, const Shape& shape, std::span<const int64_t> axes);

/// sum, prod, max, min under the name that the user wrote.
Expr reduction(Op op, std::string_view what, Expr a, std::span<const int64_t> axes);
Expr mean(Expr a, std::span<const int64_t> axes);
/// Of bool arrays; of nothing false and true.
Expr any(Expr mask, std::span<const int64_t> axes);
Expr all(Expr mask, std::span<const int64_t> axes);
/// The largest value along `axes`, the largest or the least finite number if it is infinite; carries no derivative.
/// What exp() may be shifted by: log_sum_exp and softmax stay exact where all or some elements are infinite, and nothing
/// else is above it.
Expr finite_max(Expr a, std::span<const int64_t> axes);
/// What the node is the largest value of, if it is that along some axes: as it is, or made by finite_max.
struct RowMaximum {
  NodeId of;
  std::span<const int64_t> axes;
  bool finite = false;
};
std::optional<RowMaximum> row_maximum(const Graph& g, NodeId id);
Expr log_sum_exp(Expr a, std::span<const int64_t> axes);
Expr softmax(Expr a, std::span<const int64_t> axes);
Expr log_softmax(Expr a, std::span<const int64_t> axes);
/// log(exp a + exp b), broadcast.
Expr log_add_exp(Expr a, Expr b);
Expr softplus(Expr a);  // log(1 + exp(a))
/// argmax/argmin of all elements in row-major order.
Expr arg_reduce_all(Op op, Expr a);
/// argmax/argmin along one axis, which may count from the end, or of all elements.
Expr arg_reduction(Op op, Expr a, std::optional<int64_t> axis, bool keepdims);

Expr square(Expr a);
Expr recip(Expr a);
// No select of its argument in either: what a select leaves out is kept zero at the price of a compare per product.
Expr relu(Expr a);                      // max(0, a)
Expr leaky_relu(Expr a, double slope);  // a * select(a > 0, 1, slope)
Expr floor_to_int(Expr a);              // i32
/// n copies along a new axis, which may count from the end.
Expr copies(Expr a, int64_t n, int64_t axis);
/// Parts joined along a new axis, which may count from the end.
Expr stacked(std::span<const Expr> parts, int64_t axis);
/// Positions start .. stop-1, which lie inside.
Expr slice(Expr a, int axis, int64_t start, int64_t stop);
Expr one_hot(Expr index, int64_t n, DType t);  // new last axis; all zero for an index out of range

/// Sum of products of two vectors.
Expr dot(Expr a, Expr b);
/// All products of the elements of two vectors.
Expr outer(Expr a, Expr b);
/// NumPy's matmul: matrices in the last two axes, leading axes broadcast, a vector is a row on the left and a column on the
/// right. The product has axes batch.., m, k, n and is summed over k.
Expr matmul(Expr a, Expr b);

/// The least number of a type, or the greatest: what reductions of nothing give.
double extreme_of(DType t, bool greatest);

/// Part `i` of each array along its axis, and the extent, which they share. An array without an axis stays whole; at least
/// one has one.
struct Parts {
  std::vector<Expr> parts;
  int64_t extent;
};
Parts parts_along(std::string_view what, std::span<const Expr> arrays, std::span<const std::optional<int64_t>> axes, Expr i);
/// What is `part` for each i, side by side along an axis of the result.
Expr stacked(std::string_view what, Expr part, Expr i, int64_t extent, std::optional<int64_t> axis);

/// Rows of a scan: the start, then the k-stack of the later states.
Expr scan_rows(Expr start, Expr stack);

}  // namespace spirograd::ir
