// An array where one of its axes stands at a place that depends on the others.
#pragma once

#include "frontend/ir/algebra.h"
#include "frontend/rewrite/axes.h"

namespace spirograd::rewrite {

/// A place along an axis of an array: one for each position along other axes of it.
struct PlaceAlong {
  int64_t axis;
  ir::Expr place;  // i32
  Axes by;         // the axes that `place` lies along; not `axis`, ascending
};

/// The elements of `x` there, as an array of the other axes: e of shape [10, 7], axis 1, by {0}: e[i, place[i]]. What `x` is
/// computed from is read there instead, as far as elementwise operations, repetitions and reductions reach; where they end,
/// by a gather, which gives zero beyond the axis. None: `x` is too large an expression.
ir::Expr read_at(ir::Expr x, const PlaceAlong& at);

}  // namespace spirograd::rewrite
