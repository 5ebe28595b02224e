// What operations are called elsewhere.
#pragma once

#include <string>
#include <string_view>

namespace spirograd::text {

/// How an operation that NumPy, PyTorch, JAX, C or GLSL calls `name` is written here: "clamp(x, lo, hi)" for "clip"; "" if
/// that is not known.
std::string_view written_here(std::string_view name);

/// "'clip' is written clamp(x, lo, hi)", or "".
std::string synonym_hint(std::string_view name);

}  // namespace spirograd::text
