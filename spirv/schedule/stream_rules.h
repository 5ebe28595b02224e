// Rows of the table of maps, for those that share nothing with their neighbours.
#pragma once

#include "spirograd/target.h"
#include "spirv/schedule/compute.h"
#include "spirv/schedule/schedule.h"

namespace spirograd::schedule {

/// Whether each element that is read there is for one point alone.
bool reads_alone(const MapFacts& f, const Read& r);

/// Reductions along the last axis of memory: a row per invocation.
bool wants_rows(const MapFacts& f, const Target& t);

/// Reductions along other axes.
bool wants_columns(const MapFacts& f, const Target& t);
MapSchedule columns(const MapFacts& f, const Target& t);

/// What reads along another axis than it writes: squares where workgroups have memory, else
bool wants_squares(const MapFacts& f, const Target& t);
MapSchedule squares(const MapFacts& f, const Target& t);
/// stretches of the other axis.
bool wants_stretches(const MapFacts& f, const Target& t);
MapSchedule stretches(const MapFacts& f, const Target& t);

/// Elementwise computations.
bool wants_several(const MapFacts& f, const Target& t);
MapSchedule several(const MapFacts& f, const Target& t);

}  // namespace spirograd::schedule
