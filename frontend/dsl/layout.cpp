// Layout and indexed operations.
#include <algorithm>

#include "frontend/dsl/tracer.h"
#include "frontend/ir/composite.h"
#include "spirograd/ops.h"

namespace spirograd {
namespace {

using detail::normal_axis;
using detail::Numbers;
using detail::operation;
using Operands = std::span<const ir::Expr>;

template <class F>
Array one(const char* what, const Arg& a, F&& make) {
  return operation(what, {&a, 1}, Numbers::Alone, a.loc, [&](ir::Graph&, Operands in) { return make(in[0]); });
}

// The error of an unusable argument that is no axis.
Error bad(const char* what, const std::string& why) { return Error("SG0101", std::string(what) + ": " + why); }

void check_rank(const char* what, const Shape& s, int more = 0) {
  if (s.rank() + more > kMaxRank)
    throw bad(what, "rank " + std::to_string(s.rank() + more) + " is above the limit of " + std::to_string(kMaxRank));
}

Shape completed(const Shape& wanted, const Type& from) {
  Shape s = wanted;
  const auto unknown = std::count(s.begin(), s.end(), -1);
  if (unknown == 0) return s;
  if (unknown > 1) throw bad("reshape", "only one extent of " + to_string(wanted) + " may be -1");
  int hole = 0;
  int64_t known = 1;
  for (int j = 0; j < s.rank(); ++j) {
    if (s[j] == -1)
      hole = j;
    else
      known *= s[j];
  }
  if (known <= 0 || from.shape.count() % known != 0)
    throw bad("reshape", "no extent makes " + to_string(wanted) + " out of " + to_string(from));
  s[hole] = from.shape.count() / known;
  return s;
}

}  // namespace

Array reshape(Arg a, Shape shape) {
  return one("reshape", a, [&](ir::Expr e) { return ir::reshape(e, completed(shape, e.type())); });
}

Array transpose(Arg a) {
  return one("transpose", a, [](ir::Expr e) {
    std::vector<int64_t> perm = ir::all_axes(e);
    std::reverse(perm.begin(), perm.end());
    return ir::transpose(e, perm);
  });
}

Array transpose(Arg a, std::vector<int> perm) {
  return one("transpose", a, [&](ir::Expr e) {
    std::vector<int64_t> axes;
    for (int p : perm) axes.push_back(normal_axis("transpose", p, e.type(), e.rank()));
    return ir::transpose(e, axes);
  });
}

Array broadcast_to(Arg a, Shape shape) {
  return one("broadcast_to", a, [&](ir::Expr e) { return ir::broadcast_to(e, shape); });
}

Array replicate(Arg a, int64_t n, int axis) {
  return one("replicate", a, [&](ir::Expr e) {
    check_rank("replicate", e.shape(), 1);
    return ir::replicate(e, normal_axis("replicate", axis, e.type(), e.rank() + 1), n);
  });
}

Array concatenate(ArgList parts, int axis) {
  return operation("concatenate", parts.args, Numbers::Together, parts.loc, [&](ir::Graph&, Operands in) {
    if (in.empty()) throw bad("concatenate", "needs at least one array");
    return ir::concat(in, normal_axis("concatenate", axis, in[0].type(), in[0].rank()));
  });
}

Array append(Arg a, Arg b, int axis) {
  const Arg args[] = {a, b};
  return operation("append", args, Numbers::Together, a.loc, [&](ir::Graph&, Operands in) {
    return ir::concat(in, normal_axis("append", axis, in[0].type(), in[0].rank()));
  });
}

Array stack(ArgList parts, int axis) {
  return operation("stack", parts.args, Numbers::Together, parts.loc, [&](ir::Graph&, Operands in) {
    if (in.empty()) throw bad("stack", "needs at least one array");
    check_rank("stack", in[0].shape(), 1);
    return ir::stack(in, normal_axis("stack", axis, in[0].type(), in[0].rank() + 1));
  });
}

Array slice(Arg a, int64_t start, int64_t stop, int axis) {
  return one("slice", a, [&](ir::Expr e) {
    const int along = normal_axis("slice", axis, e.type(), e.rank());
    if (start < 0 || stop < start || stop > e.shape()[along])
      throw bad("slice", std::to_string(start) + " to " + std::to_string(stop) + " is not inside axis " +
                             std::to_string(along) + " of " + to_string(e.type()))
          .hint("window(a, first, length) reads 0 outside of the array");
    return ir::window(e, along, start, stop - start);
  });
}

Array window(Arg a, int64_t first, int64_t length, int axis) {
  return one("window", a,
             [&](ir::Expr e) { return ir::window(e, normal_axis("window", axis, e.type(), e.rank()), first, length); });
}

Array reverse(Arg a, int axis) {
  return one("reverse", a, [&](ir::Expr e) { return ir::reverse(e, normal_axis("reverse", axis, e.type(), e.rank())); });
}

Array gather(Arg table, ArgList index) {
  index.args.insert(index.args.begin(), table);
  return operation("gather", index.args, Numbers::Alone, table.loc,
                   [](ir::Graph&, Operands in) { return ir::gather_broadcast(in[0], in.subspan(1)); });
}

Array scatter(Arg updates, ArgList index, Shape addressed) {
  index.args.insert(index.args.begin(), updates);
  return operation("scatter", index.args, Numbers::Alone, updates.loc,
                   [&](ir::Graph&, Operands in) { return ir::scatter_broadcast(in[0], in.subspan(1), addressed); });
}

Array one_hot(Arg index, int64_t n, DType dtype) {
  return one("one_hot", index, [&](ir::Expr e) { return ir::one_hot(e, n, dtype); });
}

}  // namespace spirograd
