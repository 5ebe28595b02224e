// A curve as a picture, drawn by Cairo where the build has it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spirograd::io {

struct Plot {
  std::string title, x_name, y_name;  // the names with their units
  std::vector<double> y;              // at 0, 1, 2, ..; what is not finite is a gap
};

/// Throws SG0505 if this build has no Cairo.
void check_plots();

/// The files. The y axis is logarithmic where that suits (sparkline.h), which its name says then. Throw SG0505.
std::vector<uint8_t> plot_svg(const Plot& plot);
std::vector<uint8_t> plot_png(const Plot& plot);

}  // namespace spirograd::io
