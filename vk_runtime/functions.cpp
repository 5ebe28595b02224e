#include "vk_runtime/functions.h"

#include <atomic>

#include "spirograd/result.h"
#include "vk_runtime/system.h"

namespace spirograd::vk {
namespace {

template <class F, class Get, class Owner>
void load(F& function, Get get, Owner owner, const char* name, bool needed = true) {
  function = reinterpret_cast<F>(get(owner, name));
  if (!function && needed) {
    throw Error("SG0301", std::string("the Vulkan implementation lacks the entry point ") + name)
        .note("Vulkan 1.1 is the least version that works");
  }
}

PFN_vkGetInstanceProcAddr open_loader() {
  const char* found = nullptr;
  for (const char* name : loader_names(this_system())) {
    void* library = open_library(name);
    if (!library) continue;
    found = name;
    if (void* get = symbol_of(library, "vkGetInstanceProcAddr")) return reinterpret_cast<PFN_vkGetInstanceProcAddr>(get);
  }
  if (found) throw Error("SG0301", std::string("the Vulkan loader ") + found + " does not export vkGetInstanceProcAddr");
  std::string names;
  for (const char* name : loader_names(this_system())) names += (names.empty() ? "" : ", ") + std::string(name);
  throw Error("SG0301", "no Vulkan loader found (" + names + ")").hint(install_hint(Part::Loader));
}

}  // namespace

GlobalFns load_global(PFN_vkGetInstanceProcAddr get) {
  static std::atomic<PFN_vkGetInstanceProcAddr> opened = nullptr;  // a failed attempt is made again at the next call
  if (!get) get = opened;
  if (!get) opened = get = open_loader();
  GlobalFns f;
  f.vkGetInstanceProcAddr = get;
  const VkInstance none = VK_NULL_HANDLE;
  load(f.vkEnumerateInstanceVersion, get, none, "vkEnumerateInstanceVersion");
  load(f.vkEnumerateInstanceExtensionProperties, get, none, "vkEnumerateInstanceExtensionProperties");
  load(f.vkEnumerateInstanceLayerProperties, get, none, "vkEnumerateInstanceLayerProperties");
  load(f.vkCreateInstance, get, none, "vkCreateInstance");
  return f;
}

InstanceFns load_instance(PFN_vkGetInstanceProcAddr get, VkInstance instance) {
  InstanceFns f;
  // clang-format off
  load(f.vkEnumeratePhysicalDevices,               get, instance, "vkEnumeratePhysicalDevices");
  load(f.vkEnumerateDeviceExtensionProperties,     get, instance, "vkEnumerateDeviceExtensionProperties");
  load(f.vkGetPhysicalDeviceProperties,            get, instance, "vkGetPhysicalDeviceProperties");
  load(f.vkGetPhysicalDeviceProperties2,           get, instance, "vkGetPhysicalDeviceProperties2");
  load(f.vkGetPhysicalDeviceFeatures2,             get, instance, "vkGetPhysicalDeviceFeatures2");
  load(f.vkGetPhysicalDeviceMemoryProperties,      get, instance, "vkGetPhysicalDeviceMemoryProperties");
  load(f.vkGetPhysicalDeviceQueueFamilyProperties, get, instance, "vkGetPhysicalDeviceQueueFamilyProperties");
  load(f.vkGetPhysicalDeviceMemoryProperties2,     get, instance, "vkGetPhysicalDeviceMemoryProperties2");
  load(f.vkGetPhysicalDeviceExternalBufferProperties, get, instance, "vkGetPhysicalDeviceExternalBufferProperties");
  load(f.vkCreateDevice,                           get, instance, "vkCreateDevice");
  load(f.vkGetDeviceProcAddr,                      get, instance, "vkGetDeviceProcAddr");
  load(f.vkCreateDebugUtilsMessengerEXT,           get, instance, "vkCreateDebugUtilsMessengerEXT", false);
  load(f.vkSetDebugUtilsObjectNameEXT,             get, instance, "vkSetDebugUtilsObjectNameEXT", false);
  load(f.vkDestroyDebugUtilsMessengerEXT,          get, instance, "vkDestroyDebugUtilsMessengerEXT", false);
  // clang-format on
  return f;
}

DeviceFns load_device(PFN_vkGetDeviceProcAddr get, VkDevice device) {
  DeviceFns f{};
  // clang-format off
  load(f.vkDestroyDevice,                get, device, "vkDestroyDevice");
  load(f.vkDeviceWaitIdle,               get, device, "vkDeviceWaitIdle");
  load(f.vkGetDeviceQueue,               get, device, "vkGetDeviceQueue");
  load(f.vkQueueSubmit,                  get, device, "vkQueueSubmit");
  load(f.vkAllocateMemory,               get, device, "vkAllocateMemory");
  load(f.vkFreeMemory,                   get, device, "vkFreeMemory");
  load(f.vkMapMemory,                    get, device, "vkMapMemory");
  load(f.vkFlushMappedMemoryRanges,      get, device, "vkFlushMappedMemoryRanges");
  load(f.vkInvalidateMappedMemoryRanges, get, device, "vkInvalidateMappedMemoryRanges");
  load(f.vkCreateBuffer,                 get, device, "vkCreateBuffer");
  load(f.vkDestroyBuffer,                get, device, "vkDestroyBuffer");
  load(f.vkGetBufferMemoryRequirements,  get, device, "vkGetBufferMemoryRequirements");
  load(f.vkBindBufferMemory,             get, device, "vkBindBufferMemory");
  load(f.vkGetBufferDeviceAddress,       get, device, "vkGetBufferDeviceAddress", false);
  if (!f.vkGetBufferDeviceAddress) load(f.vkGetBufferDeviceAddress, get, device, "vkGetBufferDeviceAddressKHR", false);
  load(f.vkGetMemoryFdKHR,               get, device, "vkGetMemoryFdKHR", false);
  load(f.vkCreateFence,                  get, device, "vkCreateFence");
  load(f.vkDestroyFence,                 get, device, "vkDestroyFence");
  load(f.vkGetFenceStatus,               get, device, "vkGetFenceStatus");
  load(f.vkResetFences,                  get, device, "vkResetFences");
  load(f.vkWaitForFences,                get, device, "vkWaitForFences");
  load(f.vkCreateSemaphore,              get, device, "vkCreateSemaphore");
  load(f.vkDestroySemaphore,             get, device, "vkDestroySemaphore");
  load(f.vkWaitSemaphores,               get, device, "vkWaitSemaphores", false);
  if (!f.vkWaitSemaphores) load(f.vkWaitSemaphores, get, device, "vkWaitSemaphoresKHR", false);
  load(f.vkGetSemaphoreCounterValue,     get, device, "vkGetSemaphoreCounterValue", false);
  if (!f.vkGetSemaphoreCounterValue) load(f.vkGetSemaphoreCounterValue, get, device, "vkGetSemaphoreCounterValueKHR", false);
  load(f.vkQueueWaitIdle,                get, device, "vkQueueWaitIdle");
  load(f.vkCreateShaderModule,           get, device, "vkCreateShaderModule");
  load(f.vkDestroyShaderModule,          get, device, "vkDestroyShaderModule");
  load(f.vkCreatePipelineCache,          get, device, "vkCreatePipelineCache");
  load(f.vkDestroyPipelineCache,         get, device, "vkDestroyPipelineCache");
  load(f.vkGetPipelineCacheData,         get, device, "vkGetPipelineCacheData");
  load(f.vkCreatePipelineLayout,         get, device, "vkCreatePipelineLayout");
  load(f.vkDestroyPipelineLayout,        get, device, "vkDestroyPipelineLayout");
  load(f.vkCreateComputePipelines,       get, device, "vkCreateComputePipelines");
  load(f.vkDestroyPipeline,              get, device, "vkDestroyPipeline");
  load(f.vkCreateDescriptorSetLayout,    get, device, "vkCreateDescriptorSetLayout");
  load(f.vkDestroyDescriptorSetLayout,   get, device, "vkDestroyDescriptorSetLayout");
  load(f.vkCreateDescriptorPool,         get, device, "vkCreateDescriptorPool");
  load(f.vkDestroyDescriptorPool,        get, device, "vkDestroyDescriptorPool");
  load(f.vkAllocateDescriptorSets,       get, device, "vkAllocateDescriptorSets");
  load(f.vkUpdateDescriptorSets,         get, device, "vkUpdateDescriptorSets");
  load(f.vkCreateCommandPool,            get, device, "vkCreateCommandPool");
  load(f.vkDestroyCommandPool,           get, device, "vkDestroyCommandPool");
  load(f.vkAllocateCommandBuffers,       get, device, "vkAllocateCommandBuffers");
  load(f.vkFreeCommandBuffers,           get, device, "vkFreeCommandBuffers");
  load(f.vkBeginCommandBuffer,           get, device, "vkBeginCommandBuffer");
  load(f.vkEndCommandBuffer,             get, device, "vkEndCommandBuffer");
  load(f.vkCreateQueryPool,              get, device, "vkCreateQueryPool");
  load(f.vkDestroyQueryPool,             get, device, "vkDestroyQueryPool");
  load(f.vkGetQueryPoolResults,          get, device, "vkGetQueryPoolResults");
  load(f.vkCmdBindPipeline,              get, device, "vkCmdBindPipeline");
  load(f.vkCmdBindDescriptorSets,        get, device, "vkCmdBindDescriptorSets");
  load(f.vkCmdPushConstants,             get, device, "vkCmdPushConstants");
  load(f.vkCmdDispatch,                  get, device, "vkCmdDispatch");
  load(f.vkCmdDispatchBase,              get, device, "vkCmdDispatchBase");
  load(f.vkCmdPushDescriptorSetKHR,      get, device, "vkCmdPushDescriptorSetKHR", false);
  load(f.vkCmdFillBuffer,                get, device, "vkCmdFillBuffer");
  load(f.vkCmdCopyBuffer,                get, device, "vkCmdCopyBuffer");
  load(f.vkCmdCopyImageToBuffer,         get, device, "vkCmdCopyImageToBuffer");
  load(f.vkCmdCopyBufferToImage,         get, device, "vkCmdCopyBufferToImage");
  load(f.vkCmdPipelineBarrier,           get, device, "vkCmdPipelineBarrier");
  load(f.vkCmdResetQueryPool,            get, device, "vkCmdResetQueryPool");
  load(f.vkCmdWriteTimestamp,            get, device, "vkCmdWriteTimestamp");
  // clang-format on
  return f;
}

}  // namespace spirograd::vk
