// What feature bits cannot tell: whether atomics on this device are right.
#pragma once

#include <memory>

#include "spirograd/vk.h"

namespace spirograd::vk {

/// Adds ones many times to 1, 64 and 4096 addresses, by the native f32 atomic (where enabled) and by compare-exchange, and
/// sets info().target.atomic_float_add and info().verdicts. About a millisecond, or nothing when the cache folder knows the
/// verdict. Throws what Session throws.
void prove(const std::shared_ptr<Device>& device);

}  // namespace spirograd::vk
