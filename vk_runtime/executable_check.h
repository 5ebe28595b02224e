// What is checked of an executable before anything is made for it.
#pragma once

#include "spirograd/executable.h"
#include "vk_runtime/device.h"

namespace spirograd::vk {

/// Executables may come from files; the runtime indexes nothing out of range because of one that passes. Throws SG0900.
void check_executable(const Executable& executable);
/// Throws SG0303 for the first thing that the device lacks, with the wish, the limit and the device; notes name the others.
void check_features(const Executable& executable, const Device::Impl& device);

}  // namespace spirograd::vk
