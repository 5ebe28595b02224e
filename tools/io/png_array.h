// PNG files as arrays of f32 from 0 to 1, rows from the top: [H,W] of grey pictures, [H,W,C] of others, where C is 2 for
// grey and opacity, 3 for colours, 4 for both. Values are those of the file, in sRGB as a rule; nothing is made linear.
#pragma once

#include <string>

#include "tools/io/npy.h"

namespace spirograd::io {

/// 8 or 16 bits per value; fewer, and palettes, are widened. Throws SG0501 for what is no PNG, is damaged, or is larger than
/// 65,535 in width or height; SG0504 if this build has no libpng.
FileArray parse_png(const std::vector<uint8_t>& contents, const std::string& where);

/// 8 bits per value, rounded; what lies outside of 0 .. 1 becomes 0 or 1. Throws SG0508 for what is no picture: another
/// shape, no floats, NaN; SG0505 if this build has no libpng.
std::vector<uint8_t> png_array_bytes(const HostArray& a);

}  // namespace spirograd::io
