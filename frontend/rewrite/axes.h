// Lists of axes, and the axes of a shape that an index can move along.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "spirograd/shape.h"

namespace spirograd::rewrite {

using Axes = std::vector<int64_t>;

inline bool contains(std::span<const int64_t> axes, int64_t axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

/// The others, in order.
inline Axes without(std::span<const int64_t> axes, std::span<const int64_t> removed) {
  Axes out;
  std::copy_if(axes.begin(), axes.end(), std::back_inserter(out), [&](int64_t a) { return !contains(removed, a); });
  return out;
}

/// Axes of extent other than 1, in order.
Axes wide_axes(const Shape& s);

/// Whether two shapes differ only by axes of extent 1.
bool same_but_ones(const Shape& a, const Shape& b);

/// A broadcast along `axes`, transposed by `perm`: the axes along which it lies then, and the order of its operand's own.
struct TransposedBroadcast {
  Axes axes, operand;
};
TransposedBroadcast transposed_broadcast(const Axes& axes, const Axes& perm);

}  // namespace spirograd::rewrite
