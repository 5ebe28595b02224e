// Where a computation reads, as exactly as sums can say it: places in memory whose coordinates are sums of multiples of the
// coordinates of the point that is computed.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "frontend/ir/graph.h"

namespace spirograd::lower {

/// constant + the sum of factor times coordinate.
struct Affine {
  int64_t constant = 0;
  std::map<int, int64_t> terms;  // factor, not 0, by coordinate of the point
  auto operator<=>(const Affine&) const = default;
};

/// An array that is read at an affine place.
struct AffineRead {
  ir::NodeId leaf;
  std::vector<Affine> place;
  std::vector<ir::NodeId> path;  // layout operations and gathers between the computation and the array, from the top
};

/// Whether an array of integers holds sums of multiples of the places of its elements. Looks at a few operations only.
bool is_affine(const ir::Graph& g, ir::NodeId id);

/// What the computation of `root` reads at affine places, each different array and place once, in a fixed order. The walk
/// ends at what is stored; reductions, loops and operations of several parts below the root are not looked into.
std::vector<AffineRead> affine_reads(const ir::Graph& g, ir::NodeId root, const std::function<bool(ir::NodeId)>& stored);

}  // namespace spirograd::lower
