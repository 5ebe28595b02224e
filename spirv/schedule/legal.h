// Which schedules keep every promise: all elements exactly once, sums as accurate as the documents say, within the device's
// limits.
#pragma once

#include <limits>
#include <optional>
#include <utility>

#include "spirograd/result.h"
#include "spirograd/target.h"
#include "spirv/schedule/compute.h"
#include "spirv/schedule/schedule.h"

namespace spirograd::schedule {

/// The first rule that the schedule breaks, as SG0306; none: it is legal.
std::optional<Error> check(const MapFacts& facts, const MapSchedule& schedule, const Target& target);
std::optional<Error> check(const ReduceFacts& facts, const ReduceSchedule& schedule, const Target& target);
std::optional<Error> check(const PartialFacts& facts, const PartialSchedule& schedule, const Target& target);
std::optional<Error> check(const PackFacts& facts, const PackSchedule& schedule, const Target& target);
std::optional<Error> check(const ScanFacts& facts, const ScanSchedule& schedule, const Target& target);
std::optional<Error> check(const ScatterFacts& facts, const ScatterSchedule& schedule, const Target& target);

/// What a scheduler has chosen. Throws SG0306 where it is not legal.
template <class Facts, class Schedule>
Schedule legal(const Facts& facts, Schedule chosen, const Target& target) {
  if (auto broken = check(facts, chosen, target)) throw *std::move(broken);
  return chosen;
}

/// Memory that a workgroup shares: the elements of a tile, one place between those of neighbours, so that they lie in
/// different banks, and two totals per invocation, of f32 with what they have lost by rounding.
inline int64_t scan_bytes(const ScanFacts& facts, const ScanSchedule& s) {
  const int64_t totals = facts.dtype == DType::F32 ? 4 : 2;
  return group(s) * (s.steps.back().extent + 1 + totals) * static_cast<int64_t>(device_bytes(facts.dtype));
}

/// Whether half of the map can be left out of this schedule: tiles of invocations, or of workgroups, that end on their own.
inline bool can_be_half(const MapFacts& facts, const MapSchedule& s) {
  return facts.symmetric && !facts.stores && !s.flat && s.team == 0 && !s.staged;
}

/// Elements of shared memory that a staged array takes, its padding included: for `elements` along the last axis. At most
/// what can be counted.
int64_t staged_size(const Leaf& leaf, int64_t elements, int64_t pad);

/// Unroll and jam: whether copies of what is unrolled are computed together, as where another reduction runs for each of
/// them. Its loops then are those of all copies, and read once what these have in common.
bool jams_loops(const ReduceFacts& facts, const ReduceSchedule& schedule);

/// Elements of memory that are loaded for each element that is reduced, of the arrays that could be staged.
double loads_per_element(const ReduceFacts& facts, const ReduceSchedule& schedule);

/// Invocations that a scatter by lanes is a multiple of: whatever workgroup it gets is whole.
inline constexpr int64_t kLaneGroup = 256;

/// Invocations and partial results are numbered by i32.
inline constexpr int64_t kMostInvocations = std::numeric_limits<int32_t>::max();

/// Elements of a compensated sum that are added plainly, at most, before one compensated addition.
inline constexpr int64_t kPlainSum = 64;

}  // namespace spirograd::schedule
