// What reductions do with two elements, and where they start.
#pragma once

#include "frontend/ir/op.h"
#include "spirv/kernel/builder.h"

namespace spirograd::lower {

/// Start value of a loop, such that combining it with x gives x. NaN for float extremes: NaN loses against everything.
kernel::Value identity(kernel::Builder& b, ir::Op reduction, kernel::Scalar t);

/// Value of a reduction over nothing.
kernel::Value of_nothing(kernel::Builder& b, ir::Op reduction, kernel::Scalar t);

/// Where both are equal extremes the first is kept: it matters for the sign of zero.
kernel::Value combine(kernel::Builder& b, ir::Op reduction, kernel::Value acc, kernel::Value x);

/// An element and where it is.
struct Found {
  kernel::Value value, place;
};

/// The one of two elements that an extreme's place is asked of: the first extreme wins; NaN wins only where nothing else is.
/// Pre: ir::finds_place(reduction).
Found better(kernel::Builder& b, ir::Op reduction, const Found& x, const Found& y);
/// The same where `next` is known to lie behind the best so far.
Found better_in_order(kernel::Builder& b, ir::Op reduction, const Found& best, const Found& next);

}  // namespace spirograd::lower
