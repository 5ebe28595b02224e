#include "frontend/rewrite/read_chosen.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "frontend/ir/composite.h"
#include "frontend/ir/own_graph.h"
#include "frontend/rewrite/named_axes.h"
#include "frontend/rewrite/read_at.h"
#include "frontend/rewrite/simplify_rules.h"

namespace spirograd::rewrite {

using namespace ir;

namespace {

constexpr int kMostLookedAt = 64;       // operations
constexpr int64_t kWorthAScatter = 32;  // elements, one of which is chosen, that are compared in the time of one update

// Finds that an array is zero but where an axis stands at a place that depends on other axes.
class Choices {
 public:
  // `axes`: for each axis of x, the axis of the whole that it is.
  std::vector<PlaceAlong> of(Expr x, const Axes& axes) {
    if (++visits_ > kMostLookedAt) return {};
    switch (x.op()) {
      case Op::Select:
        if (!is_uniform(x.in(2), 0)) return {};
        return joined(of(x.in(0), axes), of(x.in(1), axes));
      case Op::Mul:
      case Op::StrongMul:
      case Op::And: return joined(of(x.in(0), axes), of(x.in(1), axes));
      case Op::MaskedMul:
      case Op::MaskedDiv:
      case Op::Div:
      case Op::Neg:
      case Op::Cast: return of(x.in(0), axes);
      case Op::Broadcast: return of(x.in(0), names_below(x, axes));
      case Op::Eq: return joined(where_equal(x.in(0), x.in(1), axes), where_equal(x.in(1), x.in(0), axes));
      default: return {};
    }
  }

 private:
  static std::vector<PlaceAlong> joined(std::vector<PlaceAlong> a, std::vector<PlaceAlong> b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }

  static std::vector<PlaceAlong> where_equal(Expr position, Expr place, const Axes& axes) {
    if (position.op() != Op::Iota || position.dtype() != DType::I32 || place.op() != Op::Broadcast) return {};
    const int64_t axis = axes[static_cast<size_t>(axis_of(position))];
    const Axes by = names_below(place, axes);
    if (contains(by, axis)) return {};
    return {{axis, place.in(0), by}};
  }

