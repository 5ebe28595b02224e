// Sums that are symmetric between two axes, as tiles of a square: those on its diagonal or above it, numbered along an axis
// of their own.
#pragma once

#include <optional>

#include "spirv/lower/access.h"
#include "spirv/lower/rewritten.h"

namespace spirograd::lower {

/// The sums of all such tiles, which lie in a rectangle, [tiles, tiles, rows, columns, others.., last], and may be
/// computed in any way; and the square of them.
class SymmetricTiles {
 public:
  /// Of a sum over one axis, the axis `last` of its results along lanes; none: it is not symmetric, or the square is small.
  static std::optional<SymmetricTiles> of(ir::Graph& g, ir::NodeId sum, int last);

  ir::Expr sums() const { return sums_; }
  /// `sums`, where they belong; its last axis is `last` again.
  ir::Expr square_of(ir::Expr sums) const;

 private:
  ir::Expr sums_;
  Shape results_;
  std::pair<int, int> axes_;  // of the results
  int last_ = 0;
  int64_t side_ = 1;
};

}  // namespace spirograd::lower
