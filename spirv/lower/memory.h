// Places scratch buffers in one arena: buffers whose lifetimes, counted in steps, do not meet may share bytes.
// A Repeat counts as one step.
#pragma once

#include "spirv/lower/plan.h"

namespace spirograd::lower {

/// Sets scratch_offset of every scratch buffer and Plan::scratch_bytes: first fit in order of decreasing size, and where
/// there are hundreds of numbers a range for them, which holds as many as are alive at once.
void place_scratch(Plan& plan);

/// Bytes that are alive at the busiest step: no placement can do with less.
uint64_t scratch_lower_bound(const Plan& plan);

}  // namespace spirograd::lower
