#include "spirv/lower/gathered_products.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "frontend/ir/algebra.h"
#include "spirv/lower/contractions.h"

namespace spirograd::lower {

using ir::Expr;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

struct Range {
  int64_t least = 0, greatest = 0;
};

// None where machines would wrap around.
std::optional<Range> in_i32(int64_t least, int64_t greatest) {
  using Limits = std::numeric_limits<int32_t>;
  return least < Limits::min() || greatest > Limits::max() ? std::nullopt : std::optional(Range{least, greatest});
}

// Of integers that are made of numbers of elements and constants.
std::optional<Range> range_of(const Graph& g, NodeId id, size_t depth = 0) {
  constexpr size_t kDeepest = 16;
  const Node& n = g[id];
  if (depth == kDeepest) return std::nullopt;
  const auto of = [&](size_t j) { return range_of(g, n.in[j], depth + 1); };
  if (n.op == Op::Iota) return in_i32(0, n.type.shape[static_cast<int>(n.attr[0])] - 1);
  if (n.op == Op::Const && n.type.shape.rank() == 0) {
    const auto value = static_cast<int64_t>(n.data[0]);
    return in_i32(value, value);
  }
  if (n.op == Op::Broadcast || n.op == Op::Transpose || n.op == Op::Reshape) return of(0);
  if (n.op != Op::Add && n.op != Op::Sub && n.op != Op::Mul) return std::nullopt;
  const std::optional<Range> a = of(0), b = of(1);
  if (!a || !b) return std::nullopt;
  if (n.op == Op::Add) return in_i32(a->least + b->least, a->greatest + b->greatest);
  if (n.op == Op::Sub) return in_i32(a->least - b->greatest, a->greatest - b->least);
  const auto [least, greatest] =
      std::minmax({a->least * b->least, a->least * b->greatest, a->greatest * b->least, a->greatest * b->greatest});
  return in_i32(least, greatest);
}

// An axis of the gather's result, or of the arrays of places that choose along one of its table.
struct Follows {
  bool chosen = false;
  size_t number = 0;
};
using WhatAxesFollow = std::vector<Follows>;

constexpr int64_t kRepeated = 4;    // copies of each element, as of an image that is made twice as large
constexpr size_t kMostAsked = 100;  // nodes

class ReadAtPlaces {
 public:
  ReadAtPlaces(Graph& g, NodeId gather, const NodeSet& stored) : g_(g), n_(g[gather]), stored_(stored) {}

  std::optional<GatheredProduct> run() {
    const Node& table = g_[n_.in[0]];
    WhatAxesFollow at;
    for (size_t a = 0; a < static_cast<size_t>(table.type.shape.rank()); ++a)
      at.push_back(a < chosen() ? Follows{true, a} : Follows{false, a - chosen() + rank_of_places()});
    elements_ = table.type.shape.count();
    for (size_t a = 0; a < chosen(); ++a)
      if (!leave_out({&g_, n_.in[a + 1]}, table.type.shape[static_cast<int>(a)])) return std::nullopt;
    std::optional<Expr> product = read(n_.in[0], at);
    if (!product) return std::nullopt;
    out_.product = *product;
    return std::move(out_);
  }

 private:
  size_t chosen() const { return n_.in.size() - 1; }
  size_t rank_of_places() const { return static_cast<size_t>(g_[n_.in[1]].type.shape.rank()); }
  bool is_array(NodeId id) const { return stored_.contains(id.v) || g_[id].op == Op::Param; }

  // What a product is made of is smaller.
  std::optional<Expr> read(NodeId id, const WhatAxesFollow& at) {
    const Node n = g_[id];
    if (++seen_ > kMostAsked) return std::nullopt;
    if (n.type.shape.rank() == 0) return ir::broadcast(Expr{&g_, id}, n_.type.shape, {});
    if (is_array(id) || n.type.shape.count() < elements_) return array(id, at);
    WhatAxesFollow below(n.in.empty() ? 0 : static_cast<size_t>(g_[n.in[0]].type.shape.rank()));
    if (ir::is_pointwise(n.op)) {
      std::vector<Expr> in;
      for (const NodeId operand : n.in) {
        const std::optional<Expr> e = read(operand, at);
        if (!e) return std::nullopt;
        in.push_back(*e);
      }
      return ir::with_operands(g_, n, in);
    }
    if (n.op != Op::Transpose && n.op != Op::Broadcast) return std::nullopt;
    for (size_t j = 0; j < below.size(); ++j) {
      if (n.op == Op::Transpose)
        below[static_cast<size_t>(n.attr[j])] = at[j];
      else
        below[j] = at[static_cast<size_t>(n.attr[j])];
    }
    return read(n.in[0], below);
  }

