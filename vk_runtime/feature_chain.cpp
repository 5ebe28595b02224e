#include "vk_runtime/feature_chain.h"

namespace spirograd::vk {
namespace {

template <class Struct>
Struct* struct_in(void* chain, VkStructureType type) {
  for (auto* s = static_cast<VkBaseOutStructure*>(chain); s; s = s->pNext)
    if (s->sType == type) return reinterpret_cast<Struct*>(s);
  return nullptr;
}

}  // namespace

FeatureChain::FeatureChain(const DevicePlan& plan)
    : float64_(plan.enable_float64),
      float16_storage_(plan.enable_float16_storage),
      float16_addresses_(plan.enable_float16_addresses),
      device_address_(plan.enable_device_address),
      timeline_(plan.enable_timeline),
      atomic_float_add_(plan.enable_atomic_float_add),
      subgroup_size_(plan.enable_subgroup_size) {}

const void* FeatureChain::head(void* others) {
  void* first = others;
  const auto found_or_chained = [&](auto& ours, VkStructureType type) {
    using Struct = std::remove_reference_t<decltype(ours)>;
    if (auto* theirs = struct_in<Struct>(others, type)) return theirs;
    ours = {};
    ours.sType = type;
    ours.pNext = first;
    first = &ours;
    return &ours;
  };
  // What later versions of Vulkan have gathered in one struct may not stand beside it.
  auto* of11 = struct_in<VkPhysicalDeviceVulkan11Features>(others, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES);
  auto* of12 = struct_in<VkPhysicalDeviceVulkan12Features>(others, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
  auto* of13 = struct_in<VkPhysicalDeviceVulkan13Features>(others, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES);
  if (float64_) found_or_chained(features_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2)->features.shaderFloat64 = VK_TRUE;
  const auto enable_halves = [](auto& features, bool addresses) {
    features.storageBuffer16BitAccess = VK_TRUE;
    if (addresses) features.storagePushConstant16 = VK_TRUE;
  };
  if (float16_storage_ && of11) enable_halves(*of11, float16_addresses_);
  if (float16_storage_ && !of11)
    enable_halves(*found_or_chained(storage_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES), float16_addresses_);
  if (device_address_)
    (of12 ? of12->bufferDeviceAddress
          : found_or_chained(address_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES)
                ->bufferDeviceAddress) = VK_TRUE;
  if (timeline_)
    (of12
         ? of12->timelineSemaphore
         : found_or_chained(semaphores_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES)->timelineSemaphore) =
        VK_TRUE;
  if (atomic_float_add_)
    found_or_chained(atomic_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT)
        ->shaderBufferFloat32AtomicAdd = VK_TRUE;
  if (subgroup_size_ && of13) of13->subgroupSizeControl = of13->computeFullSubgroups = VK_TRUE;
  if (subgroup_size_ && !of13) {
    auto* size = found_or_chained(size_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT);
    size->subgroupSizeControl = size->computeFullSubgroups = VK_TRUE;
  }
  return first;
}

}  // namespace spirograd::vk
