// The process's own Vulkan instance (created when first needed, kept until the end: drivers suffer from instances that come
// and go), and what can be asked of a physical device.
#pragma once

#include "spirograd/vk.h"
#include "vk_runtime/device_plan.h"
#include "vk_runtime/functions.h"

namespace spirograd::vk {

struct Instance {
  PFN_vkGetInstanceProcAddr get = nullptr;
  VkInstance handle = VK_NULL_HANDLE;
  uint32_t api_version = 0;
  InstanceFns fns;
};

struct InstanceKind {
  bool validation = false;
  PFN_vkGetInstanceProcAddr get = nullptr;  // the host's
  bool threads = true;                      // false: lavapipe has none, and computes on those that submit
};
/// One of each kind for all devices. Throws SG0301 (no loader), SG0302 (no driver), SG0303 (layer missing; or threads that
/// somebody has asked for).
const Instance& process_instance(const InstanceKind& kind);

/// All physical devices of an instance. Throws SG0302 when there is none.
std::vector<VkPhysicalDevice> physical_devices(const Instance&);

DeviceFacts read_facts(const InstanceFns&, VkPhysicalDevice, uint32_t instance_version);

/// The public description; the target as planned, before any self-test.
DeviceInfo describe(const DeviceFacts&, const DevicePlan&);

/// Processors of the host, at least 1.
uint32_t host_cores();

}  // namespace spirograd::vk
