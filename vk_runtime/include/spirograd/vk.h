// Runs executables on Vulkan devices: one of our own, or the host's. Nothing here throws, prints, aborts or touches global
// state. Include any vulkan.h before or after this header; only handle types are needed.
#pragma once

#include <vulkan/vulkan_core.h>

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "spirograd/choices.h"
#include "spirograd/executable.h"
#include "spirograd/host_array.h"
#include "spirograd/result.h"
#include "spirograd/target.h"

namespace spirograd::vk {

enum class DeviceType : uint8_t { Discrete, Integrated, Virtual, Cpu, Other };

constexpr std::string_view name(DeviceType t) {
  switch (t) {
    case DeviceType::Discrete: return "discrete";
    case DeviceType::Integrated: return "integrated";
    case DeviceType::Virtual: return "virtual";
    case DeviceType::Cpu: return "cpu";
    case DeviceType::Other: break;
  }
  return "other";
}

/// What became of a probe of the self-test.
enum class Outcome : uint8_t { NotRun, NotOffered, Passed, Wrong, Failed, Hung };

constexpr std::string_view name(Outcome o) {
  switch (o) {
    case Outcome::NotRun: return "not run";
    case Outcome::NotOffered: return "not offered";
    case Outcome::Passed: return "passed";
    case Outcome::Wrong: return "wrong";
    case Outcome::Failed: return "failed";
    case Outcome::Hung: break;
  }
  return "hung";
}

/// Of one probe of the self-test.
struct Verdict {
  uint32_t number = 0;
  std::string name;  // "sums by compare-exchange"
  Outcome outcome = Outcome::NotRun;
  std::string text;  // what was seen, and what is done about it: "sums in 64 places: ..; scatters add in order"
  bool operator==(const Verdict&) const = default;
};

/// Measured where a device is examined; 0: not measured.
struct Speeds {
  double iterations = 0;         // of a loop of one invocation, per second
  double compile = 0;            // seconds for 1,500 instructions
  double written = 0, read = 0;  // bytes per second by the host, in memory that it shares with the device
  bool operator==(const Speeds&) const = default;
};

/// What is known of a physical device, and what was proved on it.
struct DeviceInfo {
  uint32_t index = 0;  // position in devices(), stable while the drivers stay the same
  std::string name;    // "llvmpipe (LLVM 15.0.6, 256 bits)"
  std::string driver;  // "llvmpipe Mesa 22.3.6 (LLVM 15.0.6)"
  DeviceType type = DeviceType::Other;
  uint32_t api_major = 0, api_minor = 0, api_patch = 0;
  uint64_t memory_bytes = 0;  // largest device-local heap
  std::string unusable;       // empty, or what is missing ("Vulkan 1.1", "a compute queue", ...)
  Target target;              // facts after the self-test
  std::vector<std::pair<std::string, std::string>> hardware;  // for people: what, and how: heaps, memory, queues
  std::vector<Verdict> verdicts;                              // of the self-test, by number; empty before
  Speeds speeds;
};

/// All devices of all drivers, best first (discrete, integrated, virtual, cpu). With prove: runs the self-test on each
/// usable one. Error SG0301 when the loader is missing, SG0302 when it finds no driver.
Result<std::vector<DeviceInfo>> devices(bool prove = false, PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr);

struct DeviceOptions {
  std::string select;       // "": the best; "0": by index; else a part of the name, letter case ignored
  bool validation = false;  // Khronos validation layer, core and synchronization; messages come through on_message
  void (*on_message)(void* user, const char* id, const char* text) = nullptr;  // validation and driver messages
  void* user = nullptr;
  std::string cache_dir;                                       // UTF-8; pipelines, findings of the self-test; "": none
  bool cache_pipelines = true;                                 // off: only what the self-test has found
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;  // the host's way to Vulkan; null: the system's loader
  /// lavapipe wakes threads of its own for every dispatch. Sessions whose work is done before these are awake run on the
  /// thread that submits it; not where the environment's LP_NUM_THREADS has chosen a number of threads. Whoever waits for
  /// work looks for its end for 2 ms before he sleeps.
  bool inline_little_work = true;
};

/// Runs every probe on the device that the options select, in both binding forms, those too that take seconds or gigabytes,
/// and measures; keeps the findings in the cache folder. `progress`, if given, hears of each program before it runs. A
/// device that turns out to be unusable is no error here.
Result<DeviceInfo> examine(const DeviceOptions& options, const std::function<void(std::string_view)>& progress = {});

/// A device that belongs to the host. All handles stay the host's; they outlive the Device.
struct External {
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice physical_device = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  uint32_t queue_family = 0;
  uint32_t api_version = 0;            // what the instance was created with
  bool buffer_device_address = false;  // enabled on the device
  bool float64 = false;
  bool atomic_float_add = false;       // shaderBufferFloat32AtomicAdd enabled
  bool subgroup_size_control = false;  // subgroupSizeControl and computeFullSubgroups enabled
  bool timeline_semaphore = false;     // enabled; without it, runs are waited for by fences
  bool float16_storage = false;        // storageBuffer16BitAccess enabled: arrays of f16,
  bool float16_addresses = false;      // and storagePushConstant16, to reach them through addresses
  bool external_memory_fd = false;     // VK_KHR_external_memory_fd enabled: arrays that are shared
  bool shader_float_controls = false;  // of Vulkan 1.1: the extension enabled; later it is no extension
  bool push_descriptor = false;        // VK_KHR_push_descriptor enabled: llvmpipe stores faster through descriptors
  /// Held around submits and waits for the queue, if given. Needed where anybody else submits to the queue while sessions
  /// run: a second Device of it too, and adopt refuses that one if either has no lock.
  void (*lock_queue)(void* user) = nullptr;
  void (*unlock_queue)(void* user) = nullptr;
  void* user = nullptr;
};

/// What sessions use of a physical device, for a host to create its own device with, and then for adopt(). It is only what
/// the physical device has, and none of it is a must.
class WantedFeatures {
 public:
  WantedFeatures(WantedFeatures&&) noexcept;
  WantedFeatures& operator=(WantedFeatures&&) noexcept;
  ~WantedFeatures();
  /// For VkDeviceCreateInfo::pNext, as long as this object and `mine` are there; pEnabledFeatures stays null. `mine` is the
  /// host's own chain: what is wanted is set in structs that it has (VkPhysicalDeviceFeatures2 and those of Vulkan 1.2 and
  /// 1.3 too), and other structs go in front of it.
  const void* chain(void* mine = nullptr);
  /// For ppEnabledExtensionNames: the host's own, and then those of ours that it does not name.
  std::vector<const char*> extensions(std::span<const char* const> mine = {}) const;
  /// The one that Device::create would take: compute without graphics, where there is such a family.
  uint32_t queue_family() const;
  /// For VkBufferCreateInfo::usage, beside the host's own, of buffers that record() is to reach. Where device addresses are
  /// among it, their memory is allocated with VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT.
  VkBufferUsageFlags buffer_usage() const;
  /// For adopt(), of a device that was created with the chain and the extensions. A lock of the queue is yet to be set.
  External external(VkDevice device, VkQueue queue, uint32_t queue_family) const;
  struct Impl;  // defined in the library only

