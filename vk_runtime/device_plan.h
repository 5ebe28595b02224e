// What a device can do and how it will be used: pure functions over facts, so that they are tested with invented GPUs.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "spirograd/target.h"
#include "vk_runtime/cache_file.h"

namespace spirograd::vk {

struct QueueFamilyFacts {
  VkQueueFlags flags = 0;
  uint32_t count = 0;
  uint32_t timestamp_bits = 0;
};

struct DeviceFacts {
  std::string name, driver;
  VkPhysicalDeviceType type = VK_PHYSICAL_DEVICE_TYPE_OTHER;
  uint32_t api_version = 0;  // what instance and device both speak
  CacheIdentity identity;
  std::vector<QueueFamilyFacts> queues;
  uint64_t memory_bytes = 0;  // largest device-local heap
  VkPhysicalDeviceMemoryProperties memory{};
  VkConformanceVersion conformance{};
  uint64_t max_allocation = 0;
  bool buffer_device_address = false, float64 = false;
  bool float16_storage = false, float16_addresses = false;        // storageBuffer16BitAccess, storagePushConstant16
  bool atomic_float_extension = false, atomic_float_add = false;  // VK_EXT_shader_atomic_float, shaderBufferFloat32AtomicAdd
  bool layered = false;                                           // written on top of another graphics interface
  bool costly_exactness = false;                                  // an operation that may not be contracted is a call
  bool gathered_loads = false;                                    // lanes that load neighbours gather them one by one
  bool truncates_by_lane = false;                                 // f32 become integers one lane after the other
  bool scattered_stores = false;                                  // those that store neighbours scatter them
  bool push_descriptor = false;                                   // VK_KHR_push_descriptor
  bool own_threads = false;                                       // lavapipe: LP_NUM_THREADS of them compute
  bool timeline_semaphore = false;                                // 1.2 or VK_KHR_timeline_semaphore
  bool external_memory_fd = false;                                // VK_KHR_external_memory_fd
  bool memory_budget = false;                                     // VK_EXT_memory_budget
  bool portability_subset = false;                                // the extension must be enabled where it is offered
  bool signed_zero_inf_nan = false, round_to_even = false;        // of 32-bit floats
  bool signed_zero_inf_nan64 = false, round_to_even64 = false;    // of 64-bit floats
  VkShaderFloatControlsIndependence rounding_independence = VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
  uint32_t subgroup_size = 1;
  VkShaderStageFlags subgroup_stages = 0;
  VkSubgroupFeatureFlags subgroup_operations = 0;
  // VK_EXT_subgroup_size_control: subgroupSizeControl and computeFullSubgroups, and what compute stages may ask for.
  bool subgroup_size_control = false;
  uint32_t least_subgroup = 1, greatest_subgroup = 1;
  uint32_t resident = 0;       // invocations that all cores hold at a time, where an extension tells; else 0
  float timestamp_period = 0;  // nanoseconds per tick
  VkPhysicalDeviceLimits limits{};
};

/// How to create the device. Usable when `unusable` is empty.
struct DevicePlan {
  std::string unusable;
  uint32_t queue_family = 0;
  uint32_t timestamp_bits = 0;
  std::vector<const char*> extensions;
  bool enable_device_address = false, enable_float64 = false, enable_atomic_float_add = false;
  bool enable_external_memory_fd = false, enable_push_descriptor = false;
  bool enable_float16_storage = false, enable_float16_addresses = false;
  bool enable_subgroup_size = false;    // kernels that combine lanes ask for the target's subgroup size, and full subgroups
  bool enable_timeline = false;         // points of submissions are told by a semaphore; else by fences
  bool full_barriers = false;           // every command waits for all before it: set by the self-test
  uint64_t descriptor_alignment = 256;  // of storage buffer offsets and of sub-allocations
  Target target;                        // atomic_float_add stays false until the self-test has proved it
};

/// Whether host and device share their memory, so that arrays may lie where both reach them.
bool shares_memory(const DeviceFacts& facts);

/// cores: processors of the host, for software drivers.
DevicePlan plan_device(const DeviceFacts& facts, uint32_t cores);

/// Whether the driver only passes on to one of another interface, beside which a native one may stand.
bool is_layered(VkDriverId driver);

/// Whether the driver makes calls of operations that may not be contracted (kCostlyExactness).
bool has_costly_exactness(VkDriverId driver);

/// Whether the driver gathers what lanes load beside each other (kGatheredLoads).
bool gathers_loads(VkDriverId driver);

/// Whether the driver converts f32 to integers one lane after the other (kTruncatesByLane): its own version is always 1, and
/// Vulkan 1.4 is what releases have that do so.
bool truncates_by_lane(VkDriverId driver, uint32_t api_version);

/// Whether the driver scatters what lanes store beside each other (kScatteredStores).
bool scatters_stores(VkDriverId driver);

/// Positions in `facts`, best first: usable ones before others, then discrete, integrated, virtual, other, layered, cpu;
/// more memory before less; equals keep their order. Where several drivers offer one GPU (by its UUID) only the best is
/// there.
std::vector<size_t> rank_devices(std::span<const DeviceFacts> facts);

struct Candidate {
  std::string name, unusable;
};
/// The position in `ranked` that DeviceOptions::select means. Throws SG0304 naming all devices when none does, SG0303 when
/// it lacks something, SG0302 when there is no device at all.
size_t select_device(std::span<const Candidate> ranked, const std::string& select);

}  // namespace spirograd::vk
