// Facts about integer arrays: one case per operation, bottom-up.
#include "frontend/rewrite/index_facts.h"

#include <algorithm>

#include "frontend/base/checked.h"
#include "frontend/ir/op_table.h"

namespace spirograd::rewrite {

using namespace ir;

namespace {

constexpr int64_t kLeast = std::numeric_limits<int32_t>::min();
constexpr int64_t kGreatest = std::numeric_limits<int32_t>::max();
constexpr int64_t kMaxConstScan = 1 << 16;

bool fits(int64_t v) { return v >= kLeast && v <= kGreatest; }
bool fits(Range r) { return fits(r.lo) && fits(r.hi) && r.lo <= r.hi; }
Range hull(Range a, Range b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

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
      make_canonical(out_.f, shape_);
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
  void range(int64_t lo, int64_t hi) {
    if (fits(lo) && fits(hi)) out_.range = {lo, hi};
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
      case Kind::Rule:
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
    range(-in_[0]->range.hi, -in_[0]->range.lo);
    if (affine(0)) set(combined(Affine{}, -1, in_[0]->f));
  }
  void added() {
    range(in_[0]->range.lo + in_[1]->range.lo, in_[0]->range.hi + in_[1]->range.hi);
    if (affine(0) && affine(1)) set(combined(in_[0]->f, 1, in_[1]->f));
  }
  void subtracted() {
    range(in_[0]->range.lo - in_[1]->range.hi, in_[0]->range.hi - in_[1]->range.lo);
    if (affine(0) && affine(1)) set(combined(in_[0]->f, -1, in_[1]->f));
  }
  void multiplied() {
    const Range a = in_[0]->range, b = in_[1]->range;
    const int64_t p[] = {saturating_mul(a.lo, b.lo), saturating_mul(a.lo, b.hi), saturating_mul(a.hi, b.lo),
                         saturating_mul(a.hi, b.hi)};
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
    range(0, std::max(-in_[0]->range.lo, in_[0]->range.hi));
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
    {Op::Bits, &Derive::unknown},
    {Op::FromBits, &Derive::unknown},
    {Op::Cast, &Derive::converted},
    {Op::StopGradient, &Derive::same},
    {Op::PreferStore, &Derive::same},
    {Op::PreferRecompute, &Derive::same},
    {Op::Add, &Derive::added},
    {Op::Sub, &Derive::subtracted},
    {Op::Mul, &Derive::multiplied},
    {Op::Min, &Derive::extreme},
    {Op::Max, &Derive::extreme},
    {Op::Quot, &Derive::quotient_or_remainder},
    {Op::Rem, &Derive::quotient_or_remainder},
    {Op::BitAnd, &Derive::unknown},
    {Op::BitOr, &Derive::unknown},
    {Op::BitXor, &Derive::unknown},
    {Op::ShiftLeft, &Derive::unknown},
    {Op::ShiftRight, &Derive::unknown},
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

const IndexFact& Facts::operator()(Expr e) {
  std::vector<std::pair<NodeId, size_t>> stack = {{e.id, 0}};
  while (!stack.empty()) {
    const NodeId id = stack.back().first;
    const Node& n = graph_[id];
    size_t& next = stack.back().second;
    // Nothing is learnt from the operands of a reduction or a loop, apart from the range of an extreme.
    const bool enter = n.op != Op::MapAccum && n.op != Op::Proj && !ir::is_scatter(n.op) && n.op != Op::Sum;
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

}  // namespace spirograd::rewrite
