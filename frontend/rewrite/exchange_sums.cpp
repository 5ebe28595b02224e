#include "frontend/rewrite/exchange_sums.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "frontend/ir/composite.h"
#include "frontend/ir/own_graph.h"
#include "frontend/rewrite/named_axes.h"

namespace spirograd::rewrite {

using namespace ir;

namespace {

constexpr double kMore = 1.1;     // of the outer sum's products, for the two sums in the other order
constexpr double kSmaller = 4;    // what is summed first, by what was
constexpr double kLess = 0.5;     // of all products, where the inner sum has no other reader;
constexpr double kLittle = 0.05;  // of the inner sum's, where it has others, which may need it no more

// How many nodes read each one, and whoever asks for a result.
class Readers {
 public:
  explicit Readers(const Program& p) : readers_(p.graph->size()) {
    const Graph& g = *p.graph;
    for (uint32_t id = 1; id < g.size(); ++id)
      for (NodeId in : g[NodeId{id}].in) ++readers_[in.v];
    for (const ProgramResult& r : p.results) results_.insert(r.node);
    for (int64_t f = 0; f < g.function_count(); ++f)
      for (NodeId r : g.function(f).results) results_.insert(r.v);
  }
  bool one(Expr e) const { return e.id.v < readers_.size() && readers_[e.id.v] == 1 && !is_result(e); }
  bool is_result(Expr e) const { return results_.contains(e.id.v); }

 private:
  std::vector<int> readers_;
  std::set<uint32_t> results_;
};

struct Factor : Named {
  bool alone = false;  // nothing but the product reads it
};

struct Product {
  std::vector<Factor> factors;
  bool negative = false;
};

Product factors_of(Expr e, const Axes& names, const Readers& readers) {
  constexpr size_t kMost = 12;
  Product out;
  std::vector<Factor> stack = {{{e, names}, true}};
  while (!stack.empty()) {
    Factor x = std::move(stack.back());
    stack.pop_back();
    x.alone = x.alone && readers.one(x.e);
    const Op op = x.e.op();
    if (op == Op::Neg) {
      out.negative = !out.negative;
      stack.push_back({{x.e.in(0), x.axes}, x.alone});
    } else if (op == Op::Broadcast) {
      stack.push_back({{x.e.in(0), names_below(x.e, x.axes)}, x.alone});
    } else if (op == Op::Mul && out.factors.size() + stack.size() + 2 <= kMost) {
      stack.push_back({{x.e.in(1), x.axes}, x.alone});
      stack.push_back({{x.e.in(0), x.axes}, x.alone});
    } else {
      out.factors.push_back(x);
    }
  }
  return out;
}

bool depends(const Named& x, std::span<const int64_t> axes) {
  return std::any_of(x.axes.begin(), x.axes.end(), [&](int64_t t) { return contains(axes, t); });
}

// A sum, and perhaps one inside of it, as products of arrays of named axes.
class Sums {
 public:
  Sums(Expr outer, const Readers& readers)
      : outer_(outer), readers_(readers), removed_(outer.node().attr.begin(), outer.node().attr.end()) {
    note(outer.in(0), all_axes(outer.in(0)));
    product_ = factors_of(outer.in(0), all_axes(outer.in(0)), readers);
  }

  Expr exchanged() {
    if (const Expr e = factored()) return e;
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

  // Factors that stay the same leave the sum, if what is left is an array of fewer axes: of a product of two vectors each is
  // multiplied by itself. An infinite constant stays (factor_sums.cpp).
  Expr factored() const {
    std::vector<Named> in, out;
    std::set<int64_t> of_in(removed_.begin(), removed_.end()), all;
    for (int64_t t : all_axes(outer_.in(0))) all.insert(t);
    for (const Factor& f : product_.factors) {
      const auto& data = f.e.node().data;
      const bool finite = std::all_of(data.begin(), data.end(), [](double x) { return std::isfinite(x); });
      const bool stays = depends(f, removed_) || !finite;
      (stays ? in : out).push_back(f);
      if (stays) of_in.insert(f.axes.begin(), f.axes.end());
    }
    const Axes in_sum(of_in.begin(), of_in.end());
    if (in.empty() || out.empty() || of_in.size() == all.size()) return {};
    out.push_back({summed(product(std::move(in), in_sum, 0), in_sum, removed_), without(of_in, removed_)});
    const Expr result = product(std::move(out), without(all, removed_), 0);
    return product_.negative ? -result : result;
  }

  Expr with_inner(size_t which) {
    const Factor inner = product_.factors[which];
    const Expr body = inner.e.in(0);
    Axes names, inside;  // of the inner sum's operand; those of them that it removes
    auto kept = inner.axes.begin();
    for (int t = 0; t < body.rank(); ++t) {
      const bool sums = contains(inner.e.node().attr, t);
      names.push_back(sums ? outer_.in(0).rank() + t : *kept++);
      if (sums) inside.push_back(names.back());
    }
    note(body, names);
    const Product below = factors_of(body, names, readers_);
    std::vector<Named> first, last;  // what is summed first over what the outer sum removes, and what is left for the other
    for (const Factor& f : below.factors) (depends(f, removed_) ? first : last).push_back(f);
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
    const double after = size(in_first) + size(in_last);
    const bool keeps_less = after <= kMore * before && kSmaller * size(middle) <= size(inner.axes);
    const double own = size(names);
    const bool computes_less =
        inner.alone ? after <= kLess * (before + own) : after <= kLittle * own && !readers_.is_result(inner.e);
    if (!keeps_less && !computes_less) return {};
    const double most = size(inner.axes) / kSmaller;
    last.push_back({summed(product(std::move(first), in_first, most), in_first, removed_), middle});
    const Expr out = summed(product(std::move(last), in_last, most), in_last, inside);
    return product_.negative != below.negative ? -out : out;
  }

  Expr outer_;
  const Readers& readers_;
  Axes removed_;
  Product product_;
  std::map<int64_t, int64_t> extent_;
};

}  // namespace

Program exchange_sums(const Program& p, RuleLog* rules) {
  constexpr int kMostRounds = 4;  // products of several matrices
  if (!reaches(p, {Op::Sum})) return p;
  Program out = p;
  bool changed = true;
  for (int round = 0; round < kMostRounds && changed; ++round) {
    changed = false;
    ir::make_graph_private(out);  // so that nothing is in the graph that nobody reads, and its copy has the same numbers
    const Readers readers(out);
    const Program made = with_replaced(out, {Op::Sum}, [&](Graph& g, const Node& n) {
      const Expr sum{&g, g.intern(n)};
      if (!is_float(sum.dtype()) || sum.in(0).shape().count() == 0) return sum.id;
      const Expr e = Sums(sum, readers).exchanged();
      changed = changed || e;
      return e ? e.id : sum.id;
    });
    if (changed) out = simplify(made, rules);
  }
  return out;
}

}  // namespace spirograd::rewrite
