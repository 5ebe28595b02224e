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
Partition choose_partition(const ir::Graph& g, std::span<const ir::NodeId> results, const std::set<uint32_t>& forced,
                           const std::set<uint32_t>& dispatched, const Scans& scans, Beside beside, const Target& target);

/// What a kernel that computes `root` reads and how large it gets: the walk stops at roots, parameters and constant arrays.
struct Extent {
  std::vector<ir::NodeId> leaves;  // roots (loops: the Proj), parameters, constant arrays, each once, in a fixed order
  int64_t code = 0;                // estimated instructions
  bool reduces = false;            // a reduction is inlined
  double longest = 1;              // elements per result of the longest reduction that is inlined
};

/// Finds extents; remembers what a walk has seen between walks, for there are many.
class ExtentWalk {
 public:
  ExtentWalk(const ir::Graph& g, const NodeSet& roots) : g_(g), roots_(roots) {}
  /// Ends early once the code is above the limit.
  Extent operator()(ir::NodeId root, int64_t code_limit = 1 << 30);

 private:
  bool see(ir::NodeId id);
  const ir::Graph& g_;
  const NodeSet& roots_;
  std::vector<uint32_t> seen_;  // number of the walk that saw the node last
  uint32_t walk_ = 0;
  std::vector<ir::NodeId> stack_;
};

/// Buffers that a kernel may have on the device: push constants hold 8 bytes for each.
uint32_t kernel_buffers(const Target& t);

/// Instructions that one element of the operation takes, about.
int op_cost(const ir::Node& n);

}  // namespace spirograd::lower
