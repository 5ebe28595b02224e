// Affine inversion: a scatter with f = c + A v in pull form. Pivots v_T are solved from the target position p and the free
// variables o; then
//   out[p] = sum over o of x[v_T(p, o), o]   where every division is exact, every solved variable is in range and every
// component without a pivot agrees with p. Reads out of range give 0, so only divisions and agreements need a mask.
#include <algorithm>
#include <cstdlib>

#include "frontend/base/checked.h"
#include "frontend/rewrite/pull.h"

namespace spirograd::rewrite {

using namespace ir;

namespace {

constexpr int64_t kMaxAssignments = 20000;
constexpr int64_t kGreatestIndex = std::numeric_limits<int32_t>::max();

struct Choice {
  std::vector<int> pivot;  // variable of each component, -1: none
  std::vector<int> order;  // components with a pivot, in the order in which they are solved
  std::vector<int> free;
  double cost = 0;
  int divisions = 0;
};

class Solver {
 public:
  explicit Solver(const IndexPlan& plan) : plan_(plan), q_(plan.variables.rank()) {}

  // The cheapest choice of pivots; few divisions among equals.
  std::optional<Choice> best() {
    double n = 1;
    for (size_t s = 0; s < plan_.core.size(); ++s) n *= q_ + 1;
    if (n > static_cast<double>(kMaxAssignments)) return std::nullopt;
    Choice c;
    c.pivot.assign(plan_.core.size(), -1);
    search(c, 0, 0);
    return best_;
  }

 private:
  void search(Choice& c, size_t s, uint32_t used) {
    if (s == plan_.core.size()) return consider(c, used);
    c.pivot[s] = -1;
    search(c, s + 1, used);
    for (int v = 0; v < q_; ++v) {
      if ((used >> v & 1) || plan_.core[s].a[static_cast<size_t>(v)] == 0) continue;
      c.pivot[s] = v;
      search(c, s + 1, used | 1u << v);
    }
    c.pivot[s] = -1;
  }

  void consider(Choice c, uint32_t used) {
    c.cost = 1;
    for (const Component& k : plan_.core) c.cost *= static_cast<double>(k.extent);
    uint32_t known = 0;
    for (int v = 0; v < q_; ++v)
      if (!(used >> v & 1)) {
        c.free.push_back(v);
        c.cost *= static_cast<double>(plan_.variables[v]);
        known |= 1u << v;
      }
    std::vector<bool> solved(plan_.core.size(), false);
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t s = 0; s < plan_.core.size(); ++s) {
        if (solved[s] || c.pivot[s] < 0) continue;
        bool ready = true;
        for (int v = 0; v < q_; ++v)
          ready &= v == c.pivot[s] || (known >> v & 1) || plan_.core[s].a[static_cast<size_t>(v)] == 0;
        if (!ready) continue;
        solved[s] = changed = true;
        known |= 1u << c.pivot[s];
        c.order.push_back(static_cast<int>(s));
        c.divisions += std::abs(plan_.core[s].a[static_cast<size_t>(c.pivot[s])]) != 1;
      }
    }
    if (known != (q_ == 32 ? ~0u : (1u << q_) - 1)) return;
    if (!best_ || c.cost < best_->cost || (c.cost == best_->cost && c.divisions < best_->divisions)) best_ = std::move(c);
  }

  const IndexPlan& plan_;
  int q_;
  std::optional<Choice> best_;
};

// An i32 array with a bound on its magnitude and, while no division has happened, its closed form.
struct Value {
  Expr e;
  int64_t bound = 0;
  std::optional<Affine> f;
};

class Emit {
 public:
  Emit(const IndexPlan& plan, const Choice& choice, Expr x) : plan_(plan), choice_(choice), x_(x), g_(*x.graph) {}

