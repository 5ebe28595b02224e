// What the checks of schedules have in common (legal.cpp, legal_scatter.cpp).
#pragma once

#include <string>

#include "spirograd/result.h"
#include "spirv/schedule/legal.h"

namespace spirograd::schedule {

inline constexpr int64_t kMostTile = 64;       // elements that one invocation computes side by side
inline constexpr int64_t kMostUnrolled = 128;  // copies of a loop's body

template <class Schedule>
Error illegal(const Schedule& s, const std::string& why) {
  return Error("SG0306", "schedule '" + to_string(s) + "': " + why);
}

inline std::string counted(int64_t parts, int64_t axis) {
  return "its parts count " + std::to_string(parts) + " elements, the axis has " + std::to_string(axis);
}

/// Parts whose product does not fit are as wrong as negative ones.
inline bool counts(const Split& s) {
  int64_t n = 1;
  for (const Part& p : s) {
    if (p.extent < 1 || p.extent > kMostInvocations / n) return false;
    n *= p.extent;
  }
  return true;
}

}  // namespace spirograd::schedule
