// Rows of the table of maps where the invocations of a workgroup work together.
#pragma once

#include "spirograd/target.h"
#include "spirv/schedule/compute.h"
#include "spirv/schedule/schedule.h"

namespace spirograd::schedule {

/// A workgroup for each of few long reductions,
bool wants_groups(const MapFacts& f, const Target& t);
/// for each of few columns, long enough and not too long,
bool wants_group_columns(const MapFacts& f, const Target& t);
/// or for each of any number of rows in memory.
bool wants_group_rows(const MapFacts& f, const Target& t);
MapSchedule groups(const MapFacts& f, const Target& t);

/// Maps with reductions of the rows that they run over: a workgroup or a subgroup for each row, which it reads once.
bool wants_row_tiles(const MapFacts& f, const Target& t);
MapSchedule row_tiles(const MapFacts& f, const Target& t);
/// Invocations that such a map of so many instructions per element has for each row; 0: it will not be made.
int64_t row_members(int64_t rows, int64_t length, int64_t code, const Target& t);

/// Gives neighbouring points along an axis to the subgroups of a workgroup, so many.
void give_to_teams(MapSchedule& s, const MapFacts& f, size_t axis, int64_t teams, const Target& t);

/// Contractions, whose operands a workgroup copies to its memory.
bool wants_group_tiles(const MapFacts& f, const Target& t);
MapSchedule group_tiles(const MapFacts& f, const Target& t);

}  // namespace spirograd::schedule
