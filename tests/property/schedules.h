// Random schedules: what is legal must not change results.
#pragma once

#include <ostream>
#include <random>

#include "spirograd/program.h"
#include "spirv/schedule/rules.h"
#include "tests/property/property.h"

namespace spirograd::property {

/// How many schedules of each sort were drawn.
struct Drawn {
  int maps = 0, reductions = 0;
  int halves = 0;     // maps of which half is computed,
  int teams = 0;      // whose points or rows have a subgroup each,
  int turned = 0;     // and such that may read through shared memory
  int shared = 0;     // reductions that a workgroup shares,
  int exchanged = 0;  // of these, such that lanes read each other's values
  int staged = 0;     // reductions that read shared memory
  int broadcast = 0;  // reductions whose lanes share what they have in common
  int packed = 0;     // operands in panels
  int partial = 0;    // reductions in two
  int scans = 0;      // in chunks, or by workgroups
  int copies = 0;     // scatters to several copies of the result,
  int ranges = 0;     // of which each invocation has a range,
  int runs = 0;       // and atomic ones of several updates
  int by_lanes = 0;   // or of subgroups that add up,
  int of_rows = 0;    // and others of several elements of each row,
  int by_teams = 0;   // or of lanes that have a copy together
  Drawn& operator+=(const Drawn& d);
};
std::ostream& operator<<(std::ostream& out, const Drawn& d);

/// Draws among legal schedules; counts how many. One object per lowering.
class RandomScheduler : public schedule::Scheduler {
 public:
  /// most_code: instructions of a kernel, about; drivers take long for large ones.
  explicit RandomScheduler(uint64_t seed, int64_t most_code = 600) : random_(seed), most_code_(most_code) {}
  schedule::MapSchedule map(const schedule::MapFacts& facts, const Target& target) const override;
  schedule::ReduceSchedule reduction(const schedule::ReduceFacts& facts, const Target& target) const override;
  schedule::PartialSchedule partial(const schedule::PartialFacts& facts, const Target& target) const override;
  schedule::PackSchedule pack(const schedule::PackFacts& facts, const Target& target) const override;
  schedule::ScanSchedule scan(const schedule::ScanFacts& facts, const Target& target) const override;
  schedule::ScatterSchedule scatter(const schedule::ScatterFacts& facts, const Target& target) const override;
  const Drawn& counts() const { return counts_; }
  std::string drawn() const { return drawn_; }

 private:
  int64_t below(int64_t n) const { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  schedule::Split split(int64_t n, const std::vector<schedule::Bind>& binds, int most_parts) const;
  void draw_group_tile(schedule::MapSchedule& s, const std::vector<int64_t>& extents) const;
  void draw_teams(schedule::MapSchedule& s, const std::vector<int64_t>& extents, int64_t lanes) const;
  void draw_lanes(schedule::MapSchedule& s, const std::vector<int64_t>& extents, int64_t lanes) const;
  void draw_broadcast(schedule::ReduceSchedule& s, const schedule::ReduceFacts& facts) const;
  void draw_stages(schedule::ReduceSchedule& s, const schedule::ReduceFacts& facts) const;
  mutable std::mt19937_64 random_;
  int64_t most_code_;
  mutable Drawn counts_;
  mutable std::string drawn_;
};

/// A program of a family that lowering treats in its own way, at sizes drawn by the seed, with inputs.
RandomProgram scheduled_program(uint64_t seed);

/// Whether results are the same in whatever order a kernel runs: there is no float sum or product in it.
bool is_exact(const Program& simple);

}  // namespace spirograd::property
