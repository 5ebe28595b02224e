// Maps that share nothing with their neighbours: how they go through memory.
#include "spirv/schedule/stream_rules.h"

#include <algorithm>
#include <limits>

#include "spirv/schedule/cost.h"
#include "spirv/schedule/legal.h"
#include "spirv/schedule/row_rules.h"
#include "spirv/schedule/rules.h"

namespace spirograd::schedule {

namespace {

// Several elements per invocation pay for starting it, as long as all processors still have something to do: side by side,
// which hides how long operations take, as far as code allows, and the others one after the other.
struct Elements {
  int64_t registers = 1, in_turn = 1;
};

Elements elements_per_invocation(const MapFacts& f, const Target& t) {
  const int64_t kElements = t.price.coalesces ? 8 : 16;  // from then on it hardly matters
  Elements e;
  if (t.price.invocation == 0) return e;
  const int64_t spare = f.domain.count() / (64 * static_cast<int64_t>(t.price.busy));
  while (2 * e.registers <= std::min(spare, kElements) && 2 * e.registers * f.code <= kSideBySideCode) e.registers *= 2;
  while (2 * e.registers * e.in_turn <= std::min(spare, kElements)) e.in_turn *= 2;
  return e;
}

}  // namespace

bool wants_several(const MapFacts& f, const Target& t) {
  const Elements e = elements_per_invocation(f, t);
  return e.registers * e.in_turn > 1;
}

void append_lanes(Split& split, int64_t own, int64_t lanes, int64_t n, const Target& t) {
  const int64_t pair = takes_pairs(t) && own % 2 == 0 && n % 2 == 0 ? 2 : 1;  // a row of odd length begins anywhere
  if (own > pair) split.push_back({Bind::Register, own / pair});
  if (lanes > 1) split.push_back({Bind::Lane, lanes});
  if (pair > 1) split.push_back({Bind::Register, pair});
}

MapSchedule several(const MapFacts& f, const Target& t) {
  const Elements e = elements_per_invocation(f, t);
  const int64_t n = f.domain.count(), width = t.price.lanes;
  const int64_t groups = divided_up(n, e.registers * e.in_turn * width);
  Split split = {{Bind::Grid, groups}};
  if (e.in_turn > 1) split.push_back({Bind::Serial, e.in_turn});
  append_lanes(split, e.registers, width, n, t);
  const Tail tail = extent(split) == n ? Tail::Exact : Tail::Recompute;
  return {true, {std::move(split)}, tail};
}

namespace {

// Where the result is contiguous along the last axis and an array that is read along another one, an invocation takes a
// stretch of the other: 64 bytes of every line that it reads, and with its neighbours of every line that it writes.
constexpr int64_t kStretch = 16;
constexpr int64_t kStretches = 4;  // one after the other, as they lie in the same pages
constexpr int64_t kSector = 8;     // of GPUs: the 32 bytes that their memory gives at a time

int64_t stretch(const Target& t) { return t.price.coalesces ? kSector : kStretch; }

// The axis, or the last one if there is none.
int read_along(const MapFacts& f, const Target& t) {
  const int last = f.domain.rank() - 1;
  for (const Read& r : f.reads)
    for (int a = 0; a < last; ++a)
      if (r.last == 1u << a && (r.axes >> last & 1) && f.domain[a] >= stretch(t)) return a;
  return last;
}

}  // namespace

bool wants_stretches(const MapFacts& f, const Target& t) {
  const int64_t least = t.price.coalesces ? wanted_invocations(t) / 8 : 2 * wanted_invocations(t);
  return !f.reduces && t.price.invocation > 0 && f.domain.rank() > 1 &&
         f.domain[f.domain.rank() - 1] >= 2 * static_cast<int64_t>(t.price.lanes) &&
         f.domain.count() >= stretch(t) * least && read_along(f, t) + 1 < f.domain.rank() &&
         stretch(t) * f.code <= kSideBySideCode;
}

// Or a workgroup takes a square, which it reads and writes as it lies in memory, and turns in its own.
constexpr int64_t kSquare = 32;

bool wants_squares(const MapFacts& f, const Target& t) {
  const int last = f.domain.rank() - 1;
  if (!shares_rows(t) || !f.alone || f.reduces || f.stores || last < 1) return false;
  const int across = read_along(f, t);
  if (across == last || f.domain[across] < kSquare || f.domain[last] < kSquare) return false;
  const MapSchedule s = squares(f, t);
  return invocations(s) >= wanted_invocations(t) / 8 && tile(s) * f.code <= kSideBySideCode && !check(f, s, t);
}

MapSchedule squares(const MapFacts& f, const Target& t) {
  const int across = read_along(f, t), last = f.domain.rank() - 1;
  MapSchedule s = plain_map(f);
  s.group = std::min<int64_t>(256, t.max_invocations);
  s.staged = true;
  const int64_t side = s.group / kSquare;
  s.axes[static_cast<size_t>(across)] = {
      {Bind::Grid, divided_up(f.domain[across], kSquare)}, {Bind::Register, kSquare / side}, {Bind::Local, side}};
  s.axes.back() = {{Bind::Grid, divided_up(f.domain[last], kSquare)}, {Bind::Local, kSquare}};
  if (f.domain[across] % kSquare != 0 || f.domain[last] % kSquare != 0) s.tail = Tail::Recompute;
  return s;
}

MapSchedule stretches(const MapFacts& f, const Target& t) {
  const int across = read_along(f, t), last = f.domain.rank() - 1;
  const int64_t own = stretch(t), width = t.price.lanes;
  const int64_t columns = !t.price.coalesces && 2 * own * f.code <= kSideBySideCode ? 2 : 1;
  const int64_t spare = t.price.coalesces ? 1 : f.domain.count() / (own * columns * wanted_invocations(t));
  const int64_t in_turn = std::clamp<int64_t>(std::min(spare, f.domain[across] / own), 1, kStretches);
  MapSchedule s = plain_map(f);
  Split& along = s.axes[static_cast<size_t>(across)];
  along = {{Bind::Grid, divided_up(f.domain[across], in_turn * own)}};
  if (in_turn > 1) along.push_back({Bind::Serial, in_turn});
  along.push_back({Bind::Register, own});
  Split& neighbours = s.axes.back();
  neighbours = {{Bind::Grid, divided_up(f.domain[last], columns * width)}};
  append_lanes(neighbours, columns, width, f.domain[last], t);
  if (extent(along) != f.domain[across] || extent(neighbours) != f.domain[last]) s.tail = Tail::Recompute;
  return s;
}

bool wants_turned_rows(const MapFacts& f, const Target& t) {
  constexpr int64_t kLeastElements = 1 << 21, kCode = 880;
  if (!stores_rows(t) || !f.alone || f.stores || f.domain.count() < kLeastElements || !wants_stretches(f, t)) return false;
  const int across = read_along(f, t), last = f.domain.rank() - 1;
  const int64_t own = kStretch * divided_up(kStretch, t.subgroup_size);  // elements of a lane
  return f.domain[across] >= kStretch && f.domain[last] % 2 == 0 && own * f.code <= kCode;
}

// Squares, as wide as a line of memory: lanes are neighbours in what is read, and each stores pairs.
MapSchedule turned_rows(const MapFacts& f, const Target& t) {
  const int across = read_along(f, t), last = f.domain.rank() - 1;
  MapSchedule s = plain_map(f);
  s.team = t.subgroup_size;
  s.group = kTeams * s.team;
  const int64_t own = divided_up(kStretch, s.team);
  s.axes[static_cast<size_t>(across)] = {{Bind::Grid, divided_up(f.domain[across], kTeams * own * s.team)},
                                         {Bind::Local, kTeams},
                                         {Bind::Register, own},
                                         {Bind::Lane, s.team}};
  s.axes.back() = {{Bind::Grid, divided_up(f.domain[last], kStretch)}, {Bind::Register, kStretch}};
  for (int a : {across, last})
    if (extent(s.axes[static_cast<size_t>(a)]) != f.domain[a]) s.tail = Tail::Recompute;
  return s;
}

namespace {

// Reductions whose elements nobody else reads: tiles save no loads. Where an invocation reads a contiguous range fastest it
// takes a row for itself.
constexpr double kOwnRow = 64;  // elements from which starting an invocation does not matter

}  // namespace

bool reads_alone(const MapFacts& f, const Read& r) { return (long_axes(f.domain) & ~r.axes) == 0; }

namespace {

// Columns may have weights in common: what all of them read at a time is loaded once for those of an invocation.
bool reads_columns(const MapFacts& f) {
  const uint32_t axes = long_axes(f.domain), last = 1u << (f.domain.rank() - 1);
  bool own = false;
  for (const Read& r : f.reads) {
    if (!r.reduced) continue;
    const bool alone = (axes & ~r.axes) == 0;
    if (!alone && (r.axes & last) != 0) return false;
    own = own || alone;
  }
  return own;
}

}  // namespace

bool wants_rows(const MapFacts& f, const Target& t) {
  const bool alone =
      std::all_of(f.reads.begin(), f.reads.end(), [&](const Read& r) { return !r.reduced || reads_alone(f, r); });
  return f.reduces && !t.price.coalesces && alone && !f.reductions.empty() &&
         std::all_of(f.reductions.begin(), f.reductions.end(),
                     [](const Reduction& r) { return r.contiguous && r.length >= kOwnRow; });
}

namespace {

// Rows that are pages apart, of arrays that stay in no cache.
bool rows_are_far(const MapFacts& f) {
  constexpr double kLarge = 1 << 18;  // elements
  double longest = 0;
  for (const Reduction& r : f.reductions) longest = std::max(longest, r.length);
  return f.domain[f.domain.rank() - 1] > kPageElements / 2 && static_cast<double>(f.domain.count()) * longest >= kLarge;
}

// Columns, that is reductions along another axis than the last one: an invocation takes several, whose elements are
// neighbours' neighbours, so that a stretch of memory is read at a time. More share what a loop costs; lanes behind the last
// column compute in vain. It is memory that they wait for: more may be written out than in other tiles. Of rows that are far
// apart lanes read a line at a time, with their pairs: prefetchers follow one stride, not lines that take turns.
int64_t columns_per_invocation(const MapFacts& f, const Target& t) {
  constexpr int64_t kColumnCode = 2 * kTileCode;
  constexpr double kMostInVain = 0.3;  // of the columns: tiles leave none out
  const int64_t columns = f.domain[f.domain.rank() - 1], width = t.price.lanes;
  const int64_t most = takes_pairs(t) && rows_are_far(f) ? 2 : static_cast<int64_t>(t.price.tile);
  int64_t best = 1;
  double least = std::numeric_limits<double>::infinity();
  for (int64_t c = 1; c <= most && c * f.code <= kColumnCode && (c == 1 || c * width <= columns + width) &&
                      c * wanted_invocations(t) <= f.domain.count();
       ++c) {
    const auto computed = static_cast<double>(divided_up(columns, c * width) * c * width);
    if (computed > (1 + kMostInVain) * static_cast<double>(columns)) continue;
    const bool pairs = takes_pairs(t) && c % 2 == 0 && columns % 2 == 0;
    const double cost = computed * ((pairs ? kPairedLoad : 1) + 1 / static_cast<double>(c));
    if (cost < least) least = cost, best = c;
  }
  return best;
}

}  // namespace

bool wants_columns(const MapFacts& f, const Target& t) {
  if (!f.reduces || f.stores || t.price.coalesces || f.domain.rank() == 0 || !reads_columns(f) || f.reductions.empty())
    return false;
  return std::none_of(f.reductions.begin(), f.reductions.end(), [](const Reduction& r) { return r.contiguous; }) &&
         columns_per_invocation(f, t) > 1;
}

MapSchedule columns(const MapFacts& f, const Target& t) {
  const int64_t c = columns_per_invocation(f, t), width = t.price.lanes;
  MapSchedule s = plain_map(f);
  const int64_t n = f.domain[f.domain.rank() - 1];
  s.axes.back() = {{Bind::Grid, divided_up(n, c * width)}};
  append_lanes(s.axes.back(), c, width, n, t);
  if (n % (c * width) != 0) s.tail = Tail::Recompute;
  return s;
}

}  // namespace spirograd::schedule
