// spirograd check --suite: what is sent with a report of something wrong. The examination of a device, small programs of
// every kind that are checked on it, and the speed of a few.
#pragma once

#include "tools/cli/options.h"

namespace spirograd::cli {

int check_suite(const Options& options);

}  // namespace spirograd::cli
