// Whether a kernel minds invocations that nobody asked for.
#pragma once

#include "spirv/kernel/kernel.h"

namespace spirograd::kernel {

/// Whether invocations from Kernel::invocations on, and workgroups beyond those that hold them, store nothing in a binding:
/// all stores stand under `Index < n` or `GroupIndex < n` that keep them out. Then the grid may be larger than asked for.
bool guards_surplus(const Kernel& kernel);

}  // namespace spirograd::kernel
