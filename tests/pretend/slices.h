// Slices of what users do, small enough to run on every pretended device.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spirograd/host_array.h"
#include "spirograd/program.h"

namespace spirograd::pretend {

struct Task {
  std::string what;
  Program program;
  std::vector<HostArray> inputs;
  std::vector<std::vector<double>> expected;  // by result
  double tolerance = 1e-4;                    // relative, absolute below 1
};

struct Slice {
  std::string_view name;
  /// For the device of that number in the table: of what takes long each runs another part, or only those that it concerns.
  std::vector<Task> (*tasks)(size_t device);
};
std::span<const Slice> slices();

}  // namespace spirograd::pretend
