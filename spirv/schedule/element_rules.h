// Maps whose elements lie in rows that lanes read side by side: little work on each of them, alone or with those around it.
#pragma once

#include "spirograd/target.h"
#include "spirv/schedule/compute.h"
#include "spirv/schedule/schedule.h"

namespace spirograd::schedule {

/// Light work on each element of large arrays that lie alike.
bool wants_row_elements(const MapFacts& f, const Target& t);
MapSchedule row_elements(const MapFacts& f, const Target& t);

/// Sums and the like of a few elements of such arrays, that lie around each element.
bool wants_row_windows(const MapFacts& f, const Target& t);
MapSchedule row_windows(const MapFacts& f, const Target& t);

}  // namespace spirograd::schedule
