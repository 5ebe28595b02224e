// Splitting index maps: variables that occur nowhere are summed, i quot s and i rem s become two variables, s*i + j with a
// short j becomes two components, and a component that is c +- i for a variable of its own becomes a window. What is left is
// the core.
#include "frontend/rewrite/index_plan.h"

#include <algorithm>
#include <cstdlib>

#include "frontend/base/checked.h"

namespace spirograd::rewrite {

using namespace ir;

namespace {

struct Variable {
  int64_t extent;
  int original;         // axis of m, -1 after a split
  bool locked = false;  // a run-time component uses it: its positions must not be renumbered
};

struct Open {  // a component that is not finished, or finished with a variable of its own
  int source = -1;
  int64_t c = 0;
  std::vector<int64_t> a;
  int64_t extent = 0;
  int done = -1;  // the variable (position in the list of variables) that has become this target axis
};

struct Merge {  // target axes s, s+1 join to one axis, which is then windowed
  size_t at;
  int64_t lo, extent;
};

class Planner {
 public:
  Planner(Facts& facts, std::span<const Expr> index, const Shape& extents, int rest, PlanFor use)
      : facts_(facts), index_(index), extents_(extents), max_axes_(static_cast<size_t>(kMaxRank - rest)), use_(use) {}

  IndexPlan run() {
    read();
    if (plan_.nothing) return plan_;
    split_quotients();
    while (!plan_.nothing &&
           (sum_unused() || finish_constant() || finish_variable() || split_component() || split_variable())) {
    }
    if (!plan_.nothing) arrange();
    return plan_;
  }

 private:
  Shape shape() const {
    Shape s;
    for (const Variable& v : vars_) s.push_back(v.extent);
    return s;
  }
  void step(LayoutStep s) {
    s.from = plan_.pre.empty() ? index_[0].shape() : plan_.pre.back().to;
    s.to = shape();
    plan_.pre.push_back(std::move(s));
  }
  void step_window(int axis, int64_t lo, int64_t extent) {
    if (lo == 0 && vars_[static_cast<size_t>(axis)].extent == extent) return;
    vars_[static_cast<size_t>(axis)].extent = extent;
    step({.kind = LayoutStep::Kind::Window, .axis = axis, .lo = lo});
  }
  void step_reshape() { step({.kind = LayoutStep::Kind::Reshape}); }

  int uses(size_t v) const {
    int n = 0;
    for (const Open& o : open_) n += o.source < 0 && o.done < 0 && o.a[v] != 0;
    return n;
  }
  bool finished(size_t v) const {
    return std::any_of(open_.begin(), open_.end(), [&](const Open& o) { return o.done == static_cast<int>(v); });
  }
  Range span_of(const Open& o) const {
    Range r{o.c, o.c};
    for (size_t v = 0; v < vars_.size(); ++v) (o.a[v] > 0 ? r.hi : r.lo) += o.a[v] * (vars_[v].extent - 1);
    return r;
  }

  void read() {
    const Shape& m = index_[0].shape();
    for (int t = 0; t < m.rank(); ++t) vars_.push_back({m[t], t, false});
    // A component whose quotients cannot become a split axis counts as a run-time one; that may lock axes of others.
    std::vector<bool> opaque(index_.size());
    for (size_t s = 0; s < index_.size(); ++s) opaque[s] = !facts_(index_[s]).affine;
    for (bool changed = true; changed;) {
      changed = false;
      for (Variable& v : vars_) v.locked = false;
      for (size_t s = 0; s < index_.size(); ++s)
        for (int t = 0; t < m.rank(); ++t)
          if (opaque[s] && (facts_(index_[s]).axes >> t & 1)) vars_[static_cast<size_t>(t)].locked = true;
      std::vector<int64_t> divisor(vars_.size(), 1);
      size_t splits = 0;
      for (size_t s = 0; s < index_.size(); ++s) {
        if (opaque[s]) continue;
        for (int t = 0; t < m.rank(); ++t) {
          const Term& x = facts_(index_[s]).f[t];
          if (x.b == 0) continue;
          int64_t& d = divisor[static_cast<size_t>(t)];
          splits += d == 1;
          if (vars_[static_cast<size_t>(t)].locked || (d != 1 && d != x.s) || vars_.size() + splits > max_axes_)
            opaque[s] = changed = true;
          else
            d = x.s;
        }
      }
    }
    for (size_t s = 0; s < index_.size(); ++s) {
      const IndexFact& fact = facts_(index_[s]);
      const int64_t extent = extents_[static_cast<int>(s)];
      if (fact.range.outside(extent)) plan_.nothing = true;
      Open o;
      o.extent = extent;
      if (opaque[s]) {
        o.source = static_cast<int>(s);
      } else {
        o.c = fact.f.c;
        for (int t = 0; t < m.rank(); ++t) o.a.push_back(fact.f[t].a);
      }
      open_.push_back(std::move(o));
    }
  }

