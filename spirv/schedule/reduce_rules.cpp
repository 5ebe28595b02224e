// Schedules of reductions inside of kernels: loops, in blocks where sums are compensated, with several accumulators where
// the body is small.
#include <algorithm>

#include "spirv/schedule/cost.h"
#include "spirv/schedule/legal.h"
#include "spirv/schedule/row_rules.h"
#include "spirv/schedule/rules.h"

namespace spirograd::schedule {
namespace {

constexpr int64_t kPlainBlock = 32;  // elements summed plainly before one compensated addition, about
constexpr int64_t kUnroll = 4;
constexpr int64_t kWorthARest = 30;  // instructions of an element, for which a loop over what is left over is written

// Length of the blocks of a long axis: a divisor near kPlainBlock, a multiple of what is unrolled if there is one, so that
// blocks are equal and unroll.
int64_t block_length(int64_t extent, int64_t unroll) {
  for (int64_t step : {unroll, kUnroll, int64_t{1}})
    for (int64_t b = 2 * kPlainBlock; b >= kPlainBlock / 2; --b)
      if (b % step == 0 && extent % b == 0) return b;
  return kPlainBlock;
}

// Of all runs of the reduction in one dispatch.
double operations(const ReduceFacts& f) {
  double out = static_cast<double>(f.results) * static_cast<double>(std::max<int64_t>(1, f.code));
  for (int64_t n : f.extents) out *= static_cast<double>(n);
  return out;
}

// Small enough to be written out several times; with few registers, all copies together.
bool small_body(const ReduceFacts& f, const Target& t) {
  const int64_t together = has_few_registers(t) ? kUnroll : 1;
  return f.dtype != DType::F64 && together * f.code * f.points * f.copies <= kUnrolledCode;
}

// Elements of an invocation that stay in its registers for the next reduction of the same row, and for the map around it.
constexpr int64_t kKept = 16;

bool keeps(const ReduceFacts& f, int64_t own) {
  return own <= kKept && f.dtype != DType::F64 && own * f.code * f.points * f.copies <= kTileCode;
}

// Neighbours take neighbouring elements; each adds its own in blocks as above.
ReduceSchedule shared(const ReduceFacts& f, const Target& t) {
  ReduceSchedule s;
  for (int64_t n : f.extents) s.axes.push_back({{Bind::Serial, n}});
  const int64_t own = divided_up(f.extents.back(), f.group);
  const bool kept = keeps(f, own), unrolls = kept || (own >= kUnroll && small_body(f, t));
  const int64_t unroll = kept ? own : unrolls ? kUnroll : 1, loops = divided_up(own, unroll);
  Split& last = s.axes.back();
  last.clear();
  if (f.plain > 0 && loops * unroll > f.plain) {
    const int64_t block = kPlainBlock / unroll;
    last = {{Bind::Serial, divided_up(loops, block)}, {Bind::Serial, block}};
  } else if (loops > 1 || !unrolls) {
    last = {{Bind::Serial, loops}};
  }
  if (unrolls) last.push_back({Bind::Unroll, unroll});
  last.push_back({Bind::Local, f.group});
  if (unrolls && f.points <= 4 && unroll % kUnroll == 0) s.accumulators = kUnroll;
  if (exchanges_lanes(t) && f.group % t.subgroup_size == 0) s.lanes = t.subgroup_size;
  return s;
}

// Of a reduction around others: a divisor of the axis, unless that is far fewer; the code of a rest is worth it where that
// is a small part.
int64_t unrolled_around_loops(const ReduceFacts& f, const Target& t) {
  constexpr int64_t kLong = 4;  // times what is unrolled
  const int64_t n = f.extents.back(), most = std::min(n, copies_around_loops(f.points * f.copies, f.code, t));
  for (int64_t copies = most; 2 * copies > most; --copies)
    if (n % copies == 0) return copies;
  return std::max<int64_t>(1, std::min(most, n / kLong));
}

// What divides the axis leaves no shorter block, which could not be unrolled.
int64_t staged_length(int64_t extent) {
  constexpr int64_t kLeastStaged = 8;
  for (int64_t step : {4, 1})
    for (int64_t b = kStaged; b >= kLeastStaged; --b)
      if (b % step == 0 && extent % b == 0) return b;
  return kStaged;
}

constexpr int64_t kVector = 4;  // elements that are loaded at once, so that rows begin at multiples

// Arrays that the invocations of a tile read several times each, and rows that begin in different banks where neighbours
// read different rows.
std::vector<Stage> worth_staging(const ReduceFacts& f, int64_t elements) {
  std::vector<Stage> out;
  for (size_t j = 0; j < f.leaves.size(); ++j) {
    const Leaf& leaf = f.leaves[j];
    if (2 * staged_size(leaf, elements, 0) > f.members * leaf.own * elements) continue;
    const bool across = leaf.place.size() > 1 && leaf.place.back().tile == 1;
    out.push_back({j, across ? kVector : 0});
  }
  return out;
}

// Plain sums go over several staged blocks.
ReduceSchedule staged(const ReduceFacts& f, const Target& t) {
  ReduceSchedule s;
  for (int64_t n : f.extents) s.axes.push_back({{Bind::Serial, n}});
  Split& last = s.axes.back();
  const int64_t n = f.extents.back(), length = staged_length(n), blocks = (n + length - 1) / length;
  const bool exact = n % length == 0;
  int64_t together = f.plain > 0 && n > f.plain ? f.plain / length : blocks;
  while (exact && blocks % together != 0) --together;
  last = {{Bind::Serial, (blocks + together - 1) / together}, {Bind::Serial, together}};
  if (last[0].extent == 1) last.erase(last.begin());
  const bool unrolls = exact && length % kUnroll == 0 && f.points <= 16 && small_body(f, t);
  const bool twice = unrolls && length % (2 * kUnroll) == 0 && 2 * kUnroll * f.code * f.points <= kTileCode;
  const int64_t unroll = twice ? 2 * kUnroll : unrolls ? kUnroll : 1;
  last.push_back({Bind::Serial, length / unroll});
  if (unrolls) last.push_back({Bind::Unroll, unroll});
  if (unrolls && f.points <= 4) s.accumulators = kUnroll;
  s.stages = worth_staging(f, length);
  return s;
}

// Elements that lanes hold at a time: as many as there are lanes, twice as many where they load pairs, or the whole axis, or
// a divisor of it that leaves few lanes without one. Inside of another reduction a longer axis is written out whole, too:
// what the lanes load by themselves and need for each element of that one then leaves its loop. So is it in a loop's step,
// as long as there is room for what leaves.
int64_t broadcast_length(const ReduceFacts& f, const Target& t) {
  constexpr int64_t kBroadcastCode = 4000;  // of what is written out
  constexpr int64_t kWhole = 4, kWholeCode = 6000;
  constexpr int64_t kPairs = 16;       // elements that are worth it for half of the loads of what lanes have in common
  constexpr int64_t kSharedLoad = 16;  // instructions that drivers make of it: lanes load one after the other
  const int64_t element = std::max<int64_t>(1, f.code) + kSharedLoad * f.changing;
  const int64_t n = f.extents.back(), code = element * f.points * f.copies;
  const int64_t most = std::max<int64_t>(1, std::min(2 * f.lanes, worth_writing_out(kBroadcastCode, operations(f)) / code));
  if (n <= most) return n;
  const bool repeated = (f.inside && n <= kWhole * f.lanes) || (f.staying > 0 && f.kept + kept_elements(f) <= kMostKept);
  if (repeated && (f.plain == 0 || n <= f.plain) && n * code <= worth_writing_out(kWholeCode, operations(f))) return n;
  if (takes_pairs(t) && n % (2 * f.lanes) == 0 && 2 * f.lanes <= std::min(most, kPairs)) return 2 * f.lanes;
  if (n % f.lanes == 0 && f.lanes <= most) return f.lanes;
  for (int64_t length = most; 2 * length >= std::min(f.lanes, most); --length)
    if (n % length == 0) return length;
  return std::min(f.lanes, most);
}

// Where code is so large that little of it is written out, most lanes would load for nothing. Narrow vectors gain nothing in
// the steps of a loop but what is kept for all of them.
bool lanes_are_used(const ReduceFacts& f, const Target& t) {
  const int64_t length = broadcast_length(f, t);
  if (length == f.extents.back()) return true;
  return 2 * length >= f.lanes && !(f.staying > 0 && has_few_registers(t));
}

// Sums that are compensated are plain over several lengths of what is written out.
ReduceSchedule broadcasting(const ReduceFacts& f, const Target& t) {
  ReduceSchedule s;
  for (int64_t n : f.extents) s.axes.push_back({{Bind::Serial, n}});
  const int64_t n = f.extents.back(), length = broadcast_length(f, t), blocks = (n + length - 1) / length;
  int64_t together = f.plain > 0 && n > f.plain ? std::max<int64_t>(1, f.plain / length) : blocks;
  while (n % length == 0 && 2 * together > f.plain / length && together > 1 && blocks % together != 0) --together;
  Split& last = s.axes.back();
  last.clear();
  if (f.plain > 0 && n > f.plain) last.push_back({Bind::Serial, (blocks + together - 1) / together});
  last.push_back({Bind::Serial, together});
  last.push_back({Bind::Unroll, length});
  if (f.points <= 4 && length % kUnroll == 0) s.accumulators = kUnroll;
  s.broadcast = f.lanes;
  return s;
}

// Loops over all axes, the last one perhaps in blocks of this length; `copies` of what is innermost are written out.
ReduceSchedule in_loops(const ReduceFacts& f, bool blocks, int64_t length, int64_t copies) {
  ReduceSchedule s;
  for (int64_t n : f.extents) s.axes.push_back({{Bind::Serial, n}});
  Split& inner = s.axes.back();
  inner.clear();
  if (blocks) inner.push_back({Bind::Serial, divided_up(f.extents.back(), length)});
  inner.push_back({Bind::Serial, divided_up(length, copies)});
  if (copies > 1) inner.push_back({Bind::Unroll, copies});
  return s;
}

bool in_blocks(const ReduceFacts& f) { return f.plain > 0 && f.extents.back() > f.plain; }

// Whether all blocks are equal, and whole copies.
bool leaves_nothing(const ReduceFacts& f, int64_t length, int64_t copies) {
  return f.extents.back() % length == 0 && length % copies == 0;
}

// Of a reduction whose elements are reductions: copies of it share their loops and loads.
ReduceSchedule around_loops(const ReduceFacts& f, const Target& t) {
  const int64_t copies = f.dtype == DType::F64 ? 1 : unrolled_around_loops(f, t);
  const int64_t length = in_blocks(f) ? block_length(f.extents.back(), copies) : f.extents.back();
  if (copies == 1 || length < copies || (t.price.coalesces && !leaves_nothing(f, length, copies)))
    return in_loops(f, in_blocks(f), length, 1);
  // Blocks of whole copies: only the last one is shorter.
  return in_loops(f, in_blocks(f), in_blocks(f) ? divided_up(length, copies) * copies : length, copies);
}

// What is repeated may be large only once: neighbours share loads and address arithmetic.
ReduceSchedule alone(const ReduceFacts& f, const Target& t) {
  int64_t copies = kUnroll;
  while (2 * copies <= static_cast<int64_t>(t.price.unroll) && 2 * copies * f.code * f.points * f.copies <= kUnrolledCode)
    copies *= 2;
  int64_t length = in_blocks(f) ? block_length(f.extents.back(), copies) : f.extents.back();
  while (length % copies != 0 && copies > kUnroll) copies /= 2;
  const bool small = f.points <= 16 && small_body(f, t);
  const bool worth_a_rest = !t.price.coalesces && !has_few_registers(t) && (f.code >= kWorthARest || f.parts);
  if (!small || length <= copies || (!worth_a_rest && !leaves_nothing(f, length, copies)))
    return in_loops(f, in_blocks(f), length, 1);
  if (in_blocks(f)) length = divided_up(length, copies) * copies;
  ReduceSchedule s = in_loops(f, in_blocks(f), length, copies);
  // Independent partial results shorten the chain of dependent operations and keep rounding small.
  if (f.points <= 4) s.accumulators = kUnroll;
  return s;
}

}  // namespace

ReduceSchedule Scheduler::reduction(const ReduceFacts& f, const Target& t) const {
  if (!f.leaves.empty() && f.group == 0 && f.extents.back() >= kStaged)
    if (ReduceSchedule in_stages = staged(f, t); !in_stages.stages.empty() && !check(f, in_stages, t)) return in_stages;
  if (reads_lane_row(f, t))
    if (ReduceSchedule row = lane_row(f, t); !check(f, row, t)) return row;
  if (f.lanes > 0 && f.common > 0 && lanes_are_used(f, t))
    if (ReduceSchedule by_lanes = broadcasting(f, t); !check(f, by_lanes, t)) return by_lanes;
  if (f.group > 0 && 2 * f.extents.back() > f.group)
    if (ReduceSchedule together = shared(f, t); !check(f, together, t)) return together;
  return f.loops ? around_loops(f, t) : alone(f, t);
}

}  // namespace spirograd::schedule
