#include "spirv/lower/stored_sums.h"

#include <algorithm>
#include <functional>
#include <type_traits>
#include <utility>

#include "frontend/ir/algebra.h"
#include "spirv/lower/column_sums.h"
#include "spirv/lower/contractions.h"
#include "spirv/lower/several_axes.h"
#include "spirv/lower/symmetric_tiles.h"
#include "spirv/schedule/legal.h"
#include "spirv/schedule/product_rules.h"
#include "spirv/schedule/row_rules.h"

namespace spirograd::lower {

using ir::Expr;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

constexpr int64_t kManySums = 20;     // times the elements around: more than that is not stored of sums of parts
constexpr int64_t kMostRounds = 256;  // of sums that are stored, and summed up before the next ones

// Axes of a result along which lanes may be neighbours: the last one, or one that others are transposed for, long ones
// first.
std::vector<int> axes_of_lanes(const Shape& results, const Target& target) {
  std::vector<int> axes;
  for (int a = 0; a + 1 < results.rank(); ++a)
    if (results[a] >= schedule::width_of(target)) axes.push_back(a);
  std::ranges::stable_sort(axes, std::greater(), [&](int a) { return results[a]; });
  if (results.rank() > 0) axes.insert(axes.begin(), results.rank() - 1);
  return axes;
}

// Sums that may be stored of a contraction that reads and writes so many elements.
int64_t most_stored(int64_t around) { return std::min(kManySums * around, schedule::kMostStoredSums); }

bool is_short_product(const Graph& g, NodeId id, const NodeSet& stored, int64_t around, const Target& target) {
  return g[id].type.shape.count() <= most_stored(around) &&
         schedule::short_products_of(facts_when_copied(contraction_facts(g, id, stored)), target);
}

// Lanes lie along an axis of the results along which arrays are read as they are, if there is one, else along the first one
// for which something is made of whose copies they read rows. `facts`: of what is made; `steps`: whether there are no rows.
template <class Make, class Facts, class Steps>
auto with_lanes(const Shape& results, const Target& target, const Make& make, const Facts& facts, const Steps& steps) {
  enum How { kSteps, kCopies, kAsTheyAre };
  std::optional<std::pair<int, typename std::invoke_result_t<Make, int>::value_type>> best;
  How of_best = kSteps;
  for (const int last : axes_of_lanes(results, target)) {
    auto made = make(last);
    if (!made) continue;
    const How reads = steps(*made) ? kSteps : schedule::short_products_of(facts(*made), target) ? kAsTheyAre : kCopies;
    if (best && reads <= of_best) continue;
    best.emplace(last, *std::move(made));
    of_best = reads;
    if (reads == kAsTheyAre) break;
  }
  return best;
}

// None: they are no short products.
std::optional<SumOfShortSums> sum_with_lanes_along(Graph& g, NodeId id, int last, const NodeSet& now_stored, int64_t most,
                                                   const Target& target) {
  for (int64_t elements = schedule::kPlainSum;;) {
    std::optional<ShortSums> sums = short_sums(g, id, now_stored, last, elements);
    if (!sums) return std::nullopt;
    SumOfShortSums sum(g, *std::move(sums), now_stored, most);
    if (sum.rounds() > kMostRounds) return std::nullopt;
    const schedule::MapFacts facts = facts_when_copied(sum.facts());
    if (schedule::short_products_of(facts, target)) return sum;
    const int64_t fewer = schedule::most_written_out(facts, target);
    if (fewer >= elements) return std::nullopt;
    elements = fewer;
  }
}

std::optional<Expr> sum_of_short_sums(Graph& g, NodeId id, const NodeSet& now_stored, const Target& target,
                                      std::set<uint32_t>& stored) {
  const int64_t most = most_stored(elements_around(g, id, now_stored));
  auto best = with_lanes(
      g[id].type.shape, target, [&](int last) { return sum_with_lanes_along(g, id, last, now_stored, most, target); },
      [](const SumOfShortSums& sum) { return sum.facts(); }, [](const SumOfShortSums& sum) { return sum.steps(); });
  if (!best) return std::nullopt;
  const Expr sum = best->second.total(stored);
  return ir::move_axis(sum, sum.rank() - 1, best->first);
}

// A sum whose result has one of its axes last.
Expr with_last(Graph& g, const Node& sum, int axis) {
  const Expr x{&g, sum.in[0]};
  std::vector<int64_t> kept;
  for (int64_t a = 0; a < x.rank(); ++a)
    if (std::ranges::find(sum.attr, a) == sum.attr.end()) kept.push_back(a);
  std::rotate(kept.begin() + axis, kept.begin() + axis + 1, kept.end());
  std::vector<int64_t> order = kept, axes;
  for (size_t j = 0; j < sum.attr.size(); ++j)
    order.push_back(sum.attr[j]), axes.push_back(static_cast<int64_t>(kept.size() + j));
  return ir::reduce(Op::Sum, ir::transpose(x, order), axes);
}

// Of a contraction that a sum around it reads elsewhere, each element several times: it has a kernel of its own, and is
// stored.
std::optional<Expr> sum_of_what_is_elsewhere(Graph& g, NodeId sum, const NodeSet& now_stored, const Target& target,
                                             std::set<uint32_t>& stored) {
  NodeId at = g[sum].in[0];
  bool gathers = false;
  while (!now_stored.contains(at.v) && (g[at].op == Op::Gather || ir::is_unary_layout(g[at].op))) {
    gathers = gathers || g[at].op == Op::Gather;
    at = g[at].in[0];
  }
  const Node n = g[at], around = g[sum];
  if (!gathers || now_stored.contains(at.v) || n.op != Op::Sum || !is_contraction(n)) return std::nullopt;
  const int64_t elements = elements_around(g, at, now_stored);
  const auto inner_sum = [&](int axis) -> std::optional<Expr> {
    const Expr turned = with_last(g, n, axis);
    return is_short_product(g, turned.id, now_stored, elements, target) ? std::optional(turned) : std::nullopt;
  };
  const auto best = with_lanes(
      n.type.shape, target, inner_sum, [&](const Expr& made) { return contraction_facts(g, made.id, now_stored); },
      [](const Expr&) { return false; });
  if (!best) return std::nullopt;
  const auto& [last, inner] = *best;
  stored.insert(inner.id.v);
  const Expr x{&g, ir::substitute(g, around.in[0], {{at.v, ir::move_axis(inner, inner.rank() - 1, last).id}})};
  std::vector<int64_t> order = around.attr;
  for (int64_t a = 0; a < x.rank(); ++a)
    if (std::ranges::find(around.attr, a) == around.attr.end()) order.push_back(a);
  const Shape& results = around.type.shape;
  const Shape joined = results.inserted(0, x.shape().count() / results.count());
  return ir::reduce(Op::Sum, ir::reshape(ir::transpose(x, order), joined), {0});
}

// Of a symmetric contraction, the tiles on its diagonal or above it, where another axis has lanes.
std::optional<Expr> sum_of_tiles(Graph& g, NodeId id, const NodeSet& now_stored, const Target& target,
                                 std::set<uint32_t>& stored) {
  for (const int last : axes_of_lanes(g[id].type.shape, target)) {
    const std::optional<SymmetricTiles> tiles = SymmetricTiles::of(g, id, last);
    if (!tiles) continue;
    const auto how = schedule::long_product(facts_when_copied(contraction_facts(g, tiles->sums().id, now_stored)), target);
    if (!how || how->at_once == 0) continue;
    return tiles->square_of(sum_of_parts(g, tiles->sums().id, *how, stored));
  }
  return std::nullopt;
}

// Of a contraction whose last axis is shorter than lanes are, as of a gradient by weights of a few classes: parts of its
// transpose, where neighbours along another axis are neighbours in memory.
std::optional<Expr> sum_of_turned_parts(Graph& g, NodeId id, const NodeSet& now_stored, const Target& target,
                                        std::set<uint32_t>& stored) {
  const Node sum = g[id];
  if (sum.type.shape[sum.type.shape.rank() - 1] >= schedule::width_of(target)) return std::nullopt;
  for (const int last : axes_of_lanes(sum.type.shape, target)) {
    if (last + 1 == sum.type.shape.rank()) continue;
    const Expr turned = with_last(g, sum, last);
    const auto how = schedule::long_product(contraction_facts(g, turned.id, now_stored), target);
    if (how && how->at_once > 0) return ir::move_axis(sum_of_parts(g, turned.id, *how, stored), turned.rank() - 1, last);
  }
  return std::nullopt;
}

}  // namespace

