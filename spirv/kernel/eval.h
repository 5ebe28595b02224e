// Runs a kernel on host buffers, one instruction at a time over batches of invocations, in whole workgroups: surplus
// invocations run, too. What a device leaves undefined is reported here as a defect: an element outside of its buffer, a
// zero divisor, a float that does not fit the integer it becomes, an element of a shared or local array that nobody has
// written, a race: two invocations that use one word of shared memory between the same barriers, one of them to write.
#pragma once

#include <cstdint>
#include <span>

#include "spirograd/result.h"
#include "spirv/kernel/kernel.h"
#include "spirv/kernel/latitude.h"

namespace spirograd::kernel {

/// Bytes of each binding, in order, as they lie in device memory (bool: 32-bit words). Returns the number of instructions
/// executed, constants left out, counted once per invocation. Throws SG0902 with the kernel, the instruction and the index
/// for what is out of bounds. `latitude`: what f32 arithmetic does not do exactly.
uint64_t evaluate(const Kernel& kernel, std::span<const std::span<uint8_t>> buffers, const Latitude* latitude = nullptr);

}  // namespace spirograd::kernel