 private:
  friend Result<WantedFeatures> wanted_features(PFN_vkGetInstanceProcAddr, VkInstance, VkPhysicalDevice, uint32_t);
  explicit WantedFeatures(std::unique_ptr<Impl>);
  std::unique_ptr<Impl> impl_;
};

/// `api_version`: what the instance was created with. Error SG0303: a handle that is null, or a device that cannot be used,
/// and what it lacks (Vulkan 1.1, a queue with compute).
Result<WantedFeatures> wanted_features(PFN_vkGetInstanceProcAddr get_instance_proc_addr, VkInstance instance,
                                       VkPhysicalDevice physical_device, uint32_t api_version);

/// A range of a buffer, yours or ours.
struct Slice {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceSize offset = 0, bytes = 0;
};

/// Texels of an image of yours, of one mip level: layers, rows, columns and channels of an array, without an axis for one
/// layer or one channel. R32, R32G32 and R32G32B32A32 SFLOAT are f32, the same of R16 are f16; R32_UINT and colours of four
/// bytes (R8G8B8A8 and B8G8R8A8, A2B10G10R10) are u32 as they lie in memory, which `import images` unpacks; R32_SINT is i32.
struct ImageRegion {
  VkImage image = VK_NULL_HANDLE;  // with usage TRANSFER_SRC as an input, TRANSFER_DST as an output
  VkFormat format = VK_FORMAT_UNDEFINED;
  VkImageLayout layout = VK_IMAGE_LAYOUT_GENERAL;  // that it is in meanwhile; or TRANSFER_SRC_ or _DST_OPTIMAL
  VkExtent2D extent = {};
  VkOffset2D offset = {};
  uint32_t mip = 0, first_layer = 0, layers = 1;
};

/// Where an input or output of a recording lies.
using HostArgument = std::variant<Slice, ImageRegion>;

class Device {
 public:
  /// Errors: SG0301 no loader, SG0302 no driver, SG0303 what the device or the validation layer lacks, SG0304 unknown
  /// selection (names all devices), SG0305 a failed Vulkan call. Runs the self-test, a few tenths of a second, or
  /// nothing where the cache folder knows it. Where the options leave the choice, devices that it finds unusable are passed
  /// over.
  static Result<std::shared_ptr<Device>> create(const DeviceOptions& options = {});
  /// Submits the self-test to the host's queue once (with the lock held) and waits for it.
  static Result<std::shared_ptr<Device>> adopt(const External& external);
  ~Device();
  const DeviceInfo& info() const;
  const Target& target() const { return info().target; }
  /// Gives memory back that is kept for the next session, and what sessions left whose work has ended. Returns its bytes.
  uint64_t trim();
  /// The binding form this device is best served with.
  BindingForm preferred_form() const;
  /// What the cache folder remembers of schedules that were measured on this device and driver (tune.h): for
  /// CompileOptions::choices. Empty without a folder, and where its file is damaged or another's.
  Choices tuned() const;
  /// Adds to what is remembered, in place of what is known of the same work. False where that cannot be kept.
  bool remember(const Choices& choices);
  struct Impl;  // defined in the library only

