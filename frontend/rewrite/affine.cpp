// Arithmetic on closed forms, one function per operation that keeps them closed. All of it is checked, so a form never hides
// a wrap-around.
#include "frontend/rewrite/affine.h"

#include <algorithm>

#include "frontend/base/checked.h"
#include "frontend/ir/reshape_groups.h"

namespace spirograd::rewrite {

using namespace ir;

bool Affine::constant() const {
  return std::all_of(term.begin(), term.end(), [](const Term& t) { return t.zero(); });
}

bool Affine::has_quotient() const {
  return std::any_of(term.begin(), term.end(), [](const Term& t) { return t.b != 0; });
}

Range range_of(const Affine& f, const Shape& shape) {
  int64_t lo = f.c, hi = f.c;
  const auto spread = [&](int64_t k, int64_t last) {
    int64_t& end = k > 0 ? hi : lo;
    end = saturating_add(end, saturating_mul(k, std::max<int64_t>(last, 0)));
  };
  for (int t = 0; t < shape.rank(); ++t) {
    const Term& x = f[t];
    if (x.b == 0) {
      spread(x.a, shape[t] - 1);
    } else {  // i = s * q + r
      spread(saturating_add(saturating_mul(x.a, x.s), x.b), (shape[t] - 1) / x.s);
      spread(x.a, std::min(x.s, shape[t]) - 1);
    }
  }
  constexpr int64_t bound = int64_t{1} << 60;
  return {std::max(lo, -bound), std::min(hi, bound)};
}

void make_canonical(Affine& f, const Shape& shape) {
  for (int t = 0; t < kMaxRank; ++t) {
    Term& x = f[t];
    if (t >= shape.rank() || shape[t] <= 1) x = {};
    if (x.b != 0 && x.s >= shape[t]) x.b = 0;
    if (x.b == 0) x.s = 1;
  }
}

std::optional<Affine> combined(const Affine& f, int64_t k, const Affine& g) {
  Affine out = f;
  const auto add = [&](int64_t& x, int64_t y) {
    const int64_t v = saturating_add(x, saturating_mul(k, y));
    if (v > int64_t{1} << 40 || v < -(int64_t{1} << 40)) return false;
    x = v;
    return true;
  };
  if (!add(out.c, g.c)) return std::nullopt;
  for (int t = 0; t < kMaxRank; ++t) {
    if (!add(out[t].a, g[t].a)) return std::nullopt;
    if (g[t].b == 0) continue;
    if (out[t].b != 0 && out[t].s != g[t].s) return std::nullopt;
    out[t].s = g[t].s;
    if (!add(out[t].b, g[t].b)) return std::nullopt;
  }
  return out;
}

std::vector<AxisGroup> axis_groups(const Shape& from, const Shape& to) {
  std::vector<AxisGroup> groups;
  const auto long_axes = [](const Shape& s, const ir::AxisRange& range) {
    std::vector<int> axes;
    for (int a = range.first; a < range.end; ++a)
      if (s[a] != 1) axes.push_back(a);
    return axes;
  };
  for (const ir::ReshapeGroup& g : ir::reshape_groups(from, to)) {
    AxisGroup axes{long_axes(from, g.from), long_axes(to, g.to)};
    if (!axes.from.empty()) groups.push_back(std::move(axes));
  }
  return groups;
}

std::optional<Affine> reshaped(const Affine& f, const Shape& from, const Shape& to) {
  Affine out;
  out.c = f.c;
  for (const AxisGroup& g : axis_groups(from, to)) {
    if (g.from.size() == 1 && g.to.size() == 1) {
      out[g.to[0]] = f[g.from[0]];
      continue;
    }
    for (int t : g.from)
      if (f[t].b != 0) return std::nullopt;
    const int last = g.from.back();
    int64_t stride = 1, base = f[last].a;
    bool flat = true;
    for (size_t k = g.from.size(); k-- > 0;) {
      flat &= f[g.from[k]].a == base * stride;
      stride *= from[g.from[k]];
    }
    if (flat) {
      int64_t s = 1;
      for (size_t k = g.to.size(); k-- > 0;) {
        out[g.to[k]].a = base * s;
        s *= to[g.to[k]];
      }
    } else if (g.from.size() == 2 && g.to.size() == 1) {
      // position p of the joined axis: p quot n on the first axis, p - n * (p quot n) on the second
      const int64_t n = from[last];
      out[g.to[0]] = {base, f[g.from[0]].a - n * base, n};
    } else {
      return std::nullopt;
    }
  }
  return out;
}

std::optional<Division> divided(const Affine& f, const Shape& shape, int64_t s) {
  if (f.has_quotient()) return std::nullopt;
  Division d;
  Affine rest;
  int n_rest = 0, rest_axis = -1;
  for (int t = 0; t < shape.rank(); ++t) {
    if (f[t].a % s == 0) {
      d.quot[t].a = f[t].a / s;
    } else {
      rest[t].a = f[t].a;
      rest_axis = t;
      ++n_rest;
    }
  }
  const Range r = range_of(rest, shape);
  const int64_t whole = floor_div(f.c + r.lo, s);
  if (f.c + r.hi - s * whole < s) {
    d.quot.c = whole;
    d.rem = rest;
    d.rem.c = f.c - s * whole;
    return d;
  }
  if (n_rest != 1 || rest[rest_axis].a != 1 || f.c % s != 0) return std::nullopt;
  d.quot.c = f.c / s;
  d.quot[rest_axis] = {0, 1, s};
  d.rem[rest_axis] = {1, -s, s};
  return d;
}

std::optional<Affine> of_constant(const Node& n) {
  Affine f;
  const Shape& shape = n.type.shape;
  f.c = static_cast<int64_t>(n.data[0]);
  for (int t = 0; t < shape.rank(); ++t)
    if (shape[t] > 1) f[t].a = static_cast<int64_t>(n.data[static_cast<size_t>(shape.stride(t))]) - f.c;
  for (int64_t k = 0; k < shape.count(); ++k) {
    int64_t v = f.c;
    for (int t = 0; t < shape.rank(); ++t) v += f[t].a * (k / shape.stride(t) % shape[t]);
    if (static_cast<double>(v) != n.data[static_cast<size_t>(k)]) return std::nullopt;
  }
  return f;
}

Expr affine_array(Graph& g, const Shape& shape, const Affine& f) {
  // A coefficient may need more than 32 bits; modulo 2^32 the values are the same.
  const auto constant = [&](int64_t v) { return full(g, i32(shape), static_cast<double>(static_cast<int32_t>(v))); };
  Expr out;
  const auto add = [&](Expr term, int64_t k) {
    if (k == 0) return;
    const Expr scaled = k == 1 || k == -1 ? term : term * constant(out && k < 0 ? -k : k);
    if (!out)
      out = k == -1 ? -term : scaled;
    else
      out = k < 0 ? out - scaled : out + scaled;
  };
  // Positive terms first: sums then start without a negation.
  for (const bool positive : {true, false})
    for (int t = 0; t < shape.rank(); ++t) {
      const Term& x = f[t];
      if (x.a != 0 && (x.a > 0) == positive) add(iota(g, shape, t), x.a);
      if (x.b != 0 && (x.b > 0) == positive) add(binary(Op::Quot, iota(g, shape, t), constant(x.s)), x.b);
    }
  if (!out) return constant(f.c);
  return f.c == 0 ? out : out + constant(f.c);
}

Expr project(Expr e, std::span<const int64_t> keep) {
  Shape kept;
  for (int64_t t : keep) kept.push_back(e.shape()[static_cast<int>(t)]);
  if (kept.rank() == e.rank()) return e;
  if (e.op() == Op::Broadcast) {
    // The operand's axes that are kept, then stretched over the rest of the kept ones.
    std::vector<int64_t> operand_keep, axes;
    for (size_t j = 0; j < e.node().attr.size(); ++j) {
      const auto it = std::find(keep.begin(), keep.end(), e.attr(static_cast<int>(j)));
      if (it == keep.end()) continue;
      operand_keep.push_back(static_cast<int64_t>(j));
      axes.push_back(it - keep.begin());
    }
    if (operand_keep.size() == e.node().attr.size()) return broadcast(e.in(0), kept, axes);
  }
  for (int t = 0; t < e.rank(); ++t)
    if (std::find(keep.begin(), keep.end(), t) == keep.end() && e.shape()[t] != 1) e = window(e, t, 0, 1);
  return reshape(e, kept);
}

}  // namespace spirograd::rewrite
