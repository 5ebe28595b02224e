// Operations of one or two operands, along an axis, over axes: the forms that most operations of the surface have.
#pragma once

#include "frontend/dsl/tracer.h"
#include "frontend/ir/arguments.h"
#include "frontend/ir/composite.h"
#include "spirograd/ops.h"

namespace spirograd::detail {

/// Of one operand, whose type is its own.
template <class F>
Array of_one(std::string_view what, const Arg& a, F&& make) {
  return operation(what, {&a, 1}, Numbers::Alone, a.loc,
                   [&](ir::Graph&, std::span<const ir::Expr> in) { return make(in[0]); });
}

template <class F>
Array of_two(std::string_view what, const Arg& a, const Arg& b, F&& make, Numbers numbers = Numbers::Together) {
  const Arg args[] = {a, b};
  return operation(what, args, numbers, a.loc, [&](ir::Graph&, std::span<const ir::Expr> in) { return make(in[0], in[1]); });
}

inline Array unary(ir::Op op, const Arg& a) {
  return of_one(ir::name(op), a, [&](ir::Expr e) { return ir::function_of(op, e); });
}

inline Array binary(ir::Op op, const Arg& a, const Arg& b) {
  return of_two(ir::name(op), a, b, [&](ir::Expr x, ir::Expr y) { return ir::binary_broadcast(op, x, y); });
}

/// make(operand, axis counted from the front)
template <class F>
Array along_axis(std::string_view what, const Arg& a, int axis, F&& make) {
  return of_one(what, a, [&](ir::Expr e) { return make(e, ir::normal_axis(what, axis, e.type())); });
}

/// make(operand, axes), which loses these axes, or keeps them as extents of 1.
template <class F>
Array over_axes(std::string_view what, const Arg& a, const Axes& axes, bool keepdims, F&& make) {
  return of_one(what, a, [&](ir::Expr e) {
    const std::vector<int64_t> list(axes.list.begin(), axes.list.end());
    const std::vector<int64_t> along = axes.all ? ir::all_axes(e) : ir::normal_axes(what, list, e.type());
    const ir::Expr out = make(e, along);
    return keepdims ? ir::keep_dims(out, e.shape(), along) : out;
  });
}

}  // namespace spirograd::detail
