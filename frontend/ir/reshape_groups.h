// A reshape is a list of smaller ones: groups of neighbouring axes that hold the same elements before and after.
#pragma once

#include <vector>

#include "spirograd/shape.h"

namespace spirograd::ir {

struct AxisRange {
  int first = 0, end = 0;
  int count() const { return end - first; }
};

struct ReshapeGroup {
  AxisRange from, to;  // equal products of extents; one of them may be empty, where the other has extents of 1 only
};

/// The finest groups, in order: each axis of either shape is in exactly one. f32[4,6,5] to f32[4,30] has {4 | 4} and
/// {6,5 | 30}. Pre: equal numbers of elements, not none.
std::vector<ReshapeGroup> reshape_groups(const Shape& from, const Shape& to);

}  // namespace spirograd::ir
