// Schedules that were measured on a device: what a compiler may prefer to its own rules.
#pragma once

#include <map>
#include <string>

namespace spirograd {

/// From what a scheduler is told of a piece of work to how it runs, both as they are printed (spirv/schedule). A schedule
/// decides on speed alone; what is not legal for the work and the device at hand is ignored.
using Choices = std::map<std::string, std::string>;

}  // namespace spirograd
