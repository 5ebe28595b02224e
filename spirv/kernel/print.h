// Kernels as text, for people and for golden tests.
#pragma once

#include <string>

#include "spirv/kernel/kernel.h"

namespace spirograd::kernel {

/// The whole kernel, one instruction a line, blocks indented. Constants are written where they are used.
std::string to_string(const Kernel& kernel);
/// One instruction: `%4: f32 = load x[%3]`.
std::string to_string(const Kernel& kernel, Value v);

}  // namespace spirograd::kernel
