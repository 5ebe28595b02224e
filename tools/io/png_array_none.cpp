// A build without libpng.
#include "tools/io/png_array.h"

namespace spirograd::io {

FileArray parse_png(const std::vector<uint8_t>&, const std::string& where) {
  throw Error("SG0504", where + " is not read: libpng was not there when this build was configured")
      .hint("install libpng-dev and build again, or save the picture as .npy");
}

std::vector<uint8_t> png_array_bytes(const HostArray&) {
  throw Error("SG0505", "this build writes no PNG: libpng was not there when it was configured")
      .hint("install libpng-dev and build again, or write a .npy file");
}

}  // namespace spirograd::io
