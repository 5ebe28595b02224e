// A build without OpenEXR.
#include "tools/io/exr_array.h"

namespace spirograd::io {

FileArray parse_exr(const std::vector<uint8_t>&, const std::string&, const std::string& where) {
  throw Error("SG0504", where + " is not read: OpenEXR was not there when this build was configured")
      .hint("install libopenexr-dev and build again, or save the picture as .npy");
}

std::vector<uint8_t> exr_array_bytes(const HostArray&) {
  throw Error("SG0505", "this build writes no EXR: OpenEXR was not there when it was configured")
      .hint("install libopenexr-dev and build again, or write a .npy file");
}

}  // namespace spirograd::io
