// The verifier: states what a program must satisfy at each stage of the compiler. Used after each pass in tests and debug
// builds. All errors are SG0900 and name the offending operation with its type.
#pragma once

#include <optional>

#include "spirograd/program.h"
#include "spirograd/result.h"

namespace spirograd::ir {

/// Every node has the type that its constructor gives it; parameters agree with Program::params and results with their
/// nodes; constants fit their dtype; no placeholder is left and no index variable is free; loop bodies are closed and
/// typed; parameters and results have at most kMaxUserRank axes.
std::optional<Error> check_well_formed(const Program& program);

/// Well formed and in bulk form: no Build and no index variable, in loop bodies neither, and a Gather by scalars stands only
/// on Param, Const, Stack, Scatter and Proj; everywhere else the index has been pushed inside.
std::optional<Error> check_bulk(const Program& program);

}  // namespace spirograd::ir
