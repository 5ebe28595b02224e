// What operations are called elsewhere.
#pragma once

#include <string>
#include <string_view>

namespace spirograd::text {

/// How an operation that NumPy, PyTorch, JAX, C or GLSL calls `name` is written here: "logistic" for "sigmoid"; "" if that
/// is not known.
std::string_view written_here(std::string_view name);

/// "'sigmoid' is written logistic(x)", or "".
std::string synonym_hint(std::string_view name);

}  // namespace spirograd::text
