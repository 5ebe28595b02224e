// What the interpreter runs: the nodes of one function, scheduled into blocks. The outermost block runs once; each Build has
// a block of its own with just those nodes that depend on its index, run once per element. Everything else that a Build
// needs (its frontier) is scheduled before it, so builds of closed operands never nest, however long their chain is.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "frontend/ir/graph.h"

namespace spirograd::ir {

/// One node to evaluate. Values live in numbered slots of a frame.
struct Step {
  const Node* node = nullptr;
  int slot = 0;                      // of the value; a MapAccum fills consecutive slots, one per result
  std::vector<int> in;               // slots of the operands; of a Build: of its frontier
  std::vector<const Type*> in_type;  // types of the operands; not for Build
  int block = -1;                    // Build: its block
  int loop = -1;                     // MapAccum: number of the loop in this function
  std::vector<int> release;          // slots whose last use this was; outermost block only
};

struct Block {
  std::vector<Step> steps;
  std::vector<NodeId> frontier;
  int result = -1;  // of a Build: slot of the body's value
};

struct Plan {
  std::deque<Block> blocks;
  int outermost = -1;
  std::vector<int> results;  // slots
  int slots = 0;
  int loops = 0;
};

/// Schedules everything below `roots`. Throws SG0900 if an index variable or a placeholder is free in them.
Plan make_plan(const Graph& g, std::span<const NodeId> roots);

}  // namespace spirograd::ir
