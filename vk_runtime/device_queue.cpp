// The queue of a device: who uses it, what is submitted to it, when that has ended, and what it keeps until then.
#include <chrono>
#include <map>
#include <thread>
#include <vector>

#include "vk_runtime/device.h"

namespace spirograd::vk {
namespace {

struct Users {
  int count = 0;
  bool locked = true;  // all of them
};
struct HostQueues {
  const int process = this_process();
  std::mutex mutex;
  std::map<VkQueue, Users> users;
};
HostQueues& host_queues() {
  static auto& queues = *new HostQueues;  // devices may outlive everything static
  return queues;
}

}  // namespace

QueueUse::QueueUse(VkQueue queue, bool locked) {
  HostQueues& all = host_queues();
  const std::lock_guard lock(all.mutex);
  Users& users = all.users[queue];
  if (users.count > 0 && !(users.locked && locked))
    throw Error("SG0303", "adopt: another Device uses this queue, and they do not both have lock_queue")
        .hint("give both the same lock, or share one Device");
  ++users.count;
  users.locked = users.locked && locked;
  queue_ = queue;
}

QueueUse::~QueueUse() {
  if (!queue_) return;
  HostQueues& all = host_queues();
  if (all.process != this_process()) return;  // a thread of the parent may have held the mutex
  const std::lock_guard lock(all.mutex);
  const auto it = all.users.find(queue_);
  if (--it->second.count == 0) all.users.erase(it);
}

void Device::Impl::settle() {
  const std::lock_guard lock(queue_mutex);
  settle_locked();
}

void Device::Impl::settle_locked() {
  if (external.lock_queue) external.lock_queue(external.user);
  const VkResult r = fns.vkQueueWaitIdle(queue);
  if (external.unlock_queue) external.unlock_queue(external.user);
  if (r != VK_SUCCESS) abandon();
}

void Device::Impl::abandon() {
  abandoned = true;
  memory->abandon();
  timeline->abandon();
}

void Device::Impl::leave(Left l) {
  const std::lock_guard lock(left_mutex);
  left.push_back(std::move(l));
}

void Device::Impl::sweep() {
  if (!may_destroy()) return;
  std::vector<Left> ended;  // freed without the lock
  const std::lock_guard lock(left_mutex);
  for (Left& l : std::exchange(left, {})) (l.runs() ? left : ended).push_back(std::move(l));
}

void Device::Impl::submit(VkSubmitInfo work, VkFence fence) {
  if (external.lock_queue) external.lock_queue(external.user);
  const VkResult r = fns.vkQueueSubmit(queue, 1, &work, fence);
  if (external.unlock_queue) external.unlock_queue(external.user);
  if (r == VK_ERROR_DEVICE_LOST) settle_locked();  // unlike after other errors, some of the work may run
  check(r, "vkQueueSubmit");
}

void Device::Impl::submit(VkCommandBuffer commands, VkFence fence) {
  VkSubmitInfo work{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  work.commandBufferCount = 1;
  work.pCommandBuffers = &commands;
  const std::lock_guard lock(queue_mutex);
  submit(work, fence);
}

uint64_t Device::Impl::submit_point(VkCommandBuffer commands) {
  VkTimelineSemaphoreSubmitInfo values{VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
  VkSubmitInfo work{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  work.commandBufferCount = 1;
  work.pCommandBuffers = &commands;
  const std::lock_guard lock(queue_mutex);
  Timeline::Signal signal;
  const VkResult next = timeline->next(signal);
  check(next, signal.fence ? "vkResetFences" : "vkCreateFence");
  if (signal.semaphore) {
    values.signalSemaphoreValueCount = 1;
    values.pSignalSemaphoreValues = &signal.point;
    work.pNext = &values;
    work.signalSemaphoreCount = 1;
    work.pSignalSemaphores = &signal.semaphore;
  }
  submit(work, signal.fence);
  timeline->submitted(signal);
  return signal.point;
}

namespace {

struct SubmittedSemaphores {
  std::vector<VkSemaphore> handles;
  std::vector<uint64_t> values;
  explicit SubmittedSemaphores(std::span<const SemaphoreValue> all) {
    for (const SemaphoreValue& v : all) handles.push_back(v.semaphore), values.push_back(v.value);
  }
  uint32_t count() const { return static_cast<uint32_t>(handles.size()); }
};

}  // namespace

void Device::Impl::submit_semaphores(const Semaphores& semaphores) {
  if (semaphores.wait.empty() && semaphores.signal.empty()) return;
  const SubmittedSemaphores wait(semaphores.wait), signal(semaphores.signal);
  const std::vector<VkPipelineStageFlags> stages(wait.count(), VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
  VkTimelineSemaphoreSubmitInfo values{VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
  values.waitSemaphoreValueCount = wait.count();
  values.pWaitSemaphoreValues = wait.values.data();
  values.signalSemaphoreValueCount = signal.count();
  values.pSignalSemaphoreValues = signal.values.data();
  VkSubmitInfo work{VK_STRUCTURE_TYPE_SUBMIT_INFO, timeline->has_semaphore() ? &values : nullptr};
  work.waitSemaphoreCount = wait.count();
  work.pWaitSemaphores = wait.handles.data();
  work.pWaitDstStageMask = stages.data();
  work.signalSemaphoreCount = signal.count();
  work.pSignalSemaphores = signal.handles.data();
  const std::lock_guard lock(queue_mutex);
  submit(work, VK_NULL_HANDLE);
}

void Device::Impl::wait(uint64_t point, uint64_t timeout_ns) {
  using Clock = std::chrono::steady_clock;
  const auto watched_until = Clock::now() + std::chrono::nanoseconds(std::min(watched_ns, timeout_ns));
  while (watched_ns > 0 && Clock::now() < watched_until && timeline->status(point) == VK_NOT_READY)
    std::this_thread::yield();
  const VkResult waited = timeline->wait(point, timeout_ns);
  if (waited == VK_TIMEOUT)
    throw Error("SG0312", "'" + name() + "' is not done after " + std::to_string(timeout_ns / 1'000'000) +
                              " ms, which is all the time that it was given");
  if (waited != VK_SUCCESS) settle();  // the commands may still run
  check(waited, timeline->waiting());
}

bool Device::Impl::still_runs(uint64_t point) {
  if (point == 0 || !may_destroy()) return false;
  const VkResult r = timeline->status(point);
  if (r == VK_NOT_READY) return true;
  if (r != VK_SUCCESS) settle();
  return false;
}

}  // namespace spirograd::vk
