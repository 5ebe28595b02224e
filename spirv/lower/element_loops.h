// Loops of which each part of the state goes its own way: no step reads another part of it. Each part is a loop for itself,
// of an invocation: a part is an element, or a row, all elements that have the same place along the first axes.
#pragma once

#include <optional>
#include <vector>

#include "frontend/ir/graph.h"

namespace spirograd::lower {

constexpr int64_t kStepCode = 1500;  // instructions of a loop body inside a kernel
constexpr size_t kParts = 64;        // of one array that is put together

/// The one shape of all arrays of state of a loop whose steps read no other element of them than their own; what does not
/// change from step to step they may read anywhere, at places that depend on the state, too. Scalars beside them are kept by
/// every invocation. None: it is no such loop.
std::optional<Shape> state_of_elements(const ir::Graph& g, ir::NodeId loop);

/// The first axes of all arrays of state of a loop whose steps read no other row of them than their own. None: it is no such
/// loop, or its rows are more than an invocation keeps.
std::optional<Shape> state_of_rows(const ir::Graph& g, ir::NodeId loop);

/// Operands of a loop that its steps read at places which depend on the state, or on what the step is given.
std::vector<bool> read_anywhere(const ir::Graph& g, ir::NodeId loop, bool by_step = false);

}  // namespace spirograd::lower
