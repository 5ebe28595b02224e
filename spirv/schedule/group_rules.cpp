#include "spirv/schedule/group_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/base/checked.h"
#include "spirv/schedule/cost.h"
#include "spirv/schedule/lane_row_rules.h"
#include "spirv/schedule/legal.h"
#include "spirv/schedule/rules.h"
#include "spirv/schedule/stream_rules.h"

namespace spirograd::schedule {
namespace {

// A workgroup per element, where there are too few elements to keep the device busy and each is a long reduction.
constexpr double kGroupLength = 64;  // of a reduction that is worth sharing

const Reduction* shared_reduction(const MapFacts& f) {
  const Reduction* longest = nullptr;
  for (const Reduction& r : f.reductions)
    if (!longest || r.length > longest->length) longest = &r;
  return longest && longest->length >= kGroupLength ? longest : nullptr;
}

constexpr int64_t kMostShared = 256;  // invocations of such a workgroup

bool may_be_shared(const MapFacts& f, const Target& t) {
  return shares_work(t) && f.alone && !f.stores && t.max_invocations >= 64 && shared_reduction(f) &&
         saturating_mul(f.domain.count(), kMostShared) <= kMostInvocations;
}

bool are_few(const MapFacts& f, const Target& t) { return f.domain.count() * 64 <= wanted_invocations(t); }

}  // namespace

bool wants_groups(const MapFacts& f, const Target& t) {
  return may_be_shared(f, t) && shared_reduction(f)->contiguous && are_few(f, t);
}

// A few columns: each element is read with a line of its own, but from a cache, and no invocation waits for all of them.
bool wants_group_columns(const MapFacts& f, const Target& t) {
  constexpr double kCached = 1 << 18;  // elements
  return shares_rows(t) && may_be_shared(f, t) && are_few(f, t) &&
         static_cast<double>(f.domain.count()) * shared_reduction(f)->length <= kCached;
}

// Rows of an array that nobody else reads, with whatever is the same for all: however many there are, an invocation that
// goes through one alone reads far from its neighbours.
bool wants_group_rows(const MapFacts& f, const Target& t) {
  return shares_rows(t) && may_be_shared(f, t) && shared_reduction(f)->contiguous &&
         std::any_of(f.reads.begin(), f.reads.end(), [&](const Read& r) { return r.reduced && reads_alone(f, r); });
}

namespace {

constexpr int64_t kShortRow = 8;      // elements of each lane: a subgroup does such a row without waiting for others
constexpr int64_t kUsualGroup = 256;  // invocations

// The subgroups of a workgroup that take such rows, each its own; 0: rows are no work for subgroups.
int64_t teams(int64_t rows, int64_t length, const Target& t) {
  if (!shares_rows(t) || !exchanges_lanes(t) || length > kShortRow * t.subgroup_size) return 0;
  const int64_t size = t.subgroup_size, most = std::min<int64_t>(kUsualGroup, t.max_invocations) / size;
  int64_t n = most;
  while (n > 1 && n * size > 64 && rows * size < wanted_invocations(t)) n /= 2;
  return n;
}

// Gives the teams of a workgroup neighbouring points, on the last of the first `axes` that has so many; false: none has.
bool split_among_teams(MapSchedule& s, const MapFacts& f, size_t axes, int64_t teams, const Target& t) {
  for (size_t a = axes; a-- > 0;) {
    if (f.domain[static_cast<int>(a)] < teams) continue;
    give_to_teams(s, f, a, teams, t);
    return true;
  }
  return false;
}

}  // namespace

void give_to_teams(MapSchedule& s, const MapFacts& f, size_t axis, int64_t teams, const Target& t) {
  const int64_t n = f.domain[static_cast<int>(axis)];
  s.group = teams * t.subgroup_size;
  s.team = t.subgroup_size;
  s.axes[axis] = {{Bind::Grid, divided_up(n, teams)}, {Bind::Local, teams}};
  if (n % teams != 0) s.tail = Tail::Recompute;
}

MapSchedule groups(const MapFacts& f, const Target& t) {
  MapSchedule s = plain_map(f);
  const int64_t most = std::min<int64_t>(kMostShared, t.max_invocations);
  const auto length = static_cast<int64_t>(shared_reduction(f)->length);
  const int64_t n = teams(f.domain.count(), length, t);
  if (n > 0 && split_among_teams(s, f, s.axes.size(), n, t)) return s;
  s.group = 64;
  while (2 * s.group <= most && f.domain.count() * s.group < wanted_invocations(t) && 4 * s.group <= length) s.group *= 2;
  return s;
}

// Rows that a map has and its reductions run over: what an invocation has of its row for the reductions is what it stores.
int64_t row_members(int64_t rows, int64_t length, int64_t code, const Target& t) {
  constexpr int64_t kOwn = 16;  // elements of an invocation, at most
  if (maps_rows(rows, length, code, t)) return t.subgroup_size;
  if (takes_rows_alone(t) && length <= kAloneRow && rows >= wanted_invocations(t)) {
    const double work = static_cast<double>(rows) * static_cast<double>(length) * static_cast<double>(code);
    if (length * code <= worth_writing_out(kRowCode, work)) return 1;
  }
  if (!shares_rows(t) || length < 32) return 0;
  const auto fits = [&](int64_t members) {
    const int64_t own = divided_up(length, members);
    return own <= kOwn && own * code <= kTileCode && saturating_mul(rows, members) <= kMostInvocations;
  };
  if (teams(rows, length, t) > 0 && fits(t.subgroup_size)) return t.subgroup_size;
  const int64_t most = std::min<int64_t>(1024, t.max_invocations);
  int64_t members = 64;
  while ((kShortRow * members < length || !fits(members)) && 2 * members <= most) members *= 2;
  return fits(members) ? members : 0;
}

bool wants_row_tiles(const MapFacts& f, const Target& t) {
  const int last = f.domain.rank() - 1;
  if (last < 0 || !f.alone || f.stores || f.reductions.empty() || f.domain.count() == 0) return false;
  const int64_t length = f.domain[last];
  return std::all_of(f.reductions.begin(), f.reductions.end(),
                     [&](const Reduction& r) { return reduces_row(r, length) && !(r.axes >> last & 1); }) &&
         row_members(f.domain.count() / length, length, f.code, t) > 0;
}

MapSchedule row_tiles(const MapFacts& f, const Target& t) {
  MapSchedule s = plain_map(f);
  const size_t rows = s.axes.size() - 1;
  const int64_t length = f.domain[f.domain.rank() - 1], count = f.domain.count() / length;
  const int64_t n = teams(count, length, t), wanted = row_members(count, length, f.code, t);
  Split& row = s.axes.back();
  if (wanted == 1) {
    row = {{Bind::Register, length}};
    return s;
  }
  const bool by_teams = n > 0 && wanted == t.subgroup_size && split_among_teams(s, f, rows, n, t);
  const int64_t members = by_teams ? s.team : std::max<int64_t>(64, wanted);
  s.group = by_teams ? s.group : members;
  row = {{Bind::Register, divided_up(length, members)}, {by_teams ? Bind::Lane : Bind::Local, members}};
  if (extent(row) != length) s.tail = Tail::Recompute;
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

// How much dearer loads are where those of neighbours are not neighbours in memory: each brings a line of which the group
// wants one element.
double apart(const Read& r, const GroupTile& g) {
  constexpr double kApart = 4;
  return r.along || (r.last >> g.rows & 1) || (r.last >> g.columns & 1) ? 1 : kApart;
}

// Loads of what is reduced, by the elements of the tile that share them. What lies beyond the domain is computed for
// nothing.
double cost_of(const MapFacts& f, const Target& t, const GroupTile& g) {
  double loads = 0;
  for (const Read& r : f.reads) {
    if (!r.reduced) continue;
    double invocation = 1, group = apart(r, g);
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

constexpr double kProcessor = 256;  // invocations that keep a processor busy, about

// How much longer work takes than on a full processor, with so many times as many: few wait for memory and for barriers.
double waiting(double times) {
  constexpr double kMost = 4;  // that it runs at once
  const double n = std::min(kMost, times);
  return kMost / (kMost + 1) * (n + 1) / n;
}

// How much longer it takes because processors have nothing to do: few groups do not reach all of them, and the last ones to
// come do not again.
double left_idle(const MapFacts& f, const Target& t, const GroupTile& g) {
  const double processors = std::max(1.0, t.price.busy / kProcessor);
  const double each = static_cast<double>(groups_of(f, g)) / processors, rounds = std::max(1.0, std::ceil(each));
  return rounds / each * waiting(rounds * static_cast<double>(g.local[0] * g.local[1]) / kProcessor);
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
         best_group_tile(f, t).cost < cost_alone(f, t) / 2 * waiting(static_cast<double>(f.domain.count()) / t.price.busy);
}

namespace {

bool lies_along(const MapFacts& f, size_t axis) {
  return std::any_of(f.reads.begin(), f.reads.end(), [&](const Read& r) { return r.reduced && (r.last >> axis & 1); });
}

}  // namespace

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
    // An invocation's own elements are neighbours where they are in memory, and neighbours' else.
    const bool inside = side == 0 || lies_along(f, axes[1]);
    if (g.own[side] > 1) split.insert(split.begin() + (inside ? 2 : 1), {Bind::Register, g.own[side]});
  }
  return s;
}

}  // namespace spirograd::schedule
