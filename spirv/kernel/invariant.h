// Loads in loops that give the same in every iteration.
#pragma once

#include "spirv/kernel/kernel.h"

namespace spirograd::kernel {

/// Moves loads of bindings that are only read in front of the outermost loop in whose iterations they stay the same, with
/// the computation of their positions. Only out of loops that are known to have at least two iterations and to run all of
/// them: nothing is loaded that was not before. Worth it where each lane loads for itself, and what finds no register is as
/// near as the stack.
void move_loads_out_of_loops(Kernel& kernel);

}  // namespace spirograd::kernel
