// What reductions do with two elements, and where they start.
#pragma once

#include "frontend/ir/op.h"
#include "spirv/kernel/builder.h"

namespace spirograd::lower {

/// Whether it is where an extreme is that is asked for, not what it is.
inline bool finds_place(ir::Op reduction) { return reduction == ir::Op::ArgMax || reduction == ir::Op::ArgMin; }

/// Start value of a loop, such that combining it with x gives x. NaN for float extremes: NaN loses against everything.
kernel::Value identity(kernel::Builder& b, ir::Op reduction, kernel::Scalar t);

/// Value of a reduction over nothing.
kernel::Value of_nothing(kernel::Builder& b, ir::Op reduction, kernel::Scalar t);

/// Where both are equal extremes the first is kept: it matters for the sign of zero.
kernel::Value combine(kernel::Builder& b, ir::Op reduction, kernel::Value acc, kernel::Value x);

/// Whether x, further behind, takes the place of the best so far: the first extreme wins; NaN wins only where nothing else
/// is. Pre: finds_place(reduction).
kernel::Value is_better(kernel::Builder& b, ir::Op reduction, kernel::Value x, kernel::Value best);

}  // namespace spirograd::lower