  // Axis t of extent n with i quot s: n is padded to a multiple of s, and i = s * i1 + i2.
  void split_quotients() {
    const int m_rank = index_[0].shape().rank();
    for (int t = m_rank; t-- > 0;) {
      int64_t s = 1;
      for (const Open& o : open_)
        if (o.source < 0) s = std::max(s, facts_(index_[static_cast<size_t>(&o - open_.data())]).f[t].s);
      if (s == 1) continue;
      const size_t at = static_cast<size_t>(t);
      const int64_t q = (vars_[at].extent + s - 1) / s;
      step_window(t, 0, q * s);
      vars_[at] = {q, -1, false};
      vars_.insert(vars_.begin() + t + 1, Variable{s, -1, false});
      step_reshape();
      for (Open& o : open_) {
        if (o.source >= 0) continue;
        const Term x = facts_(index_[static_cast<size_t>(&o - open_.data())]).f[t];
        o.a[at] = x.a * s + x.b;
        o.a.insert(o.a.begin() + t + 1, x.a);
      }
    }
  }

  bool sum_unused() {
    for (size_t v = 0; v < vars_.size(); ++v) {
      if (vars_[v].locked || finished(v) || uses(v) > 0) continue;
      vars_.erase(vars_.begin() + static_cast<std::ptrdiff_t>(v));
      for (Open& o : open_) {
        if (o.source < 0) o.a.erase(o.a.begin() + static_cast<std::ptrdiff_t>(v));
        if (o.done > static_cast<int>(v)) --o.done;
      }
      step({.kind = LayoutStep::Kind::Sum, .axis = static_cast<int>(v)});
      return true;
    }
    return false;
  }

  // A component without variables: a new axis of extent 1 at its position.
  bool finish_constant() {
    for (Open& o : open_) {
      if (o.source >= 0 || o.done >= 0) continue;
      const Range r = span_of(o);
      if (r.outside(o.extent)) return plan_.nothing = true;
      if (std::any_of(o.a.begin(), o.a.end(), [](int64_t a) { return a != 0; })) continue;
      if (vars_.size() >= max_axes_) continue;
      vars_.push_back({1, -1, false});
      for (Open& other : open_)
        if (other.source < 0) other.a.push_back(0);
      o.done = static_cast<int>(vars_.size()) - 1;
      step_reshape();
      step_window(o.done, -o.c, o.extent);
      return true;
    }
    return false;
  }

  // c + i or c - i, and i occurs nowhere else.
  bool finish_variable() {
    for (Open& o : open_) {
      if (o.source >= 0 || o.done >= 0) continue;
      const auto used = std::count_if(o.a.begin(), o.a.end(), [](int64_t a) { return a != 0; });
      const size_t v =
          static_cast<size_t>(std::find_if(o.a.begin(), o.a.end(), [](int64_t a) { return a != 0; }) - o.a.begin());
      if (used != 1 || std::abs(o.a[v]) != 1 || vars_[v].locked || uses(v) != 1) continue;
      if (o.a[v] < 0) {
        step({.kind = LayoutStep::Kind::Reverse, .axis = static_cast<int>(v)});
        o.c -= vars_[v].extent - 1;
        o.a[v] = 1;
      }
      o.done = static_cast<int>(v);
      step_window(o.done, -o.c, o.extent);
      return true;
    }
    return false;
  }

