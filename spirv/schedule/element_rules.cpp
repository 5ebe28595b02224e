#include "spirv/schedule/element_rules.h"

#include <algorithm>
#include <optional>

#include "frontend/base/checked.h"
#include "spirv/schedule/cost.h"
#include "spirv/schedule/group_rules.h"
#include "spirv/schedule/row_rules.h"
#include "spirv/schedule/rules.h"

namespace spirograd::schedule {
namespace {

// Elements of a lane, at most: what is written out for all of them should fit the caches of code.
int64_t own_elements(int64_t code, const Target& t) {
  constexpr int64_t kMost = 64, kCode = 1760;
  int64_t own = stores_rows(t) ? kMost / 2 : kMost;  // drivers branch at each store
  while (own * code > kCode) own /= 2;
  return own;
}

// Whether all that a map reads lies as it does, or is one number: then its elements are counted through all axes.
bool lies_alike(const MapFacts& f) {
  return std::ranges::any_of(f.reads, [](const Read& r) { return r.own; }) &&
         std::ranges::all_of(f.reads, [](const Read& r) { return r.own || r.axes == 0; });
}

// Whether it lies along the last axis, or is the same there.
bool lies_along(const MapFacts& f) {
  const int last = f.domain.rank() - 1;
  const auto depends = [&](const Read& r) { return (r.axes >> last & 1) != 0; };
  const auto is_row = [&](const Read& r) { return r.own || same_or_neighbours(r, last); };
  return last >= 0 && std::ranges::all_of(f.reads, is_row) && std::ranges::any_of(f.reads, depends);
}

// The same elements along one axis.
MapFacts flattened(MapFacts f) {
  f.domain = Shape({f.domain.count()});
  return f;
}

// Elements of a lane that are taken side by side along the last axis; 0: there is no room for them. Of one axis, the last
// element may be odd; rows of odd length begin anywhere, and are scattered.
int64_t own_along(const MapFacts& f, const Target& t) {
  const int64_t n = f.domain[f.domain.rank() - 1];
  int64_t own = own_elements(f.code, t);
  while (own * t.subgroup_size > n) own /= 2;
  if ((n % 2 != 0 && !stores_rows(t)) || own < kLeastOwn || !has_tiles(f, own, t)) return 0;
  const int64_t in_all = divided_up(n, t.subgroup_size);
  return std::max(kLeastOwn, divided_up(in_all, divided_up(in_all, own)));  // alike: the last one repeats little
}

// Whole rows of which a lane has a few elements each: several of them, along another axis. The last lanes begin earlier
// where a row is no multiple of them.
struct ShortRows {
  size_t axis = 0;
  int64_t rows = 1;
  size_t teams = 0;  // the axis along which subgroups are neighbours
};

std::optional<ShortRows> short_rows(const MapFacts& f, const Target& t) {
  constexpr int64_t kMany = 4;  // tiles, of which the last one may begin earlier
  const int last = f.domain.rank() - 1;
  const int64_t n = f.domain[last], lanes = t.subgroup_size, own = divided_up(n, lanes);
  const bool little_twice = stores_rows(t) && 2 * own * lanes <= 3 * n;
  if (n < lanes || (n % lanes != 0 && !little_twice)) return std::nullopt;
  const int64_t most = own_elements(f.code, t) / own;
  for (auto a = static_cast<size_t>(last); a-- > 0;) {
    const int64_t length = f.domain[static_cast<int>(a)];
    int64_t rows = std::min(most, length);
    while (own * rows >= kLeastOwn && length % rows != 0) --rows;
    if (own * rows < kLeastOwn && length >= kMany * most) rows = most;
    if (own * rows < kLeastOwn) continue;
    if (tiles_along(f, a, rows) >= kTeams) return ShortRows{a, rows, a};
    MapFacts others = f;
    others.domain[static_cast<int>(a)] = 1;
    if (const auto teams = axis_of_teams(others, last)) return ShortRows{a, rows, *teams};
  }
  return std::nullopt;
}

MapSchedule in_short_rows(const MapFacts& f, const ShortRows& rows, const Target& t) {
  MapSchedule s = plain_map(f);
  if (rows.teams != rows.axis) give_to_teams(s, f, rows.teams, kTeams, t);
  s.team = t.subgroup_size;
  s.group = kTeams * s.team;
  const int64_t n = f.domain[f.domain.rank() - 1];
  s.axes[rows.axis] = on_grid(tiles_along(f, rows.axis, rows.rows), rows.teams == rows.axis);
  if (rows.rows > 1) s.axes[rows.axis].push_back({Bind::Register, rows.rows});
  s.axes.back().clear();
  append_row(s.axes.back(), divided_up(n, s.team), n, t);
  const bool even = extent(s.axes[rows.axis]) == f.domain[static_cast<int>(rows.axis)] && extent(s.axes.back()) == n;
  if (!even) s.tail = Tail::Recompute;
  return s;
}

// Whether whole rows compute no more elements twice than tiles along them.
bool in_whole_rows(const MapFacts& f, const Target& t) {
  const int64_t n = f.domain[f.domain.rank() - 1], own = own_along(f, t), tile = own * t.subgroup_size;
  return own == 0 || (stores_rows(t) && divided_up(n, tile) * own >= divided_up(n, t.subgroup_size) && short_rows(f, t));
}

// Whether lanes may take rows of the map.
bool has_row_elements(const MapFacts& f, const Target& t) {
  if (!reads_rows(t) || !takes_pairs(t) || !f.alone || f.stores || f.reduces) return false;
  if (lies_alike(f)) return own_along(flattened(f), t) > 0;
  return lies_along(f) && (own_along(f, t) > 0 || short_rows(f, t));
}

constexpr int64_t kLeastInRows = 1 << 19;  // that they are worth it for

}  // namespace

bool wants_row_elements(const MapFacts& f, const Target& t) {
  return f.domain.count() >= kLeastInRows && has_row_elements(f, t);
}

MapSchedule row_elements(const MapFacts& f, const Target& t) {
  const bool flat = lies_alike(f);
  if (!flat && in_whole_rows(f, t)) return in_short_rows(f, *short_rows(f, t), t);
  const MapFacts along = flat ? flattened(f) : f;
  MapSchedule s = in_tiles(along, own_along(along, t), false, t);
  s.flat = flat;
  return s;
}

namespace {

// Whether it runs over an axis that is too short for a loop, and neighbours of which are apart.
bool is_short_column(const Reduction& r) {
  constexpr double kMost = 7;
  return r.one_axis && !r.contiguous && r.length <= kMost;
}

// Elements of all windows and short columns of one point, written out beside each other; none: the map reduces something
// else. Loops over one axis share more between the points of a tile.
std::optional<int64_t> elements_of_windows(const MapFacts& f) {
  double elements = 0;
  for (const Reduction& r : f.reductions) {
    if (r.position || r.loops || (r.one_axis && !is_short_column(r))) return std::nullopt;
    elements += r.length;
  }
  return f.reductions.empty() || elements > kMostOfWindow ? std::nullopt : std::optional(static_cast<int64_t>(elements));
}

// As a map without reductions. A row beside another one is made of what both have loaded: that takes as long as to compute.
// Rows of columns have nothing in common, and drivers take long for loads.
MapFacts written_out(MapFacts f) {
  constexpr int64_t kPutTogether = 2, kLoaded = 36;
  const uint32_t columns = 1u << (f.domain.rank() - 1);
  const int64_t elements = elements_of_windows(f).value();
  const auto loads = std::ranges::count_if(f.reads, [](const Read& r) { return r.reduced; });
  double code = 1 + static_cast<double>(loads);
  for (const Operations& o : f.operations) code += (o.axes & columns) != 0 ? o.count : 0;
  f.code = kPutTogether * static_cast<int64_t>(code) * elements;
  if (std::ranges::all_of(f.reductions, is_short_column)) f.code = std::max(f.code, kLoaded * loads * elements);
  f.reduces = false;
  return f;
}

}  // namespace

bool wants_row_windows(const MapFacts& f, const Target& t) {
  if (!f.reduces || !elements_of_windows(f) || lies_alike(f)) return false;
  return saturating_mul(f.domain.count(), *elements_of_windows(f)) >= kLeastInRows && has_row_elements(written_out(f), t);
}

MapSchedule row_windows(const MapFacts& f, const Target& t) { return row_elements(written_out(f), t); }

}  // namespace spirograd::schedule
