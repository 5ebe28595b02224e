#include "samples/picture.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

namespace samples {
namespace {

constexpr int kFine = 3;  // fine pixels per pixel, each way
constexpr Colour kInk = {0.25, 0.27, 0.32};

// Digits, point and minus, five rows of three bits.
constexpr const char* kGlyphs = "0123456789.-";
constexpr uint16_t kRows[] = {075557, 026227, 071747, 071717, 055711, 074717,
                              074757, 071222, 075757, 075717, 000002, 000700};

}  // namespace

Picture::Picture(int width, int height, std::array<double, 2> x_range, std::array<double, 2> y_range)
    : width_(width), height_(height), x_(x_range), y_(y_range) {
  left_ = 48 * kFine;
  right_ = (width - 16) * kFine;
  top_ = 16 * kFine;
  bottom_ = (height - 36) * kFine;
  fine_.assign(static_cast<size_t>(width * kFine) * static_cast<size_t>(height * kFine), {1, 1, 1});
}

void Picture::blend(int px, int py, Colour c, double opacity) {
  if (px < 0 || py < 0 || px >= width_ * kFine || py >= height_ * kFine) return;
  Colour& p = fine_[static_cast<size_t>(py) * static_cast<size_t>(width_ * kFine) + static_cast<size_t>(px)];
  p = {p.r + (c.r - p.r) * opacity, p.g + (c.g - p.g) * opacity, p.b + (c.b - p.b) * opacity};
}

void Picture::disc_at(double px, double py, double radius, Colour c, double opacity) {
  for (int y = static_cast<int>(std::floor(py - radius)); y <= py + radius; ++y)
    for (int x = static_cast<int>(std::floor(px - radius)); x <= px + radius; ++x)
      if (std::hypot(x + 0.5 - px, y + 0.5 - py) <= radius) blend(x, y, c, opacity);
}

void Picture::disc(double x, double y, double radius_pixels, Colour colour, double opacity) {
  disc_at(px_of(x), py_of(y), radius_pixels * kFine, colour, opacity);
}

void Picture::curve(const std::vector<std::array<double, 2>>& points, double width_pixels, Colour colour) {
  for (size_t i = 0; i + 1 < points.size(); ++i) {
    const double ax = px_of(points[i][0]), ay = py_of(points[i][1]);
    const double bx = px_of(points[i + 1][0]), by = py_of(points[i + 1][1]);
    const int steps = std::max(1, static_cast<int>(std::hypot(bx - ax, by - ay)));
    for (int s = 0; s <= steps; ++s) {
      const double x = ax + (bx - ax) * s / steps, y = ay + (by - ay) * s / steps;
      if (x > left_ && x < right_ && y > top_ && y < bottom_) disc_at(x, y, width_pixels * kFine / 2, colour, 1);
    }
  }
}

void Picture::number(double px, double py, double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  const double size = 2.0 * kFine;
  const double length = static_cast<double>(std::string(text).size()) * 4 * size;
  double x = px - length / 2;
  for (const char* t = text; *t; ++t, x += 4 * size) {
    const std::string glyphs = kGlyphs;
    const size_t glyph = glyphs.find(*t);
    if (glyph == std::string::npos) continue;
    for (int row = 0; row < 5; ++row)
      for (int column = 0; column < 3; ++column)
        if (kRows[glyph] >> (3 * (4 - row) + 2 - column) & 1)
          for (int dy = 0; dy < size; ++dy)
            for (int dx = 0; dx < size; ++dx)
              blend(static_cast<int>(x + column * size) + dx, static_cast<int>(py + row * size) + dy, kInk, 1);
  }
}

void Picture::axes(double x_step, double y_step) {
  for (int p = left_; p < right_; ++p)
    for (int d = 0; d < kFine; ++d) blend(p, bottom_ + d, kInk, 1);
  for (int p = top_; p < bottom_ + kFine; ++p)
    for (int d = 0; d < kFine; ++d) blend(left_ - d, p, kInk, 1);
  for (double x = std::ceil(x_[0] / x_step) * x_step; x <= x_[1]; x += x_step) {
    for (int p = 0; p < 5 * kFine; ++p)
      for (int d = 0; d < kFine; ++d) blend(static_cast<int>(px_of(x)) + d, bottom_ + p, kInk, 1);
    number(px_of(x), bottom_ + 10 * kFine, x);
  }
  for (double y = std::ceil(y_[0] / y_step) * y_step; y <= y_[1]; y += y_step) {
    for (int p = 0; p < 5 * kFine; ++p)
      for (int d = 0; d < kFine; ++d) blend(left_ - p, static_cast<int>(py_of(y)) + d, kInk, 1);
    number(left_ - 24 * kFine, py_of(y) - 5 * kFine, y);
  }
}

std::vector<uint8_t> Picture::rgb() const {
  std::vector<uint8_t> out;
  for (int y = 0; y < height_; ++y) {
    for (int x = 0; x < width_; ++x) {
      Colour sum = {0, 0, 0};
      for (int dy = 0; dy < kFine; ++dy) {
        for (int dx = 0; dx < kFine; ++dx) {
          const Colour& c = fine_[static_cast<size_t>((y * kFine + dy) * width_ * kFine + x * kFine + dx)];
          sum = {sum.r + c.r, sum.g + c.g, sum.b + c.b};
        }
      }
      for (double v : {sum.r, sum.g, sum.b}) out.push_back(static_cast<uint8_t>(std::lround(255 * v / (kFine * kFine))));
    }
  }
  return out;
}

}  // namespace samples
