// Reads of arrays at scalar indices, as a value to reason about and as a term.
#pragma once

#include <vector>

#include "frontend/ir/algebra.h"
#include "frontend/rewrite/interval.h"

namespace spirograd::rewrite {

/// A read of `table`: per axis a scalar i32, or no expression for the whole axis. The value has the axes that are read
/// whole, in order; it is 0 if any of the scalars is out of range.
struct Slice {
  ir::Expr table;
  std::vector<ir::Expr> at;

  Shape shape() const;    // of the value
  bool is_whole() const;  // nothing is indexed
};

/// What rules may ask.
struct IndexContext {
  ir::Graph& graph;
  Intervals& ranges;

  /// `value` if the scalars on the given axes are in range, else 0. Asks only what cannot be proved.
  ir::Expr guarded(const Slice& s, const std::vector<bool>& axes, ir::Expr value) const;
  ir::Expr guarded(const Slice& s, ir::Expr value) const;  // all axes
};

/// The read as a Gather of the term as it stands: with scalars if the indexed axes come first, else with whole axes spelt
/// out.
ir::Expr plain_read(const Slice& s);

/// A Gather whose index arrays are scalars.
bool is_index(ir::Expr e);
bool is_index(const ir::Graph& g, const ir::Node& n);
Slice as_slice(ir::Expr index);

/// `e` with the IndexVar of `level` replaced by the scalar `index`. Pre: `index` is in range of that variable.
ir::Expr with_index(ir::Expr e, int64_t level, ir::Expr index);

}  // namespace spirograd::rewrite
