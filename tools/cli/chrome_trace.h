// Times as a file that trace viewers show: Perfetto, chrome://tracing, speedscope.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "tools/cli/speed.h"

namespace spirograd::cli {

/// A program that was measured, by a name for people.
struct Traced {
  std::string what;
  const Speed* speed = nullptr;
};

/// The JSON of the Trace Event Format: per program a row with what its first call took, and one with the steps of a replay.
/// Microseconds; each program begins at 0.
nlohmann::json chrome_trace(const std::string& device, std::span<const Traced> programs);

}  // namespace spirograd::cli
