// Typed constructors of layout operations, and NumPy's rule of broadcasting.
#include "frontend/ir/layout.h"

#include <algorithm>

#include "frontend/ir/make_node.h"

namespace spirograd::ir {

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

Expr layout_with(const Node& n, std::span<const Expr> in) {
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

}  // namespace spirograd::ir
