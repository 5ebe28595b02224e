#include "tools/io/sparkline.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace spirograd::io {

bool suits_logarithm(std::span<const double> values) {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const double x : values) {
    if (!std::isfinite(x)) continue;
    least = std::min(least, x);
    most = std::max(most, x);
  }
  return least > 0 && most >= 100 * least;
}

Sparkline sparkline(std::span<const double> values, size_t width) {
  Sparkline out;
  out.logarithmic = suits_logarithm(values);
  const size_t n = std::min(width, values.size());
  std::vector<double> heights;
  for (size_t c = 0; c < n; ++c) {
    double sum = 0;
    int finite = 0;
    for (size_t j = c * values.size() / n; j < (c + 1) * values.size() / n; ++j) {
      if (!std::isfinite(values[j])) continue;
      sum += out.logarithmic ? std::log(values[j]) : values[j];
      ++finite;
    }
    heights.push_back(finite ? sum / finite : std::numeric_limits<double>::quiet_NaN());
  }
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double h : heights) {
    if (std::isnan(h)) continue;
    low = std::min(low, h);
    high = std::max(high, h);
  }
  constexpr const char* kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  for (const double h : heights)
    out.text += std::isnan(h) ? "?"
                : high > low  ? kBlocks[static_cast<int>(std::min(7.0, (h - low) / (high - low) * 8))]
                              : "▁";
  return out;
}

}  // namespace spirograd::io
