// Lives that a program leads with the runtime, from the first device to its end, each through other parts of it.
#pragma once

#include <span>
#include <string>

namespace spirograd::faults {

struct Settings {
  std::string cache_dir;  // of a life with a cache: what an earlier one has left
};

/// One life. Returns what is wrong with its results or, once nothing fails any more, with the device ("" if nothing). Throws
/// the first Error that it hears of, after it has seen whether the device still works.
struct Life {
  const char* name;
  std::string (*live)(const Settings&);
};
std::span<const Life> lives();

/// Makes a device, so that its cache folder knows it.
void prepare(const Settings& settings);

/// What validation has said since the last call.
std::string take_messages();

}  // namespace spirograd::faults
