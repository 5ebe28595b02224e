// Whether the C library can judge.
#pragma once

#include <cmath>
#include <string_view>

namespace spirograd::exhaustive {

/// False for functions whose reference is wrong: sines of MinGW are x87's, which knows 66 bits of pi.
inline bool has_reference(std::string_view name) {
  if (name != "sin" && name != "cos" && name != "tan") return true;
  volatile long double x = 1e22L;  // not for the compiler, which knows it better
  return std::abs(std::sin(x) + 0.85220084976718880177L) < 1e-14L;
}

}  // namespace spirograd::exhaustive
