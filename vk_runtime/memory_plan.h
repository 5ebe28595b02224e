// Which memory types serve which use, best first: pure, so that it is tested with the tables of invented devices.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <vector>

namespace spirograd::vk {

/// Arrays: inputs, outputs and constants, which the host may reach where it shares its memory with the device. Scratch: for
/// kernels alone. Staging: for the host, always mapped, and read more than written.
enum class MemoryKind : uint8_t { Arrays, Scratch, Staging };

/// The allowed types in the order in which they are tried: one that is full, or that the driver refuses, is followed by the
/// next. `direct`: arrays lie where the host reads and writes them through its caches, if there is such memory; uncached
/// reads are slower than a copy. Memory need not be coherent.
std::vector<uint32_t> plan_memory_types(const VkPhysicalDeviceMemoryProperties& properties, uint32_t allowed,
                                        MemoryKind kind, bool direct);

/// Whether the host reads and writes arrays in place in memory of this type.
bool maps_arrays(VkMemoryPropertyFlags type, bool direct);

}  // namespace spirograd::vk
