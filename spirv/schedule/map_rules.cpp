// Schedules of maps: one element per invocation, several of an elementwise computation, tiles of one that reduces.
#include <algorithm>
#include <array>
#include <limits>

#include "spirv/schedule/cost.h"
#include "spirv/schedule/element_rules.h"
#include "spirv/schedule/group_rules.h"
#include "spirv/schedule/lane_row_rules.h"
#include "spirv/schedule/legal.h"
#include "spirv/schedule/product_rules.h"
#include "spirv/schedule/row_rules.h"
#include "spirv/schedule/rules.h"
#include "spirv/schedule/stream_rules.h"

namespace spirograd::schedule {
namespace {

// Of the reductions around others, where an invocation computes so many points.
int64_t copies_of_reductions(const MapFacts& f, int64_t points, const Target& t) {
  const bool around = !t.price.coalesces && std::ranges::any_of(f.reductions, &Reduction::loops);
  return around ? copies_around_loops(points, f.code, t) : 1;
}

// Cost of one element in a tile: loads are shared by the elements that agree on the axes they depend on, and by the copies
// of a reduction around another one that reads the same for each of its elements.
double cost_per_element(const MapFacts& f, const Shape& tile, const Target& t) {
  const auto copies = static_cast<double>(copies_of_reductions(f, tile.count(), t));
  double loads = 0;
  for (const Read& r : f.reads) {
    double different = r.outer ? copies : 1;
    for (int a = 0; a < tile.rank(); ++a)
      if (r.axes >> a & 1) different *= static_cast<double>(tile[a]);
    loads += different;
  }
  constexpr double kLoopOverhead = 30;
  return (t.price.load * loads + kLoopOverhead) / (static_cast<double>(tile.count()) * copies);
}

double longest_reduction(const MapFacts& f) {
  double length = 1;
  for (const Reduction& r : f.reductions) length = std::max(length, r.length);
  return length;
}

// Instructions that one invocation may have for the points of its tile.
int64_t tile_code(const MapFacts& f) {
  const double length = longest_reduction(f);
  const auto code = std::max<int64_t>(1, f.code);
  return worth_writing_out(kTileCode, static_cast<double>(f.domain.count()) * length * static_cast<double>(code)) / code;
}

Shape ones(int rank) {
  Shape s;
  for (int a = 0; a < rank; ++a) s.push_back(1);
  return s;
}

// Points that tiles compute, by those of the domain.
double padded(const Shape& domain, const Shape& tile) {
  double out = 1;
  for (int a = 0; a < domain.rank(); ++a)
    out *= static_cast<double>(divided_up(domain[a], tile[a]) * tile[a]) / static_cast<double>(domain[a]);
  return out;
}

// The best tile over at most two axes: a 4 x 4 tile of a matrix product loads 8 elements for 16 multiplications.
Shape best_tile(const MapFacts& f, const Target& t) {
  Shape best = ones(f.domain.rank());
  // Enough tiles must be left to keep all lanes of all processors busy.
  const int64_t spare = f.domain.count() / wanted_invocations(t);
  const int64_t most = std::min({spare, static_cast<int64_t>(t.price.tile), tile_code(f)});
  // Where loads are served together neighbours along the last axis stay with neighbouring invocations.
  const int rank = f.domain.rank() - (t.price.coalesces ? 1 : 0);
  double least = cost_per_element(f, best, t);
  for (int a = 0; a < rank; ++a) {
    for (int b = a; b < rank; ++b) {
      for (int64_t m = 1; m <= std::min<int64_t>(most, 8); ++m) {
        for (int64_t n = 1; m * n <= most && n <= (a == b ? 1 : 8); ++n) {
          Shape tile = ones(f.domain.rank());
          tile[a] = m;
          if (a != b) tile[b] = n;
          if (f.stores && padded(f.domain, tile) > 1) continue;
          const double cost = cost_per_element(f, tile, t) * padded(f.domain, tile);
          if (cost < 0.99 * least) {
            least = cost;
            best = tile;
          }
        }
      }
    }
  }
  return best;
}

MapSchedule tiles(const MapFacts& f, const Target& t) {
  const Shape tile = best_tile(f, t);
  MapSchedule s;
  for (int a = 0; a < f.domain.rank(); ++a) {
    s.axes.push_back({{Bind::Grid, divided_up(f.domain[a], tile[a])}});
    if (tile[a] > 1) s.axes.back().push_back({Bind::Register, tile[a]});
  }
  if (padded(f.domain, tile) > 1) s.tail = Tail::Recompute;
  return s;
}

// Of one element at one point where nothing is shared.
double operations_per_element(const MapFacts& f) {
  double out = 0;
  for (const Operations& o : f.operations) out += o.count;
  return out;
}

// Symmetric maps that take so long for each element that it is worth to store it in two places, one after the other.
bool half_pays(const MapFacts& f) {
  constexpr double kLeastWork = 128;
  return f.symmetric && !f.stores && longest_reduction(f) * operations_per_element(f) >= kLeastWork;
}

// Tiles of a square that have a point on its diagonal or above it, by all.
double kept_tiles(int64_t n, int64_t rows, int64_t columns) {
  const int64_t down = divided_up(n, rows), across = divided_up(n, columns);
  int64_t kept = 0;
  for (int64_t r = 0; r < down; ++r) kept += across - r * rows / columns;
  return static_cast<double>(kept) / static_cast<double>(down * across);
}

// Subgroups whose lanes lie along one axis, each of them with several elements further along it, and several along one or
// two others: what does not depend on the lane each loads for an element of its own.
struct LaneTile {
  size_t lanes = 0, rows = 0, layers = 0;  // axes of the domain; rows or layers the same as lanes: one
  int64_t columns = 1, own_rows = 1, own_layers = 1;
  double cost = std::numeric_limits<double>::infinity();  // of one element of the reduction at one point

