// Reductions whose own kernels are fast: what lanes take as tiles or as rows, which they do not inside of another kernel.
#pragma once

#include "spirograd/target.h"
#include "spirv/lower/access.h"

namespace spirograd::lower {

/// What is asked before it is known which of them have kernels of their own.
class OfItsOwn {
 public:
  /// `stored`: what has a buffer.
  OfItsOwn(const ir::Graph& g, const Target& target, const NodeSet& stored) : g_(g), target_(target), stored_(stored) {}

  /// A reduction whose neighbouring elements read some of the same for long.
  bool is_contraction(ir::NodeId id, double least = kContraction) const;
  /// A sum over several axes, as of a convolution, that is so much work that a kernel of its own writes it out in tiles
  /// (several_axes.h).
  bool is_short_sums(ir::NodeId id) const;
  /// A sum of products that are short enough to be written out, so many that lanes have tiles of them.
  bool is_product(ir::NodeId id) const;
  /// Windows around each of many places, which lanes take as rows.
  bool is_row_of_windows(ir::NodeId id) const;
  /// A reduction of many rows, which lanes read as they lie in memory.
  bool is_row(ir::NodeId id) const;

  static constexpr double kContraction = 16;  // length from which a reduction that neighbours share is one

 private:
  const ir::Graph& g_;
  const Target& target_;
  const NodeSet& stored_;
};

}  // namespace spirograd::lower
