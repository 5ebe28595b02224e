// Layout and indexed operations.
#include <algorithm>

#include "frontend/dsl/forms.h"

namespace spirograd {
namespace {

using detail::along_axis;
using detail::Numbers;
using detail::of_one;
using detail::operation;
using ir::normal_axis;
using Operands = std::span<const ir::Expr>;

Array joined(const char* what, std::span<const Arg> parts, int axis, const Loc& loc) {
  return operation(what, parts, Numbers::Together, loc, [&](ir::Graph&, Operands in) {
    if (in.empty()) throw Error("SG0101", std::string(what) + ": needs at least one array");
    return ir::concat(in, normal_axis(what, axis, in[0].type()));
  });
}

}  // namespace

Array reshape(Arg a, Shape shape) {
  return of_one("reshape", a, [&](ir::Expr e) { return ir::reshape(e, ir::completed_shape(shape.dims(), e.type())); });
}

Array transpose(Arg a) {
  return of_one("transpose", a, [](ir::Expr e) {
    std::vector<int64_t> perm = ir::all_axes(e);
    std::reverse(perm.begin(), perm.end());
    return ir::transpose(e, perm);
  });
}

Array transpose(Arg a, std::vector<int> perm) {
  return of_one("transpose", a, [&](ir::Expr e) {
    std::vector<int64_t> axes;
    for (int p : perm) axes.push_back(normal_axis("transpose", p, e.type()));
    return ir::transpose(e, axes);
  });
}

Array broadcast_to(Arg a, Shape shape) {
  return of_one("broadcast_to", a, [&](ir::Expr e) { return ir::broadcast_to(e, shape); });
}

Array broadcast(Arg a, Shape shape) { return broadcast_to(std::move(a), shape); }

Array broadcast(Arg a, Shape shape, std::vector<int> axes) {
  return of_one("broadcast", a,
                [&](ir::Expr e) { return ir::broadcast(e, shape, std::vector<int64_t>(axes.begin(), axes.end())); });
}

Array replicate(Arg a, int64_t n, int axis) {
  return of_one("replicate", a, [&](ir::Expr e) { return ir::copies(e, n, axis); });
}

Array concat(ArgList parts, int axis) { return joined("concat", parts.args, axis, parts.loc); }
Array concatenate(ArgList parts, int axis) { return joined("concatenate", parts.args, axis, parts.loc); }
Array append(Arg a, Arg b, int axis) {
  const Arg args[] = {a, b};
  return joined("append", args, axis, a.loc);
}

Array stack(ArgList parts, int axis) {
  return operation("stack", parts.args, Numbers::Together, parts.loc,
                   [&](ir::Graph&, Operands in) { return ir::stacked(in, axis); });
}

Array slice(Arg a, int64_t start, int64_t stop, int axis) {
  return along_axis("slice", a, axis, [&](ir::Expr e, int k) { return ir::slice(e, k, start, stop); });
}

Array window(Arg a, int64_t lo, int64_t n, int axis) {
  return along_axis("window", a, axis, [&](ir::Expr e, int k) { return ir::window(e, k, lo, n); });
}

Array reverse(Arg a, int axis) { return along_axis("reverse", a, axis, ir::reverse); }

Array gather(Arg table, ArgList index) {
  index.args.insert(index.args.begin(), table);
  return operation("gather", index.args, Numbers::Alone, table.loc,
                   [](ir::Graph&, Operands in) { return ir::gather_broadcast(in[0], in.subspan(1)); });
}

Array scatter(Shape addressed, Arg updates, ArgList index) {
  index.args.insert(index.args.begin(), updates);
  return operation("scatter", index.args, Numbers::Alone, updates.loc,
                   [&](ir::Graph&, Operands in) { return ir::scatter_broadcast(in[0], in.subspan(1), addressed); });
}

Array scatter_max(Shape addressed, Arg updates, ArgList index) {
  index.args.insert(index.args.begin(), updates);
  return operation("scatter_max", index.args, Numbers::Alone, updates.loc, [&](ir::Graph&, Operands in) {
    return ir::scatter_max(in[0], ir::broadcast_together(in.subspan(1), "scatter_max"), addressed);
  });
}

Array one_hot(Arg index, int64_t n, DType dtype) {
  return of_one("one_hot", index, [&](ir::Expr e) { return ir::one_hot(e, n, dtype); });
}

}  // namespace spirograd
