#include "spirv/schedule/row_rules.h"

#include <algorithm>
#include <optional>

#include "frontend/base/checked.h"
#include "spirv/schedule/cost.h"
#include "spirv/schedule/legal.h"
#include "spirv/schedule/rules.h"
#include "spirv/schedule/stream_rules.h"

namespace spirograd::schedule {
namespace {

constexpr int64_t kLeastOwn = 8;                                    // elements of a lane
constexpr int64_t kElementCode = 90;                                // of an element that is written out so often,
constexpr int64_t kRowsCode = 2600, kMostRowsCode = 2 * kRowsCode;  // and of all of them
constexpr int64_t kTeams = 8;                                       // subgroups of a workgroup

// Elements of a lane, at most, where there are so many of all.
int64_t most_own(double elements, int64_t code) {
  const int64_t each = std::max<int64_t>(1, code);
  return std::min(kPlainSum, worth_writing_out(kRowsCode, elements * static_cast<double>(each)) / each);
}

// Cycles of a processor for one result of n elements, the parts of which a subgroup has `own` for each lane; what is left
// over is gathered.
double cost(int64_t n, int64_t own, int64_t code, const Target& t) {
  constexpr double kStart = 300, kOperation = 0.5, kGathered = 4;
  const int64_t part = own * t.subgroup_size;
  const double lane = kOperation * static_cast<double>(1 + code), apart = kGathered + lane / t.subgroup_size;
  if (own == 0) return static_cast<double>(n) * apart;
  const double parts = n <= part ? 1 : static_cast<double>(n / part);
  return parts * (kStart + static_cast<double>(own) * lane) + (n <= part ? 0 : static_cast<double>(n % part) * apart);
}

// All in one part if that has room, else parts; 0: it is gathered.
int64_t best_own(int64_t n, int64_t results, int64_t code, const Target& t) {
  const int64_t most = most_own(static_cast<double>(n) * static_cast<double>(results), code);
  const int64_t all = divided_up(n, t.subgroup_size);
  int64_t best = 0;
  const auto consider = [&](int64_t own) {
    if (own >= kLeastOwn && cost(n, own, code, t) < cost(n, best, code, t)) best = own;
  };
  if (all <= most) consider(all);
  for (int64_t own = std::min(most, all / 2); 2 * own >= most; --own) consider(own);
  return best;
}

}  // namespace

bool wants_row_parts(const PartialFacts& f, const Target& t) {
  constexpr int64_t kLeastElements = 1 << 17;  // in all, that are worth another dispatch
  return reads_rows(t) && f.rows && !f.position && f.code <= kElementCode && f.extents.size() == 1 && f.axes_left > 0 &&
         saturating_mul(f.results, f.extents[0]) >= kLeastElements && best_own(f.extents[0], f.results, f.code, t) > 0;
}

PartialSchedule row_parts(const PartialFacts& f, const Target& t) {
  const int64_t n = f.extents[0], part = best_own(n, f.results, f.code, t) * t.subgroup_size;
  if (n <= part) return whole(f);
  return {{{{Bind::Grid, n / part}, {Bind::Serial, part}}}};
}

namespace {

// The axis along which the subgroups of a workgroup are neighbours, so that few of them have nothing to do; the last one of
// equals. None: the axes are shorter than that.
std::optional<size_t> axis_of_teams(const MapFacts& f) {
  std::optional<size_t> best;
  double least = 2;
  for (auto a = static_cast<size_t>(f.domain.rank()); a-- > 0;) {
    const int64_t n = f.domain[static_cast<int>(a)];
    if (n < kTeams) continue;
    const double padded = static_cast<double>(divided_up(n, kTeams) * kTeams) / static_cast<double>(n);
    if (padded < least) least = padded, best = a;
  }
  return best;
}

}  // namespace

bool wants_lane_rows(const MapFacts& f, const Target& t) {
  constexpr double kLeastElements = 1 << 15;
  if (!reads_rows(t) || !f.alone || f.stores || f.reductions.empty() || !axis_of_teams(f)) return false;
  const double length = f.reductions[0].length;
  const auto n = static_cast<int64_t>(length), own = divided_up(n, t.subgroup_size);
  const double elements = static_cast<double>(f.domain.count()) * length;
  return own >= kLeastOwn && own <= kPlainSum && own * f.code <= kMostRowsCode && elements >= kLeastElements &&
         std::ranges::all_of(f.reductions,
                             [&](const Reduction& r) { return r.one_axis && reduces_row(r, n) && !r.loops; }) &&
         std::ranges::any_of(f.reads, [&](const Read& r) { return r.reduced && reads_alone(f, r); });
}

MapSchedule lane_rows(const MapFacts& f, const Target& t) {
  MapSchedule s = plain_map(f);
  s.team = t.subgroup_size;
  s.group = kTeams * s.team;
  const size_t a = *axis_of_teams(f);
  const int64_t n = f.domain[static_cast<int>(a)];
  s.axes[a] = {{Bind::Grid, divided_up(n, kTeams)}, {Bind::Local, kTeams}};
  if (n % kTeams != 0) s.tail = Tail::Recompute;
  return s;
}

bool reads_lane_row(const ReduceFacts& f, const Target& t) {
  const int64_t n = f.extents.back();
  return reads_rows(t) && f.team && f.extents.size() == 1 && n >= f.group && divided_up(n, f.group) <= kPlainSum && !f.loops;
}

ReduceSchedule lane_row(const ReduceFacts& f, const Target& t) {
  constexpr int64_t kChains = 4;  // of additions, that do not wait for each other
  const int64_t own = divided_up(f.extents[0], f.group);
  ReduceSchedule s;
  s.axes = {{{Bind::Unroll, own}, {Bind::Local, f.group}}};
  s.lanes = t.subgroup_size;
  if (own % kChains == 0) s.accumulators = kChains;
  return s;
}

}  // namespace spirograd::schedule
