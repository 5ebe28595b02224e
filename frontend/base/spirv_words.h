// How a module of SPIR-V begins.
#pragma once

#include <cstddef>
#include <cstdint>

namespace spirograd {

inline constexpr uint32_t kSpirvMagic = 0x07230203;  // the first word, if it is in the order of this machine
inline constexpr size_t kSpirvHeader = 5;            // words before the first instruction

}  // namespace spirograd
