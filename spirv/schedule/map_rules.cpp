// Schedules of maps: one element per invocation, several of an elementwise computation, tiles of one that reduces.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "frontend/base/checked.h"
#include "spirv/schedule/cost.h"
#include "spirv/schedule/legal.h"
#include "spirv/schedule/rules.h"
#include "spirv/schedule/stream_rules.h"

namespace spirograd::schedule {
namespace {

// Cost of one element in a tile: loads are shared by the elements that agree on the axes they depend on.
double cost_per_element(const MapFacts& f, const Shape& tile, const Target& t) {
  double loads = 0;
  for (const Read& r : f.reads) {
    double different = 1;
    for (int a = 0; a < tile.rank(); ++a)
      if (r.axes >> a & 1) different *= static_cast<double>(tile[a]);
    loads += different;
  }
  constexpr double kLoopOverhead = 30;
  return (t.price.load * loads + kLoopOverhead) / static_cast<double>(tile.count());
}

// Instructions that one invocation may have for the points of its tile.
int64_t tile_code(const MapFacts& f) {
  double length = 1;
  for (const Reduction& r : f.reductions) length = std::max(length, r.length);
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

// A workgroup per element, where there are too few elements to keep the device busy and each is a long reduction.
constexpr double kGroupLength = 64;  // of a reduction that is worth sharing

const Reduction* shared_reduction(const MapFacts& f) {
  const Reduction* longest = nullptr;
  for (const Reduction& r : f.reductions) {
    if (r.position) return nullptr;
    if (!longest || r.length > longest->length) longest = &r;
  }
  return longest && longest->length >= kGroupLength && longest->contiguous ? longest : nullptr;
}

constexpr int64_t kMostShared = 256;  // invocations of such a workgroup

bool may_be_shared(const MapFacts& f, const Target& t) {
  return shares_work(t) && f.alone && !f.stores && t.max_invocations >= 64 && shared_reduction(f) &&
         saturating_mul(f.domain.count(), kMostShared) <= kMostInvocations;
}

bool wants_groups(const MapFacts& f, const Target& t) {
  return may_be_shared(f, t) && f.domain.count() * 64 <= wanted_invocations(t);
}

// Rows that nobody else reads: however many there are, an invocation that goes through one alone reads far from its
// neighbours.
bool wants_group_rows(const MapFacts& f, const Target& t) { return shares_rows(t) && may_be_shared(f, t) && reads_alone(f); }

MapSchedule groups(const MapFacts& f, const Target& t) {
  constexpr int64_t kShort = 256;  // a subgroup combines what its lanes have found without waiting for others
  MapSchedule s = plain_map(f);
  const int64_t most = std::min<int64_t>(kMostShared, t.max_invocations);
  const auto length = static_cast<int64_t>(shared_reduction(f)->length);
  s.group = shares_rows(t) && exchanges_lanes(t) && length <= kShort ? std::min<int64_t>(64, t.subgroup_size) : 64;
  while (2 * s.group <= most && f.domain.count() * s.group < wanted_invocations(t) && 4 * s.group <= length) s.group *= 2;
  return s;
}

// Tiles of workgroups: what a reduction reads is copied to shared memory, and the tile's points read it from there.
constexpr double kStagedLength = 32;   // of a reduction that is worth it
constexpr double kRegisters = 120;     // of an invocation, so that enough of them run at a time
constexpr double kOwnRegisters = 32;   // for places and counters
constexpr double kPointRegisters = 3;  // of a compensated sum
constexpr int64_t kLeastSide = 4;      // of a workgroup, in invocations

struct GroupTile {
  size_t rows = 0, columns = 0;                           // axes of the domain
  int64_t local[2] = {}, own[2] = {};                     // invocations along them, elements of each
  double cost = std::numeric_limits<double>::infinity();  // of one element of the reduction at one point
};

double staged_reductions(const MapFacts& f) {
  return static_cast<double>(
      std::count_if(f.reductions.begin(), f.reductions.end(), [](const Reduction& r) { return r.length >= kStagedLength; }));
}

// Tiles along one side, the last one perhaps in part beyond the domain.
int64_t tiles_along(const MapFacts& f, const GroupTile& g, int side) {
  const int64_t n = f.domain[static_cast<int>(side == 0 ? g.rows : g.columns)], tile = g.own[side] * g.local[side];
  return (n + tile - 1) / tile;
}

// Workgroups, with one for each number along the other axes.
int64_t groups_of(const MapFacts& f, const GroupTile& g) {
  const int64_t sides = f.domain[static_cast<int>(g.rows)] * f.domain[static_cast<int>(g.columns)];
  return f.domain.count() / sides * tiles_along(f, g, 0) * tiles_along(f, g, 1);
}

// Loads of what is reduced, by the elements of the tile that share them. What lies beyond the domain is computed for
// nothing.
double cost_of(const MapFacts& f, const Target& t, const GroupTile& g) {
  double loads = 0;
  for (const Read& r : f.reads) {
    if (!r.reduced) continue;
    double invocation = 1, group = 1;
    const size_t axes[2] = {g.rows, g.columns};
    for (int side = 0; side < 2; ++side) {
      if (r.axes >> axes[side] & 1) continue;
      invocation /= static_cast<double>(g.own[side]);
      group /= static_cast<double>(g.own[side] * g.local[side]);
    }
    loads += r.sums ? t.price.load * group + t.price.shared_load * invocation : t.price.load * invocation;
  }
  constexpr double kArithmetic = 0.75;  // of a multiply-add, one instruction
  const int64_t points = g.own[0] * g.own[1] * g.local[0] * g.local[1];
  return (loads + kArithmetic) * static_cast<double>(groups_of(f, g) * points) / static_cast<double>(f.domain.count());
}

// How much longer it takes because processors have nothing to do: few groups do not reach all of them, and the last ones to
// come do not again.
double left_idle(const MapFacts& f, const Target& t, const GroupTile& g) {
  const double rounds = static_cast<double>(groups_of(f, g) * g.local[0] * g.local[1]) / t.price.busy;
  return std::max(1.0, std::ceil(rounds)) / rounds;
}

bool fits_registers(const MapFacts& f, const GroupTile& g) {
  const int64_t points = g.own[0] * g.own[1];
  const double registers =
      kPointRegisters * static_cast<double>(points) * staged_reductions(f) + static_cast<double>(g.own[0] + g.own[1]);
  return registers + kOwnRegisters < kRegisters && points * f.code <= kTileCode;
}

// Whether what is reduced reads one array that does not depend on axis a, and one that does not depend on b, so that tiles
// over both save loads of both. A reduction that is the same along an axis is served by its neighbours' loads.
bool contracts(const MapFacts& f, size_t a, size_t b) {
  const auto reads = [&](size_t with, size_t without) {
    return std::any_of(f.reads.begin(), f.reads.end(), [&](const Read& r) {
      return r.reduced && r.sums && (r.axes >> with & 1) && !(r.axes >> without & 1);
    });
  };
  return reads(a, b) && reads(b, a);
}

GroupTile best_group_tile(const MapFacts& f, const Target& t) {
  GroupTile best;
  const auto rank = static_cast<size_t>(f.domain.rank());
  const int64_t most = std::min<int64_t>(256, t.max_invocations);
  GroupTile g;
  for (g.rows = 0; g.rows < rank; ++g.rows)
    for (g.columns = g.rows + 1; g.columns < rank; ++g.columns)
      for (const int64_t group : {64, 256})
        for (g.local[0] = kLeastSide; group <= most && g.local[0] * kLeastSide <= group; g.local[0] *= 2)
          for (const int64_t rows : {1, 2, 4})
            for (const int64_t columns : {1, 2, 4}) {
              g.local[1] = group / g.local[0];
              g.own[0] = rows, g.own[1] = columns;
              if (!contracts(f, g.rows, g.columns) || !fits_registers(f, g)) continue;
              g.cost = cost_of(f, t, g) * left_idle(f, t, g);
              if (g.cost < best.cost) best = g;
            }
  return best;
}

// One element of an invocation of its own, with nothing in shared memory.
double cost_alone(const MapFacts& f, const Target& t) {
  double loads = 0;
  for (const Read& r : f.reads) loads += r.reduced ? t.price.load : 0;
  return loads;
}

bool wants_group_tiles(const MapFacts& f, const Target& t) {
  return shares_work(t) && f.alone && !f.stores && staged_reductions(f) > 0 && f.domain.count() > 0 &&
         best_group_tile(f, t).cost < cost_alone(f, t) / 2 * idle(static_cast<double>(f.domain.count()), t);
}

// Neighbours along columns are neighbouring invocations, and so are the elements that they store.
MapSchedule group_tiles(const MapFacts& f, const Target& t) {
  const GroupTile g = best_group_tile(f, t);
  MapSchedule s = plain_map(f);
  s.group = g.local[0] * g.local[1];
  const size_t axes[2] = {g.rows, g.columns};
  for (int side = 0; side < 2; ++side) {
    Split& split = s.axes[axes[side]];
    if (split[0].extent % (g.own[side] * g.local[side]) != 0) s.tail = Tail::Recompute;
    split = {{Bind::Grid, tiles_along(f, g, side)}, {Bind::Local, g.local[side]}};
    if (g.own[side] > 1) split.insert(split.begin() + (side == 0 ? 2 : 1), {Bind::Register, g.own[side]});
  }
  return s;
}

// Subgroups whose lanes lie along one axis, each of them with several elements further along it, and several along another:
// what does not depend on the lane each loads for an element of its own.
struct LaneTile {
  size_t lanes = 0, rows = 0;  // axes of the domain; the same: one row
  int64_t columns = 1, own_rows = 1;
  double cost = std::numeric_limits<double>::infinity();  // of one element of the reduction at one point
};

// Like cost_per_element, for one lane.
double cost_of(const MapFacts& f, const Target& t, const LaneTile& g) {
  // As dear is a load where neighbours are not neighbours in memory; less so where the next ones are on the same lines.
  constexpr double kStrided = 2, kSameLines = 1.25;
  constexpr double kBroadcast = 1;  // of one lane's value
  constexpr double kLoopOverhead = 4;
  const auto lanes = static_cast<double>(t.subgroup_size);
  double loads = kLoopOverhead;
  for (const Read& r : f.reads) {
    if (!r.reduced) continue;
    const auto along = [&](size_t axis) { return (r.axes >> axis & 1) != 0; };
    const auto rows = static_cast<double>(g.rows != g.lanes && along(g.rows) ? g.own_rows : 1);
    if (along(g.lanes)) {
      const bool neighbours = (r.last >> g.lanes & 1) != 0;
      const double strided = r.along ? kSameLines : kStrided;
      loads += rows * static_cast<double>(g.columns) * t.price.load * (neighbours ? 1 : strided);
    } else {
      loads += rows * (t.price.load / lanes + kBroadcast);
    }
  }
  return loads / static_cast<double>(g.columns * g.own_rows);
}

constexpr double kArithmetic = 2;  // of one element at one point

// Points that are computed, by those that are asked for.
double padding(const MapFacts& f, const Target& t, const LaneTile& g) {
  const auto along = [&](size_t axis, int64_t tile) {
    const int64_t n = f.domain[static_cast<int>(axis)];
    return static_cast<double>(divided_up(n, tile) * tile) / static_cast<double>(n);
  };
  return along(g.lanes, g.columns * static_cast<int64_t>(t.subgroup_size)) *
         (g.rows == g.lanes ? 1 : along(g.rows, g.own_rows));
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

LaneTile best_lane_tile(const MapFacts& f, const Target& t) {
  LaneTile best, g;
  const auto rank = static_cast<size_t>(f.domain.rank());
  const int64_t spare = std::max<int64_t>(1, f.domain.count() / wanted_invocations(t));
  const int64_t most = std::min({spare, static_cast<int64_t>(t.price.tile), tile_code(f)});
  for (g.lanes = rank; g.lanes-- > 0;)  // what is alike is stored at neighbouring places, at least
    for (g.rows = 0; g.rows < rank; ++g.rows)
      for (g.columns = 1; g.columns <= most_columns(f, t, g); ++g.columns)
        for (g.own_rows = 1; g.own_rows <= (g.rows == g.lanes ? 1 : 8) && g.own_rows * g.columns <= most; ++g.own_rows) {
          g.cost = (cost_of(f, t, g) + kArithmetic) * padding(f, t, g);
          if (g.cost < 0.99 * best.cost) best = g;
        }
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
  return long_enough && has_common_reads(f, g) && g.cost < cost_per_element(f, best_tile(f, t), t) + kArithmetic;
}

// Tiles beside each other, along an axis that neither side of a tile lies on, where one alone is done before a subgroup has
// well begun.
void take_several(MapSchedule& s, const MapFacts& f, const Target& t, const LaneTile& g) {
  constexpr double kLeastElements = 128;  // of the reductions of one invocation
  double length = 1;
  for (const Reduction& r : f.reductions) length = std::max(length, r.length);
  int64_t own = g.own_rows * g.columns;
  for (size_t a = s.axes.size(); a-- > 0;) {
    if (a == g.lanes || a == g.rows) continue;
    int64_t several = 1;
    while (static_cast<double>(own) * length < kLeastElements && f.domain[static_cast<int>(a)] % (2 * several) == 0 &&
           2 * own <= std::min<int64_t>(t.price.tile, tile_code(f)) && 2 * own * wanted_invocations(t) <= f.domain.count()) {
      several *= 2;
      own *= 2;
    }
    if (several > 1) s.axes[a] = {{Bind::Grid, f.domain[static_cast<int>(a)] / several}, {Bind::Register, several}};
  }
}

// Tiles that share what the lanes read on their own are neighbours: it stays in the cache.
MapSchedule lane_tiles(const MapFacts& f, const Target& t) {
  const LaneTile g = best_lane_tile(f, t);
  MapSchedule s = plain_map(f);
  const auto split = [&](size_t axis, int64_t own, int64_t lanes) {
    Split& parts = s.axes[axis];
    const int64_t n = f.domain[static_cast<int>(axis)], tiles = divided_up(n, own * lanes);
    if (tiles * own * lanes != n) s.tail = Tail::Recompute;
    parts = {{Bind::Grid, tiles}};
    if (own > 1) parts.push_back({Bind::Register, own});
    if (lanes > 1) parts.push_back({Bind::Lane, lanes});
  };
  if (g.rows != g.lanes) split(g.rows, g.own_rows, 1);
  split(g.lanes, g.columns, t.subgroup_size);
  take_several(s, f, t, g);
  if (g.lanes > 0) s.outer = static_cast<int>(g.lanes);
  return s;
}

constexpr std::array<MapRule, 9> kMapRules = {{
    {"a workgroup per element", wants_groups, groups},
    {"tiles of workgroups", wants_group_tiles, group_tiles},
    {"a workgroup per row", wants_group_rows, groups},
    {"several columns", wants_columns, columns},
    {"tiles of subgroups", wants_lanes, lane_tiles},
    {"a row per invocation", wants_rows, [](const MapFacts& f, const Target&) { return plain_map(f); }},
    {"tiles", [](const MapFacts& f, const Target&) { return f.reduces; }, tiles},
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
  for (const MapRule& r : map_rules())
    if (r.fits(facts, target)) return r.make(facts, target);
  return plain_map(facts);
}

}  // namespace spirograd::schedule
