#include "vk_runtime/pipelines.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "vk_runtime/errors.h"

namespace spirograd::vk {
Pipelines::Pipelines(Device::Impl& device, BindingForm form, const std::vector<KernelBinary>& kernels) : device_(device) {
  try {
    create(form, kernels);
  } catch (...) {
    destroy();
    throw;
  }
}

Pipelines::~Pipelines() { destroy(); }

void Pipelines::destroy() {
  if (!device_.may_destroy()) return;
  const DeviceFns& f = device_.fns;
  for (const Pipeline& p : pipelines_)
    if (p.handle) f.vkDestroyPipeline(device_.device, p.handle, nullptr);
  for (const Layout& l : layouts_) {
    if (l.pipeline) f.vkDestroyPipelineLayout(device_.device, l.pipeline, nullptr);
    if (l.set) f.vkDestroyDescriptorSetLayout(device_.device, l.set, nullptr);
  }
}

void Pipelines::create_layouts(BindingForm form, uint32_t bindings) {
  if (layouts_.size() <= bindings) layouts_.resize(bindings + 1);
  Layout& layout = layouts_[bindings];
  if (layout.pipeline) return;
  VkPipelineLayoutCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  if (form == BindingForm::Descriptors) {
    std::vector<VkDescriptorSetLayoutBinding> list(bindings);
    for (uint32_t i = 0; i < bindings; ++i)
      list[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
    VkDescriptorSetLayoutCreateInfo set{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    set.bindingCount = bindings;
    set.pBindings = list.data();
    device_.check(device_.fns.vkCreateDescriptorSetLayout(device_.device, &set, nullptr, &layout.set),
                  "vkCreateDescriptorSetLayout");
    info.setLayoutCount = 1;
    info.pSetLayouts = &layout.set;
  }
  const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, bindings * push_bytes(form)};
  if (bindings > 0) {
    info.pushConstantRangeCount = 1;
    info.pPushConstantRanges = &push;
  }
  device_.check(device_.fns.vkCreatePipelineLayout(device_.device, &info, nullptr, &layout.pipeline),
                "vkCreatePipelineLayout");
}

VkResult Pipelines::create_pipeline(const KernelBinary& kernel, Pipeline& out) const {
  const DeviceFns& f = device_.fns;
  VkShaderModuleCreateInfo module{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  module.codeSize = kernel.words.size() * sizeof(uint32_t);
  module.pCode = kernel.words.data();
  VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.pName = "main";
  // A kernel made for so many lanes gets so many, and no subgroup that is not full.
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfoEXT lanes{
      VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO_EXT};
  lanes.requiredSubgroupSize = kernel.needs.subgroup_size;
  if (kernel.needs.subgroup_size != 0 && device_.plan.enable_subgroup_size) {
    info.stage.pNext = &lanes;
    info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT;
  }
  info.layout = out.layout;
  if (const VkResult r = f.vkCreateShaderModule(device_.device, &module, nullptr, &info.stage.module)) return r;
  const VkResult r = f.vkCreateComputePipelines(device_.device, device_.pipeline_cache, 1, &info, nullptr, &out.handle);
  f.vkDestroyShaderModule(device_.device, info.stage.module, nullptr);
  return r;
}

void Pipelines::create(BindingForm form, const std::vector<KernelBinary>& kernels) {
  pipelines_.resize(kernels.size());
  for (size_t i = 0; i < kernels.size(); ++i) {
    create_layouts(form, kernels[i].bindings);
    pipelines_[i].layout = layouts_[kernels[i].bindings].pipeline;
    pipelines_[i].set_layout = layouts_[kernels[i].bindings].set;
  }
  std::atomic<size_t> next = 0;
  std::vector<VkResult> results(kernels.size(), VK_SUCCESS);
  const auto work = [&] {
    for (size_t i = next++; i < kernels.size(); i = next++) results[i] = create_pipeline(kernels[i], pipelines_[i]);
  };
  std::vector<std::jthread> helpers;
  const size_t n_helpers = std::min<size_t>(host_cores(), kernels.size());
  try {
    for (size_t i = 1; i < n_helpers; ++i) helpers.emplace_back(work);
  } catch (const std::system_error&) {
    // No more threads to be had: this one does the rest.
  }
  work();
  helpers.clear();  // joins
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (results[i] == VK_SUCCESS) continue;
    try {
      device_.check(results[i], "vkCreateComputePipelines");
    } catch (Error& e) {
      e.notes.push_back("kernel '" + kernels[i].name + "'");
      throw;
    }
  }
}

}  // namespace spirograd::vk
