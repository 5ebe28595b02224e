#include "vk_runtime/probe_record.h"

#include <array>
#include <cstring>

#include "vk_runtime/device.h"
#include "vk_runtime/errors.h"
#include "vk_runtime/probe_programs.h"
#include "vk_runtime/recorder.h"

namespace spirograd::vk {

std::vector<Finding> try_recording(const std::shared_ptr<Device>& device, const Probe& program, BindingForm form,
                                   uint64_t timeout_ns) {
  constexpr uint64_t kOddPlace = 4;
  Device::Impl& d = Device::Impl::of(*device);
  const Executable e = program_for(program, form, d.plan.target);
  const std::unique_ptr<Session> session = Session::create(device, e).value();
  const uint64_t bytes = e.buffers[0].bytes;
  const Allocation output = d.memory->allocate(MemoryKind::Arrays, bytes + kOddPlace);
  const Allocation read = d.memory->allocate(MemoryKind::Staging, 2 * bytes);
  VkCommandPool pool = VK_NULL_HANDLE;
  VkFence fence = VK_NULL_HANDLE;
  bool runs = false;  // some of it may, if a later submission has failed
  const Defer destroy([&] {
    if (runs) d.settle();
    if (!d.may_destroy()) return;
    d.fns.vkDestroyFence(d.device, fence, nullptr);
    d.fns.vkDestroyCommandPool(d.device, pool, nullptr);
    d.memory->release(output);
    d.memory->release(read);
  });
  const VkCommandPoolCreateInfo pool_info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, nullptr, 0, d.queue_family};
  d.check(or_null(d.fns.vkCreateCommandPool(d.device, &pool_info, nullptr, &pool), pool), "vkCreateCommandPool");
  const VkFenceCreateInfo fence_info{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, nullptr, 0};
  d.check(or_null(d.fns.vkCreateFence(d.device, &fence_info, nullptr, &fence), fence), "vkCreateFence");
  std::array<VkCommandBuffer, 3> commands{};
  VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  allocate.commandPool = pool;
  allocate.commandBufferCount = static_cast<uint32_t>(commands.size());
  d.check(d.fns.vkAllocateCommandBuffers(d.device, &allocate, commands.data()), "vkAllocateCommandBuffers");

  const auto [run, first, second] = commands;
  const auto begin = [&](VkCommandBuffer c) {
    VkCommandBufferBeginInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    info.flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
    d.check(d.fns.vkBeginCommandBuffer(c, &info), "vkBeginCommandBuffer");
    memory_barrier(d.fns, c, kOurUses, kOurUses);
  };
  const auto end = [&](VkCommandBuffer c) { d.check(d.fns.vkEndCommandBuffer(c), "vkEndCommandBuffer"); };
  begin(run);
  session->record(run, {}, std::array{Slice{output.buffer, output.offset + kOddPlace, bytes}}).value();
  end(run);
  for (const VkCommandBuffer c : {first, second}) {
    begin(c);
    const VkBufferCopy copy{output.offset + kOddPlace, read.offset + (c == second ? bytes : 0), bytes};
    d.fns.vkCmdCopyBuffer(c, output.buffer, read.buffer, 1, &copy);
    memory_barrier(d.fns, c, kOurUses, kHostReads);
    end(c);
  }
  runs = true;
  for (const VkCommandBuffer c : {run, first, run, second}) d.submit(c, c == second ? fence : VK_NULL_HANDLE);
  const VkResult waited = d.fns.vkWaitForFences(d.device, 1, &fence, VK_TRUE, timeout_ns);
  if (waited == VK_TIMEOUT) {
    runs = false;  // for longer than anybody waits
    d.abandon();
    throw Error("SG0312", "recorded commands have not ended in time");
  }
  if (waited == VK_SUCCESS) runs = false;
  d.check(waited, "vkWaitForFences");
  d.memory->invalidate(read);

  std::vector<Finding> out;
  for (const uint32_t number : {29u, 11u}) {
    std::vector<uint32_t> words(bytes / 4);
    std::memcpy(words.data(), read.mapped + (number == 11 ? bytes : 0), bytes);
    Finding f = judged(program, form, std::span(&words, 1))[0];
    f.number = number;
    out.push_back(std::move(f));
  }
  return out;
}

}  // namespace spirograd::vk
