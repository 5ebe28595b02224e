// Sizes for people.
#pragma once

#include <cstdint>
#include <string>

namespace spirograd {

/// "1.5 GiB", "200 MiB", "16 bytes".
std::string bytes_text(uint64_t bytes);

}  // namespace spirograd
