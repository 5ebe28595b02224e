#include "vk_runtime/pipelines.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "vk_runtime/errors.h"

namespace spirograd::vk {

Pipelines::Pipelines(Device::Impl& device, const Executable& e) : device_(device), pipelines_(e.kernels.size()) {
  const Target& target = device.info.target;
  divisible_ = target.dispatch_base && target.price.submission > 0;
  try {
    create(e.form, e.kernels);
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
}

// What failed is null afterwards.
Pipelines::Answer Pipelines::create_batch(std::span<const KernelBinary> kernels, std::span<Pipeline> out) const {
  const DeviceFns& f = device_.fns;
  std::vector<VkComputePipelineCreateInfo> infos(kernels.size());
  // A kernel made for so many lanes gets so many, and no subgroup that is not full.
  std::vector<VkPipelineShaderStageRequiredSubgroupSizeCreateInfoEXT> lanes(kernels.size());
  const Defer destroy_modules([&] {
    for (const auto& info : infos)
      if (info.stage.module) f.vkDestroyShaderModule(device_.device, info.stage.module, nullptr);
  });
  for (size_t i = 0; i < kernels.size(); ++i) {
    VkComputePipelineCreateInfo& info = infos[i];
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.pName = "main";
    lanes[i].sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO_EXT;
    lanes[i].requiredSubgroupSize = kernels[i].needs.subgroup_size;
    if (kernels[i].needs.subgroup_size != 0 && device_.plan.enable_subgroup_size) {
      info.stage.pNext = &lanes[i];
      info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT;
    }
    info.layout = out[i].layout.handle;
    info.flags = divisible_ ? VK_PIPELINE_CREATE_DISPATCH_BASE : 0;
    VkShaderModuleCreateInfo module{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
    module.codeSize = kernels[i].words.size() * sizeof(uint32_t);
    module.pCode = kernels[i].words.data();
    VkShaderModule& made = info.stage.module;
    if (const VkResult r = or_null(f.vkCreateShaderModule(device_.device, &module, nullptr, &made), made))
      return {r, "vkCreateShaderModule"};
  }
  std::vector<VkPipeline> handles(kernels.size());
  const auto create_with = [&](VkPipelineCache cache) {
    return f.vkCreateComputePipelines(device_.device, cache, static_cast<uint32_t>(infos.size()), infos.data(), nullptr,
                                      handles.data());
  };
  VkResult r = create_with(device_.pipeline_cache);
  if (r != VK_SUCCESS && device_.cache_was_loaded) {  // what a driver makes of old data may be at fault
    for (VkPipeline& h : handles)
      if (h) f.vkDestroyPipeline(device_.device, std::exchange(h, VK_NULL_HANDLE), nullptr);
    r = create_with(VK_NULL_HANDLE);
  }
  for (size_t i = 0; i < handles.size(); ++i) {
    out[i].handle = handles[i];
    device_.name_object(VK_OBJECT_TYPE_PIPELINE, handles[i], kernels[i].name);
  }
  return {r, "vkCreateComputePipelines"};
}

void Pipelines::create(BindingForm form, const std::vector<KernelBinary>& kernels) {
  for (size_t i = 0; i < kernels.size(); ++i) {
    const auto made = device_.pipeline_layouts.of(device_.fns, device_.device, form, descriptors(kernels[i], form),
                                                  pushed(kernels[i], form));
    device_.check(made.result, made.call);
    pipelines_[i].layout = made.layout;
  }
  // Drivers share work inside of a call, and between calls through locks; the last threads should not wait for long.
  constexpr size_t kLargestBatch = 16;
  const size_t n_threads = std::min<size_t>(host_cores(), kernels.size());
  const size_t batch = std::clamp<size_t>(kernels.size() / std::max<size_t>(1, 4 * n_threads), 1, kLargestBatch);
  const size_t n_batches = (kernels.size() + batch - 1) / batch;
  std::atomic<size_t> next = 0;
  std::vector<Answer> answers(n_batches);
  const auto work = [&] {
    for (size_t i = next++; i < n_batches; i = next++) {
      const size_t first = i * batch, n = std::min(batch, kernels.size() - first);
      answers[i] = create_batch({&kernels[first], n}, {&pipelines_[first], n});
    }
  };
  std::vector<std::thread> helpers;  // std::jthread is missing from libc++
  try {
    for (size_t i = 1; i < std::min(n_threads, n_batches); ++i) helpers.emplace_back(work);
  } catch (const std::system_error&) {
    // No more threads to be had: this one does the rest.
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  for (size_t i = 0; i < n_batches; ++i) {
    if (answers[i].result == VK_SUCCESS) continue;
    size_t failed = i * batch;
    while (pipelines_[failed].handle && failed + 1 < std::min((i + 1) * batch, kernels.size())) ++failed;
    try {
      device_.check(answers[i].result, answers[i].call);
    } catch (Error& e) {
      e.notes.push_back("kernel '" + kernels[failed].name + "'");
      throw;
    }
  }
}

std::shared_ptr<const Pipelines> pipelines_of(Device::Impl& device, const Executable& e) {
  const SharedPipelines::Key key = SharedPipelines::key_of(e);
  if (auto known = device.shared_pipelines.find(key)) return known;
  auto made = std::make_shared<const Pipelines>(device, e);
  device.shared_pipelines.keep(key, made);
  return made;
}

}  // namespace spirograd::vk
