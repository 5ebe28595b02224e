#include "spirv/lower/place_keys.h"

#include <algorithm>
#include <span>

#include "frontend/base/hash.h"
#include "frontend/ir/index_map.h"
#include "frontend/ir/reshape_groups.h"

namespace spirograd::lower {

using ir::Kind;
using ir::Node;

namespace {

// Keys begin with what the coordinate is.
enum class Origin : uint64_t { Point, Reduced, Reshaped, Indexed, Own };

uint64_t key(Origin o, uint64_t v) { return hash_with(static_cast<uint64_t>(o), v); }
uint64_t all(Origin o, std::span<const uint64_t> keys, uint64_t seed) {
  uint64_t h = key(o, seed);
  for (const uint64_t k : keys) h = hash_with(h, k);
  return h;
}

// Sums of coordinates and numbers are sums of keys and multiples.
struct KeyArithmetic {
  static constexpr uint64_t kOne = 0x9e3779b97f4a7c15ull;
  uint64_t reversed(uint64_t x, int64_t extent) const { return static_cast<uint64_t>(extent - 1) * kOne - x; }
  uint64_t shifted(uint64_t x, int64_t by, int) const { return x + static_cast<uint64_t>(by) * kOne; }
  PlaceKeys reshaped(const Shape& from, const Shape& to, std::span<const uint64_t> p) const {
    PlaceKeys out(static_cast<size_t>(from.rank()));
    if (from.count() == 0) return out;
    for (const ir::ReshapeGroup& g : ir::reshape_groups(from, to)) {
      const Shape given = to.slice(g.to.first, g.to.end);  // the axes of `keys`
      const auto keys = p.subspan(static_cast<size_t>(g.to.first), static_cast<size_t>(g.to.count()));
      uint64_t extents = 0;
      for (const int64_t n : given) extents = hash_with(extents, static_cast<uint64_t>(n));
      uint64_t whole = all(Origin::Reshaped, keys, extents);
      for (size_t a = 0; a < keys.size(); ++a)
        if (given[static_cast<int>(a)] == given.count()) whole = keys[a];
      const int64_t elements = given.count();
      for (int a = g.from.first; a < g.from.end; ++a)
        out[static_cast<size_t>(a)] = from[a] == elements ? whole
                                                          : hash_with(hash_with(whole, static_cast<uint64_t>(from[a])),
                                                                      static_cast<uint64_t>(a - g.from.first));
    }
    return out;
  }
};

PlaceKeys of_operand(const ir::Graph& g, const Node& n, size_t j, const PlaceKeys& at, int64_t start) {
  const Shape& from = g[n.in[j]].type.shape;
  switch (ir::kind(n.op)) {
    case Kind::Pointwise: return at;
    case Kind::Layout: return ir::layout_operand(n, from, std::span<const uint64_t>(at), KeyArithmetic(), start);
    case Kind::Reduce: return ir::reduced_operand(n, from, std::span<const uint64_t>(at), key(Origin::Reduced, 0));
    case Kind::Indexed:
      if (ir::is_scatter(n.op)) break;
      return ir::gathered_operand(g, n, j, std::span<const uint64_t>(at),
                                  [&](size_t k, const PlaceKeys& q) { return all(Origin::Indexed, q, n.in[k].v); });
    case Kind::Leaf:
    case Kind::Binder:
    case Kind::Rule:
    case Kind::Loop: break;
  }
  // Scatters and loops read their operands at places of their own.
  PlaceKeys out;
  for (int a = 0; a < from.rank(); ++a) out.push_back(key(Origin::Own, static_cast<uint64_t>(a)));
  return out;
}

}  // namespace

PlaceKeys keys_of_point(const Shape& domain) {
  PlaceKeys out;
  for (int a = 0; a < domain.rank(); ++a) out.push_back(domain[a] == 1 ? 0 : key(Origin::Point, static_cast<uint64_t>(a)));
  return out;
}

PlaceKeys operand_keys(const ir::Graph& g, const Node& n, size_t j, const PlaceKeys& at, int64_t start) {
  PlaceKeys out = of_operand(g, n, j, at, start);
  const Shape& from = g[n.in[j]].type.shape;
  for (int a = 0; a < from.rank(); ++a)
    if (from[a] == 1) out[static_cast<size_t>(a)] = 0;
  return out;
}

}  // namespace spirograd::lower
