// Derivatives and passes that options name, applied to a program in the order of the command line.
#pragma once

#include <string>
#include <vector>

#include "spirograd/program.h"
#include "tools/cli/options.h"

namespace spirograd::cli {

/// --grad, --value-and-grad, --jvp, and the halves of reverse mode.
std::vector<OptionSpec> derivative_options();

/// --bot and --simplify too, where a command has them. `stage` gets the name of the last one's stage.
Program transformed(Program p, const Options& options, std::string& stage);

}  // namespace spirograd::cli
