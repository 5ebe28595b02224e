// The calls that the layer takes, and those of the layer below it.
#pragma once

#include <vulkan/vulkan_core.h>

#include <type_traits>

namespace spirograd::pretend {

struct InstanceCalls {
  PFN_vkGetInstanceProcAddr get = nullptr;
  PFN_vkDestroyInstance destroy_instance = nullptr;
  PFN_vkCreateDevice create_device = nullptr;
  PFN_vkEnumerateDeviceExtensionProperties extensions = nullptr;
  PFN_vkGetPhysicalDeviceProperties properties = nullptr;
  PFN_vkGetPhysicalDeviceProperties2 properties2 = nullptr;
  PFN_vkGetPhysicalDeviceFeatures features = nullptr;
  PFN_vkGetPhysicalDeviceFeatures2 features2 = nullptr;
  PFN_vkGetPhysicalDeviceMemoryProperties memory = nullptr;
  PFN_vkGetPhysicalDeviceMemoryProperties2 memory2 = nullptr;
  PFN_vkGetPhysicalDeviceQueueFamilyProperties queues = nullptr;
  PFN_vkGetPhysicalDeviceQueueFamilyProperties2 queues2 = nullptr;
};

struct DeviceCalls {
  PFN_vkGetDeviceProcAddr get = nullptr;
  PFN_vkDestroyDevice destroy_device = nullptr;
  PFN_vkAllocateMemory allocate_memory = nullptr;
  PFN_vkFreeMemory free_memory = nullptr;
  PFN_vkMapMemory map_memory = nullptr;
  PFN_vkUnmapMemory unmap_memory = nullptr;
  PFN_vkFlushMappedMemoryRanges flush = nullptr;
  PFN_vkInvalidateMappedMemoryRanges invalidate = nullptr;
  PFN_vkCreateBuffer create_buffer = nullptr;
  PFN_vkDestroyBuffer destroy_buffer = nullptr;
  PFN_vkBindBufferMemory bind_buffer_memory = nullptr;
  PFN_vkGetBufferMemoryRequirements requirements = nullptr;
  PFN_vkGetBufferMemoryRequirements2 requirements2 = nullptr;
  PFN_vkGetBufferDeviceAddress address = nullptr;
  PFN_vkCreateShaderModule create_module = nullptr;
  PFN_vkCreateComputePipelines create_pipelines = nullptr;
  PFN_vkCreatePipelineLayout create_layout = nullptr;
  PFN_vkBeginCommandBuffer begin = nullptr;
  PFN_vkCmdBindPipeline bind_pipeline = nullptr;
  PFN_vkCmdPushConstants push_constants = nullptr;
  PFN_vkCmdDispatch dispatch = nullptr;
  PFN_vkCmdDispatchBase dispatch_base = nullptr;
  PFN_vkQueueSubmit submit = nullptr;
  PFN_vkQueueWaitIdle queue_wait = nullptr;
  PFN_vkDeviceWaitIdle device_wait = nullptr;
  PFN_vkWaitForFences wait_fences = nullptr;
  PFN_vkGetFenceStatus fence_status = nullptr;
  PFN_vkWaitSemaphores wait_semaphores = nullptr;
};

// Ours.
template <class Pointer>
using Function = std::remove_pointer_t<Pointer>;

Function<PFN_vkGetInstanceProcAddr> get_instance_call;
Function<PFN_vkGetDeviceProcAddr> get_device_call;
Function<PFN_vkCreateInstance> create_instance;
Function<PFN_vkDestroyInstance> destroy_instance;
Function<PFN_vkCreateDevice> create_device;
Function<PFN_vkDestroyDevice> destroy_device;
// facts.cpp
Function<PFN_vkEnumerateDeviceExtensionProperties> extensions;
Function<PFN_vkGetPhysicalDeviceProperties> properties;
Function<PFN_vkGetPhysicalDeviceProperties2> properties2;
Function<PFN_vkGetPhysicalDeviceFeatures> features;
Function<PFN_vkGetPhysicalDeviceFeatures2> features2;
Function<PFN_vkGetPhysicalDeviceMemoryProperties> memory;
Function<PFN_vkGetPhysicalDeviceMemoryProperties2> memory2;
Function<PFN_vkGetPhysicalDeviceQueueFamilyProperties> queues;
Function<PFN_vkGetPhysicalDeviceQueueFamilyProperties2> queues2;
// memory.cpp
Function<PFN_vkAllocateMemory> allocate_memory;
Function<PFN_vkFreeMemory> free_memory;
Function<PFN_vkMapMemory> map_memory;
Function<PFN_vkUnmapMemory> unmap_memory;
Function<PFN_vkFlushMappedMemoryRanges> flush;
Function<PFN_vkInvalidateMappedMemoryRanges> invalidate;
Function<PFN_vkGetBufferMemoryRequirements> requirements;
Function<PFN_vkGetBufferMemoryRequirements2> requirements2;
Function<PFN_vkGetBufferDeviceAddress> address;
// work.cpp
Function<PFN_vkCreateShaderModule> create_module;
Function<PFN_vkCreateComputePipelines> create_pipelines;
Function<PFN_vkCreatePipelineLayout> create_layout;
Function<PFN_vkBeginCommandBuffer> begin;
Function<PFN_vkCmdBindPipeline> bind_pipeline;
Function<PFN_vkCmdPushConstants> push_constants;
Function<PFN_vkCmdDispatch> dispatch;
Function<PFN_vkCmdDispatchBase> dispatch_base;
Function<PFN_vkQueueSubmit> submit;
Function<PFN_vkQueueWaitIdle> queue_wait;
Function<PFN_vkDeviceWaitIdle> device_wait;
Function<PFN_vkWaitForFences> wait_fences;
Function<PFN_vkGetFenceStatus> fence_status;
Function<PFN_vkWaitSemaphores> wait_semaphores;

}  // namespace spirograd::pretend
