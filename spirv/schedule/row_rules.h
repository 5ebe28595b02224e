// Rows of which the lanes of a subgroup read neighbours at a time, all of them outside of loops: where drivers gather what
// lanes load else (kGatheredLoads).
#pragma once

#include <optional>

#include "spirograd/target.h"
#include "spirv/schedule/compute.h"
#include "spirv/schedule/cost.h"
#include "spirv/schedule/legal.h"
#include "spirv/schedule/schedule.h"

namespace spirograd::schedule {

/// Subgroups of a workgroup that take rows.
inline constexpr int64_t kTeams = 8;

inline constexpr int64_t kLeastOwn = 8;             // elements of a lane: what it takes to begin is little then
inline constexpr int64_t kChains = 4;               // of additions, that do not wait for each other
inline constexpr int64_t kMostOwn = 2 * kPlainSum;  // elements that chains share
inline constexpr int64_t kMostRowsCode = 5200;      // instructions of all rows of a subgroup
/// Whether no chain of additions has more of so many elements of a lane than are added plainly.
bool adds_plainly(int64_t own);

/// Columns that a lane has, and those that the lanes of a subgroup have side by side.
inline constexpr int64_t kOwnColumns = 2;
inline int64_t width_of(const Target& t) { return kOwnColumns * t.subgroup_size; }

/// Tiles along an axis, that a workgroup has several of.
inline int64_t tiles_along(const MapFacts& f, size_t axis, int64_t side) {
  return divided_up(f.domain[static_cast<int>(axis)], side);
}

/// So many tiles, each on its own or the teams of a workgroup beside each other.
inline Split on_grid(int64_t tiles, bool teams) {
  if (!teams) return {{Bind::Grid, tiles}};
  return {{Bind::Grid, divided_up(tiles, kTeams)}, {Bind::Local, kTeams}};
}

/// A map whose subgroups have so many neighbours each along an axis, and the teams of a workgroup those beside each other.
MapSchedule by_teams(const MapFacts& f, size_t axis, int64_t own, const Target& t);

/// Of the lanes of a subgroup, each has `own` elements of an axis of n: apart by all of them where rows are stored as they
/// are read, else neighbours, which it stores as pairs.
void append_row(Split& axis, int64_t own, int64_t n, const Target& t);

/// Of few tiles beside each other, the subgroups of a workgroup take those of this many neighbours along another axis of n:
/// what they read lies together, and is not the same part of many rows. 0: they are not few, or n would leave some over.
int64_t whole_rows_of_teams(int64_t tiles, int64_t n);
/// Subgroups so, of tiles along the last axis and rows along the one before it; false: they are not, and nothing is given.
bool give_whole_rows(MapSchedule& s, const MapFacts& f, int64_t tiles, const Target& t);

/// The axis along which the subgroups of a workgroup are neighbours, so that few of them have nothing to do; the last one of
/// equals, of the first `axes`. None: they are shorter than that.
std::optional<size_t> axis_of_teams(const MapFacts& f, int axes);

/// Whether points along an axis read the same, or neighbours in memory.
bool same_or_neighbours(const Read& r, int axis);
/// Whether there are rows of elements along the last axis, so many for each lane, for the subgroups of workgroups; and these
/// rows: they are neighbours along the axis, or along another one if they are too few there. `pairs`: lanes have neighbours,
/// which they load at once; else all of them are neighbours.
bool has_tiles(const MapFacts& f, int64_t own, const Target& t);
MapSchedule in_tiles(const MapFacts& f, int64_t own, bool pairs, const Target& t);

/// Long rows become parts that a subgroup takes each. What is left over is for another kernel.
bool wants_row_parts(const PartialFacts& f, const Target& t);
PartialSchedule row_parts(const PartialFacts& f, const Target& t);

/// Columns, of which lanes are neighbours: long ones become parts, too, and a subgroup takes neighbouring ones.
bool wants_column_parts(const PartialFacts& f, const Target& t);
PartialSchedule column_parts(const PartialFacts& f, const Target& t);
bool wants_lane_columns(const MapFacts& f, const Target& t);
MapSchedule lane_columns(const MapFacts& f, const Target& t);

/// The reduction of either, which is written out whole: over several axes only where it needs no loops for others' sake, and
/// long ones of teams only where there are enough to be worth the code.
bool reads_lane_row(const ReduceFacts& f, const Target& t);
ReduceSchedule lane_row(const ReduceFacts& f, const Target& t);

}  // namespace spirograd::schedule
