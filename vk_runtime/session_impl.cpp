// What a session makes once: memory, pipelines, constants on the device and the commands of a run.
#include "vk_runtime/session_impl.h"

#include <algorithm>
#include <cstring>

#include "frontend/base/bytes_text.h"
#include "vk_runtime/barrier_plan.h"
#include "vk_runtime/errors.h"
#include "vk_runtime/executable_check.h"

namespace spirograd::vk {

Session::Impl::Impl(std::shared_ptr<Device> device, const std::shared_ptr<Device>& as, const Executable& executable)
    : owner(std::move(device)), asked(as), d(Device::Impl::of(*owner)) {
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
  record_sets.reset();
  kept.clear();
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
    for (size_t i = 0; i < x.buffers.size(); ++i) {
      const BufferDesc& b = x.buffers[i];
      if (b.role == Role::Constant) allocations[i] = d.memory->allocate(MemoryKind::Arrays, b.bytes);
      if (b.role == Role::Input || b.role == Role::Output) arguments.push_back(std::make_shared<Storage>(d, b.type));
    }
    given.resize(arguments.size());
    bound.resize(arguments.size());
    // Empty arrays at the arena's end still need a valid place.
    scratch = d.memory->allocate(MemoryKind::Scratch, x.scratch_bytes + 16);
    bytes = scratch.bytes;
    for (size_t i = 0; i < x.buffers.size(); ++i) {
      const BufferDesc& b = x.buffers[i];
      Place p =
          i < arguments.size() ? arguments[i]->piece.place : place_of(b.role == Role::Scratch ? scratch : allocations[i]);
      if (b.role == Role::Scratch) {
        p.offset += b.scratch_offset;
        if (p.address) p.address += b.scratch_offset;
      }
      places.push_back(p);
      bytes += i < arguments.size() ? arguments[i]->piece.mine.bytes : allocations[i].bytes;
    }
    // Some drivers offer what they do not have.
    if (e.form == BindingForm::Address && scratch.address == 0)
      throw Error("SG0303", "'" + d.name() + "' offers bufferDeviceAddress, but places a buffer at address 0")
          .hint("compile with BindingForm::Descriptors");
    for (const auto& a : arguments) staged = staged || !a->piece.mine.mapped;
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
    if (error.code == "SG0601") {
      error.notes.push_back("the program needs " + bytes_text(wish) + " on the device in all, " +
                            bytes_text(x.scratch_bytes) + " of it for intermediate values");
      for (const std::string& array : largest_scratch(x)) error.notes.push_back("an intermediate value: " + array);
    }
    throw;
  }
}

void Session::Impl::create(const Executable& x) {
  e = x;
  for (KernelBinary& k : e.kernels) k.words = {};
  for (BufferDesc& b : e.buffers) b.data = {};
  barriers = plan_barriers(e);
  pipelines = pipelines_of(d, x);
  d.save_pipeline_cache();
  allocate(x);
  if (e.form == BindingForm::Descriptors) record_sets = std::make_unique<DescriptorSets>(d, e, *pipelines);
  VkCommandPoolCreateInfo pool_info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool_info.queueFamilyIndex = d.queue_family;
  pool_info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  d.check(or_null(d.fns.vkCreateCommandPool(d.device, &pool_info, nullptr, &pool), pool), "vkCreateCommandPool");
  if (d.plan.timestamp_bits > 0) {
    VkQueryPoolCreateInfo info{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = 2;
    d.check(or_null(d.fns.vkCreateQueryPool(d.device, &info, nullptr, &queries), queries), "vkCreateQueryPool");
  }
  upload_constants(x);
  part_limit = {d.info.target.price.submission, d.commands_per_part};
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
  submit(commands);
  finish();
  d.fns.vkFreeCommandBuffers(d.device, pool, 1, &commands);
}

}  // namespace spirograd::vk
