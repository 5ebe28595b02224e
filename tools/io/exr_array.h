// OpenEXR files as arrays, rows from the top: [H,W] of one channel, [H,W,C] of pictures, where C is 3 for red, green and
// blue, 4 with opacity behind them, 2 for luminance and opacity. Values are those of the file, linear as a rule, of any
// size.
#pragma once

#include <string>

#include "tools/io/npy.h"

namespace spirograd::io {

/// What is named: nothing, for a file of one picture or one channel; a channel, "Z"; or a layer, "diffuse" for channels
/// diffuse.R, diffuse.G, diffuse.B. f32, whatever the file has; a channel of whole numbers alone is u32. Throws SG0501 for
/// what is no EXR of scanlines or tiles, is damaged, or is larger than 65,535 in width or height; SG0506 with the names
/// there are; SG0504 if this build has no OpenEXR.
FileArray parse_exr(const std::vector<uint8_t>& contents, const std::string& name, const std::string& where);

/// f32 or f16 as they are, packed without loss: Y; Y and A; R, G and B; R, G, B and A. Throws SG0508 for another shape or
/// type; SG0505 if this build has no OpenEXR.
std::vector<uint8_t> exr_array_bytes(const HostArray& a);

}  // namespace spirograd::io
