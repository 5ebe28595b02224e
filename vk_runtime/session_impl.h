// The inside of a Session: an executable's pipelines, memory and recorded commands on one device.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "vk_runtime/device.h"
#include "vk_runtime/recorder.h"
#include "vk_runtime/storage.h"

namespace spirograd::vk {

struct Session::Impl {
  /// Pre: device. `asked`: the device that the user knows, of which `device` may be a quicker one (inline_device.h).
  Impl(std::shared_ptr<Device> device, const std::shared_ptr<Device>& asked, const Executable& executable);
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
  void submit(VkCommandBuffer commands) { last = d.submit_point(commands); }
  void upload_constants(const Executable& executable);
  void finish(uint64_t timeout_ns = UINT64_MAX);
  double device_seconds();
  double seconds_of_ticks(uint64_t ticks) const;
  std::vector<StepRun> profile_runs();
  void adapt(double seconds);

  // Places of the arguments, as descriptors know them.
  struct Bound {
    std::vector<uint64_t> numbers;         // Storage::Piece::number, by argument
    std::vector<Place> places;             // by buffer
    std::unique_ptr<DescriptorSets> sets;  // Descriptors
  };
  // Commands of a number of steps, with or without the staging copies, in parts that are submitted one after the other.
  // Without parts where they are too many to be kept: then each run writes them anew, into slots that take turns.
  struct Kept {
    uint64_t steps = 1;
    bool with_copies = false;
    std::shared_ptr<Bound> even, odd;  // of the steps 0, 2, ..; of the steps 1, 3, .., where fed arrays have changed places
    std::vector<VkCommandBuffer> parts;
    uint64_t n_parts = 0;
  };
  void record_commands();
  Kept& commands_for(uint64_t steps, bool with_copies);
  std::shared_ptr<Bound> bound_for(std::vector<const Storage::Piece*> pieces);
  bool write_run(Kept& run, const std::function<VkCommandBuffer()>& open, const std::function<void()>& close);
  void write_copies(VkCommandBuffer commands, const Bound& bound, bool in);
  void write_copies_back(VkCommandBuffer commands, const Bound& bound);
  void forget(std::vector<VkCommandBuffer>& parts);
  void forget_all();
  void make_slots();
  VkCommandBuffer next_slot(uint64_t timeout_ns);
  /// Submits, and brings the arguments up to date. Returns the commands.
  const Kept& send(uint64_t steps, bool with_copies, uint64_t timeout_ns);
  double run_and_wait(uint64_t steps, bool with_copies, uint64_t timeout_ns = UINT64_MAX);

  // Arguments by name, and what is bound, fed and donated (session_bind.cpp).
  struct Feed {
    uint32_t output = 0, input = 0;
    bool exchanged = true;  // else the output is copied to the input after an odd number of steps
  };
  uint32_t argument(std::string_view name, const char* call, std::optional<Role> role);
  void bind(std::string_view name, DeviceArray& array, std::optional<Role> role);
  void feed(std::string_view output, std::string_view input);
  void donate(std::string_view input, std::string_view output);
  void place_in(uint32_t input, uint32_t output);
  void check_pair(uint32_t input, uint32_t output, const char* call) const;
  void check_given() const;
  void come_here();
  bool is_bound() const;
  /// The argument whose memory it has: of a donated output the input.
  uint32_t home(uint32_t argument) const;
  /// Where its newest contents are: a fed output has exchanged its memory.
  uint32_t newest(uint32_t argument) const;
  std::vector<Place> homes() const;
  /// Throws SG0501 where an array does not begin as kernels need it (stores_rows).
  void check_rows(const std::vector<Place>& at) const;
  /// Throws SG0501 where an array that is written shares bytes with another one, beginning with `what`.
  void check_overlaps(const std::string& what, const std::vector<Place>& given, bool fed) const;

  Place place_of(const Allocation& a) const { return {a.buffer, a.offset, a.address}; }
  uint8_t* host_side(uint32_t i) const {
    return staged ? staging.mapped + staging_offset[i] : arguments[i]->piece.mine.mapped;
  }
  /// The mapped memory of an input or output.
  const Allocation& host_memory(uint32_t i) const { return staged ? staging : arguments[i]->piece.mine; }
  uint32_t n_arguments() const { return e.n_inputs + e.n_outputs; }

  std::shared_ptr<Device> owner;
  std::weak_ptr<Device> asked;
  Device::Impl& d;
  Executable e;  // without SPIR-V and constants
  std::vector<uint32_t> barriers;
  std::shared_ptr<const Pipelines> pipelines;
  std::unique_ptr<DescriptorSets> record_sets;      // Descriptors: for record()
  std::vector<std::shared_ptr<Storage>> arguments;  // inputs, then outputs; a donated input stands at its output, too
  std::vector<bool> given;                          // by argument: it has contents
  std::vector<bool> bound;                          // by argument: to a DeviceArray
  std::vector<Feed> feeds;
  std::vector<std::pair<uint32_t, uint32_t>> donated;  // input, output
  std::vector<Allocation> allocations;                 // by buffer: of constants
  Allocation scratch, staging;
  std::vector<uint64_t> staging_offset;  // by input and output
  std::vector<Place> places;             // by buffer; of arguments, at the beginning
  bool staged = false;
  bool gave_up = false;  // on a run: nobody knows whether it ends
  uint64_t bytes = 0;

  VkCommandPool pool = VK_NULL_HANDLE;
  std::vector<std::unique_ptr<Kept>> kept;  // the last used one first
  struct Slot {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    uint64_t point = 0;  // of the last submission, 0: waited for
  };
  std::array<Slot, 3> slots;
  size_t slot = 0;
  PartLimit part_limit;
  uint64_t n_parts = 0;  // of the last run
  VkQueryPool queries = VK_NULL_HANDLE;
  uint64_t last = 0;  // the point of what was submitted last, if it was not seen to end; all before it ends before it
};

}  // namespace spirograd::vk
