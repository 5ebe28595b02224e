// Nodes of values that a kernel of somebody's own computes: the node holds the kernel as numbers.
#pragma once

#include <span>

#include "frontend/ir/graph.h"
#include "spirograd/own_kernel.h"

namespace spirograd::ir {

/// `value` for the interpreter and for derivatives; on devices what the kernel computes from the arguments. SG0308 if the
/// kernel has no module, more than two, or no invocation.
Expr by_kernel(Expr value, const OwnKernel& kernel, std::span<const Expr> arguments);

/// Whether the numbers of a node are a kernel.
bool is_own_kernel(const Node& n);
/// Pre: a ByKernel node.
OwnKernel own_kernel(const Node& n);

}  // namespace spirograd::ir
