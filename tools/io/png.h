// Pictures: 8-bit RGB, sRGB, written as PNG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spirograd::io {

struct Picture {
  int width = 0, height = 0;
  std::vector<uint8_t> rgb;  // 3 bytes per pixel, rows from the top

  Picture(int w, int h, uint8_t grey = 255)
      : width(w), height(h), rgb(static_cast<size_t>(w) * static_cast<size_t>(h) * 3, grey) {}
  uint8_t* at(int x, int y) {
    return rgb.data() + (static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)) * 3;
  }
};

/// The PNG file. Pre: width and height are positive. Throws SG0505 if libpng fails.
std::vector<uint8_t> png_bytes(const Picture& picture);
/// Complete or not at all; throws SG0505.
void write_png(const std::string& path, const Picture& picture);

}  // namespace spirograd::io
