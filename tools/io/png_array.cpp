#include "tools/io/png_array.h"

#include <png.h>

#include <cmath>
#include <csetjmp>
#include <cstring>

namespace spirograd::io {
namespace {

constexpr png_uint_32 kMostPixels = 65535;  // along one axis

// What is read: owned by parse_png, so that a jump out of libpng passes over no destructor.
struct Reading {
  const std::vector<uint8_t>& contents;
  size_t at = 0;
  std::string why;
  png_uint_32 width = 0, height = 0;
  int channels = 0, bits = 0;
  std::vector<uint8_t> bytes;
  std::vector<png_bytep> rows;
};

void fail_png(png_structp png, png_const_charp why) {
  static_cast<Reading*>(png_get_error_ptr(png))->why = why;
  std::longjmp(png_jmpbuf(png), 1);
}

void ignore_png(png_structp, png_const_charp) {}

void take_png(png_structp png, png_bytep to, size_t n) {
  auto* r = static_cast<Reading*>(png_get_io_ptr(png));
  if (n > r->contents.size() - r->at) png_error(png, "it is truncated");
  std::memcpy(to, r->contents.data() + r->at, n);
  r->at += n;
}

// Nothing here may have a destructor.
bool read_png(png_structp png, png_infop info, Reading& r) {
  if (setjmp(png_jmpbuf(png))) return false;
  png_set_read_fn(png, &r, take_png);
  png_set_user_limits(png, kMostPixels, kMostPixels);
  png_read_info(png, info);
  png_set_expand(png);  // palettes, fewer than 8 bits, a colour that is transparent
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  r.width = png_get_image_width(png, info);
  r.height = png_get_image_height(png, info);
  r.channels = png_get_channels(png, info);
  r.bits = png_get_bit_depth(png, info);
  const size_t row = png_get_rowbytes(png, info);
  // Deflate packs a thousand to one at best.
  if (row * r.height / 1100 > r.contents.size()) png_error(png, "it is too short for its size");
  r.bytes.resize(row * r.height);
  r.rows.resize(r.height);
  for (size_t y = 0; y < r.height; ++y) r.rows[y] = r.bytes.data() + y * row;
  png_read_image(png, r.rows.data());
  png_read_end(png, nullptr);
  return true;
}

}  // namespace

FileArray parse_png(const std::vector<uint8_t>& contents, const std::string& where) {
  Reading r{contents, 0, "", 0, 0, 0, 0, {}, {}};
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &r, fail_png, ignore_png);
  png_infop info = png ? png_create_info_struct(png) : nullptr;
  const bool ok = info && read_png(png, info, r);
  png_destroy_read_struct(&png, &info, nullptr);
  if (!ok) throw Error("SG0501", where + " is no valid PNG: " + (r.why.empty() ? "libpng cannot begin" : r.why));
  const bool wide = r.bits == 16;
  const size_t n = r.bytes.size() / (wide ? 2 : 1);
  std::vector<float> values(n);
  for (size_t j = 0; j < n; ++j)
    values[j] =
        wide ? static_cast<float>(r.bytes[2 * j] << 8 | r.bytes[2 * j + 1]) / 65535 : static_cast<float>(r.bytes[j]) / 255;
  FileArray a;
  a.shape.push_back(r.height);
  a.shape.push_back(r.width);
  if (r.channels > 1) a.shape.push_back(r.channels);
  a.bytes.resize(n * sizeof(float));
  std::memcpy(a.bytes.data(), values.data(), a.bytes.size());
  return a;
}

std::vector<uint8_t> png_array_bytes(const HostArray& a) {
  const Shape& shape = a.type.shape;
  const int64_t channels = shape.rank() == 3 ? shape[2] : 1;
  if (shape.rank() < 2 || shape.rank() > 3 || channels < 1 || channels > 4 || shape.count() == 0 ||
      !is_float(a.type.dtype) || shape[0] > kMostPixels || shape[1] > kMostPixels)
    throw Error("SG0508", "a PNG takes floats [H,W] or [H,W,C] with C from 1 to 4, this result is " + to_string(a.type));
  constexpr png_uint_32 kFormats[] = {PNG_FORMAT_GRAY, PNG_FORMAT_GA, PNG_FORMAT_RGB, PNG_FORMAT_RGBA};
  std::vector<uint8_t> pixels;
  for (const double x : a.values()) {
    if (std::isnan(x)) throw Error("SG0508", "a PNG takes no NaN, and this result has some");
    pixels.push_back(static_cast<uint8_t>(std::lround(255 * std::fmin(1, std::fmax(0, x)))));
  }
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.height = static_cast<png_uint_32>(shape[0]);
  image.width = static_cast<png_uint_32>(shape[1]);
  image.format = kFormats[channels - 1];
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::vector<uint8_t> out(size);
  const int ok = png_image_write_to_memory(&image, out.data(), &size, 0, pixels.data(), 0, nullptr);
  const std::string why = image.message;
  png_image_free(&image);
  if (!ok) throw Error("SG0505", "cannot make a PNG: " + why);
  out.resize(size);
  return out;
}

}  // namespace spirograd::io
