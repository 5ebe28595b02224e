// How much of a program runs side by side, and how much has to wait.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "spirograd/executable.h"

namespace spirograd::cli {

struct Parallelism {
  uint64_t steps = 0;     // dispatches, fills and copies, as often as they run
  uint64_t in_turn = 0;   // groups of steps of which each waits for the one before: what lies between two barriers
  uint64_t widest = 0;    // invocations of such a group, the most
  double operations = 0;  // on floating-point numbers, of all invocations
};
Parallelism parallelism(const Executable& executable);

/// A line for each, by name; and how much longer and more the last one is than the first.
std::string parallelism_text(const std::vector<std::pair<std::string, Parallelism>>& programs);

}  // namespace spirograd::cli
