// A bundle of this project's own build, by the header that comes with it.
#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include "line.h"

int main() {
  using namespace spirograd;
  try {
    std::ifstream file(BUNDLE, std::ios::binary);
    const std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(file)), {});
    auto line = loss::Function::load(vk::Device::create().value(), bytes).value();
    const std::array<float, 2> w = {1, 0};
    const std::array<float, 4> x = {0, 1, 2, 3}, y = {1, 3, 5, 7};
    const auto out = line({.w = w, .x = x, .y = y}).value();
    std::printf("loss %g, gradient %g %g\n", out.loss, out.d_w[0], out.d_w[1]);
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", e.str().c_str());
    return 1;
  }
}
