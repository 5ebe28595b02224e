// Reductions, arg-reductions and products.
#include "frontend/dsl/tracer.h"
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
    const std::vector<int64_t> along = axes.all ? ir::all_axes(in[0]) : detail::normal_axes(what, axes.list, in[0].type());
    const ir::Expr out = reduce(in[0], along);
    return keepdims ? ir::keep_dims(out, in[0].shape(), along) : out;
  });
}

Array reduction(ir::Op op, const char* what, const Arg& a, const Axes& axes, bool keepdims) {
  return reduction(what, a, axes, keepdims, [&](ir::Expr e, std::span<const int64_t> along) {
    if (e.dtype() == DType::Bool)
      throw Error("SG0101", std::string(what) + ": not defined for " + to_string(e.type())).hint("cast(a, DType::I32)");
    return ir::reduce(op, e, along);
  });
}

Array arg_reduction(ir::Op op, const Arg& a, std::optional<int> axis) {
  return operation(ir::name(op), {&a, 1}, Numbers::Alone, a.loc, [&](ir::Graph&, Operands in) {
    if (!axis) return ir::arg_reduce_all(op, in[0]);
    return ir::arg_reduce(op, in[0], detail::normal_axis(ir::name(op), *axis, in[0].type(), in[0].rank()));
  });
}

Array cumulative(ir::Expr (*f)(ir::Expr, int), const char* what, const Arg& a, int axis) {
  return operation(what, {&a, 1}, Numbers::Alone, a.loc, [&](ir::Graph&, Operands in) {
    return f(in[0], detail::normal_axis(what, axis, in[0].type(), in[0].rank()));
  });
}

}  // namespace

Array cumsum(Arg a, int axis) { return cumulative(ir::cumsum, "cumsum", a, axis); }
Array cumprod(Arg a, int axis) { return cumulative(ir::cumprod, "cumprod", a, axis); }

Array sum(Arg a, Axes axes, bool keepdims) { return reduction(ir::Op::Sum, "sum", a, axes, keepdims); }
Array prod(Arg a, Axes axes, bool keepdims) { return reduction(ir::Op::Prod, "prod", a, axes, keepdims); }
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

Array argmax(Arg a, std::optional<int> axis) { return arg_reduction(ir::Op::ArgMax, a, axis); }
Array argmin(Arg a, std::optional<int> axis) { return arg_reduction(ir::Op::ArgMin, a, axis); }

Array dot(Arg a, Arg b) {
  const Arg args[] = {a, b};
  return operation("dot", args, Numbers::Alone, a.loc, [](ir::Graph&, Operands in) { return ir::dot(in[0], in[1]); });
}
Array matmul(Arg a, Arg b) {
  const Arg args[] = {a, b};
  return operation("matmul", args, Numbers::Alone, a.loc, [](ir::Graph&, Operands in) { return ir::matmul(in[0], in[1]); });
}

}  // namespace spirograd
