// The features of a DevicePlan as the structs that vkCreateDevice takes, alone or in the chain of somebody else.
#pragma once

#include "vk_runtime/device_plan.h"

namespace spirograd::vk {

class FeatureChain {
 public:
  explicit FeatureChain(const DevicePlan& plan);
  FeatureChain(const FeatureChain&) = delete;
  FeatureChain& operator=(const FeatureChain&) = delete;
  /// For VkDeviceCreateInfo::pNext, as long as this object is there. Vulkan wants each feature in one struct only: where
  /// `others` have one that can say it, it is set there; else a struct of ours goes in front of them.
  const void* head(void* others = nullptr);

 private:
  bool float64_, float16_storage_, float16_addresses_, device_address_, timeline_, atomic_float_add_, subgroup_size_;
  VkPhysicalDeviceFeatures2 features_{};
  VkPhysicalDevice16BitStorageFeatures storage_{};
  VkPhysicalDeviceBufferDeviceAddressFeatures address_{};
  VkPhysicalDeviceTimelineSemaphoreFeatures semaphores_{};
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomic_{};
  VkPhysicalDeviceSubgroupSizeControlFeaturesEXT size_{};
};

}  // namespace spirograd::vk
