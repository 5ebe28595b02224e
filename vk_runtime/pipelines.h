// Compute pipelines of an executable, created in batches on several threads.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "spirograd/executable.h"
#include "vk_runtime/device.h"
#include "vk_runtime/pipeline_layouts.h"

namespace spirograd::vk {

struct Pipeline {
  VkPipeline handle = VK_NULL_HANDLE;
  PipelineLayout layout;
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
  struct Answer {
    VkResult result = VK_SUCCESS;
    const char* call = "";
  };
  Answer create_batch(std::span<const KernelBinary> kernels, std::span<Pipeline> out) const;
  void destroy();

  Device::Impl& device_;
  bool divisible_;
  std::vector<Pipeline> pipelines_;
};

/// Those of the executable: where a session of the device has made all of them, and still is there, the same ones.
/// Thread-safe.
std::shared_ptr<const Pipelines> pipelines_of(Device::Impl& device, const Executable& executable);

}  // namespace spirograd::vk
