#include "frontend/ir/composite.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "frontend/ir/arguments.h"
#include "frontend/ir/make_node.h"

namespace spirograd::ir {
namespace {

// Axes of `shape` that are not in `axes`.
std::vector<int64_t> other_axes(const Shape& shape, std::span<const int64_t> axes) {
  std::vector<int64_t> kept;
  for (int64_t j = 0; j < shape.rank(); ++j)
    if (std::find(axes.begin(), axes.end(), j) == axes.end()) kept.push_back(j);
  return kept;
}

bool over_nothing(Expr a, std::span<const int64_t> axes) {
  return std::any_of(axes.begin(), axes.end(), [&](int64_t axis) { return a.shape()[static_cast<int>(axis)] == 0; });
}

// A reduction over nothing is a number: it has no derivative in any mode.
Expr of_nothing(Expr a, std::span<const int64_t> axes, double value) {
  Type t = a.type();
  t.shape = Shape{};
  for (int64_t j : other_axes(a.shape(), axes)) t.shape.push_back(a.shape()[static_cast<int>(j)]);
  return full(*a.graph, t, value);
}

// max + log(1 + exp(min - max)): nothing overflows, and nothing is lost where the two are far apart. The two are told apart
// by one comparison, so that equal ones have the weights 1 - 1/2 and 1/2.
Expr log_add_exp_equal_shapes(Expr a, Expr b) {
  const Expr first = binary(Op::Ge, a, b), most = select(first, a, b), least = select(first, b, a);
  const Expr same_infinity = both(binary(Op::Eq, a, b), binary(Op::Eq, unary(Op::Abs, a), infinite_like(a)));
  const Expr gap = select(same_infinity, full_like(a, 0), least - most);
  return most + unary(Op::Log1p, unary(Op::Exp, gap));
}

std::vector<int64_t> first_axes(int n) {
  std::vector<int64_t> axes;
  for (int64_t j = 0; j < n; ++j) axes.push_back(j);
  return axes;
}

}  // namespace

std::vector<Expr> broadcast_together(std::span<const Expr> parts, std::string_view what) {
  Shape s;
  for (Expr p : parts) s = broadcast_shapes(s, p.shape(), what);
  std::vector<Expr> out;
  for (Expr p : parts) out.push_back(broadcast_to(p, s));
  return out;
}

Expr function_of(Op op, Expr a) {
  if (has_flag(op, kFloatOnly) && !is_float(a.dtype()))
    throw Error("SG0101", std::string(name(op)) + ": needs floats, not " + to_string(a.type())).hint("cast to f32 first");
  return unary(op, a);
}

Expr binary_broadcast(Op op, Expr a, Expr b) {
  if (op == Op::Div && a.dtype() == b.dtype() && is_integer(a.dtype()))
    throw Error("SG0101", "div: / divides floats, not " + to_string(a.type()))
        .hint("quot(a, b) and rem(a, b) divide integers; cast to f32 for a float");
  if (op == Op::Quot && a.dtype() == b.dtype() && is_float(a.dtype()))
    throw Error("SG0101", "quot: divides integers, not " + to_string(a.type())).hint("use /");
  if (a.dtype() != b.dtype())
    throw Error("SG0101", std::string(name(op)) + ": element types of " + to_string(a.type()) + " and " +
                              to_string(b.type()) + " differ")
        .hint("element types never convert by themselves: cast one side");
  const Shape s = broadcast_shapes(a.shape(), b.shape(), name(op));
  return binary(op, broadcast_to(a, s), broadcast_to(b, s));
}

Expr select_broadcast(Expr mask, Expr a, Expr b, std::string_view what) {
  if (mask.dtype() != DType::Bool)
    throw Error("SG0102", std::string(what) + ": the mask must be bool, not " + to_string(mask.type()));
  if (a.dtype() != b.dtype())
    throw Error("SG0101",
                std::string(what) + ": element types of " + to_string(a.type()) + " and " + to_string(b.type()) + " differ")
        .hint("element types never convert by themselves: cast one side");
  const Shape s = broadcast_shapes(mask.shape(), broadcast_shapes(a.shape(), b.shape(), what), what);
  return select(broadcast_to(mask, s), broadcast_to(a, s), broadcast_to(b, s));
}

Expr cond(Expr condition, Expr a, Expr b) {
  if (condition.type() != boolean())
    throw Error("SG0101", "cond: the condition must be one bool, not " + to_string(condition.type()))
        .hint("where(mask, a, b) chooses element by element");
  return select_broadcast(condition, a, b, "cond");
}

Expr gather_broadcast(Expr table, std::span<const Expr> index) { return gather(table, broadcast_together(index, "index")); }

Expr scatter_broadcast(Expr updates, std::span<const Expr> index, Shape addressed) {
  const std::vector<Expr> together = broadcast_together(index, "scatter");
  if (updates.rank() == 0 && !together.empty()) updates = broadcast_to(updates, together[0].shape());
  return scatter(updates, together, addressed);
}

std::vector<int64_t> all_axes(Expr a) { return first_axes(a.rank()); }

Expr restore_axes(Expr reduced, const Shape& shape, std::span<const int64_t> axes) {
  if (axes.empty()) return reduced;
  return broadcast(reduced, shape, other_axes(shape, axes));
}

Expr keep_dims(Expr reduced, const Shape& shape, std::span<const int64_t> axes) {
  if (axes.empty()) return reduced;
  Shape kept = shape;
  for (int64_t a : axes) kept[static_cast<int>(a)] = 1;
  return reshape(reduced, kept);
}

Expr reduction(Op op, std::string_view what, Expr a, std::span<const int64_t> axes) {
  if (a.dtype() == DType::Bool)
    throw Error("SG0101", std::string(what) + ": not defined for " + to_string(a.type()))
        .hint("any and all reduce bools; cast to i32 to count them");
  return reduce(op, a, axes);
}

namespace {

// The larger of 0 and 1 is 1. The extremes of nothing are the least and the greatest integer: any is false, all true.
Expr reduced_mask(Op op, const char* what, Expr mask, std::span<const int64_t> axes) {
  if (mask.dtype() != DType::Bool)
    throw Error("SG0102", std::string(what) + ": needs a bool array, not " + to_string(mask.type()));
  const Expr r = reduce(op, cast(mask, DType::I32), axes);
  return binary(Op::Gt, r, full_like(r, 0));
}

}  // namespace

Expr any(Expr mask, std::span<const int64_t> axes) { return reduced_mask(Op::ReduceMax, "any", mask, axes); }
Expr all(Expr mask, std::span<const int64_t> axes) { return reduced_mask(Op::ReduceMin, "all", mask, axes); }

Expr mean(Expr a, std::span<const int64_t> axes) {
  require_float(a, "mean");
  if (over_nothing(a, axes)) return of_nothing(a, axes, std::numeric_limits<double>::quiet_NaN());
  double n = 1;
  const Expr total = reduce(Op::Sum, a, axes);
  for (int64_t axis : axes) n *= static_cast<double>(a.shape()[static_cast<int>(axis)]);
  return total / full_like(total, n);
}

namespace {

double largest(DType t) {
  return t == DType::F64 ? std::numeric_limits<double>::max() : static_cast<double>(std::numeric_limits<float>::max());
}

// The operand, if the other one is this number everywhere.
NodeId bounded_by(const Graph& g, NodeId id, Op op, double bound) {
  const Node& n = g[id];
  if (n.op != op) return {};
  const Node* c = &g[n.in[1]];
  if (c->op == Op::Broadcast) c = &g[c->in[0]];
  return c->op == Op::Const && std::ranges::all_of(c->data, [&](double x) { return x == bound; }) ? n.in[0] : NodeId{};
}

}  // namespace

Expr finite_max(Expr a, std::span<const int64_t> axes) {
  const Expr m = reduce(Op::ReduceMax, a, axes), most = full_like(m, largest(m.dtype()));
  return unary(Op::StopGradient, binary(Op::Max, binary(Op::Min, m, most), full_like(m, -largest(m.dtype()))));
}

std::optional<RowMaximum> row_maximum(const Graph& g, NodeId id) {
  if (g[id].op == Op::StopGradient) id = g[id].in[0];
  const double most = largest(g[id].type.dtype);
  const NodeId below = bounded_by(g, id, Op::Max, -most), m = below ? bounded_by(g, below, Op::Min, most) : id;
  if (!m || g[m].op != Op::ReduceMax) return std::nullopt;
  return RowMaximum{g[m].in[0], {g[m].attr.begin(), g[m].attr.end()}, m != id};
}

Expr log_sum_exp(Expr a, std::span<const int64_t> axes) {
  require_float(a, "logsumexp");
  if (over_nothing(a, axes)) return of_nothing(a, axes, -std::numeric_limits<double>::infinity());
  const Expr m = finite_max(a, axes);
  const Expr shifted = unary(Op::Exp, a - restore_axes(m, a.shape(), axes));
  return unary(Op::Log, reduce(Op::Sum, shifted, axes)) + m;
}

Expr softmax(Expr a, std::span<const int64_t> axes) {
  require_float(a, "softmax");
  const Expr e = unary(Op::Exp, a - restore_axes(finite_max(a, axes), a.shape(), axes));
  return e / restore_axes(reduce(Op::Sum, e, axes), a.shape(), axes);
}

// The maximum is not added back: that would round away what is small beside it.
Expr log_softmax(Expr a, std::span<const int64_t> axes) {
  require_float(a, "log_softmax");
  const Expr shifted = a - restore_axes(finite_max(a, axes), a.shape(), axes);
  const Expr log_sum = unary(Op::Log, reduce(Op::Sum, unary(Op::Exp, shifted), axes));
  return shifted - restore_axes(log_sum, a.shape(), axes);
}

Expr log_add_exp(Expr a, Expr b) {
  require_float(a, "logaddexp");
  if (a.dtype() != b.dtype())
    throw Error("SG0101", "logaddexp: element types of " + to_string(a.type()) + " and " + to_string(b.type()) + " differ")
        .hint("element types never convert by themselves: cast one side");
  const Shape s = broadcast_shapes(a.shape(), b.shape(), "logaddexp");
  return log_add_exp_equal_shapes(broadcast_to(a, s), broadcast_to(b, s));
}

Expr softplus(Expr a) {
  require_float(a, "softplus");
  const Expr above = binary(Op::Ge, a, full_like(a, 0));
  const Expr minus_magnitude = select(above, -a, a);
  return select(above, a, full_like(a, 0)) + unary(Op::Log1p, unary(Op::Exp, minus_magnitude));
}

Expr arg_reduce_all(Op op, Expr a) { return arg_reduce(op, a.rank() == 1 ? a : reshape(a, {a.shape().count()}), 0); }

Expr arg_reduction(Op op, Expr a, std::optional<int64_t> axis, bool keepdims) {
  std::vector<int64_t> along = all_axes(a);
  if (axis) along = {normal_axis(name(op), *axis, a.type())};
  const Expr r = axis ? arg_reduce(op, a, static_cast<int>(along[0])) : arg_reduce_all(op, a);
  return keepdims ? keep_dims(r, a.shape(), along) : r;
}

Expr square(Expr a) { return a * a; }

Expr recip(Expr a) { return full_like(a, 1) / a; }

Expr relu(Expr a) { return binary(Op::Max, full_like(a, 0), a); }

Expr leaky_relu(Expr a, double slope) {
  require_float(a, "leaky_relu");
  if (a.dtype() == DType::F32) slope = static_cast<float>(slope);
  return a * select(binary(Op::Gt, a, full_like(a, 0)), full_like(a, 1), full_like(a, slope));
}

Expr floor_to_int(Expr a) {
  if (is_integer(a.dtype())) return cast(a, DType::I32);
  return cast(unary(Op::Floor, a), DType::I32);
}

Expr one_hot(Expr index, int64_t n, DType t) {
  if (index.dtype() != DType::I32) throw Error("SG0101", "one_hot: an index must be i32, not " + to_string(index.type()));
  if (index.rank() + 1 > kMaxRank) throw Error("SG0101", "one_hot: the rank of " + to_string(index.type()) + " is too high");
  const int axis = index.rank();
  const Expr wide = replicate(index, axis, n);
  return cast(binary(Op::Eq, wide, iota(*index.graph, wide.shape(), axis)), t);
}

Expr copies(Expr a, int64_t n, int64_t axis) {
  if (n < 0) throw Error("SG0101", "replicate: negative count " + std::to_string(n));
  check_rank(a.rank() + 1, "replicate");
  return replicate(a, normal_axis("replicate", axis, a.type(), a.rank() + 1), n);
}

Expr stacked(std::span<const Expr> parts, int64_t axis) {
  if (parts.empty()) throw Error("SG0101", "stack: needs at least one array");
  check_rank(parts[0].rank() + 1, "stack");
  return stack(parts, normal_axis("stack", axis, parts[0].type(), parts[0].rank() + 1));
}

Expr slice(Expr a, int axis, int64_t start, int64_t stop) {
  if (start < 0 || stop < start || stop > a.shape()[axis])
    throw Error("SG0101", "slice: " + std::to_string(start) + " to " + std::to_string(stop) + " is not inside axis " +
                              std::to_string(axis) + " of " + to_string(a.type()))
        .hint("window reads 0 outside of the array");
  return window(a, axis, start, stop - start);
}

Expr outer(Expr a, Expr b) {
  if (a.rank() != 1 || b.rank() != 1)
    throw Error("SG0101", "outer: needs two vectors, not " + to_string(a.type()) + " and " + to_string(b.type()));
  if (a.dtype() != b.dtype())
    throw Error("SG0101", "outer: element types of " + to_string(a.type()) + " and " + to_string(b.type()) + " differ");
  const Shape s = a.shape() + b.shape();
  return broadcast(a, s, {0}) * broadcast(b, s, {1});
}

Expr dot(Expr a, Expr b) {
  if (a.rank() != 1 || b.rank() != 1)
    throw Error("SG0101", "dot: needs two vectors, not " + to_string(a.type()) + " and " + to_string(b.type()))
        .hint("matmul multiplies matrices; sum(a * b) is the inner product of any two arrays");
  if (a.type() != b.type()) throw Error("SG0101", "dot: " + to_string(a.type()) + " and " + to_string(b.type()) + " differ");
  return sum(a * b, 0);
}

Expr matmul(Expr a, Expr b) {
  const auto bad = [&](const std::string& why) {
    return Error("SG0101", "matmul: " + to_string(a.type()) + " times " + to_string(b.type()) + ": " + why);
  };
  if (a.rank() == 0 || b.rank() == 0) throw bad("both need at least one axis").hint("use * to scale by a number");
  if (a.dtype() != b.dtype()) throw bad("the element types differ");
  const bool row = a.rank() == 1, column = b.rank() == 1;
  const Shape a_batch = row ? Shape{} : a.shape().slice(0, a.rank() - 2);
  const Shape b_batch = column ? Shape{} : b.shape().slice(0, b.rank() - 2);
  const int64_t k = a.shape()[a.rank() - 1], kb = b.shape()[column ? 0 : b.rank() - 2];
  if (k != kb) throw bad("the inner extents " + std::to_string(k) + " and " + std::to_string(kb) + " differ");
  const Shape batch = broadcast_shapes(a_batch, b_batch, "matmul");
  if (batch.rank() + 3 > kMaxRank) throw bad("too many axes");
  const Shape a_part = row ? Shape{k} : Shape{a.shape()[a.rank() - 2], k};
  const Shape b_part = column ? Shape{k} : Shape{k, b.shape()[b.rank() - 1]};
  const Shape product = batch + (row ? Shape{} : a_part.slice(0, 1)) + b_part;
  const int inner = batch.rank() + (row ? 0 : 1);
  std::vector<int64_t> a_axes = first_axes(inner + 1), b_axes = first_axes(batch.rank());
  for (int j = 0; j < b_part.rank(); ++j) b_axes.push_back(inner + j);
  // A vector has no batch axes of its own: it enters every matrix of the other side.
  if (row) a_axes = {inner};
  if (column) b_axes = {inner};
  const Expr left = row ? a : broadcast_to(a, batch + a_part), right = column ? b : broadcast_to(b, batch + b_part);
  const Expr wide_left = left.shape() == product ? left : broadcast(left, product, a_axes);
  const Expr wide_right = right.shape() == product ? right : broadcast(right, product, b_axes);
  return sum(wide_left * wide_right, inner);
}

double extreme_of(DType t, bool greatest) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (is_float(t)) return greatest ? infinity : -infinity;
  if (t == DType::U32) return greatest ? 4294967295.0 : 0;
  return greatest ? 2147483647.0 : -2147483648.0;
}

