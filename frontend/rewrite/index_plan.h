// Index arrays of a gather or scatter, taken apart. A scatter f : m -> P (see op.h) is a 0/1 matrix; a plan writes it as
//   post * core * pre
// where pre and post are chains of linear layout steps and the core is a scatter with fewer variables and components, often
// none. A gather with the same index arrays is the transposed matrix: the transposed steps in reverse order, so one plan
// serves both and each closed form is proved once.
#pragma once

#include <vector>

#include "frontend/rewrite/index_facts.h"
#include "frontend/rewrite/layout_steps.h"

namespace spirograd::rewrite {

/// A component of the core: closed form over the core's variables, or the index array `source` of the original.
struct Component {
  int source = -1;  // -1: affine
  int64_t c = 0;
  std::vector<int64_t> a;  // one coefficient per core variable
  int64_t extent = 0;      // of the target axis
};

struct IndexPlan {
  bool nothing = false;   // no position is ever hit
  bool progress = false;  // the core is simpler than the original
  std::vector<LayoutStep> pre, post;
  Shape variables;              // extents of the core's variables; they lead after `pre`
  std::vector<int> original;    // axis of m of each core variable, -1 for a part of a split axis
  std::vector<Component> core;  // target axes that lead before `post`
};

enum class PlanFor { Gather, Scatter };

/// Pre: no extent of m is 0. `index` are the index arrays, `extents` the addressed extents, `rest` the number of further
/// axes.
IndexPlan plan_index(Facts& facts, std::span<const ir::Expr> index, const Shape& extents, int rest, PlanFor use);

/// The index array of a component over the core's variables.
ir::Expr core_index(const IndexPlan& plan, const Component& component, std::span<const ir::Expr> index);

}  // namespace spirograd::rewrite
