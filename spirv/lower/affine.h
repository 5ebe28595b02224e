// Where a computation reads, as exactly as sums can say it: places in memory whose coordinates are sums of multiples of the
// coordinates of the point that is computed.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "frontend/ir/graph.h"
#include "frontend/rewrite/affine.h"

namespace spirograd::lower {

/// A place whose coordinates are affine, without quotients, in those of a point; none: not known to be.
using AffinePlace = std::vector<std::optional<rewrite::Affine>>;

/// An array that is read at a place whose coordinates are all affine.
struct AffineRead {
  ir::NodeId leaf;
  std::vector<rewrite::Affine> place;
  std::vector<ir::NodeId> path;  // layout operations and gathers between the computation and the array, from the top
};

/// The elements of an array of integers as sums of multiples of their places; none: not known to be. Looks at a few
/// operations only.
std::optional<rewrite::Affine> affine_elements(const ir::Graph& g, ir::NodeId id);

/// What the computation of `root` reads at affine places, each different array and place once, in a fixed order. The walk
/// ends at what is an array, as `is_read` tells; reductions, loops and operations of several parts below the root are not
/// looked into.
std::vector<AffineRead> affine_reads(const ir::Graph& g, ir::NodeId root,
                                     const std::function<bool(ir::NodeId, const AffinePlace&)>& is_read);

}  // namespace spirograd::lower
