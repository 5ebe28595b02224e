// What the pretended device says of itself.
#include <algorithm>
#include <cstring>
#include <functional>
#include <string>

#include "tests/pretend/state.h"

namespace spirograd::pretend {
namespace {

template <class T>
void replace(T& fact, T by) {
  if (by != 0) fact = by;
}

// Caches of one device are of no use to another.
void mark(uint8_t (&uuid)[VK_UUID_SIZE], const PretendedDevice& is) {
  const uint64_t hash = std::hash<std::string_view>()(is.name);
  std::memcpy(uuid, &hash, sizeof hash);
}

void pretend(const PretendedDevice& is, VkPhysicalDeviceProperties& p) {
  p.deviceType = is.type;
  replace(p.apiVersion, is.api_version);
  std::snprintf(p.deviceName, sizeof p.deviceName, "pretended %s", std::string(is.name).c_str());
  VkPhysicalDeviceLimits& l = p.limits;
  replace(l.maxPerStageDescriptorStorageBuffers, is.storage_buffers);
  replace(l.maxDescriptorSetStorageBuffers, is.storage_buffers);
  replace(l.maxComputeWorkGroupInvocations, is.invocations);
  for (uint32_t& axis : l.maxComputeWorkGroupSize) replace(axis, is.invocations);
  replace(l.maxComputeSharedMemorySize, is.shared_bytes);
  replace(l.minStorageBufferOffsetAlignment, VkDeviceSize{is.offset_alignment});
  replace(l.maxStorageBufferRange, is.storage_range);
  for (size_t axis = 0; axis < is.groups.size(); ++axis) replace(l.maxComputeWorkGroupCount[axis], is.groups[axis]);
  if (!is.timestamps) l.timestampPeriod = 0, l.timestampComputeAndGraphics = VK_FALSE;
}

void pretend(const PretendedDevice& is, VkPhysicalDeviceMemoryProperties& m) {
  if (is.heaps.empty()) return;
  m = {};
  for (const Heap& h : is.heaps) m.memoryHeaps[m.memoryHeapCount++] = {h.bytes, h.flags};
  for (const MemoryType& t : is.memory) m.memoryTypes[m.memoryTypeCount++] = {t.flags, t.heap};
}

void pretend(const PretendedDevice& is, VkPhysicalDeviceFeatures& f) { f.shaderFloat64 = f.shaderFloat64 && is.doubles; }

void pretend(const PretendedDevice& is, VkQueueFamilyProperties& q) {
  if (!is.timestamps) q.timestampValidBits = 0;
}

// The chain behind properties or features.
void pretend_chain(const PretendedDevice& is, void* chain) {
  for (auto* s = static_cast<VkBaseOutStructure*>(chain); s; s = s->pNext) {
    switch (static_cast<uint32_t>(s->sType)) {
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES: {
        auto& p = *reinterpret_cast<VkPhysicalDeviceVulkan11Properties*>(s);
        mark(p.deviceUUID, is);
        replace(p.subgroupSize, is.subgroup_size);
        break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES:
        mark(reinterpret_cast<VkPhysicalDeviceIDProperties*>(s)->deviceUUID, is);
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES:
        replace(reinterpret_cast<VkPhysicalDeviceDriverProperties*>(s)->driverID, is.driver);
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES:
        replace(reinterpret_cast<VkPhysicalDeviceSubgroupProperties*>(s)->subgroupSize, is.subgroup_size);
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES: {
        auto& p = *reinterpret_cast<VkPhysicalDeviceSubgroupSizeControlProperties*>(s);
        replace(p.minSubgroupSize, is.subgroup_size);
        replace(p.maxSubgroupSize, is.subgroup_size);
        break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES: {
        auto& p = *reinterpret_cast<VkPhysicalDeviceVulkan13Properties*>(s);
        replace(p.minSubgroupSize, is.subgroup_size);
        replace(p.maxSubgroupSize, is.subgroup_size);
        break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES: {
        auto& p = *reinterpret_cast<VkPhysicalDeviceVulkan12Properties*>(s);
        replace(p.driverID, is.driver);
        if (is.float_controls) break;
        p.shaderSignedZeroInfNanPreserveFloat32 = p.shaderRoundingModeRTEFloat32 = VK_FALSE;
        p.shaderSignedZeroInfNanPreserveFloat64 = p.shaderRoundingModeRTEFloat64 = VK_FALSE;
        break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES: {
        auto& p = *reinterpret_cast<VkPhysicalDeviceFloatControlsProperties*>(s);
        if (is.float_controls) break;
        p.shaderSignedZeroInfNanPreserveFloat32 = p.shaderRoundingModeRTEFloat32 = VK_FALSE;
        p.shaderSignedZeroInfNanPreserveFloat64 = p.shaderRoundingModeRTEFloat64 = VK_FALSE;
        break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES: {
        auto& f = *reinterpret_cast<VkPhysicalDeviceVulkan12Features*>(s);
        if (!is.timelines) f.timelineSemaphore = VK_FALSE;
        if (is.addresses == Addresses::Missing) f.bufferDeviceAddress = VK_FALSE;
        break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES: {
        auto& f = *reinterpret_cast<VkPhysicalDevice16BitStorageFeatures*>(s);
        if (!is.halves) f.storageBuffer16BitAccess = f.storagePushConstant16 = VK_FALSE;
        break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES:
        if (!is.timelines) reinterpret_cast<VkPhysicalDeviceTimelineSemaphoreFeatures*>(s)->timelineSemaphore = VK_FALSE;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES:
        if (is.addresses == Addresses::Missing)
          reinterpret_cast<VkPhysicalDeviceBufferDeviceAddressFeatures*>(s)->bufferDeviceAddress = VK_FALSE;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT:
        if (!is.float_atomics)
          reinterpret_cast<VkPhysicalDeviceShaderAtomicFloatFeaturesEXT*>(s)->shaderBufferFloat32AtomicAdd = VK_FALSE;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES: {
        auto& f = *reinterpret_cast<VkPhysicalDeviceSubgroupSizeControlFeatures*>(s);
        if (!is.subgroup_control) f.subgroupSizeControl = f.computeFullSubgroups = VK_FALSE;
        break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES: {
        auto& f = *reinterpret_cast<VkPhysicalDeviceVulkan13Features*>(s);
        if (!is.subgroup_control) f.subgroupSizeControl = f.computeFullSubgroups = VK_FALSE;
        break;
      }
      default: break;
    }
  }
}

bool offers(const PretendedDevice& is, std::string_view extension) {
  if (extension == VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME) return is.float_atomics;
  if (extension == VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME) return is.subgroup_control;
  if (extension == VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME) return is.timelines;
  if (extension == VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME) return is.addresses != Addresses::Missing;
  return true;
}

}  // namespace

VkResult extensions(VkPhysicalDevice physical, const char* layer, uint32_t* count, VkExtensionProperties* list) {
  const auto below = state_of(physical).below.extensions;
  const PretendedDevice* is = named_device();
  if (layer || !is) return below(physical, layer, count, list);
  uint32_t n = 0;
  if (const VkResult r = below(physical, nullptr, &n, nullptr)) return r;
  std::vector<VkExtensionProperties> all(n);
  if (const VkResult r = below(physical, nullptr, &n, all.data()); r < 0) return r;
  std::erase_if(all, [&](const VkExtensionProperties& e) { return !offers(*is, e.extensionName); });
  if (is->portability_subset) all.push_back({"VK_KHR_portability_subset", 1});
  const auto offered = static_cast<uint32_t>(all.size());
  *count = list ? std::min(*count, offered) : offered;
  if (list) std::copy_n(all.begin(), *count, list);
  return *count < offered ? VK_INCOMPLETE : VK_SUCCESS;
}

void properties(VkPhysicalDevice physical, VkPhysicalDeviceProperties* p) {
  state_of(physical).below.properties(physical, p);
  if (const PretendedDevice* is = named_device()) pretend(*is, *p);
}

void properties2(VkPhysicalDevice physical, VkPhysicalDeviceProperties2* p) {
  state_of(physical).below.properties2(physical, p);
  const PretendedDevice* is = named_device();
  if (!is) return;
  pretend(*is, p->properties);
  pretend_chain(*is, p->pNext);
}

void features(VkPhysicalDevice physical, VkPhysicalDeviceFeatures* f) {
  state_of(physical).below.features(physical, f);
  if (const PretendedDevice* is = named_device()) pretend(*is, *f);
}

void features2(VkPhysicalDevice physical, VkPhysicalDeviceFeatures2* f) {
  state_of(physical).below.features2(physical, f);
  const PretendedDevice* is = named_device();
  if (!is) return;
  pretend(*is, f->features);
  pretend_chain(*is, f->pNext);
}

void memory(VkPhysicalDevice physical, VkPhysicalDeviceMemoryProperties* m) {
  state_of(physical).below.memory(physical, m);
  if (const PretendedDevice* is = named_device()) pretend(*is, *m);
}

void memory2(VkPhysicalDevice physical, VkPhysicalDeviceMemoryProperties2* m) {
  state_of(physical).below.memory2(physical, m);
  if (const PretendedDevice* is = named_device()) pretend(*is, m->memoryProperties);
}

void queues(VkPhysicalDevice physical, uint32_t* count, VkQueueFamilyProperties* list) {
  state_of(physical).below.queues(physical, count, list);
  const PretendedDevice* is = named_device();
  for (uint32_t i = 0; is && list && i < *count; ++i) pretend(*is, list[i]);
}

void queues2(VkPhysicalDevice physical, uint32_t* count, VkQueueFamilyProperties2* list) {
  state_of(physical).below.queues2(physical, count, list);
  const PretendedDevice* is = named_device();
  for (uint32_t i = 0; is && list && i < *count; ++i) pretend(*is, list[i].queueFamilyProperties);
}

}  // namespace spirograd::pretend
