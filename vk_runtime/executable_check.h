// What is checked of an executable before anything is made for it.
#pragma once

#include "spirograd/executable.h"
#include "vk_runtime/device.h"

namespace spirograd::vk {

/// Executables may come from files; the runtime indexes nothing out of range because of one that passes. Throws SG0900.
void check_executable(const Executable& executable);
/// Throws SG0303 naming the feature and the device.
void check_features(const Executable& executable, const Device::Impl& device);

}  // namespace spirograd::vk
