// What the layer knows of each instance and each device.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "tests/pretend/calls.h"
#include "tests/pretend/devices.h"

namespace spirograd::pretend {

struct InstanceState {
  VkInstance handle = VK_NULL_HANDLE;
  InstanceCalls below;
};

struct alignas(64) MapUnit {  // minMemoryMapAlignment
  std::byte bytes[64];
};

struct Allocated {
  uint64_t bytes = 0;
  uint32_t heap = 0;
  bool coherent = true;
  std::byte* device = nullptr;        // where it is mapped
  std::unique_ptr<MapUnit[]> shadow;  // what the host sees of incoherent memory
  std::byte* host() const { return reinterpret_cast<std::byte*>(shadow.get()); }
};

/// What a command buffer costs, to the watchdog: nanoseconds of a middling GPU, of the words of modules times workgroups and
/// of each dispatch.
struct Recorded {
  uint64_t words_bound = 0;
  double work = 0;
};

struct DeviceState {
  explicit DeviceState(const PretendedDevice& device) : is(device) {}

  const PretendedDevice& is;
  VkDevice handle = VK_NULL_HANDLE;
  DeviceCalls below;
  // For TwoPointers: where the third one points to.
  VkBuffer zeros = VK_NULL_HANDLE;
  VkDeviceMemory zeros_memory = VK_NULL_HANDLE;
  VkDeviceAddress zeros_at = 0;

  std::atomic<bool> lost = false;
  std::mutex mutex;  // of what follows
  uint32_t submissions = 0;
  bool refused = false;
  std::vector<uint64_t> used;  // by heap
  std::unordered_map<VkDeviceMemory, Allocated> memory;
  std::unordered_map<VkShaderModule, uint64_t> module_words;
  std::unordered_map<VkPipeline, uint64_t> pipeline_words;
  std::unordered_map<VkPipelineLayout, bool> of_addresses;  // pointers lie in the push constants
  std::unordered_map<VkCommandBuffer, Recorded> recorded;
};

/// By instance or physical device; by device, queue or command buffer.
InstanceState& state_of(VkInstance);
InstanceState& state_of(VkPhysicalDevice);
DeviceState& state_of(VkDevice);
DeviceState& state_of(VkQueue);
DeviceState& state_of(VkCommandBuffer);

/// The device that the environment names, asked anew each time; null if it names none.
const PretendedDevice* named_device();

}  // namespace spirograd::pretend
