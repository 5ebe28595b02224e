// What the options of spirograd fit ask for.
#pragma once

#include "tools/cli/minimise.h"
#include "tools/cli/options.h"

namespace spirograd::cli {

/// Without the batch, which the inputs decide on. Throws usage errors.
DescentOptions descent_options(const Options& options);

/// Files to write besides checkpoints; "": none.
struct Places {
  std::string save, history, plot;
};

/// Throws usage errors, and SG0505 for what cannot be written.
Places places(const Options& options);

/// The same. Tells on stderr that there is nothing to resume from.
Watch watch_of(const Options& options);

}  // namespace spirograd::cli
