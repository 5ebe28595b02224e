// Typed constructors of what binds: build over an index, loops over a function of their own; a part of algebra.h.
#pragma once

#include <span>
#include <vector>

#include "frontend/ir/graph.h"

namespace spirograd::ir {

/// Closes `body`, in which the scalar i32 `var` (made by fresh_var) stands for the index. Chooses the level: one above the
/// highest Build inside that depends on an index still open, so that no binder captures what belongs to another.
Expr build(int64_t extent, Expr var, Expr body);
/// Build with the level given; the IndexVar of that level is free in `body`.
Expr build_at(int64_t level, int64_t extent, Expr body);

struct Loop {
  int64_t function = 0;
  bool reverse = false;  // runs k-1 .. 0; position j of es and bs still correspond
  int64_t length = 0;    // k
  std::vector<Expr> acc, es, consts;
};
/// body(acc.., e.., consts..) -> (acc'.., b..). Checks that the types agree. Results: final accumulators, then k-stacks of
/// b.
std::vector<Expr> map_accum(Graph& g, const Loop& loop);
/// Number of results of a MapAccum node, and the parts of its operand list.
struct LoopParts {
  int64_t function, length;
  bool reverse;
  int n_acc, n_es, n_consts, n_bs;
};
LoopParts loop_parts(const Graph& g, const Node& map_accum);
/// All results of a MapAccum node as Proj nodes.
std::vector<Expr> projections(Graph& g, NodeId map_accum);

/// Makes a body function out of traced results: `vars[j]` (placeholders, or whole terms from outside) become Param j.
int64_t close_function(Graph& g, std::span<const Expr> vars, std::span<const Expr> results);

}  // namespace spirograd::ir
