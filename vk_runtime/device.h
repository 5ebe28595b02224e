// The inside of a Device: handles, tables, memory, pipeline cache; ours or the host's.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "spirograd/vk.h"
#include "vk_runtime/device_plan.h"
#include "vk_runtime/errors.h"
#include "vk_runtime/functions.h"
#include "vk_runtime/instance.h"
#include "vk_runtime/memory.h"
#include "vk_runtime/pipeline_layouts.h"
#include "vk_runtime/shared_pipelines.h"
#include "vk_runtime/system.h"
#include "vk_runtime/timeline.h"

namespace spirograd::vk {

/// The queues of hosts that devices of this process use. Vulkan leaves it to their users to take turns.
class QueueUse {
 public:
  QueueUse() = default;
  /// Throws SG0303 where another device uses the queue and not both of them take a lock.
  QueueUse(VkQueue queue, bool locked);
  QueueUse(QueueUse&& other) noexcept : queue_(std::exchange(other.queue_, VK_NULL_HANDLE)) {}
  QueueUse& operator=(QueueUse&& other) noexcept {
    std::swap(queue_, other.queue_);
    return *this;
  }
  ~QueueUse();

 private:
  VkQueue queue_ = VK_NULL_HANDLE;
};

struct Device::Impl {
  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl();
  static Impl& of(Device& d) { return *d.impl_; }
  static std::shared_ptr<Device> wrapped(std::unique_ptr<Impl> impl) {
    return std::shared_ptr<Device>(new Device(std::move(impl)));
  }

  bool owned = false;
  External external;  // adopted devices: handles and the lock
  DeviceOptions options;
  VkInstance instance = VK_NULL_HANDLE;
  InstanceFns instance_fns;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  uint32_t queue_family = 0;
  QueueUse queue_use;  // adopted devices
  DeviceFns fns{};     // every device call goes through this table: tests replace entries
  DeviceFacts facts;
  DevicePlan plan;
  DeviceInfo info;
  std::unique_ptr<Memory> memory;
  std::unique_ptr<Timeline> timeline;
  VkPipelineCache pipeline_cache = VK_NULL_HANDLE;
  std::mutex cache_mutex;  // of saving; pipelines are created meanwhile, and commands submitted
  uint64_t saved_cache_hash = 0;
  bool cache_was_loaded = false;  // pipeline_cache began with data of an earlier process
  VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
  std::mutex queue_mutex;
  std::atomic<bool> lost = false;
  uint64_t watched_ns = 0;              // so long a host looks for the end of its commands before it sleeps
  std::atomic<bool> abandoned = false;  // work may run on that no call waits for: nothing is destroyed any more
  /// What work uses that nobody waited for to its end, kept until it has ended.
  struct Left {
    std::function<bool()> runs;
    std::shared_ptr<void> used;
    bool gave_up = false;  // somebody has waited for it as long as they would
  };
  std::mutex left_mutex;
  const int process = this_process();
  uint64_t commands_per_part = 10'000;  // of a run, so that command buffers stay small; tests: fewer
  bool always_stage = false;            // tests: copy through staging memory even where arrays are mapped
  std::atomic<uint64_t> pieces = 0;     // of memory that arrays have had, for their numbers
  PipelineLayouts pipeline_layouts;
  SharedPipelines shared_pipelines;
  std::mutex inline_mutex;
  std::optional<std::shared_ptr<Device>> without_threads;  // inline_device.h; none: nobody has needed it
  std::vector<Left> left;                                  // last, for what it holds needs the members above when it goes

  const std::string& name() const { return info.name; }
  /// Throws vulkan_error; remembers a lost device.
  void check(VkResult, const char* call);
  /// Throws SG0310 when the device was lost before, SG0311 in a process forked from the one that made the device.
  void check_alive() const;
  /// After a wait that failed, or a submission that lost the device: waits for the queue, and where this fails as well,
  /// abandons the device.
  void settle();
  void settle_locked();  // with the queue's mutex held
  /// From here on nothing of it is destroyed or freed.
  void abandon();
  /// Not where work may still use what is to be destroyed, nor in a forked process, where the driver's threads are gone.
  bool may_destroy() const { return !abandoned && process == this_process(); }
  /// For debuggers, where VK_EXT_debug_utils is enabled.
  template <class Handle>
  void name_object(VkObjectType type, Handle handle, const std::string& text) const {
    if (!handle || !instance_fns.vkSetDebugUtilsObjectNameEXT) return;
    VkDebugUtilsObjectNameInfoEXT named{VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT};
    named.objectType = type;
    named.objectHandle = reinterpret_cast<uint64_t>(handle);
    named.pObjectName = text.c_str();
    instance_fns.vkSetDebugUtilsObjectNameEXT(device, &named);  // may fail: a name is a convenience
  }
  /// The fence is signalled when the commands have ended.
  void submit(VkCommandBuffer commands, VkFence fence);
  /// The point of the timeline that is reached when they have ended, and all that was submitted before them.
  uint64_t submit_point(VkCommandBuffer commands);
  /// Without commands: what is submitted from here on waits for the first, and the second for what was submitted up to here.
  void submit_semaphores(const Semaphores& semaphores);
  /// Until that point is reached. Throws SG0312 where that takes longer, vulkan_error where the wait fails.
  void wait(uint64_t point, uint64_t timeout_ns = UINT64_MAX);
  /// Whether work up to that point may still use what is about to be destroyed.
  bool still_runs(uint64_t point);
  /// Keeps what still runs, and what it uses, until it has ended.
  void leave(Left);
  /// Frees what was left and has ended meanwhile.
  void sweep();
  bool caches_pipelines() const { return options.cache_pipelines && !options.cache_dir.empty(); }
  /// Reads the pipeline cache of the cache folder, or starts with an empty one.
  void open_pipeline_cache();
  /// Writes it back if it has changed. Never fails: a cache is a convenience.
  void save_pipeline_cache();
  /// Memory, pipeline cache: what own and adopted devices share, once device, fns, facts and plan are set.
  void set_up();

 private:
  void submit(VkSubmitInfo work, VkFence fence);  // with the queue's mutex held
};

struct Found {
  VkPhysicalDevice handle;
  DeviceFacts facts;
};
/// All devices in the order of devices().
std::vector<Found> ranked_devices(const Instance& instance);
/// A device of our own, before any self-test.
std::unique_ptr<Device::Impl> own_device(const Instance& instance, const Found& found, uint32_t index,
                                         const DeviceOptions& options);

}  // namespace spirograd::vk
