// Compute pipelines of an executable, created in batches on several threads.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "spirograd/executable.h"
#include "vk_runtime/device.h"

namespace spirograd::vk {

struct Pipeline {
  VkPipeline handle = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;           // shared by kernels with equally many bindings
  VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;  // Descriptors only
};

/// One pipeline per kernel. Destroys them at its end.
class Pipelines {
 public:
  /// Throws SG0303 where a kernel exceeds a limit, vulkan_error where a call fails.
  Pipelines(Device::Impl& device, const Executable& executable);
  ~Pipelines();
  Pipelines(const Pipelines&) = delete;
  Pipelines& operator=(const Pipelines&) = delete;
  const Pipeline& operator[](uint32_t kernel) const { return pipelines_[kernel]; }
  /// Whether dispatches may begin at any workgroup, so that long ones can be cut into parts (dispatch_plan.h). All pipelines
  /// of a device are alike in this: a driver has been seen that finds a kernel in its cache without asking which kind it
  /// was.
  bool divisible() const { return divisible_; }

 private:
  void create(BindingForm form, const std::vector<KernelBinary>& kernels);
  void create_layouts(BindingForm form, uint32_t bindings);
  struct Answer {
    VkResult result = VK_SUCCESS;
    const char* call = "";
  };
  Answer create_batch(std::span<const KernelBinary> kernels, std::span<Pipeline> out) const;
  void destroy();

  struct Layout {
    VkDescriptorSetLayout set = VK_NULL_HANDLE;
    VkPipelineLayout pipeline = VK_NULL_HANDLE;
  };
  Device::Impl& device_;
  bool divisible_;
  std::vector<Layout> layouts_;  // by number of bindings
  std::vector<Pipeline> pipelines_;
};

/// Those of the executable: where a session of the device has made all of them, and still is there, the same ones.
/// Thread-safe.
std::shared_ptr<const Pipelines> pipelines_of(Device::Impl& device, const Executable& executable);

}  // namespace spirograd::vk
