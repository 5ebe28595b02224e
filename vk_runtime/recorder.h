// Writes the steps of an executable into a command buffer: barriers, fills, copies, dispatches in both binding forms.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "vk_runtime/pipelines.h"

namespace spirograd::vk {

/// Where the first byte of an executable's buffer lies.
struct Place {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceSize offset = 0;
  VkDeviceAddress address = 0;  // Address form
};

/// Descriptor sets of one recording. Steps with the same layout and the same buffers share one.
class DescriptorSets {
 public:
  DescriptorSets(Device::Impl& device, const Executable& executable, const Pipelines& pipelines);
  ~DescriptorSets();
  DescriptorSets(const DescriptorSets&) = delete;
  DescriptorSets& operator=(const DescriptorSets&) = delete;
  /// Points all sets to these places. Not while a recording that uses them runs. Throws SG0303 when a range exceeds the
  /// device's limit.
  void update(const std::vector<Place>& places);
  /// The set of a step, null for steps without.
  VkDescriptorSet of_step(size_t step) const {
    return set_of_step_[step] < sets_.size() ? sets_[set_of_step_[step]] : VK_NULL_HANDLE;
  }

 private:
  Device::Impl& device_;
  const Executable& executable_;
  VkDescriptorPool pool_ = VK_NULL_HANDLE;
  std::vector<VkDescriptorSet> sets_;
  std::vector<std::vector<uint32_t>> buffers_of_set_;
  std::vector<size_t> set_of_step_;  // behind the last set for steps without
};

/// A storage-buffer descriptor that holds a whole array, and the element at which the array starts in it.
struct DescriptorRange {
  VkDeviceSize offset = 0, range = 0;
  uint64_t first_element = 0;
};
/// `bytes` of elements of so many bytes each, from `place` on.
DescriptorRange descriptor_range(const Place& place, uint64_t bytes, uint64_t element, uint64_t alignment);

/// Whether rows of the buffer are stored through descriptors (kScatteredStores), so that it has to begin where rows do.
bool stores_rows(const Executable& executable, uint32_t buffer);
/// Whether rows begin so many bytes behind the beginning of a buffer, where descriptors begin at multiples of `alignment`.
inline bool begins_row(uint64_t offset, uint64_t alignment) { return offset % alignment % kRowBytes == 0; }
/// Of what multiples in bytes arrays may begin at any, then.
inline uint64_t row_alignment(uint64_t alignment) { return std::min<uint64_t>(alignment, kRowBytes); }

/// Compute and transfer, in both directions: all that our commands do.
struct StageAccess {
  VkPipelineStageFlags stages;
  VkAccessFlags access;
};
inline constexpr StageAccess kOurUses = {
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
    VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT};
inline constexpr StageAccess kAllUses = {VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                         VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
inline constexpr StageAccess kHostReads = {VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT};

void memory_barrier(const DeviceFns& fns, VkCommandBuffer commands, StageAccess before, StageAccess after);

/// How much goes into one submission: at least one command or part of one, and so much that no watchdog takes the device for
/// hung.
struct PartLimit {
  double work = 0;        // estimated, in the costs of Prices; 0: no bound
  uint64_t commands = 0;  // 0: no bound
};

/// What a submission holds already.
struct PartFill {
  double work = 0;
  uint64_t commands = 0;
  VkPipeline bound = VK_NULL_HANDLE;
};

/// How far a recording has come: to which command, and to which part of it where it is a dispatch in parts.
struct Progress {
  explicit Progress(std::span<const Step> steps) : walk(steps) {}
  bool done() const { return walk.done(); }
  StepWalk walk;
  uint32_t part = 0;
};

/// Records steps from `progress` on, those of a body once per iteration, to the end or to the limit; `sets` only in the
/// Descriptors form. Dispatches beyond the limit are cut where the pipeline allows it. `after`, if given, hears of each
/// command or part of one behind it. `filled`, if given, says what is in the submission, and is brought up to date. Throws
/// SG0303 when a grid exceeds the device's limit.
void record_steps(Device::Impl& device, VkCommandBuffer commands, const Executable& executable, const Pipelines& pipelines,
                  const std::vector<uint32_t>& barriers, const std::vector<Place>& places, const DescriptorSets* sets,
                  Progress& progress, const PartLimit& limit = {}, const std::function<void(size_t step)>& after = nullptr,
                  PartFill* filled = nullptr);

}  // namespace spirograd::vk
