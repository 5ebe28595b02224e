// What is legal and yet hardly meant, told on stderr before a program runs.
#pragma once

#include <string>
#include <vector>

#include "spirograd/executable.h"
#include "spirograd/program.h"

namespace spirograd::cli {

/// Reads and scatters at constant indices that lie outside of their array: they give 0, or are dropped. One line each, with
/// the place in the source: "model.sg:3:12: index 5 lies outside of f32[3]: the read gives 0".
std::vector<std::string> constant_indices_out_of_range(const Program& program);

/// What is to be said of a program that keeps far more than it is given and gives: how much, and the largest arrays. Empty
/// for others.
std::string much_memory(const Executable& executable);

}  // namespace spirograd::cli
