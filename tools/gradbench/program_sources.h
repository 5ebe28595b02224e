// The programs of samples/gradbench as they were when this was built, so that the tool needs no files.
#pragma once

#include <string_view>
#include <vector>

namespace spirograd::gradbench {

struct ProgramSource {
  std::string_view name, source;  // "gmm", the text of gmm.sg
};

/// By name.
std::vector<ProgramSource> program_sources();

}  // namespace spirograd::gradbench
