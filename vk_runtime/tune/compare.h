// What a tuner judges by: whether a schedule may run, whether results agree, and whether times differ. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "spirograd/host_array.h"
#include "spirograd/target.h"

namespace spirograd::tuning {

/// Whether two results of one program are equal as far as the order of sums allows: integers to the bit, floats to 128 units
/// of the last place of the element plus 8 of the largest one. NaN and infinities stand at the same places.
bool agree(const HostArray& want, const HostArray& have);

/// Whether a schedule is run at all, by the loop iterations of one invocation: systems reset devices that take long, so that
/// this is nothing to be found out by trying. `usual` is what the search began with: that many have run.
inline bool may_run(uint64_t iterations, uint64_t usual, const Target& target) {
  return iterations <= std::max(loop_limit(target), usual);
}

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
