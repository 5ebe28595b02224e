// Kernel to SPIR-V for Vulkan 1.1. Needs only 32-bit integers and floats (64-bit floats where the kernel uses them); float
// arithmetic is never contracted, or where that is costly (kCostlyExactness) what is exact is not; elementary functions are
// the kernel's own instructions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "spirograd/executable.h"
#include "spirograd/result.h"
#include "spirograd/target.h"
#include "spirv/kernel/kernel.h"

namespace spirograd::spirv {

struct EmitOptions {
  bool native_float_atomics = true;  // where the target has them; otherwise a compare-exchange loop on the bits
  // By binding, where the form is Address: a power of two, of whose multiples in bytes it begins at one wherever the kernel
  // is dispatched, up to kRowBytes. From 8 on neighbours in it may be read and written two at a time, as one number of 64
  // bits.
  std::vector<uint32_t> begins = {};
  // The first so many bindings may have a descriptor beside their address: the target stores whole rows through those.
  uint32_t described = 0;
};

/// Pre: kernel::verify finds nothing. The words do not hold the kernel's name, so that kernels alike are one in the caches
/// of drivers; the runtime names pipelines for debuggers. Records what the module needs; throws SG0303 for what the target
/// lacks of it.
KernelBinary emit(const kernel::Kernel& kernel, const Target& target, BindingForm form, const EmitOptions& options = {});

/// Whether this build has SPIRV-Tools (SPIROGRAD_SPIRV_TOOLS). Without, validate and disassemble end in SG0307.
bool has_spirv_tools();
/// The first complaint of SPIRV-Tools for Vulkan 1.1, if any (SG0903).
std::optional<Error> validate(std::span<const uint32_t> words);
/// SPIR-V assembly with raw ids, without header comments.
std::string disassemble(std::span<const uint32_t> words);

}  // namespace spirograd::spirv
