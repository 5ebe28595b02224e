// Checks that a kernel is what kernel.h and op.h say: types, visibility of values, nesting, the access rules of bindings,
// and that nobody is missing at barriers and in the operations of subgroups.
#pragma once

#include <optional>

#include "spirograd/result.h"
#include "spirv/kernel/kernel.h"

namespace spirograd::kernel {

/// The first violation, as SG0901 with the instruction.
std::optional<Error> verify(const Kernel& kernel);

/// Whether an operation of kind Arithmetic, Float, Integer, Bitwise or Comparison has operands of that type.
bool takes(KOp op, Scalar operand);

}  // namespace spirograd::kernel
