// IEEE 754 binary16, by arithmetic in double.
#include "spirograd/dtype.h"

#include <cmath>
#include <limits>

namespace spirograd {
namespace {

constexpr int kMantissa = 10, kBias = 15, kInfinite = 31;

}  // namespace

Half::Half(double x) {
  constexpr double kLeastInfinite = 65520;  // half a step above the largest half
  const double size = std::abs(x);
  int magnitude = 0;
  if (std::isnan(x)) {
    magnitude = (kInfinite << kMantissa) + (1 << (kMantissa - 1));
  } else if (size >= kLeastInfinite) {
    magnitude = kInfinite << kMantissa;
  } else if (size < std::ldexp(1, 1 - kBias)) {
    // Subnormal, or rounded up to the first that is not.
    magnitude = static_cast<int>(std::nearbyint(std::ldexp(size, kBias - 1 + kMantissa)));
  } else {
    const int exponent = std::ilogb(size);
    // A mantissa that is rounded up to 2 carries into the exponent.
    magnitude =
        ((exponent + kBias - 1) << kMantissa) + static_cast<int>(std::nearbyint(std::ldexp(size, kMantissa - exponent)));
  }
  bits = static_cast<uint16_t>(magnitude | (std::signbit(x) ? 0x8000 : 0));
}

Half::operator float() const {
  const int exponent = bits >> kMantissa & kInfinite, mantissa = bits & ((1 << kMantissa) - 1), one = 1 << kMantissa;
  float size = 0;
  if (exponent == kInfinite)
    size = mantissa ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
  else
    size = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), 1 - kBias - kMantissa)
                         : std::ldexp(static_cast<float>(one + mantissa), exponent - kBias - kMantissa);
  return bits >> 15 ? -size : size;
}

}  // namespace spirograd
