// Arrays between kernels in the order in which they are read. What is reduced over its first axis, for each place along the
// next one, is read a row of all other axes apart, so each step meets another page of memory, and few lines of a cache are
// read to their end: such an array is stored with that axis further in. An identity on values, bit for bit.
#pragma once

#include <set>
#include <vector>

#include "frontend/ir/traverse.h"
#include "spirv/lower/split_scan.h"

namespace spirograd::lower {

struct OrderedArrays {
  std::vector<ir::NodeId> roots;  // in place of the given ones
  std::set<uint32_t> stored;      // nodes that must be materialised
  ir::Memo moved;                 // what has become of the nodes below
};
/// `stored`: nodes that get a buffer in any case.
OrderedArrays order_arrays(ir::Graph& g, std::span<const ir::NodeId> roots, const std::set<uint32_t>& stored,
                           const Scans& scans, const Target& target);

}  // namespace spirograd::lower
