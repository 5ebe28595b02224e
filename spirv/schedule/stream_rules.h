// Rows of the table of maps, for those that share nothing with their neighbours.
#pragma once

#include "spirograd/target.h"
#include "spirv/schedule/compute.h"
#include "spirv/schedule/schedule.h"

namespace spirograd::schedule {

/// Appends to the split of an axis of `n` elements what neighbouring lanes and each of them have: `own` elements, every
/// so manyth, or where two neighbours are read and written at once, pairs. Pre: what is in front is bound to the grid.
void append_lanes(Split& split, int64_t own, int64_t lanes, int64_t n, const Target& t);

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
/// squares of subgroups, which store pairs where drivers scatter else (kScatteredStores), or
bool wants_turned_rows(const MapFacts& f, const Target& t);
MapSchedule turned_rows(const MapFacts& f, const Target& t);
/// stretches of the other axis.
bool wants_stretches(const MapFacts& f, const Target& t);
MapSchedule stretches(const MapFacts& f, const Target& t);

/// Elementwise computations.
bool wants_several(const MapFacts& f, const Target& t);
MapSchedule several(const MapFacts& f, const Target& t);

}  // namespace spirograd::schedule