Parts parts_along(std::string_view what, std::span<const Expr> arrays, std::span<const std::optional<int64_t>> axes,
                  Expr i) {
  Parts out{{}, -1};
  for (size_t j = 0; j < arrays.size(); ++j) {
    const Expr x = arrays[j];
    if (!axes[j]) {
      out.parts.push_back(x);
      continue;
    }
    if (*axes[j] < 0 || *axes[j] >= x.rank())
      throw Error("SG0101", std::string(what) + ": an argument is " + to_string(x.type()) + " and has no axis " +
                                std::to_string(*axes[j]));
    const int axis = static_cast<int>(*axes[j]);
    const int64_t n = x.shape()[axis];
    if (out.extent >= 0 && out.extent != n)
      throw Error("SG0101", std::string(what) + ": arguments are split into " + std::to_string(out.extent) + " and into " +
                                std::to_string(n));
    out.extent = n;
    out.parts.push_back(gather(move_axis(x, axis, 0), {&i, 1}));
  }
  if (out.extent < 0) throw Error("SG0404", std::string(what) + ": no argument is split");
  return out;
}

Expr stacked(std::string_view what, Expr part, Expr i, int64_t extent, std::optional<int64_t> axis) {
  if (!axis || *axis < 0 || *axis > part.rank())
    throw Error("SG0101", std::string(what) + ": results like " + to_string(part.type()) + " cannot be stacked along " +
                              (axis ? "an axis " + std::to_string(*axis) : "no axis"));
  return move_axis(build(extent, i, part), 0, static_cast<int>(*axis));
}

Expr scan_rows(Expr start, Expr stack) {
  const Expr parts[] = {replicate(start, 0, 1), stack};
  return concat(parts, 0);
}

}  // namespace spirograd::ir
