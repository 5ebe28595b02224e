// A C++ header for one bundle: its inputs and outputs as structs, so that the compiler checks what a host gives it.
#pragma once

#include <string>

#include "spirograd/bundle_file.h"

namespace spirograd::cli {

/// The text of the header. Names that C++ does not take are changed: `m.slope` is m_slope, `new` is new_.
std::string header_text(const Bundle& bundle);

}  // namespace spirograd::cli
