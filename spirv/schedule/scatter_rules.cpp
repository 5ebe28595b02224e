// Schedules of scatters. Rows that are long enough for all processors are taken in columns. Copies of the result that
// invocations have for themselves need no atomics, either, as long as caches keep them near; of larger results a processor
// has one copy, which its lanes share. The largest are added to atomically, in runs of updates to the same place where an
// invocation reads a contiguous range; or, where the device has no such atomics, by the invocation that owns the place.
#include <algorithm>
#include <array>

#include "spirv/schedule/cost.h"
#include "spirv/schedule/legal.h"
#include "spirv/schedule/rules.h"

namespace spirograd::schedule {
namespace {

constexpr int64_t kCopiesNear = int64_t{1} << 21;  // bytes of all copies, if these suffice to keep the device busy,
constexpr int64_t kMost = int64_t{1} << 23;        // and at most
constexpr int64_t kMostOfTeams = 2 * kMost;        // where they are as few as processors,
constexpr int64_t kMostBeside = kMost / 2;         // and other arrays are read anywhere, too
constexpr int64_t kLeastPart = 32;                 // updates for each of them
constexpr int64_t kLongest = 1024;                 // updates that one invocation goes through for runs
constexpr int64_t kUpdatesUnrolled = 4;
constexpr double kAtomic = 12;  // stores that an atomic addition takes as long as

int64_t unrolled(const ScatterFacts& f, const Target& t) {
  return !t.price.coalesces && kUpdatesUnrolled * f.code <= kUnrolledCode ? kUpdatesUnrolled : 1;
}

// As many as keep the device busy and stay near, but no part longer than loops may be. 1: none.
int64_t wanted_copies(const ScatterFacts& f, const Target& t) {
  const auto longest =
      static_cast<int64_t>(std::min<uint64_t>(loop_limit(t) / 2, 0x7fffffff / kUpdatesUnrolled)) * unrolled(f, t);
  const int64_t bytes = f.places * f.row * static_cast<int64_t>(device_bytes(f.dtype));
  const int64_t busy = divided_up(t.price.busy, f.row), wanted = divided_up(wanted_invocations(t), f.row);
  int64_t n = std::min(wanted, divided_up(f.updates, kLeastPart));
  n = std::min(n, std::max(busy, kCopiesNear / bytes));
  n = std::min(std::max(n, divided_up(f.updates, std::max<int64_t>(1, longest))), kMost / bytes);
  if (n > busy) n -= n % busy;
  return f.copyable && n > 1 && divided_up(f.updates, n) <= longest ? n : 1;
}

// Neighbours that read from ranges a power of two apart share few sets of a cache.
int64_t apart(int64_t range, const ScatterFacts& f, const Target& t) {
  constexpr int64_t kSets = 512, kLine = 16;  // elements
  return f.row < t.price.lanes && range % kSets == 0 ? range + kLine : range;
}

ScatterSchedule in_copies(const ScatterFacts& f, const Target& t) {
  const int64_t n = wanted_copies(f, t), busy = divided_up(t.price.busy, f.row);
  ScatterSchedule s = {.updates = {{Bind::Serial, f.updates}}, .atomic = false, .places = {{Bind::Serial, f.places}}};
  const int64_t part = divided_up(f.updates, n), unroll = unrolled(f, t);
  if (n > 1 && t.price.coalesces) s.updates = {{Bind::Serial, part}, {Bind::Grid, n}};
  if (n > 1 && !t.price.coalesces) s.updates = {{Bind::Grid, n}, {Bind::Serial, divided_up(apart(part, f, t), unroll)}};
  if (n > 1 && unroll > 1) s.updates.push_back({Bind::Unroll, unroll});
  const int64_t ranges = std::min(f.places, divided_up(busy, n));
  if (ranges > 1) s.places = {{Bind::Grid, ranges}, {Bind::Serial, divided_up(f.places, ranges)}};
  return s;
}

int64_t processors(const Target& t) { return std::max<int64_t>(1, t.price.busy / t.price.lanes); }

// A copy for each processor, which its lanes share. Whole updates go to it.
ScatterSchedule in_teams(const ScatterFacts& f, const Target& t) {
  const int64_t lanes = t.subgroup_size, n = processors(t), each = divided_up(divided_up(f.updates, n), lanes) * f.row;
  return {.updates = {{Bind::Grid, n}, {Bind::Serial, each}, {Bind::Lane, lanes}},
          .atomic = false,
          .places = {{Bind::Serial, f.places}}};
}

// Of a row that is long enough for all processors: neighbours in lanes, and as many vectors of them side by side as leave
// each processor one.
Split columns(const ScatterFacts& f, const Target& t) {
  constexpr int64_t kMostSideBySide = 16;
  const int64_t lanes = t.price.lanes;
  const int64_t neighbours = takes_pairs(t) && f.row % 2 == 0 && f.row >= 2 * lanes * processors(t) ? 2 : 1;
  const int64_t vectors = divided_up(f.row, lanes * neighbours);
  const int64_t most =
      std::max<int64_t>(1, std::min(kMostSideBySide, kUnrolledCode / std::max<int64_t>(1, f.code)) / neighbours);
  const int64_t own = divided_up(vectors, divided_up(divided_up(vectors, most), processors(t)) * processors(t));
  Split s = {{Bind::Grid, divided_up(vectors, own)}};
  if (own > 1) s.push_back({Bind::Register, own});
  s.push_back({Bind::Lane, lanes});
  if (neighbours > 1) s.push_back({Bind::Register, neighbours});
  return s;
}

bool wants_columns(const ScatterFacts& f, const Target& t) {
  return !t.price.coalesces && f.row >= t.price.busy && f.row >= 2 * static_cast<int64_t>(t.price.lanes);
}

ScatterSchedule by_columns(const ScatterFacts& f, const Target& t) {
  return {
      .updates = {{Bind::Serial, f.updates}}, .atomic = false, .places = {{Bind::Serial, f.places}}, .row = columns(f, t)};
}

double in_operations(int64_t n) { return static_cast<double>(n); }
double elements_of(const ScatterFacts& f) { return in_operations(f.updates) * in_operations(f.row); }

// Operations of a busy device that additions of one by one take as long as.
double cost_of_atomics(const ScatterFacts& f, const Target& t) { return elements_of(f) * kAtomic * t.price.store; }

// So many copies: they are cleared before and added up behind. An update takes `far` more where they are more than caches
// keep near.
double cost_of_copies(const ScatterFacts& f, int64_t copies, double each, double far, const Target& t) {
  const double copied = reads_rows(t) ? 40 : 80;
  if (copies == 1) return elements_of(f) * each;
  const double elements = in_operations(copies * f.places) * in_operations(f.row);
  const bool near = elements * static_cast<double>(device_bytes(f.dtype)) <= static_cast<double>(kCopiesNear);
  return elements_of(f) * (near ? each : each + far) + elements * copied + t.price.dispatch;
}
double cost_of_own_copies(const ScatterFacts& f, const Target& t) {
  return cost_of_copies(f, wanted_copies(f, t), 2 * t.price.load + t.price.store, 75, t);
}
double cost_of_teams(const ScatterFacts& f, const Target& t) {
  constexpr double kExchanged = 36;
  return cost_of_copies(f, processors(t), 2 * t.price.load + t.price.store + kExchanged, 30, t);
}

// Where neighbours are served together, copies of their own would lie apart.
bool wants_copies(const ScatterFacts& f, const Target& t) {
  return !t.price.coalesces && wanted_copies(f, t) * f.row >= t.price.busy &&
         cost_of_own_copies(f, t) < cost_of_atomics(f, t);
}

bool wants_teams(const ScatterFacts& f, const Target& t) {
  if (!reads_rows(t) || processors(t) == 1 || !f.copyable) return false;
  const int64_t bytes = processors(t) * f.places * f.row * static_cast<int64_t>(device_bytes(f.dtype));
  const bool short_enough = elements_of(f) / in_operations(processors(t) * t.subgroup_size) <= loop_limit(t) / 2;
  if (bytes > (f.gathers ? kMostBeside : kMostOfTeams) || !short_enough || check(f, in_teams(f, t), t)) return false;
  if (wants_copies(f, t)) return cost_of_teams(f, t) < cost_of_own_copies(f, t);
  return !f.atomic || cost_of_teams(f, t) < cost_of_atomics(f, t);
}

bool wants_runs(const ScatterFacts& f, const Target& t) {
  return f.atomic && !t.price.coalesces && f.updates * f.row >= 2 * wanted_invocations(t);
}

ScatterSchedule in_runs(const ScatterFacts& f, const Target& t) {
  const int64_t busy = divided_up(wanted_invocations(t), f.row);
  const int64_t run = apart(std::clamp<int64_t>(f.updates / busy, 1, std::min(kLongest, most_elements(t))), f, t);
  return {.updates = {{Bind::Grid, divided_up(f.updates, run)}, {Bind::Serial, run}}, .atomic = true, .places = {}};
}

// Neighbours that are served together add to different copies, so that few wait for each other.
constexpr int64_t kPlacesApart = 1 << 16;  // from which on they do not
constexpr int64_t kMostAmong = 64;

int64_t among(const ScatterFacts& f) {
  int64_t n = 1;
  while (n < kMostAmong && 2 * n * f.places * f.row <= kPlacesApart && 8 * n * f.places <= f.updates) n *= 2;
  return n;
}

bool wants_turns(const ScatterFacts& f, const Target& t) {
  return t.price.coalesces && f.atomic && f.copyable && f.updates * f.row >= wanted_invocations(t) && among(f) > 1;
}

ScatterSchedule by_lanes(const ScatterFacts& f, const Target& t) {
  ScatterSchedule s = plain_scatter(f);
  s.updates = {{Bind::Grid, divided_up(f.updates, kLaneGroup) * kLaneGroup}};
  s.lanes = t.subgroup_size;
  return s;
}

// Where all go to one place, lanes would wait for each other for longer than everything else takes.
bool wants_lanes(const ScatterFacts& f, const Target& t) {
  return t.price.coalesces && f.atomic && f.updates >= kLaneGroup && f.row == 1 && adds_lanes(t) &&
         !check(f, by_lanes(f, t), t);
}

ScatterSchedule in_turn(const ScatterFacts& f, const Target& t) {
  ScatterSchedule s = wants_lanes(f, t) ? by_lanes(f, t) : plain_scatter(f);
  s.among = among(f);
  return s;
}

constexpr std::array<ScatterRule, 7> kScatterRules = {{
    {"columns of long rows", wants_columns, by_columns},
    {"a copy for each processor", wants_teams, in_teams},
    {"copies are cheaper than atomics", wants_copies, in_copies},
    {"runs to one place", wants_runs, in_runs},
    {"copies in turn", wants_turns, in_turn},
    {"lanes add up", wants_lanes, by_lanes},
    {"no atomics", [](const ScatterFacts& f, const Target&) { return !f.atomic; }, in_copies},
}};

}  // namespace

ScatterSchedule plain_scatter(const ScatterFacts& f) {
  if (f.atomic) return {.updates = {{Bind::Grid, f.updates}}, .atomic = true, .places = {}};
  return {.updates = {{Bind::Serial, f.updates}}, .atomic = false, .places = {{Bind::Serial, f.places}}};
}

std::span<const ScatterRule> scatter_rules() { return kScatterRules; }

ScatterSchedule Scheduler::scatter(const ScatterFacts& facts, const Target& target) const {
  for (const ScatterRule& r : scatter_rules())
    if (r.fits(facts, target)) return r.make(facts, target);
  return plain_scatter(facts);
}

}  // namespace spirograd::schedule
