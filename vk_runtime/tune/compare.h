// What a tuner judges by: whether results agree, and whether times differ. Pure.
#pragma once

#include <span>

#include "spirograd/host_array.h"

namespace spirograd::tuning {

/// Whether two results of one program are equal as far as the order of sums allows: integers to the bit, floats to 128 units
/// of the last place of the element plus 8 of the largest one. NaN and infinities stand at the same places.
bool agree(const HostArray& want, const HostArray& have);

inline constexpr double kClearly = 0.95;  // of the time before

/// Times of two programs, taken in turns.
struct Comparison {
  double before = 0;    // median
  double ratio = 1;     // median of the ratios of what was taken one after the other
  bool faster = false;  // clearly: by 5 %, and in so many rounds that chance would have it once in a hundred times
};
/// Pre: equally many of both, at least one.
Comparison compared(std::span<const double> before, std::span<const double> after);

}  // namespace spirograd::tuning
