// Reductions, arg-reductions and products.
#include "frontend/dsl/forms.h"
#include "frontend/ir/by_kernel.h"
#include "frontend/ir/cumulative.h"
#include "frontend/ir/einsum.h"

namespace spirograd {
namespace {

using detail::along_axis;
using detail::Numbers;
using detail::of_one;
using detail::of_two;
using detail::over_axes;

Array reduction(ir::Op op, const char* what, const Arg& a, const Axes& axes, bool keepdims) {
  return over_axes(what, a, axes, keepdims,
                   [&](ir::Expr e, std::span<const int64_t> along) { return ir::reduction(op, what, e, along); });
}

Array arg_reduction(ir::Op op, const Arg& a, std::optional<int> axis, bool keepdims) {
  return of_one(ir::name(op), a, [&](ir::Expr e) {
    const std::optional<int64_t> along = axis ? std::optional<int64_t>(*axis) : std::nullopt;
    return ir::arg_reduction(op, e, along, keepdims);
  });
}

}  // namespace

Array cumsum(Arg a, int axis) { return along_axis("cumsum", a, axis, ir::cumsum); }
Array cumprod(Arg a, int axis) { return along_axis("cumprod", a, axis, ir::cumprod); }

Array sum(Arg a, Axes axes, bool keepdims) { return reduction(ir::Op::Sum, "sum", a, axes, keepdims); }
Array prod(Arg a, Axes axes, bool keepdims) { return reduction(ir::Op::Prod, "prod", a, axes, keepdims); }
Array any(Arg mask, Axes axes, bool keepdims) { return over_axes("any", mask, axes, keepdims, ir::any); }
Array all(Arg mask, Axes axes, bool keepdims) { return over_axes("all", mask, axes, keepdims, ir::all); }
Array reduce_max(Arg a, Axes axes, bool keepdims) { return reduction(ir::Op::ReduceMax, "reduce_max", a, axes, keepdims); }
Array reduce_min(Arg a, Axes axes, bool keepdims) { return reduction(ir::Op::ReduceMin, "reduce_min", a, axes, keepdims); }
Array mean(Arg a, Axes axes, bool keepdims) { return over_axes("mean", a, axes, keepdims, ir::mean); }
Array logsumexp(Arg a, Axes axes, bool keepdims) { return over_axes("logsumexp", a, axes, keepdims, ir::log_sum_exp); }
Array log_softmax(Arg a, Axes axes) { return over_axes("log_softmax", a, axes, false, ir::log_softmax); }
Array softmax(Arg a, Axes axes) { return over_axes("softmax", a, axes, false, ir::softmax); }

Array max(Arg a) { return reduction(ir::Op::ReduceMax, "max", a, Axes::every(), false); }
Array min(Arg a) { return reduction(ir::Op::ReduceMin, "min", a, Axes::every(), false); }
Array max(Arg a, std::initializer_list<int> axes, bool keepdims) {
  return reduction(ir::Op::ReduceMax, "max", a, axes, keepdims);
}
Array min(Arg a, std::initializer_list<int> axes, bool keepdims) {
  return reduction(ir::Op::ReduceMin, "min", a, axes, keepdims);
}
Array detail::max_along(const Arg& a, const Axes& axes, bool keepdims) {
  return reduction(ir::Op::ReduceMax, "max", a, axes, keepdims);
}
Array detail::min_along(const Arg& a, const Axes& axes, bool keepdims) {
  return reduction(ir::Op::ReduceMin, "min", a, axes, keepdims);
}

Array argmax(Arg a, std::optional<int> axis, bool keepdims) { return arg_reduction(ir::Op::ArgMax, a, axis, keepdims); }
Array argmin(Arg a, std::optional<int> axis, bool keepdims) { return arg_reduction(ir::Op::ArgMin, a, axis, keepdims); }

Array dot(Arg a, Arg b) { return of_two("dot", a, b, ir::dot, Numbers::Alone); }
Array outer(Arg a, Arg b) { return of_two("outer", a, b, ir::outer, Numbers::Alone); }
Array by_kernel(const OwnKernel& kernel, Arg value, ArgList arguments) {
  std::vector<Arg> args = {std::move(value)};
  args.insert(args.end(), arguments.args.begin(), arguments.args.end());
  return detail::operation("by_kernel", args, Numbers::Alone, arguments.loc, [&](ir::Graph&, std::span<const ir::Expr> in) {
    return ir::by_kernel(in[0], kernel, in.subspan(1));
  });
}

Array einsum(const std::string& letters, ArgList arrays) {
  return detail::operation("einsum", arrays.args, Numbers::Alone, arrays.loc,
                           [&](ir::Graph&, std::span<const ir::Expr> in) { return ir::einsum(letters, in); });
}
Array matmul(Arg a, Arg b) { return of_two("matmul", a, b, ir::matmul, Numbers::Alone); }

}  // namespace spirograd
