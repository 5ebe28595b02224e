// The last step of building a kernel.
#pragma once

#include <vector>

#include "spirv/kernel/kernel.h"

namespace spirograd::kernel {

/// `body` without instructions that nothing uses. Constants come first, each once, in the order in which they are used: not
/// that in which a caller happened to ask for them. Each of `natural_divisions` (ascending positions of Quot and Rem of a
/// number at least 0 by one above 0) becomes a shift or a mask if the divisor is a constant power of two, else an unsigned
/// division.
std::vector<Inst> finished(const std::vector<Inst>& body, const std::vector<Value>& natural_divisions);

}  // namespace spirograd::kernel
