// A curve in one line of text.
#pragma once

#include <span>
#include <string>

namespace spirograd::io {

struct Sparkline {
  std::string text;          // blocks of eight heights, in UTF-8
  bool logarithmic = false;  // all values are positive, and far apart
};

/// At most `width` characters, each of the mean height of the values that fall to it; '?' where none is finite.
Sparkline sparkline(std::span<const double> values, size_t width);

/// Whether a logarithmic axis suits: all finite values are positive, the largest at least a hundred times the least.
bool suits_logarithm(std::span<const double> values);

}  // namespace spirograd::io
