// Which loops run inside of one kernel, and how their state is spread over its invocations.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "frontend/ir/graph.h"
#include "spirograd/target.h"
#include "spirv/lower/row_blocks.h"

namespace spirograd::lower {

struct LoopForm {
  enum class Kind : uint8_t {
    Dispatches,  // not inside of a kernel: each step is a sequence of dispatches
    Elements,    // no step reads another element of the state than its own: each is a loop for itself
    Rows,        // the same of rows: each invocation runs one, with all of its elements in registers
    Together,    // one invocation, or one workgroup, runs the loop
  };
  Kind kind = Kind::Dispatches;
  Shape state;          // Elements: the one shape of arrays of state, Rows: the axes that they begin with; scalars beside
                        // them are kept by every invocation
  int64_t own = 1;      // Elements: those that one invocation computes side by side,
  int64_t beside = 1;   // Elements, Rows: every so manyth, with those of as many invocations between them
  int64_t members = 1;  // Together: invocations
  /// Together, of several: nodes of the body whose elements are in memory, since others than their owner read them or they
  /// are computed in turn, by the order in which they get known: those of one level need none of the same or a later one.
  std::vector<std::vector<ir::NodeId>> shared;
  /// Of these, nodes of which an invocation computes its elements one after another, by a loop, and not side by side.
  std::set<uint32_t> in_turn;
  /// Together, of several: the arrays of state themselves are in memory, and each is computed one element after another,
  /// in one of two places by turns. Scalars beside them are kept by every invocation.
  bool in_memory = false;
  /// Together, of several: each workgroup runs the loop of one block of rows. None: there is one workgroup.
  std::optional<RowBlocks> blocks = {};
};

/// May add a function to the graph: that of a block of rows.
LoopForm loop_form(ir::Graph& g, ir::NodeId map_accum, const Target& target);

/// The loop that a workgroup runs: the whole, or that of a block.
ir::LoopParts parts_of(const ir::Graph& g, const ir::Node& map_accum, const LoopForm& form);

/// Invocations that run such a loop.
int64_t invocations(const LoopForm& form);

/// Whether its members are one subgroup of a processor, whose lanes read each other's values.
bool is_subgroup(const LoopForm& form, const Target& target);

/// Elements of the largest result of a body.
inline int64_t largest_result(const ir::Graph& g, const ir::Function& body) {
  int64_t largest = 1;
  for (ir::NodeId r : body.results) largest = std::max(largest, g[r].type.shape.count());
  return largest;
}

/// Of Elements and Rows: how many elements an invocation reads of each operand, about.
std::vector<double> loads_of_operands(const ir::Graph& g, ir::NodeId map_accum, const LoopForm& form);

/// Whether it is the rows that a loop keeps, one for each step.
bool is_stack(const ir::Graph& g, const ir::Node& node);

/// Arrays that the body of a loop in a kernel has in memory: constants, and the rows that loops inside of it keep.
std::vector<ir::NodeId> arrays_inside(const ir::Graph& g, ir::NodeId loop);

}  // namespace spirograd::lower
