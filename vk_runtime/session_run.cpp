// The commands of a run: written in parts, submitted, waited for.
#include <algorithm>
#include <chrono>

#include "vk_runtime/errors.h"
#include "vk_runtime/session_impl.h"

namespace spirograd::vk {
namespace {

constexpr size_t kKeptParts = 16;

}  // namespace

void Session::Impl::write_copies(VkCommandBuffer commands, bool in) {
  for (uint32_t i = in ? 0 : e.n_inputs; i < (in ? e.n_inputs : n_arguments()); ++i) {
    if (e.buffers[i].bytes == 0) continue;
    const VkDeviceSize host = staging.offset + staging_offset[i], device = places[i].offset;
    const VkBufferCopy region{in ? host : device, in ? device : host, e.buffers[i].bytes};
    d.fns.vkCmdCopyBuffer(commands, in ? staging.buffer : places[i].buffer, in ? places[i].buffer : staging.buffer, 1,
                          &region);
  }
}

// `open` gives a command buffer that has begun, or null where there are enough of them: then the run is not written to its
// end, and the result is false. `close` says that it has all it gets. Barriers reach across submissions.
bool Session::Impl::write_run(bool with_copies, const std::function<VkCommandBuffer()>& open,
                              const std::function<void()>& close) {
  VkCommandBuffer commands = open();
  if (!commands) return false;
  memory_barrier(d.fns, commands, kOurUses, kOurUses);  // after the run before
  if (with_copies) {
    write_copies(commands, true);
    memory_barrier(d.fns, commands, kOurUses, kOurUses);
  }
  if (queries) {
    d.fns.vkCmdResetQueryPool(commands, queries, 0, 2);
    d.fns.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, queries, 0);
  }
  Progress progress(e.steps);
  for (n_parts = 1;; ++n_parts) {
    record_steps(d, commands, e, *pipelines, barriers, places, sets.get(), progress, part_limit);
    if (progress.done()) break;
    close();
    if (!(commands = open())) return false;
  }
  if (queries) d.fns.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, 1);
  if (with_copies) {
    memory_barrier(d.fns, commands, kOurUses, kOurUses);
    write_copies(commands, false);
  }
  memory_barrier(d.fns, commands, kOurUses, kHostReads);
  close();
  return true;
}

void Session::Impl::forget(std::vector<VkCommandBuffer>& parts) {
  if (!parts.empty()) d.fns.vkFreeCommandBuffers(d.device, pool, static_cast<uint32_t>(parts.size()), parts.data());
  parts.clear();
}

// Whether there are few enough parts to keep them.
bool Session::Impl::keep(bool with_copies) {
  std::vector<VkCommandBuffer>& parts = kept[with_copies];
  forget(parts);
  const auto open = [&] { return parts.size() == kKeptParts ? VK_NULL_HANDLE : parts.emplace_back(begin(0)); };
  try {
    const bool whole = write_run(with_copies, open, [&] { end(parts.back()); });
    if (!whole) forget(parts);
    return whole;
  } catch (...) {
    forget(parts);
    throw;
  }
}

void Session::Impl::record_commands() {
  if (keep(false) && (!staged || keep(true))) return;
  for (Slot& s : slots) {
    if (s.commands) continue;
    VkCommandBufferAllocateInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    info.commandPool = pool;
    info.commandBufferCount = 1;
    d.check(d.fns.vkAllocateCommandBuffers(d.device, &info, &s.commands), "vkAllocateCommandBuffers");
    const VkFenceCreateInfo fence_info{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, nullptr, 0};
    d.check(d.fns.vkCreateFence(d.device, &fence_info, nullptr, &s.fence), "vkCreateFence");
  }
}

// The slot that was submitted the longest time ago, begun anew.
VkCommandBuffer Session::Impl::next_slot(uint64_t timeout_ns) {
  slot = (slot + 1) % slots.size();
  Slot& s = slots[slot];
  if (s.submitted) {
    wait(s.fence, timeout_ns);
    s.submitted = false;
  }
  VkCommandBufferBeginInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  d.check(d.fns.vkBeginCommandBuffer(s.commands, &info), "vkBeginCommandBuffer");
  return s.commands;
}

