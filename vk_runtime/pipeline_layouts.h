// Pipeline layouts of a device: one for each form of kernels, number of descriptors and bytes of push constants, which all
// its pipelines share.
#pragma once

#include <map>
#include <mutex>
#include <tuple>

#include "spirograd/executable.h"
#include "vk_runtime/functions.h"

namespace spirograd::vk {

struct PipelineLayout {
  VkDescriptorSetLayout set = VK_NULL_HANDLE;  // Descriptors, and Address where some are pushed
  VkPipelineLayout handle = VK_NULL_HANDLE;
};

/// They live as long as the device: drivers keep what they make of a kernel and its layout for that long, and would make it
/// again for each new layout (SwiftShader: 22 KB for each session). Thread-safe.
class PipelineLayouts {
 public:
  struct Answer {
    VkResult result = VK_SUCCESS;
    const char* call = "";  // that was made last
    PipelineLayout layout;  // where result is VK_SUCCESS
  };
  /// Made at the first use. `pushed`: bytes of push constants.
  Answer of(const DeviceFns& fns, VkDevice device, BindingForm form, uint32_t descriptors, uint32_t pushed);
  /// No pipeline may be made with them any more.
  void destroy(const DeviceFns& fns, VkDevice device);

 private:
  std::mutex mutex_;
  std::map<std::tuple<BindingForm, uint32_t, uint32_t>, PipelineLayout> made_;
};

}  // namespace spirograd::vk
