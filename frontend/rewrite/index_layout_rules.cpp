// Index rules of layout operations. In the formulas u is the operand; reads out of range give 0.
#include "frontend/rewrite/index_layout_rules.h"

#include <algorithm>

#include "frontend/ir/reshape_groups.h"
#include "frontend/rewrite/index_steps.h"

namespace spirograd::rewrite {

using namespace ir;

namespace {

/// Coordinates of the operand of a reshape from those of its result: with l the position in row-major order within the
/// group, axis t is (l quot stride_t) rem extent_t. `position` gives the coordinate along a result axis, all of one shape.
std::vector<Expr> unflattened(const ReshapeGroup& g, const Shape& to, const Shape& from,
                              const std::function<Expr(int)>& position) {
  const auto times = [](Expr e, int64_t k, Op op) {
    return binary(op, e, full(*e.graph, e.type(), static_cast<double>(k)));
  };
  Expr linear;
  int64_t stride = 1;
  for (int a = g.to.end - 1; a >= g.to.first; --a) {
    const Expr term = stride == 1 ? position(a) : times(position(a), stride, Op::Mul);
    linear = linear ? term + linear : term;
    stride *= to[a];
  }
  std::vector<Expr> out(at(g.from.count()));
  stride = 1;
  for (int a = g.from.end - 1; a >= g.from.first; --a) {
    Expr& e = out[at(a - g.from.first)];
    if (from[a] == 1) {
      e = times(linear, 0, Op::Mul);
      continue;
    }
    e = stride == 1 ? linear : times(linear, stride, Op::Quot);
    stride *= from[a];
    if (stride != to.slice(g.to.first, g.to.end).count()) e = times(e, from[a], Op::Rem);
  }
  return out;
}

}  // namespace

// Indices of new axes only need to be in range; the others go to the operand.
Step push_broadcast(Context c, const Slice& s) {
  const std::vector<int64_t>& axes = s.table.node().attr;
  std::vector<Expr> slots;
  std::vector<bool> dropped(s.at.size(), true);
  for (int64_t a : axes) {
    slots.push_back(s.at[at(a)]);
    dropped[at(a)] = false;
  }
  return after({{s.table.in(0), slots}}, [c, s, slots, dropped](Values v) {
    std::vector<int64_t> moved;
    for (size_t j = 0; j < slots.size(); ++j) {
      const int64_t axis = s.table.attr(static_cast<int>(j));
      if (!slots[j]) moved.push_back(axis - indexed_before(s.at, axis));
    }
    const Expr e = v[0].shape() == s.shape() ? v[0] : broadcast(v[0], s.shape(), moved);
    return finished(c.guarded(s, dropped, e));
  });
}

Step push_transpose(Context, const Slice& s) {
  const std::vector<int64_t>& perm = s.table.node().attr;
  std::vector<Expr> slots(perm.size());
  for (size_t k = 0; k < perm.size(); ++k) slots[at(perm[k])] = s.at[k];
  return after({{s.table.in(0), slots}}, [s, slots](Values v) {
    std::vector<int64_t> moved;
    bool same = true;
    for (size_t k = 0; k < s.at.size(); ++k) {
      if (s.at[k]) continue;
      const int64_t p = s.table.attr(static_cast<int>(k));
      moved.push_back(p - indexed_before(slots, p));
      same = same && moved.back() == static_cast<int64_t>(moved.size()) - 1;
    }
    return finished(same ? v[0] : transpose(v[0], moved));
  });
}

// Groups that are indexed in full are indexed in the operand. If a group is indexed in part, the elements are gathered.
Step push_reshape(Context c, const Slice& s) {
  const Expr u = s.table.in(0);
  const Shape to = s.table.shape(), from = u.shape();
  std::vector<Expr> slots(at(from.rank()));
  std::vector<bool> flattened(s.at.size(), false);
  bool partly = false;
  const std::vector<ReshapeGroup> all = reshape_groups(from, to);
  for (const ReshapeGroup& g : all) {
    const auto indexed = std::count_if(s.at.begin() + g.to.first, s.at.begin() + g.to.end, [](Expr e) { return bool(e); });
    if (indexed == 0) continue;
    partly = partly || indexed < g.to.count();
    const bool same = g.to.count() == 1 && g.from.count() == 1;
    if (!same) std::fill(flattened.begin() + g.to.first, flattened.begin() + g.to.end, true);
    if (partly || g.from.count() == 0) continue;
    const std::vector<Expr> inner =
        same ? part(s.at, at(g.to.first), at(g.to.end)) : unflattened(g, to, from, [&](int a) { return s.at[at(a)]; });
    std::copy(inner.begin(), inner.end(), slots.begin() + g.from.first);
  }
  if (!partly)
    return after({{u, slots}}, [c, s, flattened](Values v) {
      return finished(c.guarded(s, flattened, v[0].shape() == s.shape() ? v[0] : reshape(v[0], s.shape())));
    });
  const auto position = [&](int a) {
    if (s.at[at(a)]) return broadcast(s.at[at(a)], s.shape(), {});
    return iota(c.graph, s.shape(), static_cast<int>(a - indexed_before(s.at, a)));
  };
  std::vector<Expr> index;
  for (const ReshapeGroup& g : all) {
    if (g.to.count() == 0) {
      for (int a = g.from.first; a < g.from.end; ++a) index.push_back(zeros(c.graph, i32(s.shape())));
      continue;
    }
    for (Expr e : unflattened(g, to, from, position)) index.push_back(e);
  }
  return finished(c.guarded(s, gather(u, index)));
}

// window(u, lo)[j] = u[lo + j]. No guard if the window covers the operand: then j out of range makes lo + j out of range.
Step push_window(Context c, const Slice& s) {
  const Expr u = s.table.in(0);
  const int axis = axis_of(s.table);
  const int64_t lo = s.table.attr(1), n = s.table.shape()[axis];
  if (!s.at[at(axis)])
    return after({{u, s.at}}, [s, axis, lo, n](Values v) {
      return finished(window(v[0], static_cast<int>(axis - indexed_before(s.at, axis)), lo, n));
    });
  if (lo >= u.shape()[axis] || lo + n <= 0) return finished(zeros(c.graph, {s.table.dtype(), s.shape()}));
  std::vector<Expr> slots = s.at;
  slots[at(axis)] = offset(slots[at(axis)], lo);
  std::vector<bool> cut(s.at.size(), false);
  cut[at(axis)] = lo > 0 || lo + n < u.shape()[axis];
  return after({{u, slots}}, [c, s, cut](Values v) { return finished(c.guarded(s, cut, v[0])); });
}

// reverse(u)[j] = u[n-1-j], which is out of range exactly when j is, also where the difference wraps.
Step push_reverse(Context c, const Slice& s) {
  const int axis = axis_of(s.table);
  std::vector<Expr> slots = s.at;
  if (Expr& j = slots[at(axis)]) {
    j = scalar(c.graph, DType::I32, static_cast<double>(s.table.shape()[axis] - 1)) - j;
    return after({{s.table.in(0), slots}}, [](Values v) { return finished(v[0]); });
  }
  return after({{s.table.in(0), slots}},
               [s, axis](Values v) { return finished(reverse(v[0], static_cast<int>(axis - indexed_before(s.at, axis)))); });
}

// concat(u, v)[j] = u[j] if j < rows of u, else v[j - rows of u]. Negative j selects u, where it gives 0.
Step push_concat(Context c, const Slice& s) {
  const int axis = axis_of(s.table);
  const Expr j = s.at[at(axis)];
  std::vector<Slice> below;
  std::vector<int64_t> ends;
  int64_t begin = 0;
  for (int k = 0; k < static_cast<int>(s.table.node().in.size()); ++k) {
    const Expr u = s.table.in(k);
    const int64_t end = begin + u.shape()[axis];
    if (!j || !c.ranges.of(j).outside(begin, end - 1)) {
      below.push_back({u, s.at});
      if (j) below.back().at[at(axis)] = offset(j, -begin);
      ends.push_back(end);
    }
    begin = end;
  }
  return after(std::move(below), [c, s, axis, j, ends](Values v) {
    if (!j) return finished(concat(v, static_cast<int>(axis - indexed_before(s.at, axis))));
    Expr e = v.back();
    for (size_t k = v.size() - 1; k-- > 0;) {
      Expr here = binary(Op::Lt, j, scalar(c.graph, DType::I32, static_cast<double>(ends[k])));
      if (e.rank() > 0) here = broadcast(here, e.shape(), {});
      e = select(here, v[k], e);
    }
    return finished(e);
  });
}

// stack(u0, u1, ..)[j] = uj if j is a constant. Otherwise it is stuck, and only the other indices go inside.
Step push_stack(Context, const Slice& s) {
  const int axis = axis_of(s.table);
  const Expr j = s.at[at(axis)];
  std::vector<Expr> others = s.at;
  others.erase(others.begin() + axis);
  if (j && j.op() == Op::Const)
    return after({{s.table.in(static_cast<int>(j.node().data[0])), others}}, [](Values v) { return finished(v[0]); });
  std::vector<Slice> below;
  for (int k = 0; k < static_cast<int>(s.table.node().in.size()); ++k) below.push_back({s.table.in(k), others});
  return after(std::move(below), [s, axis, j](Values v) {
    if (!j) return finished(stack(v, static_cast<int>(axis - indexed_before(s.at, axis))));
    const Expr literal = stack(v, 0);
    return finished(gather(literal, {&j, 1}));
  });
}

}  // namespace spirograd::rewrite
