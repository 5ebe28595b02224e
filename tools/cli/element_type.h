// Element types of inputs where the program leaves them open: what a file or a pseudo-file says about its own.
#pragma once

#include <optional>
#include <string>

#include "spirograd/host_array.h"

namespace spirograd::cli {

/// The array that `text` stands for, with the element type that it says itself: a file, or a pseudo-file such as
/// random:7:64xf64. Nothing for numbers and pseudo-files without one, and for what is no input at all.
std::optional<HostArray> load_typed(const std::string& name, const std::string& text);

}  // namespace spirograd::cli
