// Policy of fusion: which nodes of a region are materialised. Everything else is inlined into its users (inline.h). Decided
// by counting: recomputing costs operations per use, memory costs a store, loads and a share of a dispatch.
#pragma once

#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "frontend/ir/graph.h"
#include "spirograd/target.h"
#include "spirv/lower/access.h"
#include "spirv/lower/beside.h"
#include "spirv/lower/extent.h"
#include "spirv/lower/loops.h"
#include "spirv/lower/packed.h"
#include "spirv/lower/split_scan.h"

namespace spirograd::lower {

struct Partition {
  std::vector<ir::NodeId> order;  // all nodes of the region, operands first
  NodeSet roots;                  // nodes that get a buffer and a kernel (for loops: the MapAccum node)
  // MapAccum nodes that run inside one kernel; the others become a sequence of dispatches. Scans are among them.
  std::unordered_map<uint32_t, LoopForm> loops_in_kernel;
  PackedResults packed;
  Beside beside;  // roots that are computed in the loops of others
};

/// `results` are always roots unless they are parameters; `forced` too. The loops in `dispatched` run as dispatches, those
/// in `scans` as kernels of their kind. Of `beside` the kernels are one.
Partition choose_partition(ir::Graph& g, std::span<const ir::NodeId> results, const std::set<uint32_t>& forced,
                           const std::set<uint32_t>& dispatched, const Scans& scans, Beside beside, const Target& target);

/// Buffers that these arrays are in: loops in kernels leave several results in one.
size_t buffers_of(const Partition& p, std::span<const ir::NodeId> arrays);

/// Buffers that a kernel may have on the device: push constants hold 8 bytes for each.
uint32_t kernel_buffers(const Target& t);

}  // namespace spirograd::lower