 private:
  explicit Device(std::unique_ptr<Impl>);
  std::unique_ptr<Impl> impl_;
};

/// Times of one run, in seconds. device: between timestamps around the commands, 0 where the queue has none.
struct Timing {
  double host = 0, device = 0;
};

/// When a step ran on the device, in seconds since the first of its run began. Between the parts that a long run is
/// submitted in, no time passes.
struct StepRun {
  size_t step = 0;  // of the executable
  double begin = 0, end = 0;
};

/// Memory that other devices, other APIs and other processes reach by a file descriptor (VK_KHR_external_memory_fd).
struct SharedMemory {
  static constexpr uint32_t kAnyType = UINT32_MAX;
  int fd = -1;
  uint64_t bytes = 0;               // of the whole allocation, as it was made
  uint64_t offset = 0;              // where the array begins in it, a multiple of 256
  uint32_t memory_type = kAnyType;  // index that it was made with, where the handle is opaque
  VkExternalMemoryHandleTypeFlagBits handle = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
};

struct Storage;  // defined in the library only

/// An array that stays on a device, for sessions to read and write. Its memory is freed when the last work that uses it has
/// ended. For one thread at a time, together with the sessions that it is bound to.
class DeviceArray {
 public:
  /// Zeros. Errors: SG0601 no room, SG0303 no device, SG0310 device lost.
  static Result<DeviceArray> create(const std::shared_ptr<Device>& device, const Type& type);
  static Result<DeviceArray> create(const std::shared_ptr<Device>& device, const HostArray& contents);
  /// A range of the host's buffer, of an adopted device: it stays the host's, with the usages that record() asks for, and
  /// outlives the array. Bools are 32-bit words, 0 or 1. Runs are ordered behind what the host has submitted to the queue
  /// before, and before what it submits afterwards. Errors: SG0501 wrong slice, SG0303 not an adopted device.
  static Result<DeviceArray> adopt(const std::shared_ptr<Device>& device, const Type& type, const Slice& slice);
  /// Zeros, in memory that can be shared: share() gives a new descriptor of it each time, the caller's to close or to hand
  /// over. Errors: those of create; SG0303, saying what is lacking, where the device cannot export such handles.
  static Result<DeviceArray> create_shared(
      const std::shared_ptr<Device>& device, const Type& type,
      VkExternalMemoryHandleTypeFlagBits handle = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT);
  Result<SharedMemory> share() const;
  /// An array in what somebody else has shared. The descriptor belongs to the array if this succeeds. What both do with it
  /// is ordered by whoever calls: work is waited for (run, wait) before the other begins. Errors: SG0303, SG0501 too small.
  static Result<DeviceArray> import(const std::shared_ptr<Device>& device, const Type& type, const SharedMemory& memory);
  DeviceArray(DeviceArray&&) noexcept;
  DeviceArray& operator=(DeviceArray&&) noexcept;
  ~DeviceArray();

