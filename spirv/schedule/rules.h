// The choice of a schedule: the first row of a table that fits. Rows are chosen by facts of the work and of the target,
// never by a name, and by counting: what a load, an instruction and an invocation cost.
#pragma once

#include <span>
#include <string_view>

#include "spirograd/target.h"
#include "spirv/schedule/compute.h"
#include "spirv/schedule/schedule.h"

namespace spirograd::schedule {

struct MapRule {
  std::string_view name;
  bool (*fits)(const MapFacts&, const Target&);
  MapSchedule (*make)(const MapFacts&, const Target&);
};

/// In order; where none fits an invocation computes one element.
std::span<const MapRule> map_rules();

struct PartialRule {
  std::string_view name;
  bool (*fits)(const PartialFacts&, const Target&);
  PartialSchedule (*make)(const PartialFacts&, const Target&);
};

/// In order; where none fits it is one reduction.
std::span<const PartialRule> partial_rules();

struct ScanRule {
  std::string_view name;
  bool (*fits)(const ScanFacts&, const Target&);
  ScanSchedule (*make)(const ScanFacts&, const Target&);
};

/// In order; the last one always fits.
std::span<const ScanRule> scan_rules();

struct ScatterRule {
  std::string_view name;
  bool (*fits)(const ScatterFacts&, const Target&);
  ScatterSchedule (*make)(const ScatterFacts&, const Target&);
};

/// In order; where none fits it is the plain one.
std::span<const ScatterRule> scatter_rules();

/// Chooses how a lowering runs. The default follows the tables; tests draw at random among what is legal.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  virtual MapSchedule map(const MapFacts& facts, const Target& target) const;
  virtual ReduceSchedule reduction(const ReduceFacts& facts, const Target& target) const;
  virtual PartialSchedule partial(const PartialFacts& facts, const Target& target) const;
  virtual ScanSchedule scan(const ScanFacts& facts, const Target& target) const;
  virtual PackSchedule pack(const PackFacts& facts, const Target& target) const;
  virtual ScatterSchedule scatter(const ScatterFacts& facts, const Target& target) const;
};

/// One reduction.
PartialSchedule whole(const PartialFacts& facts);

/// One loop.
ScanSchedule serial_scan(const ScanFacts& facts);

/// One update per invocation; without atomics, all of them in order.
ScatterSchedule plain_scatter(const ScatterFacts& facts);

/// One element per invocation.
MapSchedule plain_map(const MapFacts& facts);

}  // namespace spirograd::schedule
