// What arrives at one value in reverse mode: a sum, of which many parts that do not overlap are laid side by side instead of
// being padded with zeros and added. So the gradient of n reads at n written places costs n elements and not n arrays of n.
#pragma once

#include <vector>

#include "frontend/ir/layout.h"

namespace spirograd::ad {

class CotangentSum {
 public:
  /// Pre: all of one type.
  void add(ir::Expr cotangent) { arrived_.push_back(cotangent); }
  /// The sum in the order of arrival, parts side by side last. Empty if nothing arrived.
  ir::Expr value() const;

 private:
  std::vector<ir::Expr> arrived_;
};

}  // namespace spirograd::ad