  Type type() const;
  /// Wait for the work that uses it. Error SG0501: another type, or the array was moved from.
  Result<void> upload(const HostArray& contents);
  Result<HostArray> download() const;

 private:
  friend struct DeviceArrayAccess;
  explicit DeviceArray(std::shared_ptr<Storage> storage);
  std::shared_ptr<Storage> storage_;
};

/// When submitted work has ended: a place on the timeline of a session's device, on which later work has greater values.
struct Point {
  uint64_t value = 0;
};

/// A value of a timeline semaphore of the host's device. Of a binary semaphore, the value means nothing.
struct SemaphoreValue {
  VkSemaphore semaphore = VK_NULL_HANDLE;
  uint64_t value = 0;
};
/// What a submission waits for before its first command, and what it signals behind its last one.
struct Semaphores {
  std::span<const SemaphoreValue> wait = {}, signal = {};
};

/// An executable made ready for a device: pipelines, memory and recorded commands. Not for use from two threads at once.
class Session {
 public:
  /// Creates pipelines on several threads, or shares those of another session of the same executable, and allocates all
  /// memory. Errors: SG03xx (limit, wish, device), SG0601.
  static Result<std::unique_ptr<Session>> create(std::shared_ptr<Device> device, const Executable& executable);
  ~Session();

  /// Copies the inputs in, submits the recorded commands, waits, copies the outputs out. Order as in the executable.
  /// Allocates nothing on the device. Errors: SG0501 wrong number or type of inputs, or arrays that are bound or fed; SG0310
  /// device lost, SG0311 in a forked process.
  Result<std::vector<HostArray>> run(std::span<const HostArray> inputs, Timing* timing = nullptr);
  /// The same with the inputs and outputs left on the device: replays with what is there.
  Result<Timing> replay();

  /// From now on the input or output of that name is this array, of the same type. Its memory stays while it is bound, even
  /// if the array goes. A name that inputs and outputs share needs the role, unless that output is fed or donated to. Arrays
  /// that the program writes share no bytes with others. Errors: SG0503 unknown name, SG0501 anything else.
  Result<void> bind(std::string_view name, DeviceArray& array, std::optional<Role> role = {});
  /// What a run writes to the output is what the next one reads as the input, on the device: the two exchange their memory,
  /// or the output is written in place where that is safe. Of a host's buffer, contents are copied back on the device where
  /// the number of steps is odd. For run(steps), submit and replay.
  Result<void> feed(std::string_view output, std::string_view input);
  /// The output takes the memory of the input, which is gone after a run. Error SG0501, naming both, where the program may
  /// read the input after it has written the output.
  Result<void> donate(std::string_view input, std::string_view output);
  /// Sets an input, until it is set again: what is unchanged is not uploaded again.
  Result<void> write(std::string_view input, const HostArray& contents);
  /// One output as the last run has left it, or one input. Waits.
  Result<HostArray> read(std::string_view name);