  // f = g * f1 + f2 with 0 <= f2 < g: two target axes that join afterwards.
  bool split_component() {
    for (size_t s = 0; s < open_.size(); ++s) {
      if (open_[s].source >= 0 || open_[s].done >= 0) continue;
      std::vector<int64_t> candidates;
      for (int64_t a : open_[s].a)
        if (std::abs(a) >= 2) candidates.push_back(std::abs(a));
      std::sort(candidates.rbegin(), candidates.rend());
      for (int64_t g : candidates)
        if (split_at(s, g)) return true;
    }
    return false;
  }

  bool split_at(size_t s, int64_t g) {
    if (open_.size() >= max_axes_) return false;
    Open high = open_[s], low = open_[s];
    high.c = low.c = 0;
    int n_high = 0, n_low = 0;
    bool own = true;
    for (size_t v = 0; v < vars_.size(); ++v) {
      int64_t& a = high.a[v];
      if (a != 0) own &= uses(v) == 1 && !vars_[v].locked;
      n_high += a != 0 && a % g == 0;
      n_low += a % g != 0;
      (a % g == 0 ? low.a[v] : a) = 0;
      a /= g;
    }
    // A gather reads with strides as it is; only a mixed-radix index is worth a reshape of the table.
    if (use_ == PlanFor::Gather && (!own || n_high != 1 || n_low == 0)) return false;
    const Range low_span = span_of(low), high_span = span_of(high);
    if (low_span.hi - low_span.lo >= g) return false;
    low.c = -low_span.lo;
    low.extent = g;
    // f = g * (high - least) + low + offset; only the part of the target's rows that [0, P) can see is kept.
    const int64_t target = open_[s].extent;
    const int64_t offset = open_[s].c + low_span.lo + g * high_span.lo;
    const int64_t first = std::max<int64_t>(0, floor_div(-offset, g));
    const int64_t last = std::min(high_span.hi - high_span.lo, floor_div(target - 1 - offset, g));
    if (first > last) return plan_.nothing = true;
    // A stride far beyond the target would make the joined axis larger than anything else: a division is cheaper then.
    if (saturating_mul(last - first + 1, g) > saturating_mul(4, std::max(target, shape().count()))) return false;
    high.c = -high_span.lo - first;
    high.extent = last - first + 1;
    merges_.push_back({s, -(offset + g * first), target});
    open_[s] = std::move(high);
    open_.insert(open_.begin() + static_cast<std::ptrdiff_t>(s) + 1, std::move(low));
    return true;
  }

  // s*i + j with a long j that occurs nowhere else: j = s * j1 + j2. Then only every s-th source is asked per target.
  bool split_variable() {
    if (use_ == PlanFor::Gather || vars_.size() >= max_axes_) return false;
    for (Open& o : open_) {
      if (o.source >= 0 || o.done >= 0) continue;
      for (size_t v = 0; v < vars_.size(); ++v) {
        if (o.a[v] == 0 || vars_[v].locked || uses(v) != 1) continue;
        for (size_t w = 0; w < vars_.size(); ++w) {
          if (w == v || o.a[w] % o.a[v] != 0) continue;
          const int64_t q = std::abs(o.a[w] / o.a[v]);
          if (q < 2 || vars_[v].extent <= q) continue;
          const int64_t n = (vars_[v].extent + q - 1) / q;
          step_window(static_cast<int>(v), 0, n * q);
          vars_[v] = {n, -1, false};
          vars_.insert(vars_.begin() + static_cast<std::ptrdiff_t>(v) + 1, Variable{q, -1, false});
          step_reshape();
          for (Open& other : open_) {
            if (other.done > static_cast<int>(v)) ++other.done;
            if (other.source >= 0) continue;
            other.a.insert(other.a.begin() + static_cast<std::ptrdiff_t>(v) + 1, other.a[v]);
            other.a[v] *= q;
          }
          return true;
        }
      }
    }
    return false;
  }

  static void transpose_step(std::vector<LayoutStep>& steps, Shape from, std::vector<int64_t> perm) {
    if (std::is_sorted(perm.begin(), perm.end())) return;
    Shape to;
    for (int64_t p : perm) to.push_back(from[static_cast<int>(p)]);
    steps.push_back({.kind = LayoutStep::Kind::Transpose, .from = from, .to = to, .perm = std::move(perm)});
  }

