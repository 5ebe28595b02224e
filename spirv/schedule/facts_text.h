// Facts in one line each, all of them: equal lines are equal work to a scheduler. Buffers are numbered as they come, so that
// the same work in another program has the same line.
#pragma once

#include <string>

#include "spirv/schedule/compute.h"

namespace spirograd::schedule {

std::string to_string(const MapFacts& f);  // "map [512,512]; code 3; read 0 axes 1 last 0 reduced sums; .."
std::string to_string(const ReduceFacts& f);
std::string to_string(const PartialFacts& f);
std::string to_string(const PackFacts& f);
std::string to_string(const ScanFacts& f);
std::string to_string(const ScatterFacts& f);

}  // namespace spirograd::schedule
