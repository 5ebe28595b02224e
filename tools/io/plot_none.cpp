// A build without Cairo.
#include "spirograd/result.h"
#include "tools/io/plot.h"

namespace spirograd::io {

void check_plots() {
  throw Error("SG0505", "this build draws no plots: Cairo was not there when it was configured")
      .hint("install libcairo2-dev and build again; fit --history losses.npy has the numbers");
}

std::vector<uint8_t> plot_svg(const Plot&) {
  check_plots();
  return {};
}
std::vector<uint8_t> plot_png(const Plot& plot) { return plot_svg(plot); }

}  // namespace spirograd::io
