// What a tuner tries in place of a schedule: the other rows of its table that fit, and schedules that differ in one
// decision, as a factor that is doubled or halved, another join, or another order of parts. Pure; all of them are legal,
// differ from the given one and from each other, and keep code within what drivers compile in reasonable time. Those that
// the rules would choose come first.
#pragma once

#include <vector>

#include "spirograd/target.h"
#include "spirv/schedule/compute.h"
#include "spirv/schedule/schedule.h"

namespace spirograd::schedule {

std::vector<MapSchedule> neighbours(const MapFacts& facts, const MapSchedule& given, const Target& target);
std::vector<ReduceSchedule> neighbours(const ReduceFacts& facts, const ReduceSchedule& given, const Target& target);
std::vector<PartialSchedule> neighbours(const PartialFacts& facts, const PartialSchedule& given, const Target& target);
std::vector<PackSchedule> neighbours(const PackFacts& facts, const PackSchedule& given, const Target& target);
std::vector<ScanSchedule> neighbours(const ScanFacts& facts, const ScanSchedule& given, const Target& target);
std::vector<ScatterSchedule> neighbours(const ScatterFacts& facts, const ScatterSchedule& given, const Target& target);

}  // namespace spirograd::schedule