  std::optional<Expr> run() {
    const int r = static_cast<int>(plan_.core.size());
    for (const Component& c : plan_.core) shape_.push_back(c.extent);
    for (int v : choice_.free) shape_.push_back(plan_.variables[v]);
    values_.resize(static_cast<size_t>(plan_.variables.rank()));
    for (size_t k = 0; k < choice_.free.size(); ++k)
      values_[static_cast<size_t>(choice_.free[k])] = position(r + static_cast<int>(k));
    for (int s : choice_.order)
      if (!solve(s)) return std::nullopt;
    for (int s = 0; s < r; ++s)
      if (choice_.pivot[static_cast<size_t>(s)] < 0 && !agree(s)) return std::nullopt;
    std::vector<Expr> index;
    for (const Value& v : values_) index.push_back(v.e);
    Expr out = gather(x_, index);
    if (mask_) {
      std::vector<int64_t> lead;
      for (int t = 0; t < shape_.rank(); ++t) lead.push_back(t);
      const Expr m = mask_.shape() == out.shape() ? mask_ : broadcast(mask_, out.shape(), lead);
      out = select(m, out, zeros(g_, out.type()));
    }
    std::vector<int64_t> axes;
    for (int t = r; t < shape_.rank(); ++t) axes.push_back(t);
    return reduce(Op::Sum, out, axes);
  }

 private:
  Value position(int axis) {
    Affine f;
    f[axis].a = shape_[axis] > 1 ? 1 : 0;
    return {affine_array(g_, shape_, f), std::max<int64_t>(shape_[axis] - 1, 0), f};
  }
  Expr constant(int64_t v) { return full(g_, i32(shape_), static_cast<double>(v)); }

  // p_s - c_s - sum of a * v over all variables but `skip`; nothing if it may leave i32.
  std::optional<Value> rest(int s, int skip) {
    const Component& c = plan_.core[static_cast<size_t>(s)];
    Value out = position(s);
    int64_t bound = saturating_add(out.bound, std::abs(c.c));
    out.f->c -= c.c;
    out.e = c.c == 0 ? out.e : out.e - constant(c.c);
    for (int v = 0; v < plan_.variables.rank(); ++v) {
      const int64_t a = c.a[static_cast<size_t>(v)];
      if (v == skip || a == 0) continue;
      const Value& x = values_[static_cast<size_t>(v)];
      bound = saturating_add(bound, saturating_mul(std::abs(a), x.bound));
      if (bound > kGreatestIndex || std::abs(a) > kGreatestIndex) return std::nullopt;
      out.e = out.e - (a == 1 ? x.e : x.e * constant(a));
      if (!x.f) out.f.reset();
      if (!out.f) continue;
      out.f->c -= a * x.f->c;
      for (int t = 0; t < shape_.rank(); ++t) (*out.f)[t].a -= a * (*x.f)[t].a;
    }
    if (bound > kGreatestIndex) return std::nullopt;
    out.bound = bound;
    if (out.f) out.e = affine_array(g_, shape_, *out.f);
    return out;
  }

  bool solve(int s) {
    const int v = choice_.pivot[static_cast<size_t>(s)];
    const int64_t a = plan_.core[static_cast<size_t>(s)].a[static_cast<size_t>(v)];
    auto value = rest(s, v);
    if (!value || std::abs(a) > kGreatestIndex) return false;
    if (a == -1) {
      if (value->f) {
        value->f->c = -value->f->c;
        for (Term& t : value->f->term) t.a = -t.a;
        value->e = affine_array(g_, shape_, *value->f);
      } else {
        value->e = -value->e;
      }
    } else if (a != 1) {
      require(binary(Op::Eq, binary(Op::Rem, value->e, constant(a)), constant(0)));
      value->e = binary(Op::Quot, value->e, constant(a));
      value->f.reset();
    }
    values_[static_cast<size_t>(v)] = *value;
    return true;
  }

  bool agree(int s) {
    const auto difference = rest(s, -1);
    if (!difference) return false;
    require(binary(Op::Eq, difference->e, constant(0)));
    return true;
  }

  void require(Expr m) { mask_ = mask_ ? both(mask_, m) : m; }

  const IndexPlan& plan_;
  const Choice& choice_;
  Expr x_;
  Graph& g_;
  Shape shape_;
  std::vector<Value> values_;
  Expr mask_;
};

}  // namespace

std::optional<Expr> pull(const IndexPlan& plan, Expr x) {
  for (const Component& c : plan.core)
    if (c.source >= 0) return std::nullopt;
  if (plan.core.empty()) return x;
  const auto choice = Solver(plan).best();
  if (!choice) return std::nullopt;
  const int rest = x.rank() - plan.variables.rank();
  if (static_cast<int>(plan.core.size() + choice->free.size()) + rest > kMaxRank) return std::nullopt;
  if (!choice->free.empty() && choice->cost > 4 * static_cast<double>(plan.variables.count())) return std::nullopt;
  return Emit(plan, *choice, x).run();
}

}  // namespace spirograd::rewrite
