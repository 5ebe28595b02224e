#include "spirv/schedule/group_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/base/checked.h"
#include "spirv/schedule/cost.h"
#include "spirv/schedule/legal.h"
#include "spirv/schedule/rules.h"
#include "spirv/schedule/stream_rules.h"

namespace spirograd::schedule {
namespace {

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

}  // namespace

bool wants_groups(const MapFacts& f, const Target& t) {
  return may_be_shared(f, t) && f.domain.count() * 64 <= wanted_invocations(t);
}

// Rows of an array that nobody else reads, with whatever is the same for all: however many there are, an invocation that
// goes through one alone reads far from its neighbours.
bool wants_group_rows(const MapFacts& f, const Target& t) {
  return shares_rows(t) && may_be_shared(f, t) &&
         std::any_of(f.reads.begin(), f.reads.end(), [&](const Read& r) { return r.reduced && reads_alone(f, r); });
}

MapSchedule groups(const MapFacts& f, const Target& t) {
  constexpr int64_t kShort = 256;  // a subgroup combines what its lanes have found without waiting for others
  MapSchedule s = plain_map(f);
  const int64_t most = std::min<int64_t>(kMostShared, t.max_invocations);
  const auto length = static_cast<int64_t>(shared_reduction(f)->length);
  s.group = shares_rows(t) && exchanges_lanes(t) && length <= kShort ? std::min<int64_t>(64, t.subgroup_size) : 64;
  while (2 * s.group <= most && f.domain.count() * s.group < wanted_invocations(t) && 4 * s.group <= length) s.group *= 2;
  return s;
}

namespace {

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

}  // namespace

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

}  // namespace spirograd::schedule
