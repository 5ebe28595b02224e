// Policy of fusion: which nodes of a region stand in memory. Everything else is pulled into its users (pull.h). Decided by
// counting: recomputing costs operations per use, memory costs a store, loads and a share of a dispatch.
#pragma once

#include <map>
#include <set>
#include <span>
#include <vector>

#include "frontend/ir/graph.h"
#include "spirograd/target.h"

namespace spirograd::lower {

struct Clusters {
  std::vector<ir::NodeId> order;        // all nodes of the region, operands first
  std::set<uint32_t> roots;             // nodes that get a buffer and a kernel (for loops: the MapAccum node)
  std::set<uint32_t>
      loops_in_kernel;  // MapAccum nodes that run inside one kernel; the others become a sequence of dispatches
};

/// `results` are always roots unless they are parameters; `forced` too. The loops in `dispatched` run as dispatches.
Clusters choose_clusters(const ir::Graph& g, std::span<const ir::NodeId> results, const std::set<uint32_t>& forced,
                         const std::set<uint32_t>& dispatched, const Target& target);

/// What a kernel that computes `root` reads and how large it gets: the walk stops at roots, parameters and constant arrays.
struct Extent {
  std::vector<ir::NodeId> leaves;  // roots (loops: the Proj), parameters, constant arrays, each once, in a fixed order
  int64_t code = 0;                // estimated instructions
  bool reduces = false;            // a reduction is pulled in
  double longest = 1;              // elements per result of the longest reduction that is pulled in
};
Extent kernel_extent(const ir::Graph& g, ir::NodeId root, const std::set<uint32_t>& roots, int64_t code_limit = 1 << 30);

/// The shape of the per-invocation state if every step of the loop touches its accumulators only at the invocation's own
/// point, and one step is small enough for one invocation.
bool runs_in_kernel(const ir::Graph& g, ir::NodeId map_accum, Shape* state);

/// Buffers that a kernel may have on the device: push constants hold 8 bytes for each.
uint32_t kernel_buffers(const Target& t);

/// Instructions that one element of the operation takes, about.
int op_cost(const ir::Node& n);

}  // namespace spirograd::lower
