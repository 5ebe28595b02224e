// The probes of the self-test as words. The source is written when Spirograd is built: spirv/probes.
#pragma once

#include <cstdint>
#include <span>

namespace spirograd::vk {

std::span<const uint32_t> probe_words();
/// Another one for other probes.
extern const uint64_t kProbeHash;

}  // namespace spirograd::vk
