// Rows of the table of maps where the invocations of a workgroup work together.
#pragma once

#include "spirograd/target.h"
#include "spirv/schedule/compute.h"
#include "spirv/schedule/schedule.h"

namespace spirograd::schedule {

/// A workgroup for each of few long reductions,
bool wants_groups(const MapFacts& f, const Target& t);
/// or for each of any number of rows in memory.
bool wants_group_rows(const MapFacts& f, const Target& t);
MapSchedule groups(const MapFacts& f, const Target& t);

/// Contractions, whose operands a workgroup copies to its memory.
bool wants_group_tiles(const MapFacts& f, const Target& t);
MapSchedule group_tiles(const MapFacts& f, const Target& t);

}  // namespace spirograd::schedule
