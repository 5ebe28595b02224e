// Places scratch buffers in one arena: buffers whose lifetimes, counted in steps, do not meet may share bytes.
// A Repeat counts as one step.
#pragma once

#include "spirv/lower/plan.h"

namespace spirograd::lower {

/// Sets scratch_offset of every scratch buffer and Plan::scratch_bytes. First fit in order of decreasing size.
void place_scratch(Plan& plan);

/// Bytes that are alive at the busiest step: no placement can do with less.
uint64_t scratch_lower_bound(const Plan& plan);

}  // namespace spirograd::lower
