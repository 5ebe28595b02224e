// Typed constructors of leaves, of pointwise operations, of reductions and of indexed operations; and of any node again,
// with other operands.
#include "frontend/ir/algebra.h"
#include "frontend/ir/by_kernel.h"

#include <algorithm>

#include "frontend/ir/make_node.h"

namespace spirograd::ir {
namespace {

std::string op_name(Op op) { return std::string(name(op)); }

Shape without_axes(const Shape& s, std::span<const int64_t> axes) {
  Shape out;
  for (int a = 0; a < s.rank(); ++a)
    if (std::find(axes.begin(), axes.end(), a) == axes.end()) out.push_back(s[a]);
  return out;
}

}  // namespace

// ---- leaves ----------------------------------------------------------------------------------------------------------

Expr param(Graph& g, int64_t slot, Type type) { return make(g, {Op::Param, type, {}, {slot}, {}}); }

Expr constant(Graph& g, Type type, std::vector<double> data) {
  checked(type.shape, "const");
  if (type.dtype == DType::F16) fail("const: not defined for f16");
  if (static_cast<int64_t>(data.size()) != type.shape.count())
    fail("const: " + std::to_string(data.size()) + " values for " + to_string(type));
  return make(g, {Op::Const, type, {}, {}, std::move(data)});
}

Expr scalar(Graph& g, DType t, double value) { return constant(g, {t, {}}, {value}); }

Expr full(Graph& g, Type type, double value) {
  if (type.dtype == DType::F16) return cast(full(g, computed_as(type), value), type.dtype);
  Expr s = scalar(g, type.dtype, value);
  return type.shape.rank() == 0 ? s : broadcast(s, type.shape, {});
}

Expr zeros(Graph& g, Type type) { return full(g, type, 0); }

Expr full_like(Expr a, double value) { return full(*a.graph, a.type(), value); }

Expr iota(Graph& g, Shape shape, int axis) {
  checked(shape, "iota");
  check_axis(axis, shape.rank(), "iota");
  return make(g, {Op::Iota, i32(shape), {}, {axis}, {}});
}

Expr index_var(Graph& g, int64_t level, int64_t extent) {
  if (level < 0 || level > 63) fail("build: more than 64 nested builds");
  return make(g, {Op::IndexVar, i32(), {}, {level, extent}, {}});
}

Expr fresh_var(Graph& g, Type type) { return make(g, {Op::Var, type, {}, {g.fresh()}, {}}); }

// ---- pointwise -------------------------------------------------------------------------------------------------------

Expr unary(Op op, Expr a) {
  if (op == Op::Bits) return bits(a);
  if (op == Op::FromBits) return from_bits(a);
  check_dtype(op, a.dtype());
  return make1(op, a.type(), a);
}

Expr binary(Op op, Expr a, Expr b) {
  if (a.type() != b.type()) {
    if (a.dtype() != b.dtype())
      fail(op_name(op) + ": element types of " + to_string(a.type()) + " and " + to_string(b.type()) + " differ");
    fail(op_name(op) + ": shapes " + to_string(a.type()) + " and " + to_string(b.type()) + " differ");
  }
  check_dtype(op, a.dtype());
  Type t = a.type();
  if (has_flag(op, kPredicate)) t.dtype = DType::Bool;
  const Expr in[] = {a, b};
  return make(op, t, in);
}

Expr select(Expr mask, Expr a, Expr b) {
  if (mask.dtype() != DType::Bool) fail("select: the mask must be bool, not " + to_string(mask.type()));
  if (a.type() != b.type() || mask.shape() != a.shape())
    fail("select: types " + to_string(mask.type()) + ", " + to_string(a.type()) + " and " + to_string(b.type()) + " differ");
  const Expr in[] = {mask, a, b};
  return make(Op::Select, a.type(), in);
}

Expr cast(Expr a, DType t) {
  if (a.dtype() == t) return a;
  return make1(Op::Cast, {t, a.shape()}, a);
}

Expr bits(Expr a) {
  if (a.dtype() != DType::F32) fail("bits: " + to_string(a.type()) + " is no f32");
  return make1(Op::Bits, {DType::U32, a.shape()}, a);
}

Expr from_bits(Expr a) {
  if (a.dtype() != DType::U32) fail("from_bits: " + to_string(a.type()) + " is no u32");
  return make1(Op::FromBits, {DType::F32, a.shape()}, a);
}

Expr as_read(Expr a) { return cast(a, computed_as(a.dtype())); }

Expr as_stored(Expr a) { return a.op() == Op::Cast && a.in(0).dtype() == DType::F16 ? a.in(0) : a; }

Expr converted(Expr a, DType t) { return as_read(cast(t == DType::F16 ? as_stored(a) : a, t)); }

// ---- reductions ------------------------------------------------------------------------------------------------------

Expr reduce(Op op, Expr a, std::span<const int64_t> axes) {
  check_dtype(op, a.dtype());
  if (axes.empty()) return a;
  for (size_t j = 0; j < axes.size(); ++j) {
    check_axis(axes[j], a.rank(), name(op));
    if (j > 0 && axes[j] <= axes[j - 1]) fail(op_name(op) + ": axes must increase");
  }
  return make1(op, {a.dtype(), without_axes(a.shape(), axes)}, a, {axes.begin(), axes.end()});
}

Expr reduce(Op op, Expr a, std::initializer_list<int64_t> axes) {
  return reduce(op, a, std::span<const int64_t>(axes.begin(), axes.size()));
}

Expr sum(Expr a, int axis) { return reduce(Op::Sum, a, {axis}); }

Expr sum_all(Expr a) {
  std::vector<int64_t> axes;
  for (int j = 0; j < a.rank(); ++j) axes.push_back(j);
  return reduce(Op::Sum, a, axes);
}

Expr arg_reduce(Op op, Expr a, int axis) {
  check_dtype(op, a.dtype());
  check_axis(axis, a.rank(), name(op));
  if (a.shape()[axis] == 0)
    fail(op_name(op) + ": axis " + std::to_string(axis) + " of " + to_string(a.type()) + " is empty");
  return make1(op, i32(a.shape().erased(axis)), a, {axis});
}

// ---- indexed ---------------------------------------------------------------------------------------------------------

namespace {
void check_index(Op op, std::span<const Expr> index) {
  if (index.empty()) fail(op_name(op) + ": needs at least one index");
  for (Expr e : index) {
    if (e.dtype() != DType::I32) fail(op_name(op) + ": an index must be i32, not " + to_string(e.type()));
    if (e.shape() != index[0].shape())
      fail(op_name(op) + ": index shapes " + to_string(index[0].shape()) + " and " + to_string(e.shape()) + " differ");
  }
}
}  // namespace

Expr gather(Expr table, std::span<const Expr> index) {
  check_index(Op::Gather, index);
  const int p = static_cast<int>(index.size());
  if (p > table.rank()) fail("gather: " + std::to_string(p) + " indices into " + to_string(table.type()));
  const Shape m = index[0].shape();
  check_rank(m.rank() + table.rank() - p, "gather");
  std::vector<Expr> in = {table};
  in.insert(in.end(), index.begin(), index.end());
  return make(Op::Gather, {table.dtype(), checked(m + table.shape().slice(p, table.rank()), "gather")}, in);
}

Expr scatter_by(Op op, Expr updates, std::span<const Expr> index, Shape addressed) {
  if (op == Op::Scatter && updates.dtype() == DType::Bool) fail("scatter: bool values cannot be added");
  if (op == Op::ScatterMax && updates.dtype() != DType::U32)
    fail("scatter_max: needs u32, not " + to_string(updates.type()));
  check_index(op, index);
  if (static_cast<int>(index.size()) != addressed.rank())
    fail(op_name(op) + ": " + std::to_string(index.size()) + " indices for target axes " + to_string(addressed));
  const Shape m = index[0].shape();
  if (updates.rank() < m.rank() || updates.shape().slice(0, m.rank()) != m)
    fail(op_name(op) + ": updates " + to_string(updates.type()) + " do not begin with the index shape " + to_string(m));
  const Shape n = updates.shape().slice(m.rank(), updates.rank());
  check_rank(addressed.rank() + n.rank(), name(op));
  std::vector<Expr> in = {updates};
  in.insert(in.end(), index.begin(), index.end());
  return make(op, {updates.dtype(), checked(addressed + n, name(op))}, in, {addressed.begin(), addressed.end()});
}

Expr scatter(Expr updates, std::span<const Expr> index, Shape addressed) {
  return scatter_by(Op::Scatter, updates, index, addressed);
}

Expr scatter_max(Expr updates, std::span<const Expr> index, Shape addressed) {
  return scatter_by(Op::ScatterMax, updates, index, addressed);
}

namespace {

Expr pointwise_of(const Node& n, std::span<const Expr> in) {
  if (n.op == Op::Cast) return cast(in[0], n.type.dtype);
  if (n.op == Op::Select) return select(in[0], in[1], in[2]);
  return info(n.op).arity == 1 ? unary(n.op, in[0]) : binary(n.op, in[0], in[1]);
}

}  // namespace

Expr with_rule(Op op, Expr value, int64_t function, std::span<const Expr> xs, std::span<const Expr> consts) {
  Graph& g = *value.graph;
  const Function& f = g.function(function);
  Node n;
  n.op = op;
  n.type = value.type();
  n.attr = {function, static_cast<int64_t>(xs.size())};
  n.in = {value.id};
  std::vector<Type> takes, gives, arguments;
  for (std::span<const Expr> part : {xs, consts})
    for (Expr e : part) {
      n.in.push_back(e.id);
      takes.push_back(e.type());
    }
  for (Expr x : xs) arguments.push_back(x.type());
  for (NodeId r : f.results) gives.push_back(g[r].type);
  const std::vector<Type> result = {n.type};
  const bool forward = op == Op::WithJvp;
  const std::vector<Type>&from = forward ? arguments : result, &to = forward ? result : arguments;
  takes.insert(takes.end(), from.begin(), from.end());
  const bool floats = std::all_of(xs.begin(), xs.end(), [](Expr x) { return is_float(x.dtype()); });
  if (!is_float(n.type.dtype) || !floats || xs.empty() || f.params != takes || gives != to)
    throw Error("SG0101", std::string(name(op)) + ": the function does not take " +
                              (forward ? "tangents of the arguments to that of " : "the cotangent of ") + to_string(n.type) +
                              (forward ? "" : " to those of the arguments"));
  return make(g, std::move(n));
}

Expr with_operands(Graph& g, const Node& n, std::span<const Expr> in) {
  switch (kind(n.op)) {
    case Kind::Leaf: return {&g, g.intern(n)};
    case Kind::Pointwise: return pointwise_of(n, in);
    case Kind::Layout: return layout_with(n, in);
    case Kind::Reduce:
      if (finds_place(n.op)) return arg_reduce(n.op, in[0], static_cast<int>(n.attr[0]));
      return reduce(n.op, in[0], n.attr);
    case Kind::Indexed:
      return n.op == Op::Gather ? gather(in[0], in.subspan(1)) : scatter_by(n.op, in[0], in.subspan(1), Shape(n.attr));
    case Kind::Binder: return build_at(n.attr[0], n.attr[1], in[0]);
    case Kind::Rule: {
      if (n.op == Op::ByKernel) return by_kernel(in[0], own_kernel(n), in.subspan(1));
      const auto n_xs = static_cast<size_t>(n.attr[1]);
      return with_rule(n.op, in[0], n.attr[0], in.subspan(1, n_xs), in.subspan(1 + n_xs));
    }
    case Kind::Loop: {
      Node copy = n;
      for (size_t j = 0; j < in.size(); ++j) copy.in[j] = in[j].id;
      return {&g, g.intern(std::move(copy))};
    }
  }
  return {};
}

}  // namespace spirograd::ir
