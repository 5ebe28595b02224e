#include "tools/io/png.h"

#include <png.h>

#include "spirograd/result.h"
#include "tools/io/files.h"

namespace spirograd::io {

std::vector<uint8_t> png_bytes(const Picture& picture) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::vector<uint8_t> out(size);
  const int ok = png_image_write_to_memory(&image, out.data(), &size, 0, picture.rgb.data(), 0, nullptr);
  const std::string why = image.message;
  png_image_free(&image);
  if (!ok) throw Error("SG0505", "cannot make a PNG: " + why);
  out.resize(size);
  return out;
}

void write_png(const std::string& path, const Picture& picture) {
  OutputFiles files;
  files.add(path, png_bytes(picture));
  files.commit();
}

}  // namespace spirograd::io
