// Rows of the table of maps where subgroups reduce rows of which their lanes read neighbours at a time (row_rules.h).
#pragma once

#include "spirograd/target.h"
#include "spirv/schedule/compute.h"
#include "spirv/schedule/schedule.h"

namespace spirograd::schedule {

/// Maps that reduce a row for each point: a subgroup for one or several of them.
bool wants_lane_rows(const MapFacts& f, const Target& t);
MapSchedule lane_rows(const MapFacts& f, const Target& t);

/// Maps over the rows that they reduce: what lanes have read for that is what they store, once all of the row is known.
bool wants_row_maps(const MapFacts& f, const Target& t);
MapSchedule row_maps(const MapFacts& f, const Target& t);
/// Whether there will be such a map, of so many instructions per element.
bool maps_rows(int64_t rows, int64_t length, int64_t code, const Target& t);

/// A few long reductions: lanes share each, which one of them would go through while the others wait.
bool wants_lone_teams(const MapFacts& f, const Target& t);
MapSchedule lone_teams(const MapFacts& f, const Target& t);

}  // namespace spirograd::schedule
