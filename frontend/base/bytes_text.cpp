#include "frontend/base/bytes_text.h"

#include <cstdio>
#include <iterator>

namespace spirograd {

std::string bytes_text(uint64_t bytes) {
  static constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double x = static_cast<double>(bytes);
  size_t unit = 0;
  while (x >= 1024 && unit + 1 < std::size(units)) x /= 1024, ++unit;
  char text[32];
  std::snprintf(text, sizeof text, x < 10 && x != static_cast<double>(static_cast<int>(x)) ? "%.1f %s" : "%.0f %s", x,
                units[unit]);
  return text;
}

}  // namespace spirograd
