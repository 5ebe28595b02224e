// The table of index rules, and the rules of all operations but layout. In the formulas x[i] stands for a read with some
// axes indexed; reads out of range give 0.
#include "frontend/rewrite/index_rules.h"

#include <algorithm>

#include "frontend/rewrite/index_layout_rules.h"
#include "frontend/rewrite/index_steps.h"

namespace spirograd::rewrite {
namespace {

using namespace ir;

template <Op... ops>
bool is(Context, const Slice& s) {
  return ((s.table.op() == ops) || ...);
}

bool pointwise(Context, const Slice& s) { return is_pointwise(s.table.op()); }

/// op(0, ..) is 0, bit for bit: the negative of a float 0 is not.
bool preserves_zero(Expr e) { return has_flag(e.op(), kZeroPreserving) && !(e.op() == Op::Neg && is_float(e.dtype())); }

// op(u, ..)[i] = op(u[i], ..), guarded unless op(0, ..) = 0.
Step push_pointwise(Context c, const Slice& s) {
  std::vector<Slice> below;
  for (int j = 0; j < static_cast<int>(s.table.node().in.size()); ++j) below.push_back({s.table.in(j), s.at});
  return after(std::move(below), [c, s](Values v) {
    const Expr e = with_operands(c.graph, s.table.node(), v);
    return finished(preserves_zero(s.table) ? e : c.guarded(s, e));
  });
}

// sum(u)[i] = sum(u[.., i, ..]); likewise the others. Of zeros all of them give 0, but the product and the extremes of
// nothing do not.
Step push_reduce(Context c, const Slice& s) {
  const Expr u = s.table.in(0);
  const std::vector<int64_t>& axes = s.table.node().attr;
  std::vector<Expr> slots;
  int64_t terms = 1;
  for (int a = 0, kept = 0; a < u.rank(); ++a) {
    const bool reduced = std::find(axes.begin(), axes.end(), a) != axes.end();
    if (reduced) terms *= u.shape()[a];
    slots.push_back(reduced ? Expr{} : s.at[at(kept++)]);
  }
  return after({{u, slots}}, [c, s, slots, terms](Values v) {
    std::vector<int64_t> moved;
    for (int64_t a : s.table.node().attr) moved.push_back(a - indexed_before(slots, a));
    const Op op = s.table.op();
    if (finds_place(op)) return finished(arg_reduce(op, v[0], static_cast<int>(moved[0])));
    const Expr e = reduce(op, v[0], moved);
    return finished(op == Op::Sum || terms > 0 ? e : c.guarded(s, e));
  });
}

Step push_iota(Context c, const Slice& s) {
  const int64_t axis = s.table.attr(0);
  Expr e = s.at[at(axis)];
  if (!e)
    e = iota(c.graph, s.shape(), static_cast<int>(axis - indexed_before(s.at, axis)));
  else if (s.shape().rank() > 0)
    e = broadcast(e, s.shape(), {});
  return finished(c.guarded(s, e));
}

// gather(u, f)[i] = gather(u, f[i]), and u[f[i]] once f[i] is a scalar. Guarded, because f[i] is 0 out of range and that is
// a valid index.
Step push_gather(Context c, const Slice& s) {
  const Expr u = s.table.in(0);
  const size_t addressed = s.table.node().in.size() - 1;
  const int m = s.table.in(1).rank();
  const std::vector<Expr> mine = part(s.at, 0, at(m)), rest = part(s.at, at(m), s.at.size());
  std::vector<bool> domain(s.at.size(), false);
  std::fill(domain.begin(), domain.begin() + m, true);
  std::vector<Slice> below;
  for (size_t k = 0; k < addressed; ++k) below.push_back({s.table.in(static_cast<int>(k) + 1), mine});
  const Shape left = below[0].shape();
  if (left.rank() == 0)
    return after(std::move(below), [c, s, u, rest, domain](Values index) {
      std::vector<Expr> slots(index.begin(), index.end());
      slots.insert(slots.end(), rest.begin(), rest.end());
      return after({{u, slots}}, [c, s, domain](Values v) { return finished(c.guarded(s, domain, v[0])); });
    });
  std::vector<Expr> slots(addressed);
  slots.insert(slots.end(), rest.begin(), rest.end());
  const bool leaf = u.node().in.empty() || u.op() == Op::Proj;
  if (!leaf || Slice{u, slots}.is_whole()) {
    below.push_back({u, slots});
    return after(std::move(below), [c, s, domain](Values v) {
      return finished(c.guarded(s, domain, gather(v.back(), v.first(v.size() - 1))));
    });
  }
  // One gather out of a leaf: its index arrays are those of f, then the other indices.
  return after(std::move(below), [c, s, u, rest, domain, left](Values f) {
    size_t used = rest.size();
    while (!rest[used - 1]) --used;
    Shape shape = left;
    for (size_t a = 0; a < used; ++a)
      if (!rest[a]) shape.push_back(u.shape()[static_cast<int>(f.size() + a)]);
    std::vector<int64_t> leading;
    for (int a = 0; a < left.rank(); ++a) leading.push_back(a);
    std::vector<Expr> index;
    for (Expr e : f) index.push_back(shape == left ? e : broadcast(e, shape, leading));
    int whole = left.rank();
    for (size_t a = 0; a < used; ++a)
      index.push_back(rest[a] ? broadcast(rest[a], shape, {}) : iota(c.graph, shape, whole++));
    return finished(c.guarded(s, domain, gather(u, index)));
  });
}

/// The scalar that the index array repeats, or nothing.
Expr repeated(Expr index) {
  if (index.op() == Op::Broadcast && index.in(0).rank() == 0) return index.in(0);
  return index.rank() == 0 ? index : Expr{};
}

// Indices of the axes that updates bring along go to the updates. Of the addressed axes, one whose index array repeats the
// very index that is read needs no scatter along it, if that is in range; different constants never meet. Others are stuck.
Step push_scatter(Context c, const Slice& s) {
  const Expr updates = s.table.in(0);
  const size_t addressed = s.table.node().in.size() - 1;
  const int m = s.table.in(1).rank();
  std::vector<Expr> inner(at(m)), index, stuck;
  inner.insert(inner.end(), s.at.begin() + static_cast<std::ptrdiff_t>(addressed), s.at.end());
  Shape left;
  for (size_t k = 0; k < addressed; ++k) {
    const Expr j = s.at[k], f = s.table.in(static_cast<int>(k) + 1);
    const int64_t extent = s.table.attr(static_cast<int>(k));
    const Expr same = j ? repeated(f) : Expr{};
    if (same && same.op() == Op::Const && j.op() == Op::Const && same != j)
      return finished(zeros(c.graph, {s.table.dtype(), s.shape()}));
    if (same && same == j && c.ranges.in_bounds(j, extent)) continue;
    index.push_back(f);
    stuck.push_back(j);
    left.push_back(extent);
  }
  return after({{updates, inner}}, [m, index, stuck, left](Values v) {
    if (index.empty()) {
      std::vector<int64_t> axes;
      for (int a = 0; a < m; ++a) axes.push_back(a);
      return finished(reduce(Op::Sum, v[0], axes));
    }
    const Expr e = scatter(v[0], index, left);
    std::vector<Expr> slots = stuck;
    slots.resize(at(e.rank()));
    return finished(plain_read({e, slots}));
  });
}

// build(n, i. e)[j] = e with j for i. The variable is never given a value out of its range: j is clamped under the guard.
Step push_build(Context c, const Slice& s) {
  const Expr body = s.table.in(0);
  const int64_t level = s.table.attr(0), extent = s.table.attr(1);
  const std::vector<Expr> rest = part(s.at, 1, s.at.size());
  Expr j = s.at[0];
  if (!j) return after({{body, rest}}, [level, extent](Values v) { return finished(build_at(level, extent, v[0])); });
  if (!c.ranges.in_bounds(j, extent)) {
    j = binary(Op::Max, j, scalar(c.graph, DType::I32, 0));
    j = binary(Op::Min, j, scalar(c.graph, DType::I32, static_cast<double>(extent - 1)));
  }
  std::vector<bool> outer(s.at.size(), false);
  outer[0] = true;
  return after({{with_index(body, level, j), rest}},
               [c, s, outer](Values v) { return finished(c.guarded(s, outer, v[0])); });
}

// Parameters, constants, results of loops and greatest of what arrives are read where they are.
Step stay(Context, const Slice& s) { return finished(plain_read(s)); }

bool leaf(Context c, const Slice& s) {
  return is<Op::Param, Op::Const, Op::Var, Op::IndexVar, Op::MapAccum, Op::Proj, Op::WithJvp, Op::WithVjp, Op::ByKernel,
            Op::ScatterMax>(c, s);
}

// clang-format off
constexpr IndexRule kIndexRules[] = {
  // name        when the table is             becomes            example                                   means
  {"leaf",       leaf,                          stay,
   "def main(x: f32[3], k: i32) = x[k]",                          "def main(x: f32[3], k: i32) = x[k]"},
  {"pointwise",  pointwise,                     push_pointwise,
   "def main(x: f32[3], k: i32) = cos(x)[k]",                     "def main(x: f32[3], k: i32) = if k >= 0 and k < 3 then cos(x[k]) else 0.0"},
  {"reduce",     is<Op::Sum, Op::Prod, Op::ReduceMax, Op::ReduceMin>, push_reduce,
   "def main(x: f32[3,4], k: i32) = sum(x, axis=1)[k]",         "def main(x: f32[3,4], k: i32) = sum(x[k])"},
  {"arg-reduce", is<Op::ArgMax, Op::ArgMin>,    push_reduce,
   "def main(x: f32[3,4], k: i32) = argmax(x, axis=1)[k]",      "def main(x: f32[3,4], k: i32) = argmax(x[k], axis=0)"},
  {"broadcast",  is<Op::Broadcast>,             push_broadcast,
   "def main(x: f32[4], k: i32) = replicate(x, 3)[k]", "def main(x: f32[4], k: i32) = for i: 4 => if k >= 0 and k < 3 then x[i] else 0.0"},
  {"transpose",  is<Op::Transpose>,             push_transpose,
   "def main(x: f32[3,4], k: i32) = transpose(x)[k]",             "def main(x: f32[3,4], k: i32) = for i: 3 => x[i, k]"},
  {"reshape",    is<Op::Reshape>,               push_reshape,
   "def main(x: f32[6], j: i32, k: i32) = reshape(x, [2, 3])[j, k]", "def main(x: f32[6], j: i32, k: i32) = if j >= 0 and j < 2 and k >= 0 and k < 3 then x[j * 3 + k] else 0.0"},
  {"window",     is<Op::Window>,                push_window,
   "def main(x: f32[6], k: i32) = window(x, axis=0, lo=2, n=3)[k]", "def main(x: f32[6], k: i32) = if k >= 0 and k < 3 then x[k + 2] else 0.0"},
  {"reverse",    is<Op::Reverse>,               push_reverse,
   "def main(x: f32[6], k: i32) = reverse(x, axis=0)[k]",       "def main(x: f32[6], k: i32) = x[5 - k]"},
  {"concat",     is<Op::Concat>,                push_concat,
   "def main(x: f32[2], y: f32[3], k: i32) = concat(x, y, axis=0)[k]", "def main(x: f32[2], y: f32[3], k: i32) = if k < 2 then x[k] else y[k - 2]"},
  {"stack",      is<Op::Stack>,                 push_stack,
   "def main(x: f32[2], y: f32[2], k: i32) = [x, y][k, 1]",       "def main(x: f32[2], y: f32[2], k: i32) = [x[1], y[1]][k]"},
  {"iota",       is<Op::Iota>,                  push_iota,
   "def main(k: i32) = iota(4)[k]",                               "def main(k: i32) = if k >= 0 and k < 4 then k else 0"},
  {"gather",     is<Op::Gather>,                push_gather,
   "def main(x: f32[5], f: i32[3], k: i32) = gather(x, f)[k]",    "def main(x: f32[5], f: i32[3], k: i32) = if k >= 0 and k < 3 then x[f[k]] else 0.0"},
  {"scatter",    is<Op::Scatter>,               push_scatter,
   "def main(x: f32[3,2], f: i32[3], k: i32) = scatter([4], x, f)[k, 1]", "def main(x: f32[3,2], f: i32[3], k: i32) = scatter([4], for i: 3 => x[i, 1], f)[k]"},
  {"build",      is<Op::Build>,                 push_build,
   "def main(x: f32[5], k: i32) = (for i: 3 => exp(x[i]))[k]",    "def main(x: f32[5], k: i32) = if k >= 0 and k < 3 then exp(x[k]) else 0.0"},
};
// clang-format on

}  // namespace

std::span<const IndexRule> index_rules() { return kIndexRules; }

}  // namespace spirograd::rewrite
