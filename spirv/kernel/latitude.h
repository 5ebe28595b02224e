// What Vulkan lets a device do to f32 arithmetic that the evaluator does exactly: so that tests can ask what survives it.
#pragma once

#include <cstdint>

#include "spirv/kernel/kernel.h"

namespace spirograd::kernel {

/// Nothing of it: each operation rounds once, to the nearest.
struct Latitude {
  uint32_t ulp = 0;              // quotients and square roots are off by up to so many besides their rounding (Vulkan: 2)
  bool flush_denormals = false;  // operands and results that are denormal count as zeros of their sign
  bool toward_zero = false;      // instead of to the nearest
  bool fused = false;            // MulAdd rounds once
};

/// As apply() for pure operations on f32, with the latitude used. Which way a result is off depends on its operands alone: a
/// device gives the same bits each time.
uint64_t apply_with(const Latitude& latitude, KOp op, Scalar operand, Scalar result, uint64_t a, uint64_t b, uint64_t c = 0);

/// The kernel as a device may run it that contracts whatever may be: products of f32 that are not exact are part of the sums
/// and differences that are not exact either.
Kernel contracted(const Kernel& kernel);

}  // namespace spirograd::kernel
