// What the compiler's passes do to a program, for people: texts, times, rules.
#pragma once

#include "spirograd/target.h"
#include "spirv/lower/plan.h"
#include "tools/cli/options.h"

namespace spirograd::cli {

/// The options of `opt` that look at passes.
std::vector<OptionSpec> pass_options();
/// Throws a usage error for a pass that there is not, and for a limit that is none.
bool wants_passes(const Options& options);

/// The program as lowered to kernels. `report` gets what the options ask for: programs after passes, times, counts of rules.
lower::Plan lowered(const Program& p, const Target& target, const Options& options, std::string& report);

}  // namespace spirograd::cli