  // The core's variables lead, finished axes follow in the order of the components; afterwards the same for target axes.
  void arrange() {
    std::vector<int64_t> pre, post(open_.size());
    for (size_t v = 0; v < vars_.size(); ++v) {
      if (finished(v)) continue;
      pre.push_back(static_cast<int64_t>(v));
      plan_.variables.push_back(vars_[v].extent);
      plan_.original.push_back(vars_[v].original);
    }
    const std::vector<int64_t> core = pre;
    Shape before;
    int64_t position = 0;
    for (size_t s = 0; s < open_.size(); ++s) {
      const Open& o = open_[s];
      if (o.done >= 0) continue;
      Component c{o.source, o.c, {}, o.extent};
      for (int64_t v : core) c.a.push_back(o.source >= 0 ? 0 : o.a[static_cast<size_t>(v)]);
      plan_.core.push_back(std::move(c));
      before.push_back(o.extent);
      post[s] = position++;
    }
    for (size_t s = 0; s < open_.size(); ++s) {
      if (open_[s].done < 0) continue;
      pre.push_back(open_[s].done);
      before.push_back(open_[s].extent);
      post[s] = position++;
    }
    const size_t cheap = plan_.pre.size();
    transpose_step(plan_.pre, shape(), pre);
    transpose_step(plan_.post, before, post);
    Shape target;
    for (const Open& o : open_) target.push_back(o.extent);
    for (size_t k = merges_.size(); k-- > 0;) {
      const Merge& m = merges_[k];
      const int at = static_cast<int>(m.at);
      Shape joined = target.erased(at + 1);
      joined[at] = target[at] * target[at + 1];
      plan_.post.push_back({.kind = LayoutStep::Kind::Reshape, .from = target, .to = joined});
      target = joined;
      if (m.lo == 0 && m.extent == target[at]) continue;
      const Shape from = target;
      target[at] = m.extent;
      plan_.post.push_back({.kind = LayoutStep::Kind::Window, .from = from, .to = target, .axis = at, .lo = m.lo});
    }
    plan_.progress = (cheap > 0 || !merges_.empty() || plan_.core.size() < index_.size()) && in_i32();
  }

  // Index arrays of the core are i32: every partial sum of a component must fit.
  bool in_i32() const {
    for (const Component& c : plan_.core) {
      int64_t sum = std::abs(c.c);
      for (size_t v = 0; v < c.a.size(); ++v)
        sum = saturating_add(sum, saturating_mul(std::abs(c.a[v]), plan_.variables[static_cast<int>(v)]));
      if (sum > std::numeric_limits<int32_t>::max()) return false;
    }
    return true;
  }

  Facts& facts_;
  std::span<const Expr> index_;
  const Shape& extents_;
  size_t max_axes_;  // variables or target axes that leave room for the rest
  PlanFor use_;
  std::vector<Variable> vars_;
  std::vector<Open> open_;
  std::vector<Merge> merges_;
  IndexPlan plan_;
};

}  // namespace

IndexPlan plan_index(Facts& facts, std::span<const Expr> index, const Shape& extents, int rest, PlanFor use) {
  return Planner(facts, index, extents, rest, use).run();
}

Expr core_index(const IndexPlan& plan, const Component& component, std::span<const Expr> index) {
  Graph& g = *index[0].graph;
  if (component.source < 0) {
    Affine f;
    f.c = component.c;
    for (size_t v = 0; v < component.a.size(); ++v) f[static_cast<int>(v)].a = component.a[v];
    return affine_array(g, plan.variables, f);
  }
  // A run-time component keeps the axes that are still variables and is stretched over the others.
  std::vector<int64_t> keep, axes;
  for (size_t v = 0; v < plan.original.size(); ++v) {
    if (plan.original[v] < 0) continue;
    keep.push_back(plan.original[v]);
    axes.push_back(static_cast<int64_t>(v));
  }
  const Expr kept = project(index[static_cast<size_t>(component.source)], keep);
  return kept.shape() == plan.variables ? kept : broadcast(kept, plan.variables, axes);
}

}  // namespace spirograd::rewrite
