// A small raster picture with a plotting frame: enough for points, curves and shaded fields. No text beyond numbers.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace samples {

struct Colour {
  double r, g, b;
};

/// Drawn at three times the size and averaged down, so that edges are smooth.
class Picture {
 public:
  /// `width` x `height` pixels showing the data range [x0, x1] x [y0, y1] inside of a margin for axes.
  Picture(int width, int height, std::array<double, 2> x_range, std::array<double, 2> y_range);

  /// Shades every place inside of the frame with `strength(x, y)` in [0, 1] of the colour.
  template <class F>
  void shade(Colour colour, F&& strength) {
    for (int py = top_; py < bottom_; ++py)
      for (int px = left_; px < right_; ++px) blend(px, py, colour, strength(x_of(px), y_of(py)));
  }
  void disc(double x, double y, double radius_pixels, Colour colour, double opacity = 1);
  void curve(const std::vector<std::array<double, 2>>& points, double width_pixels, Colour colour);
  /// Frame, ticks and numbers at multiples of the steps.
  void axes(double x_step, double y_step);

  int width() const { return width_; }
  int height() const { return height_; }
  /// Rows from top to bottom, three bytes per pixel.
  std::vector<uint8_t> rgb() const;

 private:
  double x_of(int px) const { return x_[0] + (px + 0.5 - left_) / (right_ - left_) * (x_[1] - x_[0]); }
  double y_of(int py) const { return y_[1] - (py + 0.5 - top_) / (bottom_ - top_) * (y_[1] - y_[0]); }
  double px_of(double x) const { return left_ + (x - x_[0]) / (x_[1] - x_[0]) * (right_ - left_); }
  double py_of(double y) const { return top_ + (y_[1] - y) / (y_[1] - y_[0]) * (bottom_ - top_); }
  void blend(int px, int py, Colour c, double opacity);
  void disc_at(double px, double py, double radius, Colour c, double opacity);
  void number(double px, double py, double value);

  int width_, height_;
  std::array<double, 2> x_, y_;
  int left_, right_, top_, bottom_;  // of the frame, in fine pixels
  std::vector<Colour> fine_;
};

}  // namespace samples
