// How much one invocation of a kernel does: iterations of loops, operations. Some drivers end loops after a number of
// iterations, counted over all loops of an invocation together, and return what was computed until then; so lowering has to
// know.
#pragma once

#include "spirv/kernel/kernel.h"

namespace spirograd::kernel {

/// An upper bound on the iterations that one invocation runs, over all its loops together and over both arms of every If. A
/// loop of n counts n + 1: drivers that count do it where the loop finds that it has ended, too. Saturates; a trip count
/// without a known bound counts as the largest i32.
uint64_t loop_iterations(const Kernel& k);

/// Floating-point operations that one invocation executes, both arms of every If counted; a lower bound where the trip count
/// of a loop has no known bound, which counts once.
double float_operations(const Kernel& k);

/// What one invocation executes, counted in the same way: operations of any type, quotients and square roots as eight;
/// elements of buffers that it loads; what it writes to buffers or to arrays of the workgroup.
struct Executed {
  double operations = 0, loads = 0, stores = 0;
};
Executed executed(const Kernel& k);

}  // namespace spirograd::kernel
