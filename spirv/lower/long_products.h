// Contractions over long axes, a part of the axis at a time: where drivers gather what loops read (kGatheredLoads), a
// dispatch for each part has no loop, and reads rows. Parts are loops whose steps are dispatches; what they read is copied
// once, part by part, in the order in which it is read. An identity on values, up to rounding.
#pragma once

#include <set>
#include <span>

#include "spirv/lower/rewritten.h"
#include "spirv/lower/split_scan.h"

namespace spirograd::lower {

struct LongProducts {
  Rewritten made;
  std::set<uint32_t> loops;  // over parts: their steps are dispatches
};

/// `stored`: nodes that get a buffer in any case.
LongProducts products_in_parts(ir::Graph& g, std::span<const ir::NodeId> roots, const std::set<uint32_t>& stored,
                               const Scans& scans, const Target& target);

}  // namespace spirograd::lower
