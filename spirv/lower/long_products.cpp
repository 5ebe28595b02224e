#include "spirv/lower/long_products.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <tuple>

#include "frontend/ir/algebra.h"
#include "frontend/ir/close_loop.h"
#include "frontend/ir/symmetric.h"
#include "spirv/lower/contractions.h"
#include "spirv/lower/row_axis.h"
#include "spirv/lower/stored_sums.h"
#include "spirv/schedule/cost.h"
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

// A node as it is read: the axis of it that is reduced, and where, for a point of the result.
struct Reading {
  NodeId node;
  int reduced = 0;
  Place place;
  auto operator<=>(const Reading& o) const {
    return std::tie(node.v, reduced, place) <=> std::tie(o.node.v, o.reduced, o.place);
  }
};

// An array that a contraction reads: its axes that are reduced, those of the rows of tiles, and those along their lanes.
struct Factor {
  NodeId node;
  int reduced = 0;
  std::optional<int> rows, lanes;
};

constexpr int64_t kMuch = 3;  // times the elements around: more than that is not copied

// Copies end at whole tiles, and so do the sums in between: what is beyond the arrays is 0 there, and left out at the end.
class Contraction {
 public:
  Contraction(Graph& g, const NodeSet& stored, NodeId id, const schedule::LongProduct& how)
      : g_(g),
        stored_(stored),
        id_(id),
        node_(g[id]),
        whole_(reading_of_operand(g, node_)),
        how_(how),
        lanes_(node_.type.shape.rank() - 1),
        padded_(node_.type) {
    for (const auto& [axis, multiple] : {std::pair(how.rows, how.height), std::pair(lanes_, how.width)})
      padded_.shape[axis] = schedule::divided_up(padded_.shape[axis], multiple) * multiple;
  }

  // The sum, and the loops over parts; none: an operand is read in other ways.
  std::optional<Expr> made(std::set<uint32_t>& loops) {
    const int axis = whole_.reduced;
    if (!find_factors() || (pads() && !may_pad_) || elements_copied() > kMuch * elements_around(g_, id_, stored_))
      return std::nullopt;
    const int64_t n = g_[whole_.node].type.shape[axis], part = how_.part, at_once = part * schedule::kPlainSum;
    std::optional<Expr> total;
    for (int64_t from = 0; from + part <= n; from += at_once) {
      const Expr sum = in_loop(from, std::min(at_once, (n - from) / part * part), loops);
      total = total ? *total + sum : sum;
    }
    for (const int a : {how_.rows, lanes_}) total = windowed(*total, a, 0, node_.type.shape[a]);
    return total;
  }

 private:
  int64_t elements_copied() const {
    int64_t all = 0;
    for (const auto& [at, f] : factors_) all += g_[f.node].type.shape.count();
    return all;
  }

  static Reading reading_of_operand(const Graph& g, const Node& n) {
    const Place place = operand_place(g, n, 0, place_of_point(n.type.shape), {kReducedAxis, -1});
    return {n.in[0], static_cast<int>(n.attr[0]), place};
  }

  bool pads() const { return padded_.shape != node_.type.shape; }
  uint32_t bit_of_rows() const { return 1u << how_.rows; }
  uint32_t bit_of_lanes() const { return 1u << lanes_; }

  // Operand j, if it is cut along with what uses it.
  std::optional<Reading> below(const Reading& at, size_t j) const {
    const int axis = row_axis_of_operand(g_, g_[at.node], j, at.reduced);
    if (axis < 0) return std::nullopt;
    return Reading{g_[at.node].in[j], axis, operand_place(g_, g_[at.node], j, at.place)};
  }

