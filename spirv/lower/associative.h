// Steps of loops that may be taken in another order than the loop's.
#pragma once

#include <optional>
#include <vector>

#include "frontend/ir/graph.h"

namespace spirograd::lower {

/// next = accumulator OP term, where no term depends on the accumulator.
struct AssociativeStep {
  ir::Op op = ir::Op::Add;        // Add, Max or Min
  std::vector<ir::NodeId> terms;  // outermost operation first
  std::vector<bool> negative;     // Add: the term is subtracted
};

/// How the body changes accumulator `slot`; none: not in a way that may be reordered.
std::optional<AssociativeStep> associative_step(const ir::Graph& g, const ir::Function& body, int64_t slot);

/// Whether the value of `root` depends on parameter `slot` of the body.
bool mentions(const ir::Graph& g, ir::NodeId root, int64_t slot);

}  // namespace spirograd::lower