  int64_t points() const { return columns * own_rows * own_layers; }
  /// Points that differ in these axes, at one lane and column.
  double different(uint32_t axes) const {
    const auto along = [&](size_t axis, int64_t own) { return axis != lanes && (axes >> axis & 1) ? own : 1; };
    return static_cast<double>(along(rows, own_rows) * along(layers, own_layers));
  }
};

// Like cost_per_element, for one lane.
double cost_of(const MapFacts& f, const Target& t, const LaneTile& g) {
  // As dear is a load where neighbours are not neighbours in memory; less so where the next ones are on the same lines.
  constexpr double kStrided = 2, kSameLines = 1.25;
  constexpr double kBroadcast = 1;  // of one lane's value
  constexpr double kLoopOverhead = 4;
  const auto lanes = static_cast<double>(t.subgroup_size), columns = static_cast<double>(g.columns);
  const auto copies = static_cast<double>(copies_of_reductions(f, g.points(), t));
  const bool pairs = takes_pairs(t) && g.columns % 2 == 0 && f.domain[static_cast<int>(g.lanes)] % 2 == 0;
  double work = kLoopOverhead;
  for (const Read& r : f.reads) {
    if (!r.reduced) continue;
    const double rows = g.different(r.axes) * (r.outer ? copies : 1);
    if (r.axes >> g.lanes & 1) {
      const bool neighbours = (r.last >> g.lanes & 1) != 0;
      const double strided = r.along ? kSameLines : kStrided;
      work += rows * columns * t.price.load * (!neighbours ? strided : pairs ? kPairedLoad : 1);
    } else {
      work += rows * (t.price.load / lanes + kBroadcast);
    }
  }
  for (const Operations& o : f.operations)
    work += o.count * g.different(o.axes) * (o.axes >> g.lanes & 1 ? columns : 1) * (o.outer ? copies : 1);
  return work / (static_cast<double>(g.points()) * copies);
}

// Points that are computed, by those that are asked for.
double padding(const MapFacts& f, const Target& t, const LaneTile& g) {
  const auto along = [&](size_t axis, int64_t tile) {
    const int64_t n = f.domain[static_cast<int>(axis)];
    return static_cast<double>(divided_up(n, tile) * tile) / static_cast<double>(n);
  };
  return along(g.lanes, g.columns * static_cast<int64_t>(t.subgroup_size)) *
         (g.rows == g.lanes ? 1 : along(g.rows, g.own_rows)) * (g.layers == g.lanes ? 1 : along(g.layers, g.own_layers));
}

// Tiles that are computed, by all.
double kept(const MapFacts& f, const Target& t, const LaneTile& g) {
  if (!half_pays(f)) return 1;
  const auto own = [&](int axis) {
    const auto a = static_cast<size_t>(axis);
    if (a == g.lanes) return g.columns * static_cast<int64_t>(t.subgroup_size);
    return a == g.rows ? g.own_rows : a == g.layers ? g.own_layers : 1;
  };
  const auto [row, column] = *f.symmetric;
  return kept_tiles(f.domain[row], own(row), own(column));
}

// Rows that are a multiple of a page long fall into the same few sets of a cache, which holds no more than those of the
// lanes.
bool rows_collide(const MapFacts& f) {
  return std::any_of(f.reductions.begin(), f.reductions.end(), [](const Reduction& r) {
    return r.contiguous && r.length >= kPageElements && static_cast<int64_t>(r.length) % kPageElements == 0;
  });
}

int64_t most_columns(const MapFacts& f, const Target& t, const LaneTile& g) {
  const int64_t own = g.rows != g.lanes ? 4 : rows_collide(f) ? 2 : 8;
  return std::min(own, divided_up(f.domain[static_cast<int>(g.lanes)], t.subgroup_size));
}

// Whether points along the axis read or compute something together.
bool shares_along(const MapFacts& f, size_t axis) {
  const auto stays = [&](uint32_t axes) { return !(axes >> axis & 1); };
  return std::ranges::any_of(f.reads, [&](const Read& r) { return r.reduced && stays(r.axes); }) ||
         std::ranges::any_of(f.operations, [&](const Operations& o) { return stays(o.axes); });
}

LaneTile best_lane_tile(const MapFacts& f, const Target& t) {
  constexpr int64_t kMostRows = 8;
  constexpr double kLayers = 1.1;  // they are far apart in memory
  LaneTile best, g;
  const auto rank = static_cast<size_t>(f.domain.rank());
  const int64_t spare = std::max<int64_t>(1, f.domain.count() / wanted_invocations(t));
  const int64_t most = std::min({spare, static_cast<int64_t>(t.price.tile), tile_code(f)});
  const auto consider = [&] {
    const double cost = cost_of(f, t, g) * padding(f, t, g) * kept(f, t, g) * (g.own_layers > 1 ? kLayers : 1);
    if (cost >= 0.99 * best.cost) return;
    best = g;
    best.cost = cost;
  };
  const auto consider_layers = [&] {
    g.layers = g.lanes;
    consider();
    if (g.rows == g.lanes || !shares_along(f, g.rows)) return;
    for (g.layers = g.rows + 1; g.layers < rank; ++g.layers) {
      if (g.layers == g.lanes || !shares_along(f, g.layers)) continue;
      for (g.own_layers = 2; g.own_layers <= kMostRows && g.points() <= most; ++g.own_layers) consider();
      g.own_layers = 1;
    }
  };
  for (g.lanes = rank; g.lanes-- > 0;)  // what is alike is stored at neighbouring places, at least
    for (g.rows = 0; g.rows < rank; ++g.rows)
      for (g.columns = 1; g.columns <= most_columns(f, t, g); ++g.columns)
        for (g.own_rows = 1; g.own_rows <= (g.rows == g.lanes ? 1 : kMostRows) && g.points() <= most; ++g.own_rows)
          consider_layers();
  return best;
}

bool has_common_reads(const MapFacts& f, const LaneTile& g) {
  return std::any_of(f.reads.begin(), f.reads.end(), [&](const Read& r) { return r.reduced && !(r.axes >> g.lanes & 1); });
}

bool wants_lanes(const MapFacts& f, const Target& t) {
  constexpr double kLongEnough = 5;  // others are written out
  if (!tiles_by_lanes(t) || !f.alone || f.stores || !f.reduces || f.domain.count() == 0) return false;
  const bool long_enough =
      std::any_of(f.reductions.begin(), f.reductions.end(), [](const Reduction& r) { return r.length >= kLongEnough; });
  const LaneTile g = best_lane_tile(f, t);
  return long_enough && has_common_reads(f, g) &&
         g.cost < cost_per_element(f, best_tile(f, t), t) + operations_per_element(f);
}

// Tiles beside each other, along an axis that neither side of a tile lies on, where one alone is done before a subgroup has
// well begun.
void take_several(MapSchedule& s, const MapFacts& f, const Target& t, const LaneTile& g) {
  constexpr double kLeastElements = 128;  // of the reductions of one invocation
  const double length = longest_reduction(f);
  int64_t own = g.points();
  for (size_t a = s.axes.size(); a-- > 0;) {
    if (a == g.lanes || a == g.rows || a == g.layers) continue;
    int64_t several = 1;
    while (static_cast<double>(own) * length < kLeastElements && f.domain[static_cast<int>(a)] % (2 * several) == 0 &&
           2 * own <= std::min<int64_t>(t.price.tile, tile_code(f)) && 2 * own * wanted_invocations(t) <= f.domain.count()) {
      several *= 2;
      own *= 2;
    }
    if (several > 1) s.axes[a] = {{Bind::Grid, f.domain[static_cast<int>(a)] / several}, {Bind::Register, several}};
  }
}

// An axis along which nothing is read twice, as that of a batch, or of the parts of a tall product; none: -1.
int batch_axis(const MapFacts& f, const LaneTile& g) {
  for (int a = 0; a < f.domain.rank(); ++a) {
    const auto axis = static_cast<size_t>(a);
    if (axis == g.lanes || axis == g.rows || axis == g.layers || f.domain[a] == 1) continue;
    if (std::ranges::all_of(f.reads, [a](const Read& r) { return !r.reduced || (r.axes >> a & 1) != 0; })) return a;
  }
  return -1;
}

// Tiles that read the same are neighbours: it stays in the cache. First all of a batch, else those that share what the lanes
// read on their own.
MapSchedule lane_tiles(const MapFacts& f, const Target& t) {
  const LaneTile g = best_lane_tile(f, t);
  MapSchedule s = plain_map(f);
  const auto split = [&](size_t axis, int64_t own, int64_t lanes) {
    Split& parts = s.axes[axis];
    const int64_t n = f.domain[static_cast<int>(axis)], tiles = divided_up(n, own * lanes);
    if (tiles * own * lanes != n) s.tail = Tail::Recompute;
    parts = {{Bind::Grid, tiles}};
    if (lanes > 1) {
      append_lanes(parts, own, lanes, n, t);
    } else if (own > 1) {
      parts.push_back({Bind::Register, own});
    }
  };
  if (g.rows != g.lanes) split(g.rows, g.own_rows, 1);
  if (g.layers != g.lanes) split(g.layers, g.own_layers, 1);
  split(g.lanes, g.columns, t.subgroup_size);
  take_several(s, f, t, g);
  const int batch = batch_axis(f, g), first = batch >= 0 ? batch : static_cast<int>(g.lanes);
  if (first > 0) s.outer = first;
  return s;
}

// Whether enough of the tiles are left out.
bool wants_half(const MapFacts& f, const MapSchedule& s) {
  constexpr double kMostKept = 0.8;
  if (!can_be_half(f, s) || !half_pays(f)) return false;
  const auto own = [&](int axis) {
    const Split& parts = s.axes[static_cast<size_t>(axis)];
    return extent(parts, Bind::Register) * extent(parts, Bind::Lane) * (s.group > 0 ? extent(parts, Bind::Local) : 1);
  };
  const auto [row, column] = *f.symmetric;
  return kept_tiles(f.domain[row], own(row), own(column)) <= kMostKept;
}

constexpr std::array<MapRule, 20> kMapRules = {{
    {"rows of subgroups", wants_lane_rows, lane_rows},
    {"windows of rows", wants_row_windows, row_windows},
    {"columns of subgroups", wants_lane_columns, lane_columns},
    {"short products of subgroups", wants_short_products, short_products},
    {"maps over rows of subgroups", wants_row_maps, row_maps},
    {"a few rows of subgroups", wants_lone_teams, lone_teams},
    {"rows of workgroups", wants_row_tiles, row_tiles},
    {"a workgroup per element", wants_groups, groups},
    {"tiles of workgroups", wants_group_tiles, group_tiles},
    {"a workgroup per row", wants_group_rows, groups},
    {"a workgroup per column", wants_group_columns, groups},
    {"several columns", wants_columns, columns},
    {"tiles of subgroups", wants_lanes, lane_tiles},
    {"a row per invocation", wants_rows, [](const MapFacts& f, const Target&) { return plain_map(f); }},
    {"tiles", [](const MapFacts& f, const Target&) { return f.reduces; }, tiles},
    {"squares of workgroups", wants_squares, squares},
    {"elements of rows", wants_row_elements, row_elements},
    {"squares of subgroups", wants_turned_rows, turned_rows},
    {"stretches of two axes", wants_stretches, stretches},
    {"several elements", wants_several, several},
}};

}  // namespace

MapSchedule plain_map(const MapFacts& f) {
  MapSchedule s;
  for (int64_t n : f.domain) s.axes.push_back({{Bind::Grid, n}});
  return s;
}

std::span<const MapRule> map_rules() { return kMapRules; }

MapSchedule Scheduler::map(const MapFacts& facts, const Target& target) const {
  const auto rule = std::ranges::find_if(map_rules(), [&](const MapRule& r) { return r.fits(facts, target); });
  MapSchedule s = rule != map_rules().end() ? rule->make(facts, target) : plain_map(facts);
  s.half = wants_half(facts, s);
  return s;
}

}  // namespace spirograd::schedule