  // What lies below on both axes of a tile is computed for each element; all else is an array that is copied.
  bool find_factors() {
    constexpr size_t kMostSteps = 64;
    std::vector<Reading> stack = {whole_};
    for (size_t visits = 0; !stack.empty(); ++visits) {
      const Reading at = std::move(stack.back());
      stack.pop_back();
      if (visits == kMostSteps) return false;
      const Node& n = g_[at.node];
      const uint32_t axes = axes_of(at.place);
      const bool inside = !stored_.contains(at.node.v) && (ir::is_pointwise(n.op) || ir::is_unary_layout(n.op));
      const bool only_laid_out = inside && (n.op == Op::Broadcast || n.op == Op::Transpose);
      if (!only_laid_out && !((axes & bit_of_lanes()) && (axes & bit_of_rows()))) {
        if (!add_factor(at)) return false;
        continue;
      }
      if (!inside) return false;
      may_pad_ = may_pad_ && (ir::is_pointwise(n.op) || only_laid_out);
      for (size_t j = 0; j < n.in.size(); ++j) {
        if (row_axis_of_operand(g_, n, j, at.reduced) == kMixed) return false;
        if (std::optional<Reading> operand = below(at, j))
          stack.push_back(*std::move(operand));
        else
          may_pad_ = may_pad_ && !(axes_of(operand_place(g_, n, j, at.place)) & (bit_of_rows() | bit_of_lanes()));
      }
    }
    return true;
  }

  bool add_factor(const Reading& at) {
    Factor f{at.node, at.reduced, {}, {}};
    for (int a = 0; a < static_cast<int>(at.place.size()); ++a) {
      const Coordinate& c = at.place[static_cast<size_t>(a)];
      if (c.axes & bit_of_lanes()) {
        if (f.lanes || c.same_as != lanes_) return false;
        f.lanes = a;
      } else if (c.axes & bit_of_rows()) {
        may_pad_ = may_pad_ && c.same_as == how_.rows && !f.rows;
        f.rows = a;
      }
    }
    factors_.emplace(at, f);
    return at.place.size() + 2 <= static_cast<size_t>(kMaxRank);
  }

  // So many elements of the reduced axis of what is computed for each element; `arrays`: of the factors, and of what has
  // been made so far.
  Expr sliced(const Reading& at, int64_t count, std::map<Reading, Expr>& arrays) {
    if (const auto it = arrays.find(at); it != arrays.end()) return it->second;
    Node n = g_[at.node];
    for (size_t j = 0; j < n.in.size(); ++j)
      if (const std::optional<Reading> operand = below(at, j)) n.in[j] = sliced(*operand, count, arrays).id;
    n.type.shape[at.reduced] = count;
    for (int a = 0; a < n.type.shape.rank(); ++a)
      if (const int as = at.place[static_cast<size_t>(a)].same_as; pads() && (as == how_.rows || as == lanes_))
        n.type.shape[a] = padded_.shape[as];
    const Expr e{&g_, g_.intern(std::move(n))};
    g_.copy_loc(g_, at.node, e.id);
    return arrays.emplace(at, e).first->second;
  }

  Expr sum_of(int64_t count, std::map<Reading, Expr> arrays) {
    return ir::reduce(Op::Sum, sliced(whole_, count, arrays), {whole_.reduced});
  }

  // A part of an operand, as a step of the loop is given it, back in its own order.
  Expr in_own_order(const Factor& o, Expr part) const {
    if (!o.lanes) return ir::move_axis(part, part.rank() - 1, o.reduced);
    const int last = part.rank() - 1;  // [.., panels, reduced, in the panel]
    const Expr beside = ir::move_axis(part, last - 1, last - 2);
    const Shape shape = beside.shape();
    const Expr whole =
        ir::reshape(beside, shape.erased(last).erased(last - 1).inserted(last - 1, shape[last - 1] * how_.width));
    return ir::transpose(whole, inverse_of(order_of(o)));
  }

  // The axes of an operand: others, what is reduced, what lies along the lanes.
  std::vector<int64_t> order_of(const Factor& o) const {
    std::vector<int64_t> order;
    for (int a = 0; a < g_[o.node].type.shape.rank(); ++a)
      if (a != o.reduced && a != o.lanes) order.push_back(a);
    order.push_back(o.reduced);
    if (o.lanes) order.push_back(*o.lanes);
    return order;
  }

  // [parts, others.., reduced], [parts, others.., panels, reduced, in the panel].
  Expr in_parts(const Factor& o, int64_t from, int64_t count) const {
    const Expr x = padded(o, from, count);
    const Expr ordered = ir::transpose(x, order_of(o));
    const int at = ordered.rank() - (o.lanes ? 2 : 1);
    Shape shape = ordered.shape().erased(at).inserted(at, how_.part).inserted(at, count / how_.part);
    if (o.lanes) {
      const int64_t n = shape[shape.rank() - 1];
      shape =
          shape.erased(shape.rank() - 1).inserted(shape.rank() - 1, how_.width).inserted(shape.rank() - 1, n / how_.width);
    }
    const Expr parts = ir::move_axis(ir::reshape(ordered, shape), at, 0);
    return o.lanes ? ir::move_axis(parts, parts.rank() - 2, parts.rank() - 3) : parts;
  }

