// Runs a plan on the host, kernel by kernel: the second oracle. It tells mistakes of lowering from mistakes of drivers, and
// reports every access outside of an array.
#pragma once

#include <span>

#include "spirograd/host_array.h"
#include "spirv/lower/plan.h"

namespace spirograd::lower {

/// Results of the plan for `inputs`, which agree with its input buffers in number and type (else SG0501). Scratch memory
/// starts out as garbage and is laid out exactly as on a device. `instructions`: to how many those of all invocations are
/// added.
std::vector<HostArray> evaluate(const Plan& plan, std::span<const HostArray> inputs, uint64_t* instructions = nullptr);

}  // namespace spirograd::lower
