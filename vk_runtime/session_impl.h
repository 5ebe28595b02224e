// The inside of a Session: an executable's pipelines, memory and recorded commands on one device.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "vk_runtime/device.h"
#include "vk_runtime/recorder.h"

namespace spirograd::vk {

struct Session::Impl {
  /// Pre: device.
  Impl(std::shared_ptr<Device> device, const Executable& executable);
  ~Impl() { destroy(); }
  static Impl& of(Session& s) { return *s.impl_; }

  /// Session::run() with an end to its patience: SG0312 when the device needs longer. The session may then be asked again,
  /// which waits for the earlier run first, or be destroyed, which leaves what still runs to the device.
  Result<std::vector<HostArray>> run(std::span<const HostArray> inputs, uint64_t timeout_ns, Timing* timing = nullptr);
  /// Whether commands that nobody waited for to their end still run.
  bool still_runs();

  void create(const Executable& executable);
  void destroy();
  void allocate(const Executable& executable);
  VkCommandBuffer begin(VkCommandBufferUsageFlags usage);
  void end(VkCommandBuffer commands) { d.check(d.fns.vkEndCommandBuffer(commands), "vkEndCommandBuffer"); }
  void record_commands();
  bool write_run(bool with_copies, const std::function<VkCommandBuffer()>& open, const std::function<void()>& close);
  void write_copies(VkCommandBuffer commands, bool in);
  void forget(std::vector<VkCommandBuffer>& parts);
  bool keep(bool with_copies);
  VkCommandBuffer next_slot(uint64_t timeout_ns);
  void submit(VkCommandBuffer commands, VkFence signals);
  void upload_constants(const Executable& executable);
  void wait(VkFence for_fence, uint64_t timeout_ns);
  void finish(uint64_t timeout_ns);
  double run_and_wait(bool with_copies, uint64_t timeout_ns = UINT64_MAX);
  double device_seconds();
  double seconds_of_ticks(uint64_t ticks) const;
  std::vector<double> profile();
  void adapt(double seconds);
  Place place_of(const Allocation& a) const { return {a.buffer, a.offset, a.address}; }
  uint8_t* host_side(uint32_t buffer) const {
    return staged ? staging.mapped + staging_offset[buffer] : allocations[buffer].mapped;
  }
  /// The mapped memory of an input or output.
  const Allocation& host_memory(uint32_t buffer) const { return staged ? staging : allocations[buffer]; }
  uint32_t n_arguments() const { return e.n_inputs + e.n_outputs; }
  void check_overlaps(const std::vector<Place>& given) const;

  std::shared_ptr<Device> owner;
  Device::Impl& d;
  Executable e;  // without SPIR-V and constants
  std::vector<uint32_t> barriers;
  std::unique_ptr<Pipelines> pipelines;
  std::unique_ptr<DescriptorSets> sets, record_sets;  // Descriptors; the second for record()
  std::vector<Allocation> allocations;                // by buffer; empty for scratch
  Allocation scratch, staging;
  std::vector<uint64_t> staging_offset;  // by input and output
  std::vector<Place> places;             // by buffer
  bool staged = false;
  uint64_t bytes = 0;

  VkCommandPool pool = VK_NULL_HANDLE;
  // The commands of a run, with and without the staging copies, in parts that are submitted one after the other. Empty where
  // they are too many to be kept: then each run writes them anew, into slots that take turns.
  std::vector<VkCommandBuffer> kept[2];
  struct Slot {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VkFence fence = VK_NULL_HANDLE;
    bool submitted = false;  // and the fence not waited for
  };
  std::array<Slot, 3> slots;
  size_t slot = 0;
  PartLimit part_limit;
  uint64_t n_parts = 0;  // of the last run that was written
  VkQueryPool queries = VK_NULL_HANDLE;
  VkFence fence = VK_NULL_HANDLE;  // of runs that are kept
  VkFence last = VK_NULL_HANDLE;   // of what was submitted last, if it was not seen to end; all before it ends before it
};

}  // namespace spirograd::vk
