// What a session makes once: memory, pipelines, constants on the device and the commands of a run.
#include "vk_runtime/session_impl.h"

#include <algorithm>
#include <cstring>

#include "vk_runtime/barrier_plan.h"
#include "vk_runtime/errors.h"
#include "vk_runtime/executable_check.h"

namespace spirograd::vk {

Session::Impl::Impl(std::shared_ptr<Device> device, const Executable& executable)
    : owner(std::move(device)), d(Device::Impl::of(*owner)) {
  check_executable(executable);
  check_features(executable, d);
  d.check_alive();
  d.sweep();
  try {
    create(executable);
  } catch (...) {
    destroy();
    throw;
  }
}

void Session::Impl::destroy() {
  const DeviceFns& f = d.fns;
  if (!d.may_destroy()) {
    d.memory->abandon();
    return;
  }
  if (pool) f.vkDestroyCommandPool(d.device, pool, nullptr);
  if (queries) f.vkDestroyQueryPool(d.device, queries, nullptr);
  if (fence) f.vkDestroyFence(d.device, fence, nullptr);
  record_sets.reset();
  sets.reset();
  pipelines.reset();
  for (const Allocation& a : allocations) d.memory->release(a);
  d.memory->release(scratch);
  d.memory->release(staging);
}

void Session::Impl::allocate(const Executable& x) {
  uint64_t wish = x.scratch_bytes;
  for (const BufferDesc& b : x.buffers) wish += b.role == Role::Scratch ? 0 : b.bytes;
  try {
    allocations.resize(x.buffers.size());
    for (size_t i = 0; i < x.buffers.size(); ++i)
      if (x.buffers[i].role != Role::Scratch) allocations[i] = d.memory->allocate(MemoryKind::Arrays, x.buffers[i].bytes);
    // Empty arrays at the arena's end still need a valid place.
    scratch = d.memory->allocate(MemoryKind::Scratch, x.scratch_bytes + 16);
    bytes = scratch.bytes;
    for (size_t i = 0; i < x.buffers.size(); ++i) {
      const BufferDesc& b = x.buffers[i];
      Place p = place_of(b.role == Role::Scratch ? scratch : allocations[i]);
      if (b.role == Role::Scratch) {
        p.offset += b.scratch_offset;
        if (p.address) p.address += b.scratch_offset;
      }
      places.push_back(p);
      bytes += allocations[i].bytes;
    }
    for (uint32_t i = 0; i < n_arguments(); ++i) staged = staged || !allocations[i].mapped;
    staged = staged || d.always_stage;
    if (!staged) return;
    // Inputs and outputs share the staging memory: the copies in are done before the copies out begin.
    uint64_t ends[2] = {0, 0};
    for (uint32_t i = 0; i < n_arguments(); ++i) {
      uint64_t& end_of = ends[i < e.n_inputs ? 0 : 1];
      staging_offset.push_back(end_of);
      end_of += (x.buffers[i].bytes + 15) / 16 * 16;
    }
    staging = d.memory->allocate(MemoryKind::Staging, std::max(ends[0], ends[1]));
  } catch (Error& error) {
    if (error.code == "SG0601")
      error.notes.push_back("the program needs " + bytes_text(wish) + " on the device in all, " +
                            bytes_text(x.scratch_bytes) + " of it for intermediate values");
    throw;
  }
}

void Session::Impl::create(const Executable& x) {
  e = x;
  for (KernelBinary& k : e.kernels) k.words = {};
  for (BufferDesc& b : e.buffers) b.data = {};
  barriers = plan_barriers(e);
  pipelines = std::make_unique<Pipelines>(d, x.form, x.kernels);
  d.save_pipeline_cache();
  allocate(x);
  if (e.form == BindingForm::Descriptors) {
    sets = std::make_unique<DescriptorSets>(d, e, *pipelines);
    sets->update(places);
    record_sets = std::make_unique<DescriptorSets>(d, e, *pipelines);
  }
  VkCommandPoolCreateInfo pool_info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool_info.queueFamilyIndex = d.queue_family;
  d.check(d.fns.vkCreateCommandPool(d.device, &pool_info, nullptr, &pool), "vkCreateCommandPool");
  if (d.plan.timestamp_bits > 0) {
    VkQueryPoolCreateInfo info{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = 2;
    d.check(d.fns.vkCreateQueryPool(d.device, &info, nullptr, &queries), "vkCreateQueryPool");
  }
  const VkFenceCreateInfo info{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, nullptr, 0};
  d.check(d.fns.vkCreateFence(d.device, &info, nullptr, &fence), "vkCreateFence");
  upload_constants(x);
  record_commands();
}

VkCommandBuffer Session::Impl::begin(VkCommandBufferUsageFlags usage) {
  VkCommandBufferAllocateInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  info.commandPool = pool;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  d.check(d.fns.vkAllocateCommandBuffers(d.device, &info, &commands), "vkAllocateCommandBuffers");
  VkCommandBufferBeginInfo begin_info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  begin_info.flags = usage;
  d.check(d.fns.vkBeginCommandBuffer(commands, &begin_info), "vkBeginCommandBuffer");
  return commands;
}

void Session::Impl::upload_constants(const Executable& x) {
  uint64_t copied = 0;
  for (size_t i = 0; i < x.buffers.size(); ++i) {
    const BufferDesc& b = x.buffers[i];
    if (b.role != Role::Constant || b.bytes == 0) continue;
    if (!allocations[i].mapped) {
      copied += (b.bytes + 15) / 16 * 16;
      continue;
    }
    std::memcpy(allocations[i].mapped, b.data.data(), b.data.size());
    d.memory->flush(allocations[i]);
  }
  if (copied == 0) return;
  const Allocation from = d.memory->allocate(MemoryKind::Staging, copied);
  const Defer release([&] { d.memory->release(from); });
  const VkCommandBuffer commands = begin(VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
  uint64_t at = 0;
  for (size_t i = 0; i < x.buffers.size(); ++i) {
    const BufferDesc& b = x.buffers[i];
    if (b.role != Role::Constant || b.bytes == 0 || allocations[i].mapped) continue;
    std::memcpy(from.mapped + at, b.data.data(), b.data.size());
    const VkBufferCopy copy{from.offset + at, allocations[i].offset, b.bytes};
    d.fns.vkCmdCopyBuffer(commands, from.buffer, allocations[i].buffer, 1, &copy);
    at += (b.bytes + 15) / 16 * 16;
  }
  d.memory->flush(from);
  memory_barrier(d.fns, commands, kOurUses, kOurUses);
  end(commands);
  submit_and_wait(commands);
  d.fns.vkFreeCommandBuffers(d.device, pool, 1, &commands);
}

void Session::Impl::record_core(VkCommandBuffer commands) {
  if (queries) {
    d.fns.vkCmdResetQueryPool(commands, queries, 0, 2);
    d.fns.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, queries, 0);
  }
  record_steps(d, commands, e, *pipelines, barriers, places, sets.get());
  if (queries) d.fns.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, 1);
}

void Session::Impl::record_commands() {
  core = begin(0);
  memory_barrier(d.fns, core, kOurUses, kOurUses);  // after the run before
  record_core(core);
  memory_barrier(d.fns, core, kOurUses, kHostReads);
  end(core);
  full = core;
  if (!staged) return;

  full = begin(0);
  memory_barrier(d.fns, full, kOurUses, kOurUses);
  const auto copy = [&](uint32_t i, bool in) {
    if (e.buffers[i].bytes == 0) return;
    const VkDeviceSize host = staging.offset + staging_offset[i], device = places[i].offset;
    const VkBufferCopy region{in ? host : device, in ? device : host, e.buffers[i].bytes};
    d.fns.vkCmdCopyBuffer(full, in ? staging.buffer : places[i].buffer, in ? places[i].buffer : staging.buffer, 1, &region);
  };
  for (uint32_t i = 0; i < e.n_inputs; ++i) copy(i, true);
  memory_barrier(d.fns, full, kOurUses, kOurUses);
  record_core(full);
  memory_barrier(d.fns, full, kOurUses, kOurUses);
  for (uint32_t i = e.n_inputs; i < n_arguments(); ++i) copy(i, false);
  memory_barrier(d.fns, full, kOurUses, kHostReads);
  end(full);
}

bool Session::Impl::still_runs() {
  if (!unfinished || !d.may_destroy()) return false;
  const VkResult r = d.fns.vkGetFenceStatus(d.device, fence);
  if (r == VK_NOT_READY) return true;
  unfinished = false;
  if (r != VK_SUCCESS) d.settle();
  return false;
}

void Session::Impl::finish(uint64_t timeout_ns) {
  if (!unfinished) return;
  const VkResult waited = d.fns.vkWaitForFences(d.device, 1, &fence, VK_TRUE, timeout_ns);
  if (waited == VK_TIMEOUT)
    throw Error("SG0312", "'" + d.name() + "' is not done after " + std::to_string(timeout_ns / 1'000'000) +
                              " ms, which is all the time that it was given");
  unfinished = false;
  if (waited != VK_SUCCESS) d.settle();  // the commands may still run
  d.check(waited, "vkWaitForFences");
}

// Returns the device time between the timestamps, 0 where there are none.
double Session::Impl::submit_and_wait(VkCommandBuffer commands, uint64_t timeout_ns) {
  d.check_alive();
  finish(timeout_ns);
  d.check(d.fns.vkResetFences(d.device, 1, &fence), "vkResetFences");
  d.submit(commands, fence);
  unfinished = true;
  finish(timeout_ns);
  if (!queries || (commands != core && commands != full)) return 0;
  uint64_t ticks[2] = {};
  const VkResult r =
      d.fns.vkGetQueryPoolResults(d.device, queries, 0, 2, sizeof ticks, ticks, sizeof ticks[0], VK_QUERY_RESULT_64_BIT);
  if (r == VK_NOT_READY) return 0;  // a time is no reason to fail
  d.check(r, "vkGetQueryPoolResults");
  const uint64_t mask = d.plan.timestamp_bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << d.plan.timestamp_bits) - 1;
  return static_cast<double>((ticks[1] - ticks[0]) & mask) * d.facts.timestamp_period * 1e-9;
}

// Steps run in any order that their dependencies on buffers allow, and these are told apart by name: an output may share no
// byte with an input or another output. Inputs may share theirs.
void Session::Impl::check_overlaps(const std::vector<Place>& given) const {
  for (uint32_t out = e.n_inputs; out < n_arguments(); ++out)
    for (uint32_t other = 0; other < out; ++other) {
      const Place &a = given[other], &b = given[out];
      const uint64_t a_end = a.offset + e.buffers[other].bytes, b_end = b.offset + e.buffers[out].bytes;
      if (a.buffer != b.buffer || std::max(a.offset, b.offset) >= std::min(a_end, b_end)) continue;
      const auto range = [&](uint32_t i, uint64_t begin, uint64_t end) {
        return std::string(i < e.n_inputs ? "input '" : "output '") + e.buffers[i].name + "' (bytes " +
               std::to_string(begin) + " to " + std::to_string(end) + ")";
      };
      throw Error("SG0501", "record: " + range(out, b.offset, b_end) + " and " + range(other, a.offset, a_end) +
                                " share bytes of one buffer")
          .hint("give the output a place of its own and copy afterwards");
    }
}

}  // namespace spirograd::vk
