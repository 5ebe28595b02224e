#include "vk_runtime/pipeline_layouts.h"

#include <algorithm>
#include <vector>

#include "vk_runtime/errors.h"

namespace spirograd::vk {
namespace {

VkResult create_set(const DeviceFns& f, VkDevice device, BindingForm form, uint32_t descriptors,
                    VkDescriptorSetLayout& set) {
  std::vector<VkDescriptorSetLayoutBinding> list(descriptors);
  for (uint32_t i = 0; i < descriptors; ++i)
    list[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
  VkDescriptorSetLayoutCreateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  if (form == BindingForm::Address) info.flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR;
  info.bindingCount = descriptors;
  info.pBindings = list.data();
  return or_null(f.vkCreateDescriptorSetLayout(device, &info, nullptr, &set), set);
}

VkResult create_layout(const DeviceFns& f, VkDevice device, uint32_t bytes_pushed, PipelineLayout& layout) {
  const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, bytes_pushed};
  VkPipelineLayoutCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  info.setLayoutCount = layout.set ? 1 : 0;
  info.pSetLayouts = &layout.set;
  info.pushConstantRangeCount = bytes_pushed > 0 ? 1 : 0;
  info.pPushConstantRanges = &push;
  return or_null(f.vkCreatePipelineLayout(device, &info, nullptr, &layout.handle), layout.handle);
}

}  // namespace

PipelineLayouts::Answer PipelineLayouts::of(const DeviceFns& f, VkDevice device, BindingForm form, uint32_t descriptors,
                                            uint32_t pushed) {
  const std::lock_guard lock(mutex_);
  PipelineLayout& layout = made_[{form, descriptors, pushed}];
  if ((form == BindingForm::Descriptors || descriptors > 0) && !layout.set)
    if (const VkResult r = create_set(f, device, form, descriptors, layout.set); r != VK_SUCCESS)
      return {r, "vkCreateDescriptorSetLayout", {}};
  if (!layout.handle)
    if (const VkResult r = create_layout(f, device, pushed, layout); r != VK_SUCCESS)
      return {r, "vkCreatePipelineLayout", {}};
  return {VK_SUCCESS, "", layout};
}

void PipelineLayouts::destroy(const DeviceFns& f, VkDevice device) {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, layout] : made_) {
    if (layout.handle) f.vkDestroyPipelineLayout(device, layout.handle, nullptr);
    if (layout.set) f.vkDestroyDescriptorSetLayout(device, layout.set, nullptr);
  }
  made_.clear();
}

}  // namespace spirograd::vk