  /// Runs that many steps, one after the other, in as few submissions as the device's limits allow, and waits. Inputs are
  /// what is bound, was written, or was there. Errors: SG0502 an input that was never given, SG0501 no steps, SG03xx.
  template <std::integral N>
  Result<Timing> run(N steps) {
    return run_steps(steps > 0 ? static_cast<uint64_t>(steps) : 0);
  }
  /// The same without waiting. Submissions of one session, and of sessions that share a device, run in the order in which
  /// they were made. Waits only where many parts make up the steps.
  Result<Point> submit(uint64_t steps = 1);
  /// The same in order with the host's work on other queues and devices, by semaphores of an adopted device (timeline ones
  /// where External says that it has them). All accesses on this side are in the scope of both. What is waited for must be
  /// on its way, or come from another thread. Where this fails, nothing is signalled. Errors: SG0501 null, a device that is
  /// not adopted.
  Result<Point> submit(uint64_t steps, const Semaphores& semaphores);
  /// Errors: SG0501 a point that nothing was submitted for, SG0310 device lost.
  Result<void> wait(Point point);
  Result<bool> done(Point point);

  /// One more replay with timestamps between its commands: seconds on the device per step of the executable, those of a
  /// body summed over its iterations, 0 for a Repeat itself. What overlaps counts for the step that ends later. Error SG0303
  /// where the queue has no timestamps.
  Result<std::vector<double>> profile();
  /// The same of each run of a step, in their order. A Repeat has none.
  Result<std::vector<StepRun>> profile_runs();

  /// Records all dispatches and the barriers between them into `commands`, reading and writing the host's buffers. The
  /// commands are in the recording state, outside of a render pass, and of a pool of the device's queue family. Before: all
  /// earlier accesses to inputs and outputs, of whatever kind, are ordered before compute shaders and transfers, and what
  /// was written to inputs is visible to both. After: a compute-shader write makes the outputs; the host places its own
  /// barrier. Outputs share no bytes with inputs or each other. No submit, no wait, no allocation. The session's scratch
  /// memory (and in descriptor form its descriptor sets) are used: one recording at a time, submitted to one queue, and the
  /// session outlives it. Binds the compute pipeline, push constants and set 0. Buffers need STORAGE, TRANSFER_SRC and
  /// TRANSFER_DST usage (fills and copies), in address form also SHADER_DEVICE_ADDRESS. Slices start at multiples of the
  /// element size; where a driver for processors stores numbers of 8 bytes, those that start elsewhere are copied from and
  /// to memory of the session. Those of empty arrays may be null. Errors: SG0501 wrong slices, SG0303 limits.
  Result<void> record(VkCommandBuffer commands, std::span<const Slice> inputs, std::span<const Slice> outputs);
  /// The same with images among them. Those are copied, to and from memory of the session: kernels reach any element of an
  /// array, in any order, with derivatives. Before and after, the host's barriers order the image's other uses and
  /// transfers, which read inputs and write outputs; it does not change its layout. Errors: SG0501 an image that is not as
  /// the array.
  Result<void> record_images(VkCommandBuffer commands, std::span<const HostArgument> inputs,
                             std::span<const HostArgument> outputs);

  /// Bytes of device memory held by this session: inputs, outputs, constants, scratch.
  uint64_t device_bytes() const;
  struct Impl;  // defined in the library only

 private:
  explicit Session(std::unique_ptr<Impl>);
  Result<Timing> run_steps(uint64_t steps);
  std::unique_ptr<Impl> impl_;
};

}  // namespace spirograd::vk
