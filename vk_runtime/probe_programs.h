// Probes as executables for a device: without what its driver cannot declare, and several in one.
#pragma once

#include <span>
#include <vector>

#include "spirv/executable/probe.h"

namespace spirograd::vk {

/// Probes declare every float control; what the target does not have is left out of the modules.
Executable program_for(const Probe& probe, BindingForm form, const Target& target);

/// All of them one after another, in one program with the outputs of all: few submissions, and pipelines side by side.
/// Pre: no inputs, the same form.
Executable joined(std::span<const Executable> programs);

}  // namespace spirograd::vk
