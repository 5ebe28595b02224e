#include "spirv/schedule/row_rules.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "frontend/base/checked.h"
#include "spirv/schedule/cost.h"
#include "spirv/schedule/group_rules.h"
#include "spirv/schedule/legal.h"
#include "spirv/schedule/rules.h"
#include "spirv/schedule/stream_rules.h"

namespace spirograd::schedule {

bool adds_plainly(int64_t own) { return own <= kPlainSum || (own <= kMostOwn && own % kChains == 0); }

namespace {

constexpr int64_t kElementCode = 200;  // of an element that is written out so often,
constexpr int64_t kRowsCode = 2600;    // and of all of them,
constexpr int64_t kSumsCode = 1900;    // or of their sums, where other arrays are computed beside

// Elements of a lane that so much code has room for, if all of them are worth it.
int64_t worth_in_code(const PartialFacts& f, int64_t code, double elements) {
  const int64_t each = std::max<int64_t>(1, f.code);
  return worth_writing_out(code, elements * static_cast<double>(each)) / each;
}

// Elements of a lane, at most, where there are so many of all. Whole pages of memory keep more of it on the way.
int64_t most_own(const PartialFacts& f, double elements) {
  constexpr double kInMemory = 4e6;
  const int64_t most = elements >= kInMemory && !f.even ? kMostOwn : kPlainSum;
  return std::min(most, worth_in_code(f, f.beside ? kSumsCode : kRowsCode, elements));
}

// The same of rows that are whole: what is computed of all their elements may join them, whose code is as large.
int64_t most_of_whole(const PartialFacts& f, double elements) {
  return std::min(kPlainSum, worth_in_code(f, kMostRowsCode, elements));
}

// Whether arrays of as many elements may join workgroups full of parts, and those that are left over are another kernel's.
bool joins_full_groups(const PartialFacts& f, int64_t part) {
  return f.beside && f.results == 1 && f.extents.size() == 1 && f.extents[0] % (kTeams * part) != 0 &&
         f.extents[0] >= 2 * kTeams * part;
}

// Parts of that many elements. Pre: they are fewer than all.
int64_t parts_of(const PartialFacts& f, int64_t part) {
  const int64_t parts = f.extents.back() / part;
  return joins_full_groups(f, part) ? parts / kTeams * kTeams : parts;
}

// Cycles of a processor for one result, the parts of which a subgroup has `own` for each lane; what is left over is
// gathered, by lanes of which each has a result. Of short rows that are whole a subgroup takes several.
double cost(const PartialFacts& f, int64_t own, const Target& t) {
  constexpr double kStart = 300, kOperation = 0.5, kGathered = 4;
  const int64_t n = f.extents.back(), part = own * t.subgroup_size;
  const auto lanes = static_cast<double>(std::min<int64_t>(f.results, t.subgroup_size));
  const double lane = kOperation * static_cast<double>(1 + f.code), apart = kGathered + lane / lanes;
  const double of_part = static_cast<double>(own) * lane;
  if (own == 0) return static_cast<double>(n) * apart;
  if (n <= part) return of_part + (own <= kLeastOwn && stores_rows(t) ? kStart / t.subgroup_size : kStart);
  const int64_t parts = parts_of(f, part);
  return static_cast<double>(parts) * (kStart + of_part) + static_cast<double>(n - parts * part) * apart;
}

// Rows that are reduced along the last axis: what runs over other axes as well has partial results for each.
int64_t results_of_rows(const PartialFacts& f) {
  int64_t rows = f.results;
  for (size_t j = 0; j + 1 < f.extents.size(); ++j) rows = saturating_mul(rows, f.extents[j]);
  return rows;
}

// Whether parts are all that there is, and workgroups full of them.
bool is_even(int64_t n, int64_t part, int64_t rows) {
  return n % part == 0 && (n / part % kTeams == 0 || rows % kTeams == 0);
}

// Whether rows of so few elements for each lane are worth a result each.
bool takes_short_rows(int64_t own, int64_t rows, const Target& t) {
  constexpr int64_t kLeastRows = 1 << 12;
  return own > 1 && stores_rows(t) && rows >= kLeastRows;
}

// All in one part if that has room, else parts; 0: it is gathered. `even`: none are left over.
int64_t best_own(const PartialFacts& f, bool even, const Target& t) {
  const int64_t n = f.extents.back(), rows = results_of_rows(f);
  const double elements = static_cast<double>(n) * static_cast<double>(rows);
  const int64_t most = most_own(f, elements);
  const int64_t all = divided_up(n, t.subgroup_size);
  int64_t best = 0;
  const auto consider = [&](int64_t own) {
    if (!adds_plainly(own)) return;
    if (even && !is_even(n, std::min(n, own * t.subgroup_size), rows)) return;
    if (cost(f, own, t) < cost(f, best, t)) best = own;
  };
  if (all <= std::max(most, most_of_whole(f, elements)) && (all >= kLeastOwn || takes_short_rows(all, rows, t)))
    consider(all);
  for (int64_t own = std::min(most, all / 2); own >= kLeastOwn && (even || 2 * own >= std::min(most, kPlainSum)); --own)
    consider(own);
  return best;
}

// Arrays of as many elements may join parts that are even. Where none are, those of one row join most of it; of many rows, a
// map apart is better than none.
int64_t best_own(const PartialFacts& f, const Target& t) {
  const int64_t best = best_own(f, f.even, t);
  if (best > 0 || !f.even) return best;
  const int64_t uneven = best_own(f, false, t);
  return uneven > 0 && (f.results >= kTeams || joins_full_groups(f, uneven * t.subgroup_size)) ? uneven : 0;
}

}  // namespace

bool wants_row_parts(const PartialFacts& f, const Target& t) {
  constexpr int64_t kLeastElements = 1 << 17, kLeastCode = 1 << 22;  // in all, that are worth another dispatch
  if (!reads_rows(t) || !f.rows || f.position || f.code > kElementCode || f.axes_left < 1) return false;
  const int64_t rows = results_of_rows(f), elements = saturating_mul(rows, f.extents.back());
  return (elements >= kLeastElements || saturating_mul(elements, f.code) >= kLeastCode) && best_own(f, t) > 0;
}

PartialSchedule row_parts(const PartialFacts& f, const Target& t) {
  PartialSchedule s;
  for (int64_t n : f.extents) s.axes.push_back({{Bind::Grid, n}});
  const int64_t n = f.extents.back(), part = best_own(f, t) * t.subgroup_size;
  s.axes.back() = n <= part ? Split{{Bind::Serial, n}} : Split{{Bind::Grid, parts_of(f, part)}, {Bind::Serial, part}};
  return s;
}

MapSchedule by_teams(const MapFacts& f, size_t axis, int64_t own, const Target& t) {
  MapSchedule s = plain_map(f);
  s.team = t.subgroup_size;
  s.group = kTeams * s.team;
  s.axes[axis] = on_grid(tiles_along(f, axis, own), true);
  if (own > 1) s.axes[axis].push_back({Bind::Register, own});
  if (extent(s.axes[axis]) != f.domain[static_cast<int>(axis)]) s.tail = Tail::Recompute;
  return s;
}

void append_row(Split& axis, int64_t own, int64_t n, const Target& t) {
  if (!stores_rows(t)) return append_lanes(axis, own, t.subgroup_size, n, t);
  if (own > 1) axis.push_back({Bind::Register, own});
  axis.push_back({Bind::Lane, t.subgroup_size});
}

int64_t whole_rows_of_teams(int64_t tiles, int64_t n) {
  if (tiles < 2 || tiles >= kTeams) return 0;
  int64_t best = 0;
  for (int64_t rows = divided_up(kTeams, 2 * tiles); rows * tiles < 2 * kTeams; ++rows)
    if (n % rows == 0 && (best == 0 || std::abs(rows * tiles - kTeams) < std::abs(best * tiles - kTeams))) best = rows;
  return best;
}

bool give_whole_rows(MapSchedule& s, const MapFacts& f, int64_t tiles, const Target& t) {
  const int last = f.domain.rank() - 1;
  const int64_t rows = last > 0 ? whole_rows_of_teams(tiles, f.domain[last - 1]) : 0;
  if (rows == 0) return false;
  if (rows > 1) give_to_teams(s, f, static_cast<size_t>(last - 1), rows, t);
  s.axes[static_cast<size_t>(last)] = {{Bind::Local, tiles}};
  s.team = t.subgroup_size;
  s.group = tiles * rows * s.team;
  return true;
}

std::optional<size_t> axis_of_teams(const MapFacts& f, int axes) {
  std::optional<size_t> best;
  double least = 2;
  for (auto a = static_cast<size_t>(axes); a-- > 0;) {
    const int64_t n = f.domain[static_cast<int>(a)];
    if (n < kTeams) continue;
    const double padded = static_cast<double>(divided_up(n, kTeams) * kTeams) / static_cast<double>(n);
    if (padded < least) least = padded, best = a;
  }
  return best;
}

bool same_or_neighbours(const Read& r, int axis) { return !(r.axes >> axis & 1) || ((r.last >> axis & 1) && r.sums); }

bool has_tiles(const MapFacts& f, int64_t own, const Target& t) {
  const int last = f.domain.rank() - 1;
  return tiles_along(f, static_cast<size_t>(last), own * t.subgroup_size) >= kTeams || axis_of_teams(f, last);
}

MapSchedule in_tiles(const MapFacts& f, int64_t own, bool pairs, const Target& t) {
  MapSchedule s = plain_map(f);
  s.team = t.subgroup_size;
  s.group = kTeams * s.team;
  const size_t last = s.axes.size() - 1;
  const int64_t tiles = tiles_along(f, last, own * s.team);
  if (!give_whole_rows(s, f, tiles, t)) {
    s.axes[last] = on_grid(tiles, tiles >= kTeams);
    if (tiles < kTeams) give_to_teams(s, f, *axis_of_teams(f, static_cast<int>(last)), kTeams, t);
  }
  const int64_t n = f.domain[static_cast<int>(last)];
  if (pairs)
    append_lanes(s.axes[last], own, s.team, n, t);
  else
    append_row(s.axes[last], own, n, t);
  for (size_t a = 0; a < s.axes.size(); ++a)
    if (extent(s.axes[a]) != f.domain[static_cast<int>(a)]) s.tail = Tail::Recompute;
  return s;
}

namespace {

constexpr int64_t kShortColumn = 8, kLaneColumn = 5;  // that parts are cut out of, that lanes take whole
// That lanes load of two columns each. Drivers take long for loads, and half for pairs: twice as many rows are worth that
// where most of the time is waited for memory.
constexpr int64_t kRowsOfColumns = 32, kRowsOfPairs = 2 * kRowsOfColumns;

// Rows that a part of a column has: few are left over.
int64_t rows_of_parts(const PartialFacts& f) {
  constexpr int64_t kInMemory = 8'000'000;  // elements
  const int64_t n = f.extents[0];
  if (n <= kPlainSum) return n;
  const bool pairs = f.columns % kOwnColumns == 0 && saturating_mul(f.results, n) >= kInMemory;
  const int64_t most = pairs ? kRowsOfPairs : kRowsOfColumns;
  int64_t best = most;
  for (int64_t rows = most; 2 * rows > most; --rows)
    if (n % rows < n % best) best = rows;
  return best;
}

}  // namespace

bool wants_column_parts(const PartialFacts& f, const Target& t) {
  constexpr int64_t kLeastElements = 1 << 19, kColumnCode = 20;
  return reads_rows(t) && !f.contiguous && f.streams && !f.position && f.extents.size() == 1 && f.axes_left > 0 &&
         f.columns >= width_of(t) && f.extents[0] >= kShortColumn && f.code <= kColumnCode &&
         saturating_mul(f.results, f.extents[0]) >= kLeastElements;
}

PartialSchedule column_parts(const PartialFacts& f, const Target&) {
  const int64_t n = f.extents[0], rows = rows_of_parts(f);
  if (n == rows) return whole(f);
  return {{{{Bind::Grid, n / rows}, {Bind::Serial, rows}}}};
}

bool wants_lane_columns(const MapFacts& f, const Target& t) {
  constexpr double kLeastElements = 1 << 17;
  const int last = f.domain.rank() - 1;
  if (!reads_rows(t) || last < 0 || !f.alone || f.stores || f.reductions.empty()) return false;
  const double n = f.reductions[0].length;
  const auto alike = [&](const Reduction& r) {
    return r.length == n && r.one_axis && !r.contiguous && !r.loops && !r.position;
  };
  const auto is_row = [&](const Read& r) { return !r.reduced || same_or_neighbours(r, last); };
  const auto alone = [&](const Read& r) { return r.reduced && reads_alone(f, r); };
  const int64_t code = kOwnColumns * static_cast<int64_t>(n) * f.code, columns = f.domain[last];
  return n >= kLaneColumn && n <= kPlainSum && columns >= width_of(t) && code <= kMostRowsCode &&
         static_cast<double>(f.domain.count()) * n >= kLeastElements && std::ranges::all_of(f.reductions, alike) &&
         std::ranges::all_of(f.reads, is_row) && std::ranges::any_of(f.reads, alone) && has_tiles(f, kOwnColumns, t);
}

MapSchedule lane_columns(const MapFacts& f, const Target& t) {
  const bool even = f.domain[f.domain.rank() - 1] % kOwnColumns == 0;
  return in_tiles(f, kOwnColumns, even && f.reductions[0].length > kRowsOfColumns, t);
}

bool reads_lane_row(const ReduceFacts& f, const Target& t) {
  const int64_t n = f.extents.back();
  if (!reads_rows(t) || (f.team && f.loops)) return false;
  const int64_t elements = std::accumulate(f.extents.begin(), f.extents.end(), int64_t{1}, saturating_mul);
  if (!f.team) return f.rows && elements <= kPlainSum && (f.extents.size() == 1 || f.alone);
  const int64_t own = divided_up(n, f.group);
  return f.extents.size() == 1 && n >= f.group && adds_plainly(own) && (own <= kLeastOwn || f.results >= f.group);
}

ReduceSchedule lane_row(const ReduceFacts& f, const Target& t) {
  ReduceSchedule s;
  if (!f.team) {
    for (const int64_t n : f.extents) s.axes.push_back({{Bind::Unroll, n}});
    return s;
  }
  const int64_t own = divided_up(f.extents[0], f.group);
  s.axes = {{{Bind::Unroll, own}, {Bind::Local, f.group}}};
  s.lanes = t.subgroup_size;
  // Of one row, whatever is left over: points of several do not wait for each other anyway.
  if (own % kChains == 0 || (own > kChains && f.points < kChains)) s.accumulators = kChains;
  return s;
}

}  // namespace spirograd::schedule
