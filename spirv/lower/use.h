// How often a kernel computes a node that it does not find in memory.
#pragma once

#include <vector>

#include "spirograd/target.h"
#include "spirv/lower/access.h"

namespace spirograd::lower {

/// One use of a node by one kernel. A node is computed inside of the innermost loop that its point depends on, and so once
/// per iteration of that loop and of all loops around it.
struct Use {
  uint32_t kernel = 0;
  double invocations = 1;
  std::vector<double> loops;  // iterations of the reductions around the node, outermost first
  Place place;                // of the node: a coordinate's axes are the loops that it depends on,
  Place point;                // and here those of the kernel's own point; empty: nothing is known of it
};

/// Elements of the node that the kernel computes, repetitions included.
double evaluations(const Use& u);

/// Invocations that share the evaluations: a workgroup of a GPU has a loop between them, and lanes a few long ones.
double at_work(const Use& u, const Target& target);

/// What a node of this cost costs inside of a loop. A reduction there is done by one invocation, whose loads nobody shares.
double in_loop(double cost, bool reduces, const Target& target);

/// The use of operand j by a node that is used as `u`. A reduction runs as one loop over all of its axes.
Use operand_use(const ir::Graph& g, const ir::Node& n, size_t j, const Use& u);

}  // namespace spirograd::lower
