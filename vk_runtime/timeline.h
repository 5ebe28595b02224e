// When submitted work has ended: points on a line that each device counts for itself, by a timeline semaphore where it has
// them, by fences otherwise. A point is reached when all that was submitted up to it has ended. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "vk_runtime/functions.h"

namespace spirograd::vk {

class Timeline {
 public:
  /// What a submission signals: the point, and either a semaphore or a fence that reaches it.
  struct Signal {
    uint64_t point = 0;
    VkSemaphore semaphore = VK_NULL_HANDLE;
    VkFence fence = VK_NULL_HANDLE;
  };

  Timeline(const DeviceFns& fns, VkDevice device) : fns_(fns), device_(device) {}
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;
  /// Makes the semaphore; without it, points are told by fences.
  VkResult use_semaphore();
  bool has_semaphore() const { return semaphore_ != VK_NULL_HANDLE; }
  /// Nothing is destroyed any more: work may signal it.
  void abandon() { abandoned_ = true; }

  /// The next point, until a submission with it has succeeded and `submitted` says so. The caller holds the queue's lock.
  VkResult next(Signal& signal);
  void submitted(const Signal& signal);

  /// The last point that was submitted; 0 before any.
  uint64_t last() const;
  /// VK_SUCCESS: reached; VK_NOT_READY; or what the driver answered. Pre: point <= last().
  VkResult status(uint64_t point);
  /// VK_SUCCESS, VK_TIMEOUT, or what the driver answered.
  VkResult wait(uint64_t point, uint64_t timeout_ns);
  /// The calls that status() and wait() make.
  const char* asking() const { return semaphore_ ? "vkGetSemaphoreCounterValue" : "vkGetFenceStatus"; }
  const char* waiting() const { return semaphore_ ? "vkWaitSemaphores" : "vkWaitForFences"; }

 private:
  struct Entry {
    uint64_t point = 0;
    std::shared_ptr<VkFence> fence;  // whoever waits for it holds it, so that it is not reset meanwhile
  };
  void reached(uint64_t point);

  const DeviceFns& fns_;
  VkDevice device_;
  VkSemaphore semaphore_ = VK_NULL_HANDLE;
  std::atomic<bool> abandoned_ = false;
  mutable std::mutex mutex_;
  uint64_t last_ = 0, reached_ = 0;
  std::deque<Entry> pending_;  // by point
  std::vector<std::shared_ptr<VkFence>> idle_;
};

}  // namespace spirograd::vk
