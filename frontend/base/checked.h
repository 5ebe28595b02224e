// 64-bit arithmetic for bounds: where a result does not fit, it is the end of int64_t on its side. So a bound that has been
// passed stays passed, and comparing the result with anything smaller is right.
#pragma once

#include <cstdint>
#include <limits>

namespace spirograd {

constexpr int64_t saturating_add(int64_t a, int64_t b) {
  constexpr int64_t least = std::numeric_limits<int64_t>::min(), greatest = std::numeric_limits<int64_t>::max();
  if (b > 0 && a > greatest - b) return greatest;
  if (b < 0 && a < least - b) return least;
  return a + b;
}

constexpr int64_t saturating_mul(int64_t a, int64_t b) {
  constexpr int64_t least = std::numeric_limits<int64_t>::min(), greatest = std::numeric_limits<int64_t>::max();
  if (a == 0 || b == 0) return 0;
  const bool negative = (a < 0) != (b < 0);
  // Magnitudes, that of the least integer included.
  const uint64_t x = a < 0 ? uint64_t{0} - static_cast<uint64_t>(a) : static_cast<uint64_t>(a);
  const uint64_t y = b < 0 ? uint64_t{0} - static_cast<uint64_t>(b) : static_cast<uint64_t>(b);
  const uint64_t limit = static_cast<uint64_t>(greatest) + (negative ? 1 : 0);
  if (x > limit / y) return negative ? least : greatest;
  return static_cast<int64_t>(negative ? uint64_t{0} - x * y : x * y);
}

/// Rounded down. `b` is not 0.
constexpr int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

}  // namespace spirograd
