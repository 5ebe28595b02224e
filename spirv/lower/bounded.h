// Kernels stay within bounds: of the loop iterations that one invocation may run on the device, and of the code that drivers
// compile in reasonable time. A region is lowered; where a kernel is beyond, the draft of the region is amended and the
// region is lowered again: work that shared a kernel is parted, inner reductions and what is computed again and again get a
// buffer of their own, and long loops are cut into chunks that run as dispatches, with the state in memory.
#pragma once

#include <set>
#include <vector>

#include "spirv/lower/compute.h"
#include "spirv/lower/long_products.h"
#include "spirv/lower/rfactor.h"
#include "spirv/lower/split_scan.h"
#include "spirv/lower/split_scatter.h"
#include "spirv/lower/turns.h"

namespace spirograd::lower {

/// What is asked of a region, and the decisions that earlier attempts have forced.
struct Draft {
  std::vector<ir::NodeId> roots;
  std::set<uint32_t> stored;      // nodes that get a buffer
  std::set<uint32_t> stretched;   // of them, those that parts of sums stretch
  std::set<uint32_t> alone;       // nodes whose computes share no kernel
  std::set<uint32_t> single;      // nodes whose invocations compute one point each
  std::set<uint32_t> dispatched;  // loops whose steps are dispatches
  std::set<uint32_t> turns;       // of them, the one over parts of rows
  Scans scans;                    // loops that are scans
  Scatters scatters;              // how scatters run; others are plain
  Partials partial;               // for people: why some nodes are stored
};

/// What is asked for, with reductions and scans in as many parts as the target likes.
Draft first_draft(ir::Graph& g, const Turns& turns, const Target& target, const schedule::Scheduler& scheduler);

/// A kernel that is beyond the bounds: its computes, in order.
struct Excess {
  std::vector<Compute> computes;
  std::string kernel;
  uint64_t iterations = 0;           // of one invocation, over all its loops
  bool too_large = false;            // its code, before it was complete
  std::vector<ir::NodeId> repeated;  // too_large: nodes that are computed again and again
};

/// Changes the draft so that the next attempt stays nearer to the bounds. False: nothing is left to change.
bool amend(ir::Graph& g, Draft& draft, std::span<const Excess> excesses, uint64_t limit);

/// Says why a kernel that stays beyond the bounds is refused.
Error refusal(const Excess& e, const Target& target);

}  // namespace spirograd::lower