int64_t elements_around(const Graph& g, NodeId id, const NodeSet& stored) {
  std::set<uint32_t> leaves;
  for (const Access& a : accesses(g, id, stored).reads) leaves.insert(a.leaf.v);
  int64_t all = g[id].type.shape.count();
  for (const uint32_t leaf : leaves) all += g[{leaf}].type.shape.count();
  return all;
}

Expr sum_of_parts(Graph& g, NodeId id, const schedule::LongProduct& how, std::set<uint32_t>& stored) {
  const Node n = g[id];
  const int axis = static_cast<int>(n.attr[0]);
  const Expr x{&g, n.in[0]};
  const int64_t length = x.shape()[axis], all = length / how.part, left = length - all * how.part;
  std::optional<Expr> total;
  const auto add = [&](Expr sum) { total = total ? *total + sum : sum; };
  for (int64_t from = 0; from < all; from += how.at_once) {
    const int64_t parts = std::min(how.at_once, all - from);
    const Expr some = windowed(x, axis, from * how.part, parts * how.part);
    const Expr cut = ir::reshape(some, some.shape().erased(axis).inserted(axis, how.part).inserted(axis, parts));
    const Expr partial = ir::reduce(Op::Sum, ir::move_axis(cut, axis, 0), {axis + 1});
    stored.insert(partial.id.v);
    add(ir::reshape(sum_of_columns(ir::reshape(partial, {parts, n.type.shape.count()}), stored), n.type.shape));
    if (all > how.at_once) stored.insert(total->id.v);  // before the next ones, which need the memory
  }
  if (left > 0) add(ir::reduce(Op::Sum, windowed(x, axis, all * how.part, left), {axis}));
  return *total;
}

std::optional<Expr> sum_of_stored(Graph& g, NodeId sum, const NodeSet& now_stored, const Target& target,
                                  std::set<uint32_t>& stored) {
  if (const auto other = sum_of_what_is_elsewhere(g, sum, now_stored, target, stored)) return other;
  if (g[sum].attr.size() > 1) return sum_of_short_sums(g, sum, now_stored, target, stored);
  const auto tiles = sum_of_tiles(g, sum, now_stored, target, stored);
  return tiles ? tiles : sum_of_turned_parts(g, sum, now_stored, target, stored);
}

}  // namespace spirograd::lower
