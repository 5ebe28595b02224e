// What spirograd fit tells at its end: files, text or JSON, or what went wrong.
#pragma once

#include "tools/cli/fit_options.h"

namespace spirograd::cli {

/// All files appear, or none; told on stderr. `title`: of the plot.
void write_files(const Places& places, const Minimum& minimum, const std::string& title);

/// What was found; with the inputs where they are in no file.
void print_report(const Minimum& minimum, const Places& places);
/// One line if lines of losses went before it.
void print_json_report(const Minimum& minimum, const DescentOptions& how, const Watch& watch, const std::string& device,
                       const Places& places);

/// SG0209. Pre: it has diverged.
Error divergence(const Minimum& minimum, const DescentOptions& how);

}  // namespace spirograd::cli
