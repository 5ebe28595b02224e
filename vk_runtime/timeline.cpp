#include "vk_runtime/timeline.h"

#include <algorithm>

namespace spirograd::vk {

Timeline::~Timeline() {
  if (abandoned_) return;
  if (semaphore_) fns_.vkDestroySemaphore(device_, semaphore_, nullptr);
  for (const Entry& e : pending_) fns_.vkDestroyFence(device_, *e.fence, nullptr);
  for (const auto& fence : idle_) fns_.vkDestroyFence(device_, *fence, nullptr);
}

VkResult Timeline::use_semaphore() {
  VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  const VkSemaphoreCreateInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type, 0};
  return or_null(fns_.vkCreateSemaphore(device_, &info, nullptr, &semaphore_), semaphore_);
}

VkResult Timeline::next(Signal& signal) {
  const std::lock_guard lock(mutex_);
  signal = {last_ + 1, semaphore_, VK_NULL_HANDLE};
  if (semaphore_) return VK_SUCCESS;
  const auto free = std::find_if(idle_.begin(), idle_.end(), [](const auto& fence) { return fence.use_count() == 1; });
  if (free != idle_.end()) {
    signal.fence = **free;
    return fns_.vkResetFences(device_, 1, &signal.fence);
  }
  const VkFenceCreateInfo info{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, nullptr, 0};
  const VkResult r = or_null(fns_.vkCreateFence(device_, &info, nullptr, &signal.fence), signal.fence);
  if (r == VK_SUCCESS) idle_.push_back(std::make_shared<VkFence>(signal.fence));
  return r;
}

void Timeline::submitted(const Signal& signal) {
  const std::lock_guard lock(mutex_);
  last_ = signal.point;
  if (!signal.fence) return;
  const auto it = std::find_if(idle_.begin(), idle_.end(), [&](const auto& fence) { return *fence == signal.fence; });
  pending_.push_back({signal.point, *it});
  idle_.erase(it);
}

uint64_t Timeline::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

// Fences are reached in the order of their points.
void Timeline::reached(uint64_t point) {
  reached_ = std::max(reached_, point);
  for (; !pending_.empty() && pending_.front().point <= reached_; pending_.pop_front())
    idle_.push_back(std::move(pending_.front().fence));
}

VkResult Timeline::status(uint64_t point) {
  const std::lock_guard lock(mutex_);
  if (point <= reached_) return VK_SUCCESS;
  if (semaphore_) {
    uint64_t value = 0;
    const VkResult r = fns_.vkGetSemaphoreCounterValue(device_, semaphore_, &value);
    if (r != VK_SUCCESS) return r;
    reached(std::min(value, last_));  // of a lost device it may be anything
  } else {
    while (!pending_.empty() && pending_.front().point <= point) {
      const VkResult r = fns_.vkGetFenceStatus(device_, *pending_.front().fence);
      if (r != VK_SUCCESS) return r;
      reached(pending_.front().point);
    }
  }
  return point <= reached_ ? VK_SUCCESS : VK_NOT_READY;
}

VkResult Timeline::wait(uint64_t point, uint64_t timeout_ns) {
  VkResult r;
  std::shared_ptr<VkFence> fence;
  if (semaphore_) {
    VkSemaphoreWaitInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
    info.semaphoreCount = 1;
    info.pSemaphores = &semaphore_;
    info.pValues = &point;
    r = fns_.vkWaitSemaphores(device_, &info, timeout_ns);
  } else {
    {
      const std::lock_guard lock(mutex_);
      const auto it = std::find_if(pending_.begin(), pending_.end(), [&](const Entry& e) { return e.point >= point; });
      if (it == pending_.end()) return VK_SUCCESS;
      fence = it->fence;
    }
    r = fns_.vkWaitForFences(device_, 1, fence.get(), VK_TRUE, timeout_ns);
  }
  const std::lock_guard lock(mutex_);
  fence.reset();  // with the lock, under which others look whether anybody has it
  if (r == VK_SUCCESS) reached(point);
  return r;
}

}  // namespace spirograd::vk