  // A range of the reduced axis, up to the ends of the last tiles.
  Expr padded(const Factor& o, int64_t from, int64_t count) const {
    Expr x = windowed({&g_, o.node}, o.reduced, from, count);
    if (o.rows && pads()) x = windowed(x, *o.rows, 0, padded_.shape[how_.rows]);
    return o.lanes ? windowed(x, *o.lanes, 0, padded_.shape[lanes_]) : x;
  }

  // The sum over a range that has whole parts, and over what is left of the axis behind the last one, which comes first.
  Expr in_loop(int64_t from, int64_t count, std::set<uint32_t>& loops) {
    std::vector<Expr> es, vars = {ir::fresh_var(g_, padded_)};
    std::map<Reading, Expr> parts, rest;
    const int64_t behind = g_[whole_.node].type.shape[whole_.reduced] - from - count, left = behind < how_.part ? behind : 0;
    for (const auto& [at, f] : factors_) {
      es.push_back(in_parts(f, from, count));
      vars.push_back(ir::fresh_var(g_, {es.back().dtype(), es.back().shape().erased(0)}));
      parts.emplace(at, in_own_order(f, vars.back()));
      if (left > 0) rest.emplace(at, padded(f, from + count, left));
    }
    const Expr start = left > 0 ? sum_of(left, std::move(rest)) : ir::zeros(g_, padded_);
    const std::vector<Expr> next = {vars[0] + sum_of(how_.part, std::move(parts))};
    const Expr sum = ir::close_loop(g_, {&start, 1}, es, vars, next, false, count / how_.part)[0];
    loops.insert(sum.in(0).id.v);
    return sum;
  }

  Graph& g_;
  const NodeSet& stored_;
  const NodeId id_;
  const Node node_;
  const Reading whole_;  // all that is summed
  const schedule::LongProduct how_;
  const int lanes_;  // the last axis
  Type padded_;
  bool may_pad_ = true;
  std::map<Reading, Factor> factors_;
};

}  // namespace

LongProducts products_in_parts(Graph& g, std::span<const NodeId> roots, const std::set<uint32_t>& stored, const Scans& scans,
                               const Target& target) {
  LongProducts out;
  Rewritten& made = out.made;
  made.roots.assign(roots.begin(), roots.end());
  const auto may_be_long = [&](NodeId id) {
    const Node& n = g[id];
    return n.op == Op::Sum && n.type.dtype == DType::F32 && is_contraction(n) &&
           g[n.in[0]].type.shape.count() >= schedule::kLeastLongProduct;
  };
  if (!schedule::stores_rows(target) || std::ranges::none_of(ir::postorder(g, roots), may_be_long)) return out;
  const Partition partition = choose_partition(g, roots, stored, {}, scans, {}, target);
  const NodeSet outermost = outermost_contractions(g, partition);
  NodeSet now_stored;
  const auto in_parts = [&](NodeId id) -> std::optional<Expr> {
    if (const auto sum = sum_of_stored(g, id, now_stored, target, made.stored)) return sum;
    if (g[id].attr.size() > 1) return std::nullopt;
    schedule::MapFacts facts = facts_when_copied(contraction_facts(g, id, now_stored));
    facts.symmetric = ir::symmetric_axes(g, id);
    const auto how = schedule::long_product(facts, target);
    if (!how) return std::nullopt;
    return how->at_once > 0 ? sum_of_parts(g, id, *how, made.stored) : Contraction(g, now_stored, id, *how).made(out.loops);
  };
  made.roots = ir::rebuild(g, roots, made.moved, [&](NodeId old, NodeId id) {
    if (outermost.contains(old.v) && may_be_long(id))
      if (const std::optional<Expr> sum = in_parts(id)) id = sum->id;
    if (partition.roots.contains(old.v)) now_stored.insert(id.v);
    return id;
  });
  return out;
}

}  // namespace spirograd::lower
