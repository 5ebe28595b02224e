// What an f32 loses on its way to f16 and back.
#pragma once

#include "spirv/kernel/builder.h"

namespace spirograd::kernel {

/// The half (IEEE 754 binary16) that is nearest to `x`, ties to even, as an f32. By integers where conversions of devices
/// may round in any way, so that a store of it is exact.
Value rounded_to_half(Builder& b, Value x);

}  // namespace spirograd::kernel
