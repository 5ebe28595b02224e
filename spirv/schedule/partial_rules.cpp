// How long reductions with few results become two: as many partial results as give the device something to do, and at least
// as many as its loops demand. Where an invocation reads a contiguous range fastest the leading parts of axes are on the
// grid; where neighbours should be neighbours in memory, the trailing ones.
#include <algorithm>
#include <array>

#include "frontend/base/checked.h"
#include "spirv/schedule/cost.h"
#include "spirv/schedule/legal.h"
#include "spirv/schedule/row_rules.h"
#include "spirv/schedule/rules.h"

namespace spirograd::schedule {
namespace {

constexpr int64_t kBlock = 64;
constexpr int64_t kUnrolled = 4;

// Elements per result from which a second pass pays, and elements per partial result at least: an invocation of a GPU waits
// for each of them.
int64_t worth_it(const PartialFacts& f, const Target& t) { return t.price.coalesces && !f.position ? 512 : 2048; }
int64_t least_chunk(const PartialFacts& f, const Target& t) { return t.price.coalesces && !f.position ? 32 : 128; }

int64_t length(const PartialFacts& f) {
  int64_t n = 1;
  for (int64_t extent : f.extents) n *= extent;
  return n;
}

bool too_long(const PartialFacts& f, const Target& t) { return length(f) > most_elements(t); }

// Elements of each invocation in a workgroup that takes a row, or a range of it.
constexpr int64_t kOwn = 4;

int64_t group(const PartialFacts& f, const Target& t) {
  constexpr int64_t kMost = 256;
  return std::clamp<int64_t>(length(f) / kOwn, 1, std::min<int64_t>(kMost, t.max_invocations));
}

bool by_groups(const PartialFacts& f, const Target& t) { return shares_rows(t) && f.rows; }

bool few(int64_t invocations, const Target& t) { return invocations * 2 <= wanted_invocations(t); }

// Invocations that compute the results: of columns each takes several, and of a product of matrices several rows, which
// share what they load. With less than eight lanes a processor has no registers for that, either.
int64_t invocations(const PartialFacts& f, const Target& t) {
  constexpr int64_t kPoints = 32;  // of a tile
  if (by_groups(f, t)) return f.results * group(f, t);
  const bool columns = !f.contiguous && !t.price.coalesces && f.columns >= static_cast<int64_t>(t.price.lanes);
  const int64_t each = columns ? std::min<int64_t>(t.price.tile, f.columns / t.price.lanes) : 1;
  const int64_t all = divided_up(f.results, each);
  if (!columns || f.streams || t.price.lanes < 8 || few(all, t)) return all;
  return divided_up(all, std::clamp<int64_t>(f.results / f.columns, 1, std::max<int64_t>(1, kPoints / each)));
}

// A workgroup is done with few elements of each before another dispatch has begun. What combines the parts of a sum is short
// enough for one more pass, or by far too long for the few invocations of a large device that do it.
bool idle(const PartialFacts& f, const Target& t) {
  constexpr int64_t kSoonDone = 16;
  if (by_groups(f, t) && length(f) <= kSoonDone * group(f, t)) return false;
  const int64_t all = invocations(f, t);
  if (f.combines && !f.position && !by_groups(f, t))
    return t.price.coalesces && 2 * length(f) >= worth_it(f, t) && all * 16 <= wanted_invocations(t);
  return length(f) >= worth_it(f, t) && few(all, t);
}

// Number of parts for an axis of n elements: near `wanted`, not below `least`; a divisor of n if there is one close by.
int64_t parts(int64_t n, int64_t wanted, int64_t least) {
  for (int64_t c = wanted; c <= std::min(n, 2 * wanted); ++c)
    if (n % c == 0) return c;
  for (int64_t c = wanted; 2 * c >= wanted && c > 1 && c >= least; --c)
    if (n % c == 0) return c;
  return std::min(n, wanted);
}

// A contraction whose rows workgroups copy to shared memory: whole ones.
bool by_tiles(const PartialFacts& f, const Target& t) {
  return shares_rows(t) && f.contiguous && !f.streams && f.extents.size() > 1 && f.extents.back() >= kStaged;
}

PartialSchedule spread(const PartialFacts& f, const Target& t) {
  const bool rows = by_tiles(f, t), ranges = f.position || !t.price.coalesces || by_groups(f, t) || rows;
  int64_t least = too_long(f, t) ? divided_up(length(f), most_elements(t)) : 1, wanted = least;
  if (idle(f, t)) {
    const int64_t chunk = by_groups(f, t) ? kOwn * group(f, t) : least_chunk(f, t);
    wanted = std::max(least, std::min(divided_up(wanted_invocations(t), invocations(f, t)), length(f) / chunk));
  }
  PartialSchedule s = whole(f);
  for (size_t j = 0; j < f.extents.size() && wanted > 1; ++j) {
    const size_t axis = t.price.coalesces && !rows ? f.extents.size() - 1 - j : j;
    const int64_t n = f.extents[axis];
    if (n <= 2 * wanted && !f.position) {
      s.axes[axis] = {{Bind::Grid, n}};
      wanted = divided_up(wanted, n);
      least = divided_up(least, n);
    } else if (f.axes_left > 0) {
      int64_t grid = parts(n, wanted, least), each = divided_up(n, grid);
      // What is beyond the end is skipped anyway: chunks of whole blocks have loops that can be written out.
      if (ranges && n % grid != 0 && each >= least_chunk(f, t) && !f.position) {
        each = divided_up(each, kBlock) * kBlock;
        grid = divided_up(n, each);
      } else if (const int64_t whole = divided_up(each, kUnrolled) * kUnrolled, fewer = divided_up(n, whole);
                 !ranges && (whole - 1) * fewer < n) {
        each = whole, grid = fewer;
      }
      const Part chunks = {Bind::Grid, grid}, elements = {Bind::Serial, each};
      s.axes[axis] = ranges ? Split{chunks, elements} : Split{elements, chunks};
      break;
    }
  }
  const bool reduces = std::any_of(s.axes.begin(), s.axes.end(), [](const Split& a) { return extent(a, Bind::Serial) > 1; });
  const bool numbered = saturating_mul(f.results, partial_results(s)) <= kMostInvocations;
  return reduces && numbered ? s : whole(f);
}

constexpr int64_t kRows = 64;  // that are read before the columns beside: their pages stay in the tables of processors

// Whoever adds up a few columns of large rows touches another page with each element, and all of them again for the next
// columns.
bool turns_pages(const PartialFacts& f, const Target& t) {
  constexpr int64_t kLarge = 1 << 20;  // elements of an array
  return !t.price.coalesces && !f.contiguous && f.streams && f.row > kPageElements / 2 && length(f) >= 4 * kRows &&
         saturating_mul(f.results, length(f)) >= kLarge && f.axes_left > 0;
}

// Blocks of rows, which are neighbours on the grid for all columns.
PartialSchedule rows(const PartialFacts& f, const Target&) {
  PartialSchedule s = whole(f);
  int64_t left = kRows;
  for (size_t axis = f.extents.size(); axis-- > 0;) {
    const int64_t n = f.extents[axis];
    if (n <= left) {
      left /= n;
    } else if (left == 1) {
      s.axes[axis] = {{Bind::Grid, n}};
    } else {
      const int64_t grid = parts(n, divided_up(n, left), 1);
      s.axes[axis] = {{Bind::Grid, grid}, {Bind::Serial, divided_up(n, grid)}};
      left = 1;
    }
  }
  return s;
}

constexpr int64_t kCached = 1 << 17;  // elements that stay in a processor's own cache

// Elements of a part of a tall contraction, of which all tiles are done before the next one: few enough that what it reads
// stays in the cache, but so many that what all parts leave is little beside the operands.
int64_t part_in_cache(const PartialFacts& f) {
  constexpr int64_t kLittle = 4;
  const auto elements = [&](int64_t read) { return static_cast<double>(read) / static_cast<double>(f.read); };
  const double cached = elements(kCached), little = elements(kLittle * f.results);
  return static_cast<int64_t>(std::max(cached, little) * static_cast<double>(length(f))) + 1;
}

// Elements of such a part along the longest axis.
int64_t along_longest(const PartialFacts& f) {
  const int64_t beside = length(f) / *std::ranges::max_element(f.extents);
  return part_in_cache(f) / beside;
}

// Several tiles would go through all of the operands, each of them again, and memory is too slow for that.
bool outgrows_cache(const PartialFacts& f, const Target& t) {
  constexpr int64_t kTile = 256, kTimes = 16, kLeast = 4;
  return !t.price.coalesces && f.read >= kTimes * kCached && f.axes_left > 0 && f.results >= 4 * kTile &&
         length(f) >= 4 * part_in_cache(f) && along_longest(f) >= kLeast;
}

PartialSchedule parts_in_cache(const PartialFacts& f, const Target&) {
  PartialSchedule s = whole(f);
  const auto longest = std::ranges::max_element(f.extents);
  const int64_t n = *longest, grid = parts(n, divided_up(n, along_longest(f)), 1);
  s.axes[static_cast<size_t>(longest - f.extents.begin())] = {{Bind::Grid, grid}, {Bind::Serial, divided_up(n, grid)}};
  return s;
}

constexpr std::array<PartialRule, 6> kPartialRules = {{
    {"rows of subgroups", wants_row_parts, row_parts},
    {"columns of subgroups", wants_column_parts, column_parts},
    {"rows are pages apart", turns_pages, rows},
    {"operands outgrow the cache", outgrows_cache, parts_in_cache},
    {"loops would be too long", too_long, spread},
    {"invocations would be idle", idle, spread},
}};

}  // namespace

PartialSchedule whole(const PartialFacts& f) {
  PartialSchedule s;
  for (int64_t n : f.extents) s.axes.push_back({{Bind::Serial, n}});
  return s;
}

std::span<const PartialRule> partial_rules() { return kPartialRules; }

PartialSchedule Scheduler::partial(const PartialFacts& facts, const Target& target) const {
  for (const PartialRule& r : partial_rules())
    if (r.fits(facts, target)) return r.make(facts, target);
  return whole(facts);
}

}  // namespace spirograd::schedule
