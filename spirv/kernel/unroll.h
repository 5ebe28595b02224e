// Which loops drivers may unroll.
#pragma once

#include <vector>

#include "spirv/kernel/kernel.h"

namespace spirograd::kernel {

/// For each instruction of the body, whether it is a loop that a driver's compiler may unroll: none that is long already or
/// has a barrier in it, and, where accesses to bindings check bounds, no more of them in one kernel than compilers take in a
/// moment. Without cheap_barriers, which is on drivers for processors, these are none at all, whether they check bounds or
/// not, and none of a kernel that has barriers is unrolled: they make a coroutine of it, whose compilation takes many times
/// as long.
std::vector<bool> unrollable(const Kernel& k, bool checks_bounds, bool cheap_barriers);

}  // namespace spirograd::kernel
