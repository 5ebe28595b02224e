// Features of invented plans, in a chain of our own and in those of invented hosts.
#include "vk_runtime/feature_chain.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace spirograd::vk {
namespace feature_chain_test {

std::vector<VkStructureType> types_of(const void* chain) {
  std::vector<VkStructureType> out;
  for (auto* s = static_cast<const VkBaseInStructure*>(chain); s; s = s->pNext) out.push_back(s->sType);
  std::sort(out.begin(), out.end());
  return out;
}

DevicePlan everything() {
  DevicePlan p;
  p.enable_device_address = p.enable_float64 = p.enable_atomic_float_add = p.enable_subgroup_size = p.enable_timeline = true;
  p.enable_float16_storage = p.enable_float16_addresses = true;
  return p;
}

TEST(FeatureChain, HasWhatThePlanEnablesAndNothingElse) {
  EXPECT_EQ(FeatureChain(DevicePlan()).head(), nullptr);
  DevicePlan one;
  one.enable_timeline = true;
  FeatureChain chain(one);
  const auto* s = static_cast<const VkPhysicalDeviceTimelineSemaphoreFeatures*>(chain.head());
  EXPECT_EQ(types_of(s), std::vector{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES});
  EXPECT_TRUE(s->timelineSemaphore);
  FeatureChain all(everything());
  EXPECT_EQ(types_of(all.head()).size(), 6u);
}

TEST(FeatureChain, StructsOfLaterVersionsTakeTheirFeatures) {
  FeatureChain chain(everything());
  VkPhysicalDeviceVulkan13Features of13{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
  VkPhysicalDeviceVulkan11Features of11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, &of13};
  VkPhysicalDeviceVulkan12Features of12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, &of11};
  std::vector<VkStructureType> want = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT};
  std::sort(want.begin(), want.end());
  EXPECT_EQ(types_of(chain.head(&of12)), want);
  EXPECT_TRUE(of11.storageBuffer16BitAccess && of11.storagePushConstant16);
  EXPECT_TRUE(of12.bufferDeviceAddress && of12.timelineSemaphore);
  EXPECT_TRUE(of13.subgroupSizeControl && of13.computeFullSubgroups);
  EXPECT_EQ(types_of(chain.head(&of12)), want) << "asked again";
  EXPECT_EQ(types_of(chain.head()).size(), 6u) << "and without the host's";
}

TEST(FeatureChain, SingleStructsOfTheHostTakeTheirFeaturesAndKeepTheRest) {
  FeatureChain chain(everything());
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomic{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT};
  atomic.shaderImageFloat32AtomicAdd = VK_TRUE;
  VkPhysicalDeviceBufferDeviceAddressFeatures address{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES,
                                                      &atomic};
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &address};
  features.features.geometryShader = VK_TRUE;
  EXPECT_EQ(types_of(chain.head(&features)).size(), 6u);
  EXPECT_TRUE(atomic.shaderBufferFloat32AtomicAdd && atomic.shaderImageFloat32AtomicAdd);
  EXPECT_TRUE(address.bufferDeviceAddress);
  EXPECT_TRUE(features.features.shaderFloat64 && features.features.geometryShader);
}

}  // namespace feature_chain_test
}  // namespace spirograd::vk
