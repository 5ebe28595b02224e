// Probes 11 and 29: what a host does with record().
#pragma once

#include <memory>
#include <vector>

#include "spirograd/vk.h"
#include "vk_runtime/probe_findings.h"

namespace spirograd::vk {

/// Records a program whose dispatches depend on each other into commands of its own, with its output at an odd place, and
/// submits them twice without a wait, each time read back before the next one writes there again. Throws SG0312 if that does
/// not end in time; then the device is abandoned.
std::vector<Finding> try_recording(const std::shared_ptr<Device>& device, const Probe& program, BindingForm form,
                                   uint64_t timeout_ns);

}  // namespace spirograd::vk
