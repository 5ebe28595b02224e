// The distance between an f32 and a double in units of the last place.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace spirograd::exhaustive {

inline constexpr double kWrong = 1e30;  // NaN for a number, infinity for what is far below, or the other way round

/// Units of the last place of the f32 nearest to `exact` or, if it is greater, `size`; one unit beyond the largest number is
/// infinity.
inline double ulps(float got, double exact, double size = 0) {
  const float nearest = static_cast<float>(exact);
  if (std::isnan(nearest)) return std::isnan(got) ? 0 : kWrong;
  if (got == nearest) return 0;
  if (std::isnan(got)) return kWrong;
  constexpr double top = std::numeric_limits<float>::max(), unit_at_top = 0x1p104;
  if (!std::isfinite(got) || !std::isfinite(nearest)) {
    const double g = std::isfinite(got) ? double{got} : std::copysign(top, double{got});
    const double e = std::min(std::max(exact, -top), top), distance = std::abs(g - e) / unit_at_top;
    return distance < 1e6 ? distance : kWrong;
  }
  const auto exponent =
      static_cast<int>(std::bit_cast<uint32_t>(std::max(std::abs(nearest), static_cast<float>(size))) >> 23);
  const int unit = (exponent > 0 ? exponent : 1) - 127 - 23;  // denormals have that of the least normal number
  return std::abs(double{got} - exact) * std::bit_cast<double>(static_cast<uint64_t>(1023 - unit) << 52);
}

/// Whether a device that flushes denormals to zero may see `x` as zero, or give zero for it.
inline bool may_be_flushed(double x) { return x != 0 && std::abs(x) < 0x1p-126; }

}  // namespace spirograd::exhaustive
