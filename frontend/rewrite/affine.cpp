// Affine facts: one case per operation, bottom-up. All arithmetic is checked against i32, so a fact never hides a
// wrap-around.
#include "frontend/rewrite/affine.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "frontend/ir/op_table.h"

namespace spirograd::rewrite {

using namespace ir;

namespace {

constexpr int64_t kLeast = std::numeric_limits<int32_t>::min();
constexpr int64_t kGreatest = std::numeric_limits<int32_t>::max();
constexpr int64_t kMaxConstScan = 1 << 16;

bool fits(__int128 v) { return v >= kLeast && v <= kGreatest; }
bool fits(Range r) { return fits(r.lo) && fits(r.hi) && r.lo <= r.hi; }
int64_t floor_div(int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0)) ? 1 : 0); }
Range hull(Range a, Range b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

void clean(Affine& f, const Shape& shape) {
  for (int t = 0; t < kMaxRank; ++t) {
    Term& x = f[t];
    if (t >= shape.rank() || shape[t] <= 1) x = {};
    if (x.b != 0 && x.s >= shape[t]) x.b = 0;
    if (x.b == 0) x.s = 1;
  }
}

// c + k * g, or nothing if two different quotients meet on an axis or a coefficient leaves the range that matters.
std::optional<Affine> combined(const Affine& f, __int128 k, const Affine& g) {
  Affine out = f;
  const auto add = [&](int64_t& x, int64_t y) {
    const __int128 v = x + k * y;
    if (v > (__int128{1} << 40) || v < -(__int128{1} << 40)) return false;
    x = static_cast<int64_t>(v);
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

// Groups of axes of `from` and `to` with equal products, axes of extent 1 ignored. Pre: no extent is 0.
struct AxisGroup {
  std::vector<int> from, to;
};
std::vector<AxisGroup> axis_groups(const Shape& from, const Shape& to) {
  std::vector<AxisGroup> groups;
  int i = 0, j = 0;
  for (;;) {
    while (i < from.rank() && from[i] == 1) ++i;
    while (j < to.rank() && to[j] == 1) ++j;
    if (i == from.rank() || j == to.rank()) return groups;
    AxisGroup g{{i}, {j}};
    int64_t p = from[i++], q = to[j++];
    while (p != q) {
      if (p < q) {
        if (from[i] != 1) g.from.push_back(i);
        p *= from[i++];
      } else {
        if (to[j] != 1) g.to.push_back(j);
        q *= to[j++];
      }
    }
    groups.push_back(std::move(g));
  }
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

// f quot s and f rem s for a positive constant s and f >= 0, see quasi-affine forms in the header.
struct Division {
  Affine quot, rem;
};
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

uint32_t all_axes(const Shape& s) {
  uint32_t bits = 0;
  for (int t = 0; t < s.rank(); ++t)
    if (s[t] > 1) bits |= 1u << t;
  return bits;
}

// One node, given the facts of its operands.
class Derive {
 public:
  Derive(const Graph& g, const Node& n, std::span<const IndexFact* const> in)
      : g_(g), n_(n), in_(in), shape_(n.type.shape) {}

  IndexFact fact() {
    out_.axes = all_axes(shape_);
    if (shape_.count() == 0) return out_;
    if (is_pointwise(n_.op)) {
      out_.axes = 0;
      for (const IndexFact* f : in_) out_.axes |= f->axes;
    }
    const bool integer = n_.type.dtype == DType::I32;
    if (kind(n_.op) == Kind::Layout) layout_axes();
    if (integer) values();
    if (out_.affine) {
      clean(out_.f, shape_);
      const Range r = range_of(out_.f, shape_);
      if (fits(r)) {
        out_.range = {std::max(r.lo, out_.range.lo), std::min(r.hi, out_.range.hi)};
        out_.axes = 0;
        for (int t = 0; t < shape_.rank(); ++t)
          if (!out_.f[t].zero()) out_.axes |= 1u << t;
      } else {
        out_.affine = false;
        out_.range = {};
      }
    }
    return out_;
  }

 private:
  const Shape& in_shape(size_t j) const { return g_[n_.in[j]].type.shape; }

  void set(std::optional<Affine> f) {
    if (!f) return;
    out_.affine = true;
    out_.f = *f;
  }
  void range(__int128 lo, __int128 hi) {
    if (fits(lo) && fits(hi)) out_.range = {static_cast<int64_t>(lo), static_cast<int64_t>(hi)};
  }

  // Dependence on axes through layout operations, for every element type.
  void layout_axes() {
    const uint32_t in = in_[0]->axes;
    switch (layout_op(n_.op)) {
      case LayoutOp::Broadcast:
        out_.axes = 0;
        for (size_t j = 0; j < n_.attr.size(); ++j)
          if (in >> j & 1) out_.axes |= 1u << n_.attr[j];
        return;
      case LayoutOp::Transpose:
        out_.axes = 0;
        for (size_t j = 0; j < n_.attr.size(); ++j)
          if (in >> n_.attr[j] & 1) out_.axes |= 1u << j;
        return;
      case LayoutOp::Reshape:
        out_.axes = 0;
        for (const AxisGroup& g : axis_groups(in_shape(0), shape_)) {
          bool used = false;
          for (int t : g.from) used |= in >> t & 1;
          for (int t : g.to)
            if (used) out_.axes |= 1u << t;
        }
        return;
      case LayoutOp::Reverse: out_.axes = in; return;
      case LayoutOp::Window:
      case LayoutOp::Concat:
      case LayoutOp::Stack: return;
    }
  }

  void values() {
    switch (kind(n_.op)) {
      case Kind::Leaf: return leaf();
      case Kind::Pointwise: return pointwise();
      case Kind::Layout: return layout();
      case Kind::Reduce: return reduction();
      case Kind::Indexed:
        if (n_.op == Op::Gather) gathered();
        return;
      case Kind::Binder:
      case Kind::Loop: return;
    }
  }

  bool affine(size_t j) const { return in_[j]->affine; }

  void leaf() {
    switch (leaf_op(n_.op)) {
      case LeafOp::Const:
        if (shape_.count() > kMaxConstScan) return;
        out_.range = {static_cast<int64_t>(*std::min_element(n_.data.begin(), n_.data.end())),
                      static_cast<int64_t>(*std::max_element(n_.data.begin(), n_.data.end()))};
        return set(of_constant(n_));
      case LeafOp::Iota: {
        Affine f;
        f[static_cast<int>(n_.attr[0])].a = 1;
        return set(f);
      }
      case LeafOp::Param:
      case LeafOp::IndexVar:
      case LeafOp::Var: return;
    }
  }

  void layout() {
    switch (layout_op(n_.op)) {
      case LayoutOp::Broadcast:
      case LayoutOp::Transpose: {
        out_.range = in_[0]->range;
        if (!affine(0)) return;
        Affine f;
        f.c = in_[0]->f.c;
        for (size_t j = 0; j < n_.attr.size(); ++j) {
          if (n_.op == Op::Broadcast)
            f[static_cast<int>(n_.attr[j])] = in_[0]->f[static_cast<int>(j)];
          else
            f[static_cast<int>(j)] = in_[0]->f[static_cast<int>(n_.attr[j])];
        }
        return set(f);
      }
      case LayoutOp::Reshape:
        out_.range = in_[0]->range;
        if (affine(0)) set(reshaped(in_[0]->f, in_shape(0), shape_));
        return;
      case LayoutOp::Reverse: {
        out_.range = in_[0]->range;
        const int t = static_cast<int>(n_.attr[0]);
        if (!affine(0) || in_[0]->f[t].b != 0) return;
        Affine f = in_[0]->f;
        f.c += f[t].a * (shape_[t] - 1);
        f[t].a = -f[t].a;
        return set(f);
      }
      case LayoutOp::Window: {
        const int t = static_cast<int>(n_.attr[0]);
        const int64_t lo = n_.attr[1];
        if (lo < 0 || lo + shape_[t] > in_shape(0)[t]) {
          out_.range = hull(in_[0]->range, {0, 0});
          return;
        }
        out_.range = in_[0]->range;
        if (!affine(0) || lo % in_[0]->f[t].s != 0) return;
        Affine f = in_[0]->f;
        f.c += f[t].a * lo + f[t].b * (lo / f[t].s);
        return set(f);
      }
      case LayoutOp::Concat:
      case LayoutOp::Stack:
        out_.range = {kGreatest, kLeast};
        for (size_t j = 0; j < in_.size(); ++j)
          if (in_shape(j).count() > 0) out_.range = hull(out_.range, in_[j]->range);
        return;
    }
  }

  void reduction() {
    switch (reduce_op(n_.op)) {
      case ReduceOp::ArgMax:
      case ReduceOp::ArgMin: out_.range = {0, in_shape(0)[static_cast<int>(n_.attr[0])] - 1}; return;
      case ReduceOp::ReduceMax:
      case ReduceOp::ReduceMin:
        if (in_shape(0).count() > 0) out_.range = in_[0]->range;
        return;
      case ReduceOp::Sum:
      case ReduceOp::Prod: return;
    }
  }

  // ---- pointwise -----------------------------------------------------------------------------------------------------

  void unknown() {}
  void same() { copy(0); }
  void negated() {
    range(-static_cast<__int128>(in_[0]->range.hi), -static_cast<__int128>(in_[0]->range.lo));
    if (affine(0)) set(combined(Affine{}, -1, in_[0]->f));
  }
  void added() {
    range(static_cast<__int128>(in_[0]->range.lo) + in_[1]->range.lo,
          static_cast<__int128>(in_[0]->range.hi) + in_[1]->range.hi);
    if (affine(0) && affine(1)) set(combined(in_[0]->f, 1, in_[1]->f));
  }
  void subtracted() {
    range(static_cast<__int128>(in_[0]->range.lo) - in_[1]->range.hi,
          static_cast<__int128>(in_[0]->range.hi) - in_[1]->range.lo);
    if (affine(0) && affine(1)) set(combined(in_[0]->f, -1, in_[1]->f));
  }
  void multiplied() {
    const Range a = in_[0]->range, b = in_[1]->range;
    const __int128 p[] = {static_cast<__int128>(a.lo) * b.lo, static_cast<__int128>(a.lo) * b.hi,
                          static_cast<__int128>(a.hi) * b.lo, static_cast<__int128>(a.hi) * b.hi};
    range(*std::min_element(p, p + 4), *std::max_element(p, p + 4));
    if (!affine(0) || !affine(1)) return;
    if (in_[1]->f.constant())
      set(combined(Affine{}, in_[1]->f.c, in_[0]->f));
    else if (in_[0]->f.constant())
      set(combined(Affine{}, in_[0]->f.c, in_[1]->f));
  }
  void quotient_or_remainder() {
    if (!affine(1) || !in_[1]->f.constant() || in_[1]->f.c <= 0) return;
    const int64_t s = in_[1]->f.c;
    const Range a = in_[0]->range;
    if (n_.op == Op::Quot)
      range(a.lo / s, a.hi / s);
    else if (a.lo >= 0)
      range(0, std::min(a.hi, s - 1));
    else
      range(-(s - 1), s - 1);
    if (!affine(0) || a.lo < 0) return;
    if (const auto d = divided(in_[0]->f, shape_, s)) set(n_.op == Op::Quot ? d->quot : d->rem);
  }
  void extreme() {
    const Range a = in_[0]->range, b = in_[1]->range;
    const bool min = n_.op == Op::Min;
    out_.range = min ? Range{std::min(a.lo, b.lo), std::min(a.hi, b.hi)} : Range{std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    if (min ? a.hi <= b.lo : a.lo >= b.hi)
      copy(0);
    else if (min ? b.hi <= a.lo : b.lo >= a.hi)
      copy(1);
  }
  void selected() { out_.range = hull(in_[1]->range, in_[2]->range); }
  void magnitude() {
    if (in_[0]->range.lo >= 0) return copy(0);
    range(0, std::max(-static_cast<__int128>(in_[0]->range.lo), static_cast<__int128>(in_[0]->range.hi)));
  }
  void sign() { out_.range = {-1, 1}; }
  void converted() {
    if (g_[n_.in[0]].type.dtype == DType::Bool) out_.range = {0, 1};
  }

  friend struct IntegerRows;
  void pointwise();

  void copy(size_t j) {
    out_.range = in_[j]->range;
    if (in_[j]->affine) set(in_[j]->f);
  }

  void gathered() {
    const int addressed = static_cast<int>(in_.size()) - 1;
    const int m_rank = in_shape(1).rank();
    bool inside = true;
    for (int s = 0; s < addressed; ++s) inside &= in_[static_cast<size_t>(s) + 1]->range.inside(in_shape(0)[s]);
    out_.range = inside ? in_[0]->range : hull(in_[0]->range, {0, 0});
    if (!inside || !in_[0]->affine) return;
    Affine f;
    f.c = in_[0]->f.c;
    for (int s = 0; s < addressed; ++s) {
      const Term& x = in_[0]->f[s];
      if (x.zero()) continue;
      const IndexFact& index = *in_[static_cast<size_t>(s) + 1];
      if (x.b != 0 || !index.affine) return;
      const auto sum = combined(f, x.a, index.f);
      if (!sum) return;
      f = *sum;
    }
    for (int t = addressed; t < in_shape(0).rank(); ++t) f[m_rank + t - addressed] = in_[0]->f[t];
    set(f);
  }

  const Graph& g_;
  const Node& n_;
  std::span<const IndexFact* const> in_;
  const Shape& shape_;
  IndexFact out_;
};

// What i32 results are; of predicates nothing is asked.
// clang-format off
struct IntegerRows {
  struct Row {
    Op op;
    void (Derive::*derive)();
  };
  static constexpr Row kRows[] = {
    {Op::Neg, &Derive::negated},
    {Op::Abs, &Derive::magnitude},
    {Op::Sign, &Derive::sign},
    {Op::Not, &Derive::unknown},
    {Op::Cast, &Derive::converted},
    {Op::StopGradient, &Derive::same},
    {Op::Add, &Derive::added},
    {Op::Sub, &Derive::subtracted},
    {Op::Mul, &Derive::multiplied},
    {Op::Min, &Derive::extreme},
    {Op::Max, &Derive::extreme},
    {Op::Quot, &Derive::quotient_or_remainder},
    {Op::Rem, &Derive::quotient_or_remainder},
    {Op::Eq, &Derive::unknown},
    {Op::Ne, &Derive::unknown},
    {Op::Lt, &Derive::unknown},
    {Op::Le, &Derive::unknown},
    {Op::Gt, &Derive::unknown},
    {Op::Ge, &Derive::unknown},
    {Op::And, &Derive::unknown},
    {Op::Or, &Derive::unknown},
    {Op::Select, &Derive::selected},
  };
};
// clang-format on

void Derive::pointwise() {
  static constexpr auto table = op_table<IntegerRows::kRows, kIntegerOnes>();
  (this->*table[static_cast<size_t>(n_.op)]->derive)();
}

}  // namespace

bool Affine::constant() const {
  return std::all_of(term.begin(), term.end(), [](const Term& t) { return t.zero(); });
}

bool Affine::has_quotient() const {
  return std::any_of(term.begin(), term.end(), [](const Term& t) { return t.b != 0; });
}

Range range_of(const Affine& f, const Shape& shape) {
  __int128 lo = f.c, hi = f.c;
  const auto spread = [&](__int128 k, int64_t last) { (k > 0 ? hi : lo) += k * std::max<int64_t>(last, 0); };
  for (int t = 0; t < shape.rank(); ++t) {
    const Term& x = f[t];
    if (x.b == 0) {
      spread(x.a, shape[t] - 1);
    } else {  // i = s * q + r
      spread(static_cast<__int128>(x.a) * x.s + x.b, (shape[t] - 1) / x.s);
      spread(x.a, std::min(x.s, shape[t]) - 1);
    }
  }
  const __int128 bound = __int128{1} << 60;
  return {static_cast<int64_t>(std::max(lo, -bound)), static_cast<int64_t>(std::min(hi, bound))};
}

const IndexFact& Facts::operator()(Expr e) {
  std::vector<std::pair<NodeId, size_t>> stack = {{e.id, 0}};
  while (!stack.empty()) {
    const NodeId id = stack.back().first;
    const Node& n = graph_[id];
    size_t& next = stack.back().second;
    // Nothing is learnt from the operands of a reduction or a loop, apart from the range of an extreme.
    const bool enter = n.op != Op::MapAccum && n.op != Op::Proj && n.op != Op::Scatter && n.op != Op::Sum;
    if (memo_.contains(id.v)) {
      stack.pop_back();
    } else if (enter && next < n.in.size()) {
      const NodeId operand = n.in[next++];
      if (!memo_.contains(operand.v)) stack.emplace_back(operand, 0);
    } else {
      std::vector<const IndexFact*> in;
      if (enter)
        for (NodeId operand : n.in) in.push_back(&memo_.at(operand.v));
      IndexFact fact = Derive(graph_, n, in).fact();
      memo_.emplace(id.v, std::move(fact));
      stack.pop_back();
    }
  }
  return memo_.at(e.id.v);
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
