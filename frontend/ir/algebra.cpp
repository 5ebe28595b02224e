#include "frontend/ir/algebra.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/ir/traverse.h"

namespace spirograd::ir {
namespace {

constexpr int64_t kMaxCount = int64_t{1} << 62;

[[noreturn]] void fail(std::string what) { throw Error("SG0101", std::move(what)); }

std::string op_name(Op op) { return std::string(name(op)); }

Shape checked(const Shape& s, std::string_view what) {
  int64_t n = 1;
  for (int64_t d : s) {
    if (d < 0) fail(std::string(what) + ": negative extent in " + to_string(s));
    if (d != 0 && n > kMaxCount / d) fail(std::string(what) + ": shape " + to_string(s) + " has too many elements");
    n *= std::max<int64_t>(d, 1);
  }
  return s;
}

void check_rank(int rank, std::string_view what) {
  if (rank > kMaxRank)
    fail(std::string(what) + ": rank " + std::to_string(rank) + " is above the limit of " + std::to_string(kMaxRank));
}

void check_axis(int64_t axis, int rank, std::string_view what) {
  if (axis < 0 || axis >= rank)
    fail(std::string(what) + ": axis " + std::to_string(axis) + " does not exist in an array of rank " +
         std::to_string(rank));
}

Graph& graph_of(Expr a) { return *a.graph; }

Expr make(Graph& g, Node n) { return {&g, g.intern(std::move(n))}; }

Expr make(Op op, Type type, std::span<const Expr> in, std::vector<int64_t> attr = {}) {
  Node n;
  n.op = op;
  n.type = type;
  n.in.reserve(in.size());
  for (const Expr& e : in) n.in.push_back(e.id);
  n.attr = std::move(attr);
  return make(graph_of(in[0]), std::move(n));
}

Expr make1(Op op, Type type, Expr a, std::vector<int64_t> attr = {}) { return make(op, type, {&a, 1}, std::move(attr)); }

void check_dtype(Op op, DType t) {
  const bool ok = is_float(t)        ? !has_flag(op, kBoolOk) || has_flag(op, kIntegerOk)
                  : t == DType::Bool ? has_flag(op, kBoolOk)
                                     : has_flag(op, kIntegerOk);
  if (!ok) fail(op_name(op) + ": not defined for " + std::string(name(t)));
}

Shape without_axes(const Shape& s, std::span<const int64_t> axes) {
  Shape out;
  for (int a = 0; a < s.rank(); ++a)
    if (std::find(axes.begin(), axes.end(), a) == axes.end()) out.push_back(s[a]);
  return out;
}

// Highest level of a Build below `root` that depends on a placeholder, -1 if there is none. Closed builds do not matter:
// their index is bound inside of them, whatever its level.
int64_t highest_open_build(const Graph& g, NodeId root) {
  int64_t level = -1;
  for (NodeId id : open_postorder(g, {&root, 1}))
    if (g[id].op == Op::Build && g[id].has_var) level = std::max(level, g[id].attr[0]);
  return level;
}

}  // namespace

// ---- leaves ----------------------------------------------------------------------------------------------------------

Expr param(Graph& g, int64_t slot, Type type) { return make(g, {Op::Param, type, {}, {slot}, {}}); }

Expr constant(Graph& g, Type type, std::vector<double> data) {
  checked(type.shape, "const");
  if (static_cast<int64_t>(data.size()) != type.shape.count())
    fail("const: " + std::to_string(data.size()) + " values for " + to_string(type));
  return make(g, {Op::Const, type, {}, {}, std::move(data)});
}

Expr scalar(Graph& g, DType t, double value) { return constant(g, {t, {}}, {value}); }

Expr full(Graph& g, Type type, double value) {
  Expr s = scalar(g, type.dtype, value);
  return type.shape.rank() == 0 ? s : broadcast(s, type.shape, {});
}

Expr zeros(Graph& g, Type type) { return full(g, type, 0); }

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
  if (op == Op::Quot && is_float(a.dtype())) fail("quot: not defined for " + std::string(name(a.dtype())));
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

// ---- layout ----------------------------------------------------------------------------------------------------------

Expr broadcast(Expr a, Shape result, std::span<const int64_t> axes) {
  checked(result, "broadcast");
  if (static_cast<int>(axes.size()) != a.rank())
    fail("broadcast: " + std::to_string(axes.size()) + " axes for an operand of rank " + std::to_string(a.rank()));
  for (size_t j = 0; j < axes.size(); ++j) {
    check_axis(axes[j], result.rank(), "broadcast");
    if (j > 0 && axes[j] <= axes[j - 1]) fail("broadcast: axes must increase");
    if (result[static_cast<int>(axes[j])] != a.shape()[static_cast<int>(j)])
      fail("broadcast: " + to_string(a.type()) + " does not fit into " + to_string(result));
  }
  return make1(Op::Broadcast, {a.dtype(), result}, a, {axes.begin(), axes.end()});
}

Expr broadcast(Expr a, Shape result, std::initializer_list<int64_t> axes) {
  return broadcast(a, result, std::span<const int64_t>(axes.begin(), axes.size()));
}

Expr replicate(Expr a, int axis, int64_t n) {
  check_rank(a.rank() + 1, "broadcast");
  std::vector<int64_t> axes;
  for (int j = 0; j < a.rank(); ++j) axes.push_back(j < axis ? j : j + 1);
  return broadcast(a, a.shape().inserted(axis, n), axes);
}

Expr transpose(Expr a, std::span<const int64_t> perm) {
  if (static_cast<int>(perm.size()) != a.rank())
    fail("transpose: " + std::to_string(perm.size()) + " axes for " + to_string(a.type()));
  Shape s;
  std::vector<bool> used(perm.size(), false);
  for (int64_t p : perm) {
    check_axis(p, a.rank(), "transpose");
    if (used[static_cast<size_t>(p)]) fail("transpose: axis " + std::to_string(p) + " stands twice");
    used[static_cast<size_t>(p)] = true;
    s.push_back(a.shape()[static_cast<int>(p)]);
  }
  return make1(Op::Transpose, {a.dtype(), s}, a, {perm.begin(), perm.end()});
}

Expr transpose(Expr a, std::initializer_list<int64_t> perm) {
  return transpose(a, std::span<const int64_t>(perm.begin(), perm.size()));
}

Expr move_axis(Expr a, int from, int to) {
  if (from == to) return a;
  std::vector<int64_t> perm;
  for (int j = 0; j < a.rank(); ++j)
    if (j != from) perm.push_back(j);
  perm.insert(perm.begin() + to, from);
  return transpose(a, perm);
}

Expr reshape(Expr a, Shape shape) {
  checked(shape, "reshape");
  if (shape.count() != a.shape().count())
    fail("reshape: " + to_string(a.type()) + " has " + std::to_string(a.shape().count()) + " elements, " + to_string(shape) +
         " has " + std::to_string(shape.count()));
  return make1(Op::Reshape, {a.dtype(), shape}, a);
}

Expr window(Expr a, int axis, int64_t lo, int64_t n) {
  check_axis(axis, a.rank(), "window");
  Shape s = a.shape();
  s[axis] = n;
  checked(s, "window");
  return make1(Op::Window, {a.dtype(), s}, a, {axis, lo});
}

Expr reverse(Expr a, int axis) {
  check_axis(axis, a.rank(), "reverse");
  return make1(Op::Reverse, a.type(), a, {axis});
}

Expr concat(std::span<const Expr> parts, int axis) {
  if (parts.empty()) fail("concat: needs at least one array");
  check_axis(axis, parts[0].rank(), "concat");
  Type t = parts[0].type();
  t.shape[axis] = 0;
  int64_t n = 0;
  for (Expr p : parts) {
    Type u = p.type();
    if (u.shape.rank() != t.shape.rank())
      fail("concat: ranks of " + to_string(parts[0].type()) + " and " + to_string(u) + " differ");
    n += u.shape[axis];
    u.shape[axis] = 0;
    if (u != t)
      fail("concat: " + to_string(parts[0].type()) + " and " + to_string(p.type()) + " differ beside axis " +
           std::to_string(axis));
  }
  t.shape[axis] = n;
  return make(Op::Concat, t, parts, {axis});
}

Expr stack(std::span<const Expr> parts, int axis) {
  if (parts.empty()) fail("array literal: needs at least one element");
  const Type t = parts[0].type();
  for (Expr p : parts)
    if (p.type() != t) fail("array literal: elements " + to_string(t) + " and " + to_string(p.type()) + " differ");
  check_rank(t.shape.rank() + 1, "array literal");
  check_axis(axis, t.shape.rank() + 1, "array literal");
  return make(Op::Stack, {t.dtype, t.shape.inserted(axis, static_cast<int64_t>(parts.size()))}, parts, {axis});
}

Shape broadcast_shapes(const Shape& a, const Shape& b, std::string_view what) {
  const int rank = std::max(a.rank(), b.rank());
  Shape out;
  for (int j = 0; j < rank; ++j) {
    const int ja = j - (rank - a.rank()), jb = j - (rank - b.rank());
    const int64_t da = ja < 0 ? 1 : a[ja], db = jb < 0 ? 1 : b[jb];
    if (da != db && da != 1 && db != 1)
      throw Error("SG0101", std::string(what) + ": shapes " + to_string(a) + " and " + to_string(b) + " do not match")
          .note("axes are matched from the right: " + std::to_string(da) + " and " + std::to_string(db) +
                " differ and neither is 1");
    out.push_back(da == 1 ? db : da);
  }
  return out;
}

Expr broadcast_to(Expr a, Shape shape) {
  if (a.shape() == shape) return a;
  const int lead = shape.rank() - a.rank();
  Shape kept;
  std::vector<int64_t> axes;
  for (int j = 0; j < a.rank(); ++j) {
    const int64_t d = a.shape()[j];
    if (lead < 0 || (d != shape[lead + j] && d != 1))
      fail("broadcast: " + to_string(a.type()) + " does not stretch to " + to_string(shape));
    if (d == 1 && shape[lead + j] != 1) continue;
    kept.push_back(d);
    axes.push_back(lead + j);
  }
  if (kept != a.shape()) a = reshape(a, kept);
  return kept == shape ? a : broadcast(a, shape, axes);
}

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

Expr scatter(Expr updates, std::span<const Expr> index, Shape addressed) {
  check_index(Op::Scatter, index);
  if (updates.dtype() == DType::Bool) fail("scatter: bool values cannot be added");
  if (static_cast<int>(index.size()) != addressed.rank())
    fail("scatter: " + std::to_string(index.size()) + " indices for target axes " + to_string(addressed));
  const Shape m = index[0].shape();
  if (updates.rank() < m.rank() || updates.shape().slice(0, m.rank()) != m)
    fail("scatter: updates " + to_string(updates.type()) + " do not begin with the index shape " + to_string(m));
  const Shape n = updates.shape().slice(m.rank(), updates.rank());
  check_rank(addressed.rank() + n.rank(), "scatter");
  std::vector<Expr> in = {updates};
  in.insert(in.end(), index.begin(), index.end());
  return make(Op::Scatter, {updates.dtype(), checked(addressed + n, "scatter")}, in, {addressed.begin(), addressed.end()});
}

// ---- binder and loops ------------------------------------------------------------------------------------------------

Expr build(int64_t extent, Expr var, Expr body) {
  Graph& g = graph_of(body);
  const int64_t level = highest_open_build(g, body.id) + 1;
  const Expr index = index_var(g, level, extent);
  return build_at(level, extent, {&g, substitute_vars(g, {&body.id, 1}, {{var.id.v, index.id}})[0]});
}

Expr build_at(int64_t level, int64_t extent, Expr body) {
  if (extent < 0) fail("build: negative extent " + std::to_string(extent));
  check_rank(body.rank() + 1, "build");
  return make1(Op::Build, {body.dtype(), checked(body.shape().inserted(0, extent), "build")}, body, {level, extent});
}

std::vector<Expr> map_accum(Graph& g, const Loop& loop) {
  const Function& f = g.function(loop.function);
  const auto mismatch = [&](const char* part, size_t j, Type want, Type have) {
    fail("loop: " + std::string(part) + " " + std::to_string(j) + " is " + to_string(have) + ", the body has " +
         to_string(want));
  };
  const size_t n_acc = loop.acc.size(), n_es = loop.es.size(), n_consts = loop.consts.size();
  if (f.params.size() != n_acc + n_es + n_consts)
    fail("loop: the body takes " + std::to_string(f.params.size()) + " arguments, the loop gives " +
         std::to_string(n_acc + n_es + n_consts));
  if (f.results.size() < n_acc || f.results.empty())
    fail("loop: the body returns " + std::to_string(f.results.size()) + " values for " + std::to_string(n_acc) +
         " accumulators");
  Node n;
  n.op = Op::MapAccum;
  for (size_t j = 0; j < n_acc; ++j) {
    if (loop.acc[j].type() != f.params[j]) mismatch("initial accumulator", j, f.params[j], loop.acc[j].type());
    if (g[f.results[j]].type != f.params[j]) mismatch("accumulator", j, f.params[j], g[f.results[j]].type);
    n.in.push_back(loop.acc[j].id);
  }
  for (size_t j = 0; j < n_es; ++j) {
    const Type want = {f.params[n_acc + j].dtype, f.params[n_acc + j].shape.inserted(0, loop.length)};
    if (loop.es[j].type() != want) mismatch("element stack", j, want, loop.es[j].type());
    n.in.push_back(loop.es[j].id);
  }
  for (size_t j = 0; j < n_consts; ++j) {
    if (loop.consts[j].type() != f.params[n_acc + n_es + j])
      mismatch("invariant operand", j, f.params[n_acc + n_es + j], loop.consts[j].type());
    n.in.push_back(loop.consts[j].id);
  }
  n.attr = {loop.function,
            loop.reverse ? 1 : 0,
            loop.length,
            static_cast<int64_t>(n_acc),
            static_cast<int64_t>(n_es),
            static_cast<int64_t>(n_consts)};
  n.type = g[f.results[0]].type;
  if (n_acc == 0) n.type.shape = n.type.shape.inserted(0, loop.length);
  return projections(g, g.intern(std::move(n)));
}

LoopParts loop_parts(const Graph& g, const Node& n) {
  LoopParts p{n.attr[0],
              n.attr[2],
              n.attr[1] != 0,
              static_cast<int>(n.attr[3]),
              static_cast<int>(n.attr[4]),
              static_cast<int>(n.attr[5]),
              0};
  p.n_bs = static_cast<int>(g.function(p.function).results.size()) - p.n_acc;
  return p;
}

std::vector<Expr> projections(Graph& g, NodeId id) {
  const Node& n = g[id];
  const LoopParts p = loop_parts(g, n);
  std::vector<Expr> out;
  for (int j = 0; j < p.n_acc + p.n_bs; ++j) {
    Type t = g[g.function(p.function).results[static_cast<size_t>(j)]].type;
    if (j >= p.n_acc) {
      check_rank(t.shape.rank() + 1, "loop");
      t.shape = t.shape.inserted(0, p.length);
    }
    out.push_back(make(g, {Op::Proj, t, {id}, {j}, {}}));
  }
  return out;
}

int64_t close_function(Graph& g, std::span<const Expr> vars, std::span<const Expr> results) {
  Memo memo;
  Function f;
  for (size_t j = 0; j < vars.size(); ++j) {
    memo[vars[j].id.v] = param(g, static_cast<int64_t>(j), vars[j].type()).id;
    f.params.push_back(vars[j].type());
  }
  std::vector<NodeId> roots;
  for (Expr r : results) roots.push_back(r.id);
  f.results = rebuild(g, roots, memo, [&](NodeId, Node n) { return g.intern(std::move(n)); });
  return g.intern(std::move(f));
}

namespace {

Expr layout_of(const Node& n, std::span<const Expr> in) {
  const auto axis = [&] { return static_cast<int>(n.attr[0]); };
  switch (layout_op(n.op)) {
    case LayoutOp::Broadcast: return broadcast(in[0], n.type.shape, n.attr);
    case LayoutOp::Transpose: return transpose(in[0], n.attr);
    case LayoutOp::Reshape: return reshape(in[0], n.type.shape);
    case LayoutOp::Window: return window(in[0], axis(), n.attr[1], n.type.shape[axis()]);
    case LayoutOp::Reverse: return reverse(in[0], axis());
    case LayoutOp::Concat: return concat(in, axis());
    case LayoutOp::Stack: return stack(in, axis());
  }
  return {};
}

Expr pointwise_of(const Node& n, std::span<const Expr> in) {
  if (n.op == Op::Cast) return cast(in[0], n.type.dtype);
  if (n.op == Op::Select) return select(in[0], in[1], in[2]);
  return info(n.op).arity == 1 ? unary(n.op, in[0]) : binary(n.op, in[0], in[1]);
}

}  // namespace

Expr with_operands(Graph& g, const Node& n, std::span<const Expr> in) {
  switch (kind(n.op)) {
    case Kind::Leaf: return {&g, g.intern(n)};
    case Kind::Pointwise: return pointwise_of(n, in);
    case Kind::Layout: return layout_of(n, in);
    case Kind::Reduce:
      if (n.op == Op::ArgMax || n.op == Op::ArgMin) return arg_reduce(n.op, in[0], static_cast<int>(n.attr[0]));
      return reduce(n.op, in[0], n.attr);
    case Kind::Indexed:
      return n.op == Op::Gather ? gather(in[0], in.subspan(1)) : scatter(in[0], in.subspan(1), Shape(n.attr));
    case Kind::Binder: return build_at(n.attr[0], n.attr[1], in[0]);
    case Kind::Loop: {
      Node copy = n;
      for (size_t j = 0; j < in.size(); ++j) copy.in[j] = in[j].id;
      return {&g, g.intern(std::move(copy))};
    }
  }
  return {};
}

}  // namespace spirograd::ir
