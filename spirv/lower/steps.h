// Steps that are no kernels.
#pragma once

#include <optional>

#include "spirv/lower/plan.h"

namespace spirograd::lower {

/// Copies an array; none: it is empty.
std::optional<Step> copy_step(BufferRef from, BufferRef to, const Type& type);
/// Writes zeros; none: the array is empty.
std::optional<Step> zero_step(BufferRef to, const Type& type);

}  // namespace spirograd::lower
