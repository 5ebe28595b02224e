// Function tables, one per instance and one per device; the seam where tests replace calls. volk.h only lends the type of
// the device table: nothing of volk is linked, and the library defines no symbol whose name starts with vk or volk.
#pragma once

#include <volk.h>

#include <string>

namespace spirograd::vk {

/// Calls that need no instance.
struct GlobalFns {
  PFN_vkGetInstanceProcAddr vkGetInstanceProcAddr = nullptr;
  PFN_vkEnumerateInstanceVersion vkEnumerateInstanceVersion = nullptr;
  PFN_vkEnumerateInstanceExtensionProperties vkEnumerateInstanceExtensionProperties = nullptr;
  PFN_vkEnumerateInstanceLayerProperties vkEnumerateInstanceLayerProperties = nullptr;
  PFN_vkCreateInstance vkCreateInstance = nullptr;
};

struct InstanceFns {
  PFN_vkEnumeratePhysicalDevices vkEnumeratePhysicalDevices = nullptr;
  PFN_vkEnumerateDeviceExtensionProperties vkEnumerateDeviceExtensionProperties = nullptr;
  PFN_vkGetPhysicalDeviceProperties vkGetPhysicalDeviceProperties = nullptr;
  PFN_vkGetPhysicalDeviceProperties2 vkGetPhysicalDeviceProperties2 = nullptr;
  PFN_vkGetPhysicalDeviceFeatures2 vkGetPhysicalDeviceFeatures2 = nullptr;
  PFN_vkGetPhysicalDeviceMemoryProperties vkGetPhysicalDeviceMemoryProperties = nullptr;
  PFN_vkGetPhysicalDeviceQueueFamilyProperties vkGetPhysicalDeviceQueueFamilyProperties = nullptr;
  PFN_vkGetPhysicalDeviceMemoryProperties2 vkGetPhysicalDeviceMemoryProperties2 = nullptr;
  PFN_vkGetPhysicalDeviceExternalBufferProperties vkGetPhysicalDeviceExternalBufferProperties = nullptr;
  PFN_vkCreateDevice vkCreateDevice = nullptr;
  PFN_vkGetDeviceProcAddr vkGetDeviceProcAddr = nullptr;
  PFN_vkCreateDebugUtilsMessengerEXT vkCreateDebugUtilsMessengerEXT = nullptr;  // null without VK_EXT_debug_utils
  PFN_vkSetDebugUtilsObjectNameEXT vkSetDebugUtilsObjectNameEXT = nullptr;
  PFN_vkDestroyDebugUtilsMessengerEXT vkDestroyDebugUtilsMessengerEXT = nullptr;
};

using DeviceFns = VolkDeviceTable;

/// Of a call that has failed, what it should have made is undefined: it is null afterwards, so that nobody destroys it.
template <class Handle>
VkResult or_null(VkResult r, Handle& made) {
  if (r != VK_SUCCESS) made = VK_NULL_HANDLE;
  return r;
}

/// Through the host's function, or the loader's where the host gives none. That is opened once per process and kept. Throws
/// SG0301 when it is missing.
GlobalFns load_global(PFN_vkGetInstanceProcAddr get = nullptr);
/// Throws SG0301 when a needed entry point is missing.
InstanceFns load_instance(PFN_vkGetInstanceProcAddr get, VkInstance instance);
/// Only the calls that this library makes are filled in; those of features that the device lacks stay null.
DeviceFns load_device(PFN_vkGetDeviceProcAddr get, VkDevice device);

}  // namespace spirograd::vk
