// The arms of an `if` on a scalar in reverse mode. Cotangents of what one arm alone uses are computed as if it were taken,
// and become exact zeros where they leave it: so all that is computed for them is wanted in that case only, as the primal
// is, and need not be computed in the other one.
#pragma once

#include <unordered_map>

#include "ad/delta.h"
#include "frontend/ir/condition.h"

namespace spirograd::ad {

class DeltaArms {
 public:
  /// Looks at arms alone that are more than a few operations; others are masked where they are chosen.
  DeltaArms(const ir::Graph& g, const DualScope& dual);

  /// Whether this Choose passes its cotangent to both branches as it is.
  bool decides(DeltaId choose) const { return choices_.contains(choose); }
  /// Where these do not hold, what this Delta gives to an operand has to be zero.
  ir::Conditions masks(DeltaId from, size_t operand) const;

 private:
  const ir::Conditions& of(DeltaId id) const;
  ir::Conditions passed(DeltaId from, size_t operand) const;
  void find(const DualScope& dual);

  const Deltas& deltas_;
  std::unordered_map<DeltaId, ir::Condition> choices_;
  std::unordered_map<DeltaId, ir::Conditions> of_;  // of every Delta that a cotangent gets to
};

/// `ct` where all of `masks` hold, zeros elsewhere.
ir::Expr masked(ir::Expr ct, const ir::Conditions& masks);

}  // namespace spirograd::ad