void Session::Impl::submit(VkCommandBuffer commands, VkFence signals) {
  if (signals) d.check(d.fns.vkResetFences(d.device, 1, &signals), "vkResetFences");
  d.submit(commands, signals);
  if (signals) last = signals;
}

bool Session::Impl::still_runs() {
  if (!last || !d.may_destroy()) return false;
  const VkResult r = d.fns.vkGetFenceStatus(d.device, last);
  if (r == VK_NOT_READY) return true;
  last = VK_NULL_HANDLE;
  if (r != VK_SUCCESS) d.settle();
  return false;
}

void Session::Impl::wait(VkFence for_fence, uint64_t timeout_ns) {
  using Clock = std::chrono::steady_clock;
  const auto watched_until = Clock::now() + std::chrono::nanoseconds(std::min(d.watched_ns, timeout_ns));
  while (d.watched_ns > 0 && Clock::now() < watched_until && d.fns.vkGetFenceStatus(d.device, for_fence) == VK_NOT_READY) {
  }
  const VkResult waited = d.fns.vkWaitForFences(d.device, 1, &for_fence, VK_TRUE, timeout_ns);
  if (waited == VK_TIMEOUT)
    throw Error("SG0312", "'" + d.name() + "' is not done after " + std::to_string(timeout_ns / 1'000'000) +
                              " ms, which is all the time that it was given");
  if (waited != VK_SUCCESS) {  // the commands may still run
    last = VK_NULL_HANDLE;
    d.settle();
  }
  d.check(waited, "vkWaitForFences");
}

void Session::Impl::finish(uint64_t timeout_ns) {
  if (last) wait(last, timeout_ns);
  last = VK_NULL_HANDLE;
}

// Of a difference of timestamps, of which only some bits count.
double Session::Impl::seconds_of_ticks(uint64_t ticks) const {
  const uint64_t mask = d.plan.timestamp_bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << d.plan.timestamp_bits) - 1;
  return static_cast<double>(ticks & mask) * d.facts.timestamp_period * 1e-9;
}

// Between the timestamps, 0 where there are none.
double Session::Impl::device_seconds() {
  if (!queries) return 0;
  uint64_t ticks[2] = {};
  const VkResult r =
      d.fns.vkGetQueryPoolResults(d.device, queries, 0, 2, sizeof ticks, ticks, sizeof ticks[0], VK_QUERY_RESULT_64_BIT);
  if (r == VK_NOT_READY) return 0;  // a time is no reason to fail
  d.check(r, "vkGetQueryPoolResults");
  return seconds_of_ticks(ticks[1] - ticks[0]);
}

// Where parts have taken far longer than they should, the next run has shorter ones.
void Session::Impl::adapt(double seconds) {
  constexpr double kAim = 0.05, kTooLong = 4 * kAim;
  const double part = seconds / static_cast<double>(n_parts);
  // Of less work than it takes to start one, each command is alone, and cutting dispatches further gains nothing.
  if (part_limit.work <= d.info.target.price.dispatch || part < kTooLong) return;
  part_limit.work *= kAim / part;
  record_commands();
}

// Returns the device time.
double Session::Impl::run_and_wait(bool with_copies, uint64_t timeout_ns) {
  d.check_alive();
  finish(timeout_ns);
  const std::vector<VkCommandBuffer>& parts = kept[with_copies];
  if (parts.empty() && !slots.back().fence) record_commands();  // that failed the last time
  bool runs = false;
  const auto send = [&](VkCommandBuffer commands, VkFence signals) {
    submit(commands, signals);
    runs = true;
  };
  try {
    for (size_t i = 0; i < parts.size(); ++i) send(parts[i], i + 1 == parts.size() ? fence : VK_NULL_HANDLE);
    if (parts.empty()) {
      write_run(
          with_copies, [&] { return next_slot(timeout_ns); },
          [&] {
            Slot& s = slots[slot];
            end(s.commands);
            send(s.commands, s.fence);
            s.submitted = true;
          });
    }
  } catch (const Error& error) {
    if (runs && error.code != "SG0312") d.settle();
    throw;
  }
  finish(timeout_ns);
  const double seconds = device_seconds();
  adapt(seconds);
  return seconds;
}

}  // namespace spirograd::vk
