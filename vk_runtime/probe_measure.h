// Probes 26 to 28: how fast a device is at what limits are later calibrated by.
#pragma once

#include <memory>
#include <span>

#include "spirograd/vk.h"
#include "vk_runtime/probe_findings.h"

namespace spirograd::vk {

/// Lengthens a loop until it takes 200 ms, compiles a large kernel, copies 64 MiB; about a second.
void measure(const std::shared_ptr<Device>& device, std::span<const Probe> probes, Findings& findings);

}  // namespace spirograd::vk
