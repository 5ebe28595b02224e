// What the decisions of lowering weigh: time, in scalar operations of a busy device, made of the target's prices; and code,
// in instructions as they are estimated before any is made. Estimates, and one scale for all of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "spirograd/target.h"

namespace spirograd::schedule {

/// Parts of `size` elements, at most, that `n` elements are. Pre: both at least 1, or n is 0.
constexpr int64_t divided_up(int64_t n, int64_t size) { return (n + size - 1) / size; }

/// Invocations that work should be spread over, if there is enough of it: some wait for memory while others compute.
inline int64_t wanted_invocations(const Target& t) { return 8 * static_cast<int64_t>(t.price.busy); }

/// How much longer work takes because so few invocations share it.
inline double idle(double invocations, const Target& t) { return std::max(1.0, t.price.busy / std::max(1.0, invocations)); }

/// Elements of four bytes that a page of a processor's memory holds.
inline constexpr int64_t kPageElements = 1024;

/// Whether kernels may be written for subgroups of so many lanes, each of which all others can read.
inline bool broadcasts_lanes(const Target& t) { return lanes_can(t, kSubgroupBallot); }

/// Whether the lanes of a subgroup should compute neighbouring points and share what they have in common.
inline bool tiles_by_lanes(const Target& t) { return broadcasts_lanes(t) && !t.price.coalesces; }

/// Whether neighbours that one invocation reads or writes are taken two at a time, as numbers of 64 bits.
inline bool takes_pairs(const Target& t) { return !t.price.coalesces && t.float64 && t.device_address; }
/// What a load in a pair takes, by one alone.
inline constexpr double kPairedLoad = 0.6;

/// Whether kernels may be written for subgroups of so many lanes, which add up values.
inline bool adds_lanes(const Target& t) { return lanes_can(t, kSubgroupArithmetic); }

/// Whether a workgroup should take a row that is reduced: an invocation alone would read far from its neighbours.
inline bool shares_rows(const Target& t) { return shares_work(t) && t.price.coalesces && t.max_invocations >= 64; }
/// Whether an invocation reads what lies behind what it has read as fast as what its neighbours read.
inline bool takes_rows_alone(const Target& t) { return !t.price.coalesces; }
/// Whether the lanes of a subgroup should read rows together, outside of loops: drivers gather anything else.
inline bool reads_rows(const Target& t) {
  constexpr uint32_t kLeastPushed = 128;  // bytes: addresses, and the numbers that places are made of
  return (t.quirks & kGatheredLoads) && t.device_address && t.shared_memory && exchanges_lanes(t) &&
         t.subgroup_size % 4 == 0 && t.max_push_bytes >= kLeastPushed;
}
/// Whether they should store rows together, too.
inline bool stores_rows(const Target& t) { return reads_rows(t) && (t.quirks & kScatteredStores); }
/// Whether the lanes of a subgroup should go through so long a loop together, of which there are so few.
inline bool lanes_share(double loops, double length, const Target& t) {
  constexpr double kLong = 512;
  return reads_rows(t) && loops < t.subgroup_size && length >= kLong;
}
/// Elements that are computed before they are stored, where whatever waits for its store takes registers: so many hide how
/// long operations take.
inline constexpr int64_t kStoredTogether = 8;
/// Elements of a row that one invocation may compute, at most, and their instructions: those of a row are read and computed
/// once, even where not all of it fits into registers.
inline constexpr int64_t kAloneRow = 64, kRowCode = 4800;

/// Elements around each of many places, at most, that lanes take as rows, all of them written out.
inline constexpr int64_t kMostOfWindow = 25;

/// Elements of the last axis of a reduction that workgroups copy to shared memory at a time, about; shorter ones they do
/// not.
inline constexpr int64_t kStaged = 16;

/// Elements that one invocation may go through. Blocks, short axes and compensation add loops around the elements' own,
/// which count as well: up to three iterations per element for axes of two.
inline int64_t most_elements(const Target& t) {
  return static_cast<int64_t>(std::clamp<uint64_t>(loop_limit(t) / 4, 1, std::numeric_limits<int32_t>::max()));
}

/// Operations per element of a contraction that takes `operations` in a kernel of other things, in one of its own: tiles
/// share loads, but arrays are streamed through caches that do not hold them.
inline double in_tiles(double operations) {
  constexpr double kShare = 0.4, kStreamed = 100;
  return std::min(operations, kShare * operations + kStreamed);
}

// How large code may get. Drivers take more than linear time for it.
inline constexpr int64_t kKernelCode = 400;      // of one compute: beyond it a part is stored
inline constexpr int64_t kMergedCode = 700;      // of a kernel that several computes share
inline constexpr int64_t kSideBySideCode = 400;  // of several elements in one invocation, elementwise,
inline constexpr int64_t kTileCode = 1200;       // and where they share the loads of a reduction
inline constexpr int64_t kUnrolledCode = 400;    // of the body of a loop that is repeated: an exponential at 8 points
/// Of code that is written out so that long work takes less time, `most` at most: drivers take about as long for an
/// instruction as a processor for a million operations, and what runs for a moment is not waited for so long.
inline int64_t worth_writing_out(int64_t most, double operations) {
  constexpr double kOperations = 2000;  // of a run, for each instruction
  return std::clamp(static_cast<int64_t>(std::min(operations / kOperations, 1e9)), std::min(kUnrolledCode, most), most);
}

/// Elements that an invocation keeps at hand for all steps of a loop: in registers or as near as the stack.
inline constexpr int64_t kMostKept = 512;

inline constexpr size_t kMostCode = 6000;  // made in fact, before dead instructions are dropped, at most

/// Processors with narrow vectors have few, and lose more by spilling than a loop costs.
inline bool has_few_registers(const Target& t) { return !t.price.coalesces && t.price.lanes <= 4; }

/// Copies of a reduction, of so many points, whose elements are reductions in loops of their own: as many results of these
/// as are computed side by side elsewhere; none where the code of its elements is large, or not even a few would stay in
/// registers.
inline int64_t copies_around_loops(int64_t points, int64_t code, const Target& t) {
  constexpr int64_t kMost = 8, kFew = 4;
  if ((has_few_registers(t) ? kFew : 1) * code * points > kTileCode) return 1;
  const int64_t results = std::min<int64_t>(t.price.tile, kTileCode / std::max<int64_t>(1, code));
  return std::clamp<int64_t>(results / points, 1, kMost);
}

}  // namespace spirograd::schedule
