// Safetensors files: eight bytes with the length of a header in JSON, the header, the arrays. Every offset and size is
// verified. Errors: SG0501 malformed, SG0503 no such array.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/io/npy.h"

namespace spirograd::io {

/// The array of that name; "" for the only one. bfloat16 becomes float32, which holds all of its values.
FileArray parse_safetensors(const std::vector<uint8_t>& contents, const std::string& name, const std::string& where);

/// In the order given. Data begin at a multiple of 8.
std::vector<uint8_t> safetensors_bytes(const std::vector<std::pair<std::string, HostArray>>& arrays);

}  // namespace spirograd::io
