// What feature bits cannot tell: whether what a device offers is right.
#pragma once

#include <memory>

#include "spirograd/vk.h"

namespace spirograd::vk {

/// Adds ones many times to 1, 64 and 4096 addresses, by the native f32 atomic (where enabled) and by compare-exchange; runs
/// long loops; exchanges values between lanes (where kernels can ask for a subgroup size). Sets info().verdicts and, of
/// info().target, atomic_float_add, max_loop_iterations and subgroup_operations. About a millisecond, or nothing when the
/// cache folder knows the verdict. Throws what Session throws.
void prove(const std::shared_ptr<Device>& device);

}  // namespace spirograd::vk
