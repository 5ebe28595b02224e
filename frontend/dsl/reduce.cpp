// Reductions, arg-reductions and products.
#include "frontend/dsl/tracer.h"
#include "frontend/ir/arguments.h"
#include "frontend/ir/composite.h"
#include "spirograd/ops.h"

namespace spirograd {
namespace {

using detail::Numbers;
using detail::operation;
using Operands = std::span<const ir::Expr>;

template <class F>
Array reduction(const char* what, const Arg& a, const Axes& axes, bool keepdims, F&& reduce) {
  return operation(what, {&a, 1}, Numbers::Alone, a.loc, [&](ir::Graph&, Operands in) {
    const std::vector<int64_t> list(axes.list.begin(), axes.list.end());
    const std::vector<int64_t> along = axes.all ? ir::all_axes(in[0]) : ir::normal_axes(what, list, in[0].type());
    const ir::Expr out = reduce(in[0], along);
    return keepdims ? ir::keep_dims(out, in[0].shape(), along) : out;
  });
}

Array reduction(ir::Op op, const char* what, const Arg& a, const Axes& axes, bool keepdims) {
  return reduction(what, a, axes, keepdims,
                   [&](ir::Expr e, std::span<const int64_t> along) { return ir::reduction(op, what, e, along); });
}

Array arg_reduction(ir::Op op, const Arg& a, std::optional<int> axis, bool keepdims) {
  return operation(ir::name(op), {&a, 1}, Numbers::Alone, a.loc, [&](ir::Graph&, Operands in) {
    const std::optional<int64_t> along = axis ? std::optional<int64_t>(*axis) : std::nullopt;
    return ir::arg_reduction(op, in[0], along, keepdims);
  });
}

Array cumulative(ir::Expr (*f)(ir::Expr, int), const char* what, const Arg& a, int axis) {
  return operation(what, {&a, 1}, Numbers::Alone, a.loc,
                   [&](ir::Graph&, Operands in) { return f(in[0], ir::normal_axis(what, axis, in[0].type())); });
}

}  // namespace

Array cumsum(Arg a, int axis) { return cumulative(ir::cumsum, "cumsum", a, axis); }
Array cumprod(Arg a, int axis) { return cumulative(ir::cumprod, "cumprod", a, axis); }

Array sum(Arg a, Axes axes, bool keepdims) { return reduction(ir::Op::Sum, "sum", a, axes, keepdims); }
Array prod(Arg a, Axes axes, bool keepdims) { return reduction(ir::Op::Prod, "prod", a, axes, keepdims); }
Array any(Arg mask, Axes axes, bool keepdims) { return reduction("any", mask, axes, keepdims, ir::any); }
Array all(Arg mask, Axes axes, bool keepdims) { return reduction("all", mask, axes, keepdims, ir::all); }
Array reduce_max(Arg a, Axes axes, bool keepdims) { return reduction(ir::Op::ReduceMax, "reduce_max", a, axes, keepdims); }
Array reduce_min(Arg a, Axes axes, bool keepdims) { return reduction(ir::Op::ReduceMin, "reduce_min", a, axes, keepdims); }
Array mean(Arg a, Axes axes, bool keepdims) { return reduction("mean", a, axes, keepdims, ir::mean); }
Array logsumexp(Arg a, Axes axes, bool keepdims) { return reduction("logsumexp", a, axes, keepdims, ir::log_sum_exp); }
Array log_softmax(Arg a, Axes axes) { return reduction("log_softmax", a, axes, false, ir::log_softmax); }
Array softmax(Arg a, Axes axes) { return reduction("softmax", a, axes, false, ir::softmax); }

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

Array dot(Arg a, Arg b) {
  const Arg args[] = {a, b};
  return operation("dot", args, Numbers::Alone, a.loc, [](ir::Graph&, Operands in) { return ir::dot(in[0], in[1]); });
}
Array outer(Arg a, Arg b) {
  const Arg args[] = {a, b};
  return operation("outer", args, Numbers::Alone, a.loc, [](ir::Graph&, Operands in) { return ir::outer(in[0], in[1]); });
}
Array matmul(Arg a, Arg b) {
  const Arg args[] = {a, b};
  return operation("matmul", args, Numbers::Alone, a.loc, [](ir::Graph&, Operands in) { return ir::matmul(in[0], in[1]); });
}

}  // namespace spirograd
