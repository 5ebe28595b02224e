// Kernels that mean something else, subgroups of other sizes, submissions that lose the device.
#include <cstring>

#include "tests/pretend/patch.h"
#include "tests/pretend/state.h"

namespace spirograd::pretend {
namespace {

constexpr uint32_t kPointer = 8;    // bytes
constexpr double kDispatch = 3000;  // of an empty one
constexpr double kWord = 0.004;     // of a workgroup

std::vector<uint32_t> patched(const PretendedDevice& is, std::vector<uint32_t> words) {
  if (is.loses_additions) words = lose_additions(words, is.loses_additions);
  if (is.loses_exchanges) words = lose_exchanges(words, is.loses_exchanges);
  if (is.fast_math) words = assume_no_nan(words);
  if (is.reassociates || is.reassociates_free) words = reassociate(words, is.reassociates_free);
  if (is.loop_iterations) words = cut_loops(words, is.loop_iterations);
  return words;
}

void count(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z) {
  DeviceState& d = state_of(commands);
  const std::lock_guard lock(d.mutex);
  Recorded& r = d.recorded[commands];
  r.work += kDispatch + kWord * static_cast<double>(r.words_bound) * x * y * z;
}

template <class Wait, class... Arguments>
VkResult unless_lost(DeviceState& d, Wait wait, Arguments... arguments) {
  return d.lost ? VK_ERROR_DEVICE_LOST : wait(arguments...);
}

}  // namespace

VkResult create_module(VkDevice device, const VkShaderModuleCreateInfo* info, const VkAllocationCallbacks* allocator,
                       VkShaderModule* module) {
  DeviceState& d = state_of(device);
  const std::vector<uint32_t> words = patched(d.is, {info->pCode, info->pCode + info->codeSize / sizeof(uint32_t)});
  VkShaderModuleCreateInfo below = *info;
  below.codeSize = words.size() * sizeof(uint32_t);
  below.pCode = words.data();
  const VkResult r = d.below.create_module(device, &below, allocator, module);
  if (r != VK_SUCCESS) return r;
  const std::lock_guard lock(d.mutex);
  d.module_words[*module] = words.size();
  return r;
}

VkResult create_pipelines(VkDevice device, VkPipelineCache cache, uint32_t count, const VkComputePipelineCreateInfo* infos,
                          const VkAllocationCallbacks* allocator, VkPipeline* pipelines) {
  DeviceState& d = state_of(device);
  std::vector<VkComputePipelineCreateInfo> below(infos, infos + count);
  for (VkComputePipelineCreateInfo& info : below) {
    if (!d.is.subgroup_size) continue;  // else the driver has none of the size that is asked for
    info.stage.pNext = nullptr;
    info.stage.flags = 0;
  }
  const VkResult r = d.below.create_pipelines(device, cache, count, below.data(), allocator, pipelines);
  const std::lock_guard lock(d.mutex);
  for (uint32_t i = 0; i < count; ++i) d.pipeline_words[pipelines[i]] = d.module_words[infos[i].stage.module];
  return r;
}

VkResult create_layout(VkDevice device, const VkPipelineLayoutCreateInfo* info, const VkAllocationCallbacks* allocator,
                       VkPipelineLayout* layout) {
  DeviceState& d = state_of(device);
  const VkResult r = d.below.create_layout(device, info, allocator, layout);
  if (r != VK_SUCCESS) return r;
  const std::lock_guard lock(d.mutex);
  d.of_addresses[*layout] = info->setLayoutCount == 0;
  return r;
}

VkResult begin(VkCommandBuffer commands, const VkCommandBufferBeginInfo* info) {
  DeviceState& d = state_of(commands);
  {
    const std::lock_guard lock(d.mutex);
    d.recorded[commands] = {};
  }
  return d.below.begin(commands, info);
}

void bind_pipeline(VkCommandBuffer commands, VkPipelineBindPoint point, VkPipeline pipeline) {
  DeviceState& d = state_of(commands);
  {
    const std::lock_guard lock(d.mutex);
    d.recorded[commands].words_bound = d.pipeline_words[pipeline];
  }
  d.below.bind_pipeline(commands, point, pipeline);
}

void push_constants(VkCommandBuffer commands, VkPipelineLayout layout, VkShaderStageFlags stages, uint32_t offset,
                    uint32_t bytes, const void* data) {
  DeviceState& d = state_of(commands);
  std::vector<std::byte> below(static_cast<const std::byte*>(data), static_cast<const std::byte*>(data) + bytes);
  if (d.is.addresses == Addresses::TwoPointers) {
    const std::lock_guard lock(d.mutex);
    for (uint32_t at = 0; d.of_addresses[layout] && at + kPointer <= bytes; at += kPointer)
      if (offset + at >= 2 * kPointer) std::memcpy(&below[at], &d.zeros_at, kPointer);
  }
  d.below.push_constants(commands, layout, stages, offset, bytes, below.data());
}

void dispatch(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z) {
  count(commands, x, y, z);
  state_of(commands).below.dispatch(commands, x, y, z);
}

void dispatch_base(VkCommandBuffer commands, uint32_t base_x, uint32_t base_y, uint32_t base_z, uint32_t x, uint32_t y,
                   uint32_t z) {
  count(commands, x, y, z);
  const DeviceState& d = state_of(commands);
  if (d.is.ignores_base) base_x = base_y = base_z = 0;
  d.below.dispatch_base(commands, base_x, base_y, base_z, x, y, z);
}

// As a watchdog does it: what takes too long is accepted, and whoever waits for it hears that the device is lost. It does
// not run, so nobody waits for it in vain.
VkResult submit(VkQueue queue, uint32_t count, const VkSubmitInfo* infos, VkFence fence) {
  DeviceState& d = state_of(queue);
  if (d.lost) return VK_ERROR_DEVICE_LOST;
  {
    const std::lock_guard lock(d.mutex);
    if (++d.submissions == d.is.lost_at) d.lost = true;
    double work = 0;
    for (uint32_t i = 0; i < count; ++i)
      for (uint32_t j = 0; j < infos[i].commandBufferCount; ++j) work += d.recorded[infos[i].pCommandBuffers[j]].work;
    if (d.lost) return VK_ERROR_DEVICE_LOST;
    if (d.is.killed_above > 0 && work > d.is.killed_above) {
      d.lost = true;
      return VK_SUCCESS;
    }
  }
  return d.below.submit(queue, count, infos, fence);
}

VkResult queue_wait(VkQueue queue) {
  DeviceState& d = state_of(queue);
  return unless_lost(d, d.below.queue_wait, queue);
}

VkResult device_wait(VkDevice device) {
  DeviceState& d = state_of(device);
  return unless_lost(d, d.below.device_wait, device);
}

VkResult wait_fences(VkDevice device, uint32_t count, const VkFence* fences, VkBool32 all, uint64_t timeout) {
  DeviceState& d = state_of(device);
  return unless_lost(d, d.below.wait_fences, device, count, fences, all, timeout);
}

VkResult fence_status(VkDevice device, VkFence fence) {
  DeviceState& d = state_of(device);
  return unless_lost(d, d.below.fence_status, device, fence);
}

VkResult wait_semaphores(VkDevice device, const VkSemaphoreWaitInfo* info, uint64_t timeout) {
  DeviceState& d = state_of(device);
  return unless_lost(d, d.below.wait_semaphores, device, info, timeout);
}

}  // namespace spirograd::pretend
