// One element of a pointwise operation, written as kernel instructions. Holds the total semantics of the language: divisors,
// saturating conversions, NaN in min and max.
#pragma once

#include <span>

#include "frontend/ir/op.h"
#include "frontend/ir/sign.h"
#include "spirograd/dtype.h"
#include "spirograd/result.h"
#include "spirv/kernel/builder.h"

namespace spirograd::lower {

kernel::Scalar scalar_of(DType t);
/// Of its elements in memory.
kernel::Scalar stored_scalar_of(DType t);

/// Pre: `op` is pointwise. `result` is the dtype of the node.
kernel::Value pointwise(kernel::Builder& b, ir::Op op, DType result, std::span<const kernel::Value> in);

/// exp(x), where the sign of x is known.
kernel::Value exponential(kernel::Builder& b, kernel::Value x, ir::Sign sign);

/// True for NaN; from the bits for f32, since compilers may assume that x == x.
kernel::Value is_nan(kernel::Builder& b, kernel::Value x);

/// Neither infinite nor NaN, of an f32.
kernel::Value is_finite(kernel::Builder& b, kernel::Value x);

/// The value that a scalar of that type has when an array is read out of range.
kernel::Value zero(kernel::Builder& b, kernel::Scalar t);

/// sum + x in f32. What this addition rounds away is taken off the next one (Kahan 1965); `lost` is the variable for it.
kernel::Value add_compensated(kernel::Builder& b, kernel::Value sum, kernel::Value x, kernel::Value lost);

}  // namespace spirograd::lower
