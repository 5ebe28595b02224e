// What a device is made of, in words: pure, over the facts that the driver tells.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "vk_runtime/device_plan.h"

namespace spirograd::vk {

/// Pairs of what and how: conformance, heaps, which memory is used for what, queues, float modes, what drivers of its kind
/// are known to be slow at.
std::vector<std::pair<std::string, std::string>> hardware_of(const DeviceFacts& facts, const DevicePlan& plan);

}  // namespace spirograd::vk
