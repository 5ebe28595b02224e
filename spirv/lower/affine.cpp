#include "spirv/lower/affine.h"

#include <algorithm>
#include <set>

#include "frontend/ir/algebra.h"
#include "frontend/ir/index_map.h"

namespace spirograd::lower {

using ir::Node;
using ir::NodeId;

namespace {

using Coordinate = std::optional<Affine>;  // none: not affine
using Place = std::vector<Coordinate>;

Coordinate multiplied(Coordinate x, int64_t factor) {
  if (!x) return x;
  x->constant *= factor;
  for (auto& [axis, f] : x->terms) f *= factor;
  if (factor == 0) x->terms.clear();
  return x;
}

Coordinate sum(Coordinate x, const Coordinate& y) {
  if (!x || !y) return std::nullopt;
  x->constant += y->constant;
  for (const auto& [axis, f] : y->terms)
    if ((x->terms[axis] += f) == 0) x->terms.erase(axis);
  return x;
}

struct AffineArithmetic {
  Coordinate reversed(const Coordinate& x, int64_t extent) const { return sum(multiplied(x, -1), Affine{extent - 1, {}}); }
  Coordinate shifted(const Coordinate& x, int64_t by, int) const { return sum(x, Affine{by, {}}); }
  // Row-major numbers are sums; where one is taken apart again, only parts that are all of it are.
  Place reshaped(const Shape& from, const Shape& to, std::span<const Coordinate> p) const {
    Place out(static_cast<size_t>(from.rank()), Affine{});
    for (const ir::ReshapeGroup& group : ir::reshape_groups(from, to)) {
      Coordinate number = Affine{};
      for (int c = group.to_begin; c < group.to_end; ++c) number = sum(multiplied(number, to[c]), p[static_cast<size_t>(c)]);
      int longer = 0;  // axes of more than one element
      for (int a = group.from_begin; a < group.from_end; ++a) longer += from[a] > 1;
      for (int a = group.from_begin; a < group.from_end; ++a)
        if (from[a] > 1) out[static_cast<size_t>(a)] = longer == 1 ? number : std::nullopt;
    }
    return out;
  }
};

}  // namespace

std::vector<AffineRead> affine_reads(const ir::Graph& g, NodeId root, const std::function<bool(NodeId)>& stored) {
  struct Visit {
    NodeId id;
    Place place;
    std::vector<NodeId> path;
  };
  std::vector<AffineRead> out;
  std::set<std::pair<uint32_t, Place>> seen;
  std::vector<Visit> stack(1);
  stack[0].id = root;
  for (int a = 0; a < g[root].type.shape.rank(); ++a) stack[0].place.push_back(Affine{0, {{a, 1}}});
  while (!stack.empty()) {
    Visit v = std::move(stack.back());
    stack.pop_back();
    if (!seen.emplace(v.id.v, v.place).second) continue;
    const Node& n = g[v.id];
    if (stored(v.id)) {
      AffineRead read{v.id, {}, std::move(v.path)};
      for (Coordinate& c : v.place)
        if (c) read.place.push_back(*std::move(c));
      if (read.place.size() == v.place.size()) out.push_back(std::move(read));
    } else if (ir::is_pointwise(n.op)) {
      for (size_t j = n.in.size(); j-- > 0;) stack.push_back({n.in[j], v.place, v.path});
    } else if (ir::is_unary_layout(n.op) && g[n.in[0]].type.shape.count() > 0) {
      v.path.push_back(v.id);
      Place operand = ir::layout_operand(n, g[n.in[0]].type.shape, std::span<const Coordinate>(v.place), AffineArithmetic());
      stack.push_back({n.in[0], std::move(operand), std::move(v.path)});
    }
  }
  return out;
}

}  // namespace spirograd::lower
