#include "spirv/schedule/lane_row_rules.h"

#include <algorithm>
#include <optional>
#include <set>

#include "spirv/schedule/cost.h"
#include "spirv/schedule/group_rules.h"
#include "spirv/schedule/row_rules.h"
#include "spirv/schedule/rules.h"
#include "spirv/schedule/stream_rules.h"

namespace spirograd::schedule {
namespace {

constexpr double kLeastReduced = 1 << 15;                 // elements
constexpr int64_t kBusyCode = 2048, kForAllLanes = 6400;  // instructions that keep a subgroup busy, that save others

// Rows along an axis that a subgroup takes, of which a lane has `own` elements each: little of a short one hides how long
// operations take, and what it takes to begin. Where there are as many as lanes, each lane does for a row what is left to do
// with its result. `all`: of all axes; `loads`: of each element; `for_all_lanes`: instructions of as many.
int64_t rows_together(const MapFacts& f, int64_t rows, int64_t all, int64_t own, int64_t loads, int64_t for_all_lanes,
                      const Target& t) {
  constexpr int64_t kLoads = 64;  // of a lane: drivers take long for each
  constexpr double kAlone = 2.7;  // times what a row takes beside many others, it takes more alone
  constexpr int64_t kFew = 4, kShort = 16;
  const int64_t code = std::max<int64_t>(1, f.code);
  const double work = static_cast<double>(all * own * t.subgroup_size) * static_cast<double>(code);
  const int64_t by_loads = kLoads / std::max<int64_t>(1, loads);
  const auto fits = [&](int64_t together) {
    const int64_t most = together == t.subgroup_size ? for_all_lanes : kBusyCode;
    // Few short ones even where other axes are what keeps the device busy, and some lanes go beyond the end of theirs.
    const bool few = together <= kFew && own <= kShort;
    const int64_t groups = few ? all / rows * divided_up(rows, kTeams * together) : rows / (kTeams * together);
    const bool busy = groups * static_cast<int64_t>(t.price.lanes) >= wanted_invocations(t);
    return busy && together * own <= std::min(by_loads, worth_writing_out(most, work) / code);
  };
  const auto time = [&](int64_t together) {
    return static_cast<double>(divided_up(rows, kTeams * together) * together) *
           (1 + kAlone / static_cast<double>(together));
  };
  int64_t best = 1;
  for (int64_t together = 2; together <= t.subgroup_size && !f.single; together *= 2)
    if (fits(together) && time(together) < time(best)) best = together;
  return best;
}

int64_t of_each_lane(int64_t n, const Target& t) { return divided_up(n, t.subgroup_size); }

bool reduces_rows(const MapFacts& f, int64_t n) {
  return std::ranges::all_of(
      f.reductions, [&](const Reduction& r) { return r.one_axis && reduces_row(r, n) && !r.loops && r.inner == 1; });
}

// Arrays that have an element for each of all rows. map: of which the domain has one, too.
int64_t loads_of(const MapFacts& f, bool map) {
  const int last = f.domain.rank() - 1;
  const uint32_t of_row = long_axes(f.domain) & ~(map ? 1u << last : 0);
  std::set<uint32_t> buffers;
  for (const Read& r : f.reads)
    if ((map && r.own) || (r.reduced && (of_row & ~r.axes) == 0)) buffers.insert(r.buffer);
  return static_cast<int64_t>(buffers.size());
}

// Rows of which a subgroup takes several are neighbours along the last axis.
int64_t rows_of(const MapFacts& f, const Target& t) {
  const auto own = of_each_lane(static_cast<int64_t>(f.reductions[0].length), t);
  const int last = f.domain.rank() - 1;
  if (f.stores || !stores_rows(t) || axis_of_teams(f, last + 1) != static_cast<size_t>(last)) return 1;
  return rows_together(f, f.domain[last], f.domain.count(), own, loads_of(f, false), kForAllLanes, t);
}

// An invocation gathers the few elements of a shorter row as fast as lanes tell each other what they have found.
bool is_long_enough(int64_t n, const MapFacts& f, const Target& t) {
  return n >= (loads_of(f, false) > 1 ? 1 : 2) * static_cast<int64_t>(t.subgroup_size);
}

}  // namespace

bool wants_lane_rows(const MapFacts& f, const Target& t) {
  if (!reads_rows(t) || !f.alone || f.reductions.empty()) return false;
  const std::optional<size_t> axis = axis_of_teams(f, f.domain.rank());
  const double length = f.reductions[0].length;
  const auto n = static_cast<int64_t>(length);
  if (!axis || (f.stores && (f.domain[static_cast<int>(*axis)] % kTeams != 0 || n % t.subgroup_size != 0))) return false;
  const int64_t own = of_each_lane(n, t);
  const double elements = static_cast<double>(f.domain.count()) * length;
  const int64_t most_code = f.stores ? 2 * kMostRowsCode : kMostRowsCode;  // what is stored beside shares much of it
  return is_long_enough(n, f, t) && own * rows_of(f, t) >= kLeastOwn && adds_plainly(own) && own * f.code <= most_code &&
         elements >= kLeastReduced && reduces_rows(f, n) &&
         std::ranges::any_of(f.reads, [&](const Read& r) { return r.reduced && r.along && reads_alone(f, r); });
}

MapSchedule lane_rows(const MapFacts& f, const Target& t) {
  const int last = f.domain.rank() - 1;
  if (const int64_t together = rows_of(f, t); together > 1) return by_teams(f, static_cast<size_t>(last), together, t);
  MapSchedule s = plain_map(f);
  if (!give_whole_rows(s, f, f.domain[last], t)) give_to_teams(s, f, *axis_of_teams(f, f.domain.rank()), kTeams, t);
  return s;
}

bool maps_rows(int64_t rows, int64_t length, int64_t code, const Target& t) {
  const int64_t own = of_each_lane(length, t);
  const double elements = static_cast<double>(rows) * static_cast<double>(length);
  return stores_rows(t) && length >= 2 * static_cast<int64_t>(t.subgroup_size) && length % 2 == 0 && own <= kPlainSum &&
         own * code <= worth_writing_out(kMostRowsCode, elements * static_cast<double>(code)) && rows >= kTeams &&
         elements >= kLeastReduced;
}

bool wants_row_maps(const MapFacts& f, const Target& t) {
  const int last = f.domain.rank() - 1;
  if (last < 1 || !f.alone || f.stores || f.reductions.empty() || f.domain.count() == 0) return false;
  const int64_t length = f.domain[last];
  return maps_rows(f.domain.count() / length, length, f.code, t) && axis_of_teams(f, last) && reduces_rows(f, length) &&
         std::ranges::none_of(f.reductions, [&](const Reduction& r) { return r.axes >> last & 1; });
}

MapSchedule row_maps(const MapFacts& f, const Target& t) {
  const int last = f.domain.rank() - 1;
  const size_t rows = *axis_of_teams(f, last);
  const int64_t n = f.domain[last], own = of_each_lane(n, t);
  const int64_t together =
      rows_together(f, f.domain[static_cast<int>(rows)], f.domain.count() / n, own, loads_of(f, true), kBusyCode, t);
  MapSchedule s = by_teams(f, rows, together, t);
  s.axes.back().clear();
  append_row(s.axes.back(), own, n, t);
  if (extent(s.axes.back()) != n) s.tail = Tail::Recompute;
  return s;
}

bool wants_lone_teams(const MapFacts& f, const Target& t) {
  if (!f.alone || f.stores || f.reductions.empty()) return false;
  return std::ranges::all_of(f.reductions, [&](const Reduction& r) {
    return r.one_axis && r.contiguous && !r.position && !r.loops && r.inner == 1 &&
           lanes_share(static_cast<double>(f.domain.count()), r.length, t);
  });
}

MapSchedule lone_teams(const MapFacts& f, const Target& t) {
  MapSchedule s = plain_map(f);
  s.team = t.subgroup_size;
  s.group = s.team;
  return s;
}

}  // namespace spirograd::schedule
