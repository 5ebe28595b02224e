#include "spirv/lower/near_reads.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>

#include "frontend/ir/algebra.h"
#include "spirv/lower/affine.h"
#include "spirv/lower/contractions.h"

namespace spirograd::lower {

using ir::Expr;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

constexpr int64_t kFarFromNext = 512;  // bytes between two elements of a sum
constexpr int64_t kReadAgain = 64;     // times that each element is read, for a copy to be worth it

struct ArrayRead {
  NodeId node;
  Place place;
};

// What products read, and where; none: at several places, or it is no array that may be copied.
using Reads = std::map<uint32_t, std::optional<Place>>;

Reads reads_of(const Graph& g, Expr products, const NodeSet& stored) {
  constexpr size_t kMostSteps = 256;
  Place own = place_of_point(products.shape());
  own.back() = {kReducedAxis, -1};
  Reads out;
  std::vector<ArrayRead> stack = {{products.id, std::move(own)}};
  for (size_t visits = 0; !stack.empty(); ++visits) {
    const ArrayRead r = std::move(stack.back());
    stack.pop_back();
    const Node& n = g[r.node];
    if (visits == kMostSteps) return {};
    const bool array = stored.contains(r.node.v) || n.op == Op::Param;
    if (!array && (ir::is_pointwise(n.op) || ir::is_unary_layout(n.op) || n.op == Op::Gather)) {
      for (size_t j = 0; j < n.in.size(); ++j) stack.push_back({n.in[j], operand_place(g, n, j, r.place)});
      continue;
    }
    const auto [at, fresh] = out.emplace(r.node.v, array ? std::optional(r.place) : std::nullopt);
    if (!fresh && at->second != r.place) at->second.reset();
  }
  return out;
}

// None: it is near enough as it is, or its last axis is not the one along which lanes are neighbours.
std::optional<std::vector<int64_t>> nearer_order(const Type& array, const Place& place, uint32_t lanes) {
  const auto steps_only = [&](size_t a) { return place[a].axes == kReducedAxis; };
  const size_t rank = place.size(), along = rank > 0 && (axes_of(place) & lanes) ? 1 : 0;
  if (along && !(place.back().axes & lanes)) return std::nullopt;
  std::vector<int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::stable_partition(order.begin(), order.end() - static_cast<std::ptrdiff_t>(along),
                        [&](int64_t a) { return !steps_only(static_cast<size_t>(a)); });
  bool far = false;
  for (size_t a = 0; a < rank - along; ++a) {
    const int64_t apart = array.shape.stride(static_cast<int>(a)) * static_cast<int64_t>(device_bytes(array.dtype));
    far = far || (steps_only(a) && array.shape[static_cast<int>(a)] > 1 && apart >= kFarFromNext);
  }
  return far && !std::ranges::is_sorted(order) ? std::optional(order) : std::nullopt;
}

}  // namespace

Expr with_near_reads(Graph& g, Expr products, const NodeSet& stored, std::set<uint32_t>& copies) {
  const uint32_t lanes = 1u << (products.rank() - 2);
  ir::Memo memo;
  for (const auto& [id, place] : reads_of(g, products, stored)) {
    const Expr array{&g, {id}};
    memo.emplace(id, array.id);  // and nothing below
    const auto order = place ? nearer_order(array.type(), *place, lanes) : std::nullopt;
    if (!order || array.shape().count() * kReadAgain > products.shape().count()) continue;
    const Expr copy = ir::transpose(array, *order);
    copies.erase(id), copies.insert(copy.id.v);
    memo[id] = ir::transpose(copy, inverse_of(*order)).id;
  }
  return Expr{&g, ir::substitute(g, products.id, std::move(memo))};
}

bool steps_along_lanes(Graph& g, Expr products, const NodeSet& stored) {
  const int last = products.rank() - 1, lanes = last - 1;
  const auto is_read = [&](NodeId id, const AffinePlace&) { return stored.contains(id.v) || g[id].op == Op::Param; };
  const auto steps = [&](const rewrite::Affine& c) { return std::abs(c[lanes].a) > 1; };
  const Expr of_one_element = windowed(products, last, 0, 1);
  return std::ranges::any_of(affine_reads(g, of_one_element.id, is_read),
                             [&](const AffineRead& r) { return std::ranges::any_of(r.place, steps); });
}

}  // namespace spirograd::lower
