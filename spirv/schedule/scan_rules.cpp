// Schedules of scans. Where there are enough rows each is a loop of its own. Else the steps are cut into chunks, whose
// totals are computed first: an invocation per chunk reads a contiguous range, as a CPU likes it; a workgroup per chunk
// reads neighbours together.
#include <algorithm>
#include <array>

#include "spirv/schedule/cost.h"
#include "spirv/schedule/legal.h"
#include "spirv/schedule/rules.h"

namespace spirograd::schedule {
namespace {

constexpr int64_t kStepsWorthIt = 512;  // steps from which the totals of chunks pay
constexpr int64_t kLeastSteps = 32;     // steps
constexpr int64_t kWholeSteps = 16;     // steps that a chunk should be a multiple of
constexpr int64_t kLeastGroup = 32;     // steps from which invocations that work together pay

ScanSchedule tiled(int64_t chunks, int64_t tiles, int64_t local, int64_t own) {
  return {{{Bind::Grid, chunks}, {Bind::Serial, tiles}, {Bind::Local, local}, {Bind::Register, own}}};
}

// As few rounds as there can be, for an invocation of its own costs less than a round with barriers; but several chunks only
// in as many parts as keep the device busy.
ScanSchedule by_groups(const ScanFacts& f, const Target& t) {
  int64_t local = kLeastGroup, own = 1;
  while (2 * local <= std::min<int64_t>(256, t.max_invocations) && local < f.length) local *= 2;
  const int64_t wanted = divided_up(wanted_invocations(t), local * f.rows), busy = f.length <= 8 * local ? 0 : wanted;
  while (own < 8 && local * own < f.length && 2 * own * local * busy <= f.length && 2 * own * f.code <= kSideBySideCode &&
         scan_bytes(f, tiled(1, 1, local, 2 * own)) <= t.shared_bytes)
    own *= 2;
  const int64_t tiles = divided_up(f.length, local * own);
  const int64_t serial = f.chunkable ? std::min(divided_up(tiles, wanted), most_elements(t)) : tiles;
  return tiled(divided_up(tiles, serial), serial, local, own);
}

bool wants_groups(const ScanFacts& f, const Target& t) {
  return shares_work(t) && f.contiguous && f.length >= kLeastGroup && t.max_invocations >= kLeastGroup &&
         f.rows * kLeastGroup <= wanted_invocations(t) && !check(f, by_groups(f, t), t);
}

// Every term is computed twice, or loaded: that pays if it makes four times as many invocations.
bool wants_chunks(const ScanFacts& f, const Target& t) {
  const bool too_long = f.length > most_elements(t);
  const bool idle = f.length >= kStepsWorthIt && f.rows * 4 <= wanted_invocations(t);
  return f.chunkable && (idle || too_long);
}

ScanSchedule by_invocations(const ScanFacts& f, const Target& t) {
  const int64_t wanted = divided_up(wanted_invocations(t), f.rows);
  int64_t chunk = std::min(most_elements(t), std::max(kLeastSteps, divided_up(f.length, wanted)));
  if (f.length % chunk != 0 && chunk >= kStepsWorthIt)
    chunk = std::min(most_elements(t), divided_up(chunk, kWholeSteps) * kWholeSteps);
  return {{{Bind::Grid, divided_up(f.length, chunk)}, {Bind::Serial, chunk}}};
}

constexpr std::array<ScanRule, 3> kScanRules = {{
    {"a workgroup per chunk", wants_groups, by_groups},
    {"an invocation per chunk", wants_chunks, by_invocations},
    {"one loop", [](const ScanFacts&, const Target&) { return true; },
     [](const ScanFacts& f, const Target&) { return serial_scan(f); }},
}};

}  // namespace

ScanSchedule serial_scan(const ScanFacts& f) { return {{{Bind::Grid, 1}, {Bind::Serial, f.length}}}; }

std::span<const ScanRule> scan_rules() { return kScanRules; }

ScanSchedule Scheduler::scan(const ScanFacts& facts, const Target& target) const {
  for (const ScanRule& r : scan_rules())
    if (r.fits(facts, target)) return r.make(facts, target);
  return serial_scan(facts);
}

}  // namespace spirograd::schedule