  // Places that are the numbers of an axis of theirs choose nothing.
  void drop_own(WhatAxesFollow& at, const Shape& shape) const {
    for (size_t a = 0; a < at.size(); ++a) {
      if (!at[a].chosen) continue;
      const Node& places = g_[n_.in[at[a].number + 1]];
      if (places.op == Op::Iota && places.type.shape[static_cast<int>(places.attr[0])] == shape[static_cast<int>(a)])
        at[a] = {false, static_cast<size_t>(places.attr[0])};
    }
  }

  std::optional<Expr> array(NodeId id, WhatAxesFollow at) {
    Expr x{&g_, id};
    drop_own(at, x.shape());
    std::vector<Expr> places;
    std::vector<int64_t> order, axes;
    for (size_t a = 0; a < at.size(); ++a) {
      if (!at[a].chosen) continue;
      order.push_back(static_cast<int64_t>(a));
      places.push_back({&g_, n_.in[at[a].number + 1]});
      if (!read_inside(x, static_cast<int>(a), places.back())) return std::nullopt;
    }
    if (x.id != id) {
      if (!is_made_of_arrays(g_, id, stored_)) return std::nullopt;
      out_.copies.insert(x.id.v);
    }
    for (size_t axis = 0; axis < rank_of_places() && !places.empty(); ++axis) axes.push_back(static_cast<int64_t>(axis));
    for (size_t result = 0; result < static_cast<size_t>(n_.type.shape.rank()); ++result)
      for (size_t a = 0; a < at.size(); ++a)
        if (!at[a].chosen && at[a].number == result)
          order.push_back(static_cast<int64_t>(a)), axes.push_back(static_cast<int64_t>(result));
    if (std::ranges::adjacent_find(axes, std::greater_equal()) != axes.end()) return std::nullopt;
    const Expr turned = ir::transpose(x, order);
    return ir::broadcast(places.empty() ? turned : ir::gather(turned, places), n_.type.shape, axes);
  }

  // Whatever is read there counts as nothing beyond. False: the places are not known.
  bool leave_out(Expr places, int64_t extent) {
    const std::optional<Range> range = range_of(g_, places.id);
    if (!range) return false;
    if (range->least >= 0 && range->greatest < extent) return true;
    const Expr inside = ir::both(ir::binary(Op::Le, ir::whole_like(places, 0), places),
                                 ir::binary(Op::Lt, places, ir::whole_like(places, extent)));
    out_.inside = out_.inside ? ir::both(*out_.inside, inside) : inside;
    return true;
  }

  Graph& g_;
  const Node n_;
  const NodeSet& stored_;
  int64_t elements_ = 0;  // of the products
  size_t seen_ = 0;
  GatheredProduct out_;
};

}  // namespace

bool is_made_of_arrays(const Graph& g, NodeId id, const NodeSet& stored) {
  std::vector<NodeId> stack = {id};
  int64_t largest = 1;
  for (size_t seen = 0; !stack.empty(); ++seen) {
    const NodeId at = stack.back();
    stack.pop_back();
    const Node& n = g[at];
    if (n.op == Op::Param || stored.contains(at.v)) {
      largest = std::max(largest, n.type.shape.count());
      continue;
    }
    const bool computes =
        ir::is_pointwise(n.op) || ir::kind(n.op) == ir::Kind::Layout || n.op == Op::Iota || n.op == Op::Const;
    if (!computes || seen == kMostAsked) return false;
    stack.insert(stack.end(), n.in.begin(), n.in.end());
  }
  return g[id].type.shape.count() <= kRepeated * largest;
}

bool read_inside(Expr& array, int axis, Expr& places) {
  const std::optional<Range> range = range_of(*places.graph, places.id);
  if (!range) return false;
  const int64_t extent = array.shape()[axis],
                beyond = std::max<int64_t>(0, -range->least) + std::max<int64_t>(0, range->greatest - extent + 1);
  if (beyond == 0) return true;
  if (2 * beyond > extent) return false;
  array = windowed(array, axis, range->least, range->greatest - range->least + 1);
  places = places - ir::whole_like(places, range->least);
  return true;
}

std::optional<GatheredProduct> gathered_product(Graph& g, NodeId gather, const NodeSet& stored) {
  return ReadAtPlaces(g, gather, stored).run();
}

}  // namespace spirograd::lower
