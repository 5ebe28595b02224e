// The library of functions written in the language, as it was when Spirograd was built (frontend/library).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace spirograd::text {

struct LibraryFile {
  std::string_view name, text;  // "optim"
};

/// In the order of their names.
std::span<const LibraryFile> library();

}  // namespace spirograd::text
