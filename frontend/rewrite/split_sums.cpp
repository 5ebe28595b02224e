#include "frontend/rewrite/split_sums.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "frontend/ir/algebra.h"
#include "frontend/ir/composite.h"
#include "frontend/rewrite/named_products.h"
#include "frontend/rewrite/simplify_rules.h"
#include "frontend/rewrite/spread_updates.h"

namespace spirograd::rewrite {

using namespace ir;

namespace {

constexpr int kDeepest = 32;          // operations between a sum and its scatters
constexpr int64_t kMuchLarger = 2;    // a scatter, than its updates
constexpr size_t kMostTerms = 64;     // that a sum becomes
constexpr size_t kMostProducts = 8;   // of those
constexpr double kShortProduct = 32;  // elements of a sum that is computed as it is

struct SignedTerm {
  Expr e;
  bool negative = false;
};

bool is_scatter(const SignedTerm& t) { return t.e.op() == Op::Scatter; }

// A scatter, each of whose updates is changed with the element of `by` that stands at its place. What is out of range is
// dropped, whatever it has become.
template <class Change>
Expr at_places(Expr scatter, Expr by, const Change& change) {
  const std::vector<Expr> index = index_of(scatter);
  return ir::scatter(change(scatter.in(0), gather(by, index)), index, Shape(scatter.node().attr));
}

using Terms = std::vector<SignedTerm>;

bool has_scatter(const Terms& terms) { return std::ranges::any_of(terms, is_scatter); }

// What expressions are sums of, as far as there are scatters in them; themselves elsewhere.
class Linear {
 public:
  const Terms& terms_of(Expr x, int depth) {
    if (const auto known = known_.find(x.id.v); known != known_.end()) return known->second;
    Terms terms;
    if (depth > 0) {
      if (x.op() == Op::Add || x.op() == Op::Sub) terms = of_sum(x, depth - 1);
      if (x.op() == Op::Mul) terms = of_product(x, depth - 1);
      if (x.op() == Op::Select) terms = of_choice(x, depth - 1);
      if (x.op() == Op::Neg) terms = of_negation(x, depth - 1);
    }
    if (!has_scatter(terms) || terms.size() > kMostTerms) terms = {{x, false}};
    return known_.emplace(x.id.v, std::move(terms)).first->second;
  }

 private:
  Terms of_sum(Expr x, int depth) {
    Terms terms = terms_of(x.in(0), depth);
    for (const SignedTerm& t : terms_of(x.in(1), depth)) terms.push_back({t.e, t.negative != (x.op() == Op::Sub)});
    return terms;
  }

  Terms of_negation(Expr x, int depth) {
    Terms terms = terms_of(x.in(0), depth);
    for (SignedTerm& t : terms) t.negative = !t.negative;
    return terms;
  }

  Terms of_product(Expr x, int depth) {
    const bool left = has_scatter(terms_of(x.in(0), depth)), right = has_scatter(terms_of(x.in(1), depth));
    if (left == right) return {};  // of a product of scatters, one would have to be in memory
    Terms terms = terms_of(x.in(left ? 0 : 1), depth);
    const Expr factor = x.in(left ? 1 : 0);
    const auto times = [](Expr a, Expr b) { return a * b; };
    for (SignedTerm& t : terms) t.e = is_scatter(t) ? at_places(t.e, factor, times) : t.e * factor;
    return terms;
  }

  Terms of_choice(Expr x, int depth) {
    Terms terms;
    for (const bool yes : {true, false}) {
      const auto kept = [&](Expr value, Expr mask) {
        const Expr nothing = zeros(*value.graph, value.type());
        return yes ? select(mask, value, nothing) : select(mask, nothing, value);
      };
      for (const SignedTerm& t : terms_of(x.in(yes ? 1 : 2), depth)) {
        if (is_uniform(t.e, 0)) continue;
        terms.push_back({is_scatter(t) ? at_places(t.e, x.in(0), kept) : kept(t.e, x.in(0)), t.negative});
      }
    }
    return terms;
  }

  std::map<uint32_t, Terms> known_;
};

// What x is added up from, left to right; x itself if that is too much.
Terms summands(Expr x) {
  Terms out, open = {{x, false}};
  while (!open.empty() && open.size() + out.size() <= kMostProducts) {
    const SignedTerm t = open.back();
    open.pop_back();
    if (t.e.op() == Op::Neg) {
      open.push_back({t.e.in(0), !t.negative});
    } else if (t.e.op() == Op::Add || t.e.op() == Op::Sub) {
      open.push_back({t.e.in(1), t.negative != (t.e.op() == Op::Sub)});
      open.push_back({t.e.in(0), t.negative});
    } else {
      out.push_back(t);
    }
  }
  return open.empty() ? out : Terms{{x, false}};
}

// Whether x is a product of which no factor has all of its axes.
bool is_outer_product(Expr x) {
  const Product p = factors_of({x, all_axes(x)}, true);
  return std::ranges::all_of(p.factors, [&](const Factor& f) { return static_cast<int>(f.axes.size()) < x.rank(); });
}

Expr total_of(const Terms& terms, std::span<const int64_t> axes) {
  Expr total;
  for (const SignedTerm& t : terms) {
    const Expr part = reduce(Op::Sum, t.e, axes);
    total = !total ? (t.negative ? -part : part) : t.negative ? total - part : total + part;
  }
  return total;
}

}  // namespace

Expr scatters_apart(Expr sum) {
  const Expr x = sum.in(0);
  if (sum.op() != Op::Sum || x.op() == Op::Scatter || x.shape().count() == 0) return {};
  const Terms terms = Linear().terms_of(x, kDeepest);
  const std::vector<int64_t>& axes = sum.node().attr;
  const auto shrinks = [&](const SignedTerm& t) {
    if (!is_scatter(t) || t.e.shape().count() < kMuchLarger * t.e.in(0).shape().count()) return false;
    const auto addressed = static_cast<int64_t>(t.e.node().attr.size());
    return std::ranges::any_of(axes, [&](int64_t a) { return a < addressed; });
  };
  // Where something else is computed for each element anyway, a choice by position costs less than a scatter.
  const auto is_choice = [](const SignedTerm& t) { return !is_scatter(t) || is_one_of_each_row(t.e); };
  if (std::ranges::none_of(terms, shrinks)) return {};
  if (std::ranges::all_of(terms, is_choice) && !std::ranges::all_of(terms, is_scatter)) return {};
  return total_of(terms, axes);
}

Expr products_apart(Expr sum) {
  const Expr x = sum.in(0);
  const double results = static_cast<double>(sum.shape().count());
  if (!is_float(sum.dtype()) || static_cast<double>(x.shape().count()) < kShortProduct * results) return {};
  const Terms terms = summands(x);
  const auto is_product = [](const SignedTerm& t) { return is_outer_product(t.e); };
  if (terms.size() < 2 || !std::ranges::all_of(terms, is_product)) return {};
  return total_of(terms, sum.node().attr);
}

}  // namespace spirograd::rewrite
