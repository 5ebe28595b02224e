#include "frontend/rewrite/exchange_sums.h"

#include <algorithm>
#include <set>

#include "frontend/ir/composite.h"
#include "frontend/ir/own_graph.h"
#include "frontend/rewrite/factor_sums.h"
#include "frontend/rewrite/named_products.h"

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
  /// Whether a node of the program has one reader.
  std::function<bool(Expr)> once() const {
    return [this](Expr e) { return e.id.v < readers_.size() && readers_[e.id.v] == 1 && !is_result(e); };
  }
  bool is_result(Expr e) const { return results_.contains(e.id.v); }

 private:
  std::vector<int> readers_;
  std::set<uint32_t> results_;
};

// A sum, and perhaps one inside of it, as products of arrays of named axes.
class Sums {
 public:
  Sums(Expr outer, const Readers& readers)
      : outer_(outer), readers_(readers), removed_(outer.node().attr.begin(), outer.node().attr.end()) {
    const Named body = {outer.in(0), all_axes(outer.in(0))};
    extents_.note(body);
    product_ = factors_of(body, true, readers.once());
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
    extents_.note({body, names});
    const Product below = factors_of({body, names}, true, readers_.once());
    std::vector<Named> first, last;  // what is summed first over what the outer sum removes, and what is left for the other
    for (const Factor& f : below.factors) (depends(f, removed_) ? first : last).push_back(f);
    if (first.empty() || last.empty()) return {};
    for (size_t j = 0; j < product_.factors.size(); ++j)
      if (j != which) first.push_back(product_.factors[j]);
    std::set<int64_t> of_first(removed_.begin(), removed_.end()), of_last;
    for (const Named& f : first) of_first.insert(f.axes.begin(), f.axes.end());
    for (int64_t t : all_axes(outer_.in(0)))
      if (!contains(removed_, t)) of_last.insert(t);
    const double before = extents_.size(all_axes(outer_.in(0)));
    of_last.insert(inside.begin(), inside.end());
    const Axes in_first(of_first.begin(), of_first.end()), in_last(of_last.begin(), of_last.end());
    const Axes middle = without(in_first, removed_);
    const double after = extents_.size(in_first) + extents_.size(in_last);
    const bool keeps_less = after <= kMore * before && kSmaller * extents_.size(middle) <= extents_.size(inner.axes);
    const double own = extents_.size(names);
    const bool computes_less =
        inner.alone ? after <= kLess * (before + own) : after <= kLittle * own && !readers_.is_result(inner.e);
    if (!keeps_less && !computes_less) return {};
    const double most = extents_.size(inner.axes) / kSmaller;
    last.push_back(summed(product(gathered(std::move(first), extents_, most), in_first, extents_), removed_));
    const Expr out = summed(product(gathered(std::move(last), extents_, most), in_last, extents_), inside).e;
    return product_.negative != below.negative ? -out : out;
  }

  Expr outer_;
  const Readers& readers_;
  Axes removed_;
  Product product_;
  Extents extents_;
};

}  // namespace

Program exchange_sums(const Program& p, RuleLog* rules) {
  constexpr int kMostRounds = 4;  // products of several matrices
  if (!reaches(p, {Op::Sum})) return p;
  Program out = p;
  bool changed = true;
  for (int round = 0; round < kMostRounds && changed; ++round) {
    changed = false;
    const std::shared_ptr<Graph> own = make_graph_private(out);  // nothing is in it that nobody reads
    const Readers readers(out);
    replace(out, *own, {Op::Sum}, [&](Graph& g, const Node& n) {
      const Expr sum{&g, g.intern(n)};
      if (!is_float(sum.dtype()) || sum.in(0).shape().count() == 0) return sum.id;
      Expr e = factor_out(sum);
      if (!e) e = Sums(sum, readers).exchanged();
      changed = changed || e;
      return e ? e.id : sum.id;
    });
    if (changed) out = simplify(out, rules);
  }
  return out;
}

}  // namespace spirograd::rewrite
