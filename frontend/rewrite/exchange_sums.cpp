#include "frontend/rewrite/exchange_sums.h"

#include <algorithm>
#include <map>
#include <set>

#include "frontend/ir/composite.h"
#include "frontend/ir/own_graph.h"
#include "frontend/rewrite/named_axes.h"

namespace spirograd::rewrite {

using namespace ir;

namespace {

constexpr double kMore = 1.1;   // of the outer sum's products, for the two sums in the other order
constexpr double kSmaller = 4;  // what is summed first, by what was

struct Product {
  std::vector<Named> factors;
  bool negative = false;
};

Product factors_of(Expr e, const Axes& names) {
  constexpr size_t kMost = 12;
  Product out;
  std::vector<Named> stack = {{e, names}};
  while (!stack.empty()) {
    const Named x = std::move(stack.back());
    stack.pop_back();
    const Op op = x.e.op();
    if (op == Op::Neg) {
      out.negative = !out.negative;
      stack.push_back({x.e.in(0), x.axes});
    } else if (op == Op::Broadcast) {
      stack.push_back({x.e.in(0), names_below(x.e, x.axes)});
    } else if (op == Op::Mul && out.factors.size() + stack.size() + 2 <= kMost) {
      stack.push_back({x.e.in(1), x.axes});
      stack.push_back({x.e.in(0), x.axes});
    } else {
      out.factors.push_back(x);
    }
  }
  return out;
}

bool depends(const Named& x, std::span<const int64_t> axes) {
  return std::any_of(x.axes.begin(), x.axes.end(), [&](int64_t t) { return contains(axes, t); });
}

// Two sums in one another, as products of arrays of named axes.
class Sums {
 public:
  explicit Sums(Expr outer) : outer_(outer), removed_(outer.node().attr.begin(), outer.node().attr.end()) {
    note(outer.in(0), all_axes(outer.in(0)));
    product_ = factors_of(outer.in(0), all_axes(outer.in(0)));
  }

  Expr exchanged() {
    for (size_t j = 0; j < product_.factors.size(); ++j) {
      const Named& f = product_.factors[j];
      if (f.e.op() != Op::Sum || !depends(f, removed_)) continue;
      if (const Expr e = with_inner(j)) return e;
    }
    return {};
  }

 private:
  void note(Expr x, const Axes& names) {
    for (size_t t = 0; t < names.size(); ++t) extent_[names[t]] = x.shape()[static_cast<int>(t)];
  }

  Shape shape(const Axes& names) const {
    Shape out;
    for (int64_t t : names) out.push_back(extent_.at(t));
    return out;
  }

  double size(const Axes& names) const { return static_cast<double>(shape(names).count()); }

  // Small factors first, with others of `most` elements at most that have all of their axes: what few axes have is not
  // multiplied for each element, and no large array is worth storing.
  Expr product(std::vector<Named> factors, const Axes& names, double most) const {
    std::stable_sort(factors.begin(), factors.end(),
                     [&](const Named& a, const Named& b) { return size(a.axes) < size(b.axes); });
    Expr out;
    for (size_t j = 0; j < factors.size(); ++j) {
      const Named& f = factors[j];
      const auto wider =
          std::find_if(factors.begin() + static_cast<std::ptrdiff_t>(j) + 1, factors.end(), [&](const Named& o) {
            return size(o.axes) <= most &&
                   std::all_of(f.axes.begin(), f.axes.end(), [&](int64_t t) { return contains(o.axes, t); });
          });
      if (wider != factors.end()) {
        wider->e = wider->e * spread(f, wider->axes, shape(wider->axes));
        continue;
      }
      const Expr x = spread(f, names, shape(names));
      out = out ? out * x : x;
    }
    return out;
  }

  static Expr summed(Expr x, const Axes& names, std::span<const int64_t> removed) {
    Axes positions;
    for (size_t t = 0; t < names.size(); ++t)
      if (contains(removed, names[t])) positions.push_back(static_cast<int64_t>(t));
    return reduce(Op::Sum, x, positions);
  }

  static Axes without(const std::set<int64_t>& names, std::span<const int64_t> removed) {
    Axes out;
    for (int64_t t : names)
      if (!contains(removed, t)) out.push_back(t);
    return out;
  }

  Expr with_inner(size_t which) {
    const Named inner = product_.factors[which];
    const Expr body = inner.e.in(0);
    Axes names, inside;  // of the inner sum's operand; those of them that it removes
    auto kept = inner.axes.begin();
    for (int t = 0; t < body.rank(); ++t) {
      const bool sums = contains(inner.e.node().attr, t);
      names.push_back(sums ? outer_.in(0).rank() + t : *kept++);
      if (sums) inside.push_back(names.back());
    }
    note(body, names);
    const Product below = factors_of(body, names);
    std::vector<Named> first, last;  // what is summed first over what the outer sum removes, and what is left for the other
    for (const Named& f : below.factors) (depends(f, removed_) ? first : last).push_back(f);
    if (first.empty() || last.empty()) return {};
    for (size_t j = 0; j < product_.factors.size(); ++j)
      if (j != which) first.push_back(product_.factors[j]);
    std::set<int64_t> of_first(removed_.begin(), removed_.end()), of_last;
    for (const Named& f : first) of_first.insert(f.axes.begin(), f.axes.end());
    for (int64_t t : all_axes(outer_.in(0)))
      if (!contains(removed_, t)) of_last.insert(t);
    const double before = size(all_axes(outer_.in(0)));
    of_last.insert(inside.begin(), inside.end());
    const Axes in_first(of_first.begin(), of_first.end()), in_last(of_last.begin(), of_last.end());
    const Axes middle = without(of_first, removed_);
    if (size(in_first) + size(in_last) > kMore * before || kSmaller * size(middle) > size(inner.axes)) return {};
    const double most = size(inner.axes) / kSmaller;
    last.push_back({summed(product(std::move(first), in_first, most), in_first, removed_), middle});
    const Expr out = summed(product(std::move(last), in_last, most), in_last, inside);
    return product_.negative != below.negative ? -out : out;
  }

  Expr outer_;
  Axes removed_;
  Product product_;
  std::map<int64_t, int64_t> extent_;
};

}  // namespace

Program exchange_sums(const Program& p, RuleLog* rules) {
  bool changed = false;
  const Program out = with_replaced(p, {Op::Sum}, [&](Graph& g, const Node& n) {
    const Expr sum{&g, g.intern(n)};
    if (!is_float(sum.dtype()) || sum.in(0).shape().count() == 0) return sum.id;
    const Expr made = Sums(sum).exchanged();
    changed = changed || made;
    return made ? made.id : sum.id;
  });
  return changed ? simplify(out, rules) : p;
}

}  // namespace spirograd::rewrite
