// Arrays between kernels in the order in which they are read. An identity on values, bit for bit.
#pragma once

#include <set>
#include <span>

#include "spirv/lower/rewritten.h"
#include "spirv/lower/split_scan.h"

namespace spirograd::lower {

/// For a processor: what is reduced over its first axis, for each place along the next one, is read a row of all other axes
/// apart, so each step meets another page of memory, and few lines of a cache are read to their end. Such an array is stored
/// with that axis further in. `stored`: nodes that get a buffer in any case.
Rewritten order_for_pages(ir::Graph& g, std::span<const ir::NodeId> roots, const std::set<uint32_t>& stored,
                          const Scans& scans, const Target& target);

/// Where neighbouring invocations should touch neighbours in memory: an array whose kernel reads others, and which others
/// read, with neighbours along an axis that is not its last one is stored with that axis last. Where lanes read rows, that
/// is so of windows (is_window) alone.
Rewritten order_for_neighbours(ir::Graph& g, std::span<const ir::NodeId> roots, const std::set<uint32_t>& stored,
                               const Scans& scans, const Target& target);

}  // namespace spirograd::lower