  int visits_ = 0;
};

Expr transposed_to(Expr x, const Axes& axes, const Axes& wanted) {
  Axes perm;
  for (int64_t t : wanted) perm.push_back(std::find(axes.begin(), axes.end(), t) - axes.begin());
  return std::is_sorted(perm.begin(), perm.end()) ? x : transpose(x, perm);
}

// Without the axis that is gone.
int64_t behind(int64_t axis, int64_t gone) { return axis > gone ? axis - 1 : axis; }

Expr where_inside(Facts& facts, Expr x, const PlaceAlong& at, int64_t n) {
  if (facts(at.place).range.inside(n)) return x;
  const Expr inside = both(binary(Op::Ge, at.place, zeros(*x.graph, at.place.type())),
                           binary(Op::Lt, at.place, full_like(at.place, static_cast<double>(n))));
  Axes to;
  for (int64_t t : at.by) to.push_back(behind(t, at.axis));
  const Expr mask = inside.shape() == x.shape() ? inside : broadcast(inside, x.shape(), to);
  return select(mask, x, zeros(*x.graph, x.type()));
}

// Over the axis of the choice.
Expr as_read(Facts& facts, Expr sum, const PlaceAlong& at) {
  const Expr body = sum.in(0), chosen = read_at(body, at);
  if (!chosen) return {};
  Axes rest;
  for (int64_t t : sum.node().attr)
    if (t != at.axis) rest.push_back(behind(t, at.axis));
  return reduce(Op::Sum, where_inside(facts, chosen, at, body.shape()[static_cast<int>(at.axis)]), rest);
}

// Over axes that the choice is made for.
Expr as_scatter(Expr sum, const PlaceAlong& at) {
  const Expr body = sum.in(0);
  const Axes summed(sum.node().attr.begin(), sum.node().attr.end());
  const bool adds_up = std::any_of(at.by.begin(), at.by.end(), [&](int64_t t) { return contains(summed, t); });
  const int64_t extent = body.shape()[static_cast<int>(at.axis)];
  if (!adds_up || extent < kWorthAScatter) return {};
  Expr updates = read_at(body, at);
  if (!updates) return {};
  Axes left, sums;  // axes of the body that the updates still have; those of the updates that do not stay
  for (int64_t t = 0; t < body.rank(); ++t) {
    if (t == at.axis) continue;
    if (contains(summed, t) && !contains(at.by, t)) {
      sums.push_back(behind(t, at.axis));
    } else {
      left.push_back(t);
    }
  }
  Axes order = at.by;  // the updates' axes: those that the place lies along come first
  std::copy_if(left.begin(), left.end(), std::back_inserter(order), [&](int64_t t) { return !contains(at.by, t); });
  updates = transposed_to(reduce(Op::Sum, updates, sums), left, order);
  std::vector<Expr> index;
  Shape extents;
  Axes made;  // the scatter's axes
  for (size_t j = 0; j < at.by.size(); ++j) {
    if (contains(summed, at.by[j])) continue;
    index.push_back(iota(*sum.graph, at.place.shape(), static_cast<int>(j)));
    made.push_back(at.by[j]);
  }
  index.push_back(at.place);
  made.push_back(at.axis);
  for (int64_t t : made) extents.push_back(body.shape()[static_cast<int>(t)]);
  made.insert(made.end(), order.begin() + static_cast<std::ptrdiff_t>(at.by.size()), order.end());
  Axes wanted = made;
  std::sort(wanted.begin(), wanted.end());
  return transposed_to(scatter(updates, index, extents), made, wanted);
}

Expr read_sum(Facts& facts, Expr sum) {
  const Expr body = sum.in(0);
  if (!is_float(sum.dtype()) || body.shape().count() == 0) return {};
  const std::vector<PlaceAlong> choices = Choices().of(body, all_axes(body));
  const auto over = [&](bool summed) {
    return std::find_if(choices.begin(), choices.end(),
                        [&](const PlaceAlong& c) { return summed == contains(sum.node().attr, c.axis); });
  };
  if (const auto c = over(true); c != choices.end()) return as_read(facts, sum, *c);
  if (const auto c = over(false); c != choices.end()) return as_scatter(sum, *c);
  return {};
}

// Whether each element is a reduction of others.
bool is_of_reductions(Expr x) {
  std::vector<Expr> stack = {x};
  for (int visits = 0; !stack.empty() && visits < kMostLookedAt; ++visits) {
    const Expr e = stack.back();
    stack.pop_back();
    if (kind(e.op()) == Kind::Reduce && e.in(0).shape().count() > e.shape().count()) return true;
    if (!is_pointwise(e.op()) && e.op() != Op::Broadcast) continue;
    for (size_t j = 0; j < e.node().in.size(); ++j) stack.push_back(e.in(static_cast<int>(j)));
  }
  return false;
}

// Which arrays are searched for the place of an extreme along an axis.
class Searched {
 public:
  bool operator()(Graph& g, Op op, NodeId array, int64_t axis) {
    if (!known_) {
      known_.emplace();
      for (uint32_t id = 1; id < g.size(); ++id)
        if (const Node& n = g[NodeId{id}]; finds_place(n.op)) known_->emplace(n.op, n.in[0].v, n.attr[0]);
    }
    return known_->contains({op, array.v, axis});
  }

 private:
  std::optional<std::set<std::tuple<Op, uint32_t, int64_t>>> known_;
};

Expr read_extreme(Searched& searched, Graph& g, const Node& n) {
  const Op place = n.op == Op::ReduceMax ? Op::ArgMax : Op::ArgMin;
  const Expr x{&g, n.in[0]};
  if (n.attr.size() != 1 || !searched(g, place, x.id, n.attr[0]) || !is_of_reductions(x)) return {};
  Axes by = all_axes(x);
  by.erase(by.begin() + static_cast<std::ptrdiff_t>(n.attr[0]));
  return read_at(x, {n.attr[0], arg_reduce(place, x, static_cast<int>(n.attr[0])), by});
}

}  // namespace

Program read_chosen(const Program& p, RuleLog* rules) {
  constexpr int kMostRounds = 4;  // extremes of extremes, each of which is another array once those inside of it are read
  bool changed = false;
  const auto or_as_it_was = [&](Graph& g, const Node& n, Expr made) {
    changed = changed || made;
    return made ? made.id : g.intern(n);
  };
  Program out = p;
  for (int round = 0; round < kMostRounds && (round == 0 || changed); ++round) {
    changed = false;
    Searched searched;
    Program read = with_replaced(out, {Op::ReduceMax, Op::ReduceMin},
                                 [&](Graph& g, const Node& n) { return or_as_it_was(g, n, read_extreme(searched, g, n)); });
    std::optional<Facts> facts;
    read = with_replaced(read, {Op::Sum}, [&](Graph& g, const Node& n) {
      if (!facts) facts.emplace(g);
      return or_as_it_was(g, n, read_sum(*facts, {&g, g.intern(n)}));
    });
    if (changed) out = simplify(read, rules);
  }
  return out;
}

}  // namespace spirograd::rewrite
