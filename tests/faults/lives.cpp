#include "tests/faults/lives.h"

#include <unistd.h>

#include <filesystem>
#include <functional>
#include <optional>

#include "gpu/fixture.h"
#include "tests/faults/calls.h"
#include "vk_runtime/errors.h"
#include "vk_runtime/recorder.h"
#include "vk_runtime/storage.h"

namespace spirograd::faults {
namespace {

using namespace vk;
using vk::testing::affine_program;
using vk::testing::chain_program;
using vk::testing::first_wrong;
using vk::testing::ramp;

constexpr int64_t kElements = 100;

vk::testing::Messages& messages() {
  static auto& all = *new vk::testing::Messages;
  return all;
}

DeviceOptions options_of(const std::string& cache_dir) {
  DeviceOptions o;
  o.validation = true;
  o.on_message = vk::testing::Messages::take;
  o.user = &messages();
  o.cache_dir = cache_dir;
  o.inline_little_work = false;
  o.get_instance_proc_addr = get_instance_proc_addr;
  return o;
}

// Two kernels, so that threads take part.
Executable program(BindingForm form, int length = 2) {
  Executable e = chain_program(form, kElements, length);
  e.kernels.push_back(vk::testing::affine(form));
  e.steps.back().kernel = 1;
  return e;
}

std::string wrong(const HostArray& y, int steps, const char* where) {
  const auto scale = static_cast<float>(1 << steps);
  return first_wrong(ramp(kElements), y, scale, scale - 1) < 0 ? "" : std::string("wrong results of ") + where;
}

std::string run_once(const std::shared_ptr<Device>& device, BindingForm form) {
  const auto s = Session::create(device, program(form)).value();
  return wrong(s->run(std::vector{ramp(kElements)}).value()[0], 2, "a run");
}

// What a life does with a device; then, with nothing failing, whether that still works unless it was said to be lost.
std::string use(std::shared_ptr<Device> device, BindingForm form, const std::function<std::string()>& work) {
  std::optional<Error> error;
  std::string found;
  try {
    found = work();
  } catch (const Error& e) {
    error = e;
  }
  const bool is_gone = error && (error->code == "SG0310" || error->code == "SG0312");
  if (const Pause nothing_fails; error && !is_gone) try {
      found = run_once(device, form);
    } catch (const Error& e) {
      found = "the device is of no use after " + error->code + ": " + e.str();
    }
  device.reset();
  if (!found.empty()) return found;
  if (error) throw *error;
  return "";
}

// A device proves itself.
std::string first_time(const Settings&) {
  const std::shared_ptr<Device> device = Device::create(options_of("")).value();
  return use(device, device->preferred_form(), [&] { return run_once(device, device->preferred_form()); });
}

// Where little work runs on a device without threads, there are two.
std::string little_work(const Settings& settings) {
  DeviceOptions o = options_of(settings.cache_dir);
  o.inline_little_work = true;
  const std::shared_ptr<Device> device = Device::create(o).value();
  return use(device, device->preferred_form(), [&] { return run_once(device, device->preferred_form()); });
}

// An array in memory that another array has, too. A descriptor that nobody took is given back.
std::string shared_array(const std::shared_ptr<Device>& device) {
  const DeviceArray mine = DeviceArray::create_shared(device, f32({kElements})).value();
  const SharedMemory memory = mine.share().value();
  Result<DeviceArray> theirs = DeviceArray::import(device, f32({kElements}), memory);
  if (!theirs) {
    ::close(memory.fd);
    throw theirs.error();
  }
  theirs->upload(ramp(kElements)).value();
  return wrong(mine.download().value(), 0, "a shared array");
}

// Everything that a session can be asked for but recording.
std::string all_of_a_session(const std::shared_ptr<Device>& device, BindingForm form) {
  const auto s = Session::create(device, program(form)).value();
  if (auto w = wrong(s->run(std::vector{ramp(kElements)}).value()[0], 2, "a run"); !w.empty()) return w;
  s->replay().value();
  if (Device::Impl::of(*device).plan.timestamp_bits > 0) s->profile().value();
  s->write("x", ramp(kElements)).value();
  s->run(1).value();
  if (auto w = wrong(s->read("y").value(), 2, "a step"); !w.empty()) return w;
  DeviceArray x = DeviceArray::create(device, ramp(kElements)).value();
  s->bind("x", x).value();
  s->feed("y", "x").value();
  s->run(3).value();
  const Point point = s->submit(2).value();
  s->done(point).value();
  s->wait(point).value();
  if (auto w = wrong(s->read("y").value(), 10, "steps that feed each other"); !w.empty()) return w;
  DeviceArray z = DeviceArray::create(device, Type{DType::F32, {kElements}}).value();
  z.upload(ramp(kElements)).value();
  // In one dispatch of one element each, the output may lie where the input lies.
  const auto in_place = Session::create(device, affine_program(form, kElements)).value();
  in_place->bind("x", z).value();
  (void)in_place->donate("x", "y");
  in_place->run(1).value();
  if (auto w = wrong(in_place->read("y").value(), 1, "a donated input"); !w.empty()) return w;
  z.download().value();
  device->trim();
  return Device::Impl::of(*device).plan.enable_external_memory_fd ? shared_array(device) : "";
}

std::string addresses(const Settings& settings) {
  std::filesystem::remove_all(settings.cache_dir + "/cold");
  std::filesystem::create_directories(settings.cache_dir + "/cold");
  for (const auto& file : std::filesystem::directory_iterator(settings.cache_dir))
    if (file.path().filename().string().starts_with("verdicts"))
      std::filesystem::copy(file.path(), settings.cache_dir + "/cold");
  const std::shared_ptr<Device> device = Device::create(options_of(settings.cache_dir + "/cold")).value();
  return use(device, device->preferred_form(), [&] { return all_of_a_session(device, device->preferred_form()); });
}

// As on devices with memory of their own, and without timeline semaphores; with pipelines of an earlier process.
std::string descriptors(const Settings& settings) {
  const std::shared_ptr<Device> device = Device::create(options_of(settings.cache_dir)).value();
  Device::Impl& d = Device::Impl::of(*device);
  MemoryConfig config = d.memory->config();
  config.direct = false;
  config.slab_bytes = 1 << 10;
  d.memory = std::make_unique<Memory>(d.fns, d.device, config);
  d.timeline = std::make_unique<Timeline>(d.fns, d.device);
  d.commands_per_part = 1;
  return use(device, BindingForm::Descriptors, [&]() -> std::string {
    if (auto w = all_of_a_session(device, BindingForm::Descriptors); !w.empty()) return w;
    // More parts than are kept: each run writes them anew.
    const auto s = Session::create(device, program(BindingForm::Descriptors, 20)).value();
    return wrong(s->run(std::vector{ramp(kElements)}).value()[0], 20, "many parts");
  });
}

// A host: its calls do not fail, ours do.
struct Host {
  const Instance& instance = process_instance({true, get_instance_proc_addr});
  VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
  External external;
  DeviceFns fns{};
  VkCommandPool pool = VK_NULL_HANDLE;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  std::unique_ptr<Memory> memory;
  Allocation x, y;

  Host() {
    const Pause nothing_fails;
    const std::vector<Found> found = ranked_devices(instance);
    const DevicePlan plan = plan_device(found[0].facts, 1);
    const float priority = 1;
    VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
    queue.queueFamilyIndex = plan.queue_family;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkPhysicalDeviceVulkan12Features f12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    f12.bufferDeviceAddress = plan.enable_device_address;
    VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &f12};
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    external.get_instance_proc_addr = get_instance_proc_addr;
    external.instance = instance.handle;
    external.physical_device = found[0].handle;
    external.api_version = instance.api_version;
    external.queue_family = plan.queue_family;
    external.buffer_device_address = plan.enable_device_address;
    check(instance.fns.vkCreateDevice(found[0].handle, &info, nullptr, &external.device), "vkCreateDevice", "the host");
    fns = load_device(instance.fns.vkGetDeviceProcAddr, external.device);
    fns.vkGetDeviceQueue(external.device, plan.queue_family, 0, &external.queue);
    VkCommandPoolCreateInfo pool_info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    pool_info.queueFamilyIndex = plan.queue_family;
    check(fns.vkCreateCommandPool(external.device, &pool_info, nullptr, &pool), "vkCreateCommandPool", "the host");
    VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    allocate.commandPool = pool;
    allocate.commandBufferCount = 1;
    check(fns.vkAllocateCommandBuffers(external.device, &allocate, &commands), "vkAllocateCommandBuffers", "the host");
    MemoryConfig config;
    config.properties = found[0].facts.memory;
    config.device_address = plan.enable_device_address;
    config.direct = true;
    memory = std::make_unique<Memory>(fns, external.device, config);
    x = memory->allocate(MemoryKind::Arrays, 4 * kElements);
    y = memory->allocate(MemoryKind::Arrays, 4 * kElements);
    to_device(ramp(kElements), x.mapped);
  }
  ~Host() {
    const Pause nothing_fails;
    fns.vkQueueWaitIdle(external.queue);  // a device that only seems to be lost still runs
    memory->release(x);
    memory->release(y);
    memory.reset();
    fns.vkDestroyCommandPool(external.device, pool, nullptr);
    fns.vkDestroyDevice(external.device, nullptr);
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  std::string record_and_submit(Session& s) {
    const Pause nothing_fails;
    const VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    check(fns.vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer", "the host");
    s.record(commands, std::vector{Slice{x.buffer, x.offset, 4 * kElements}},
             std::vector{Slice{y.buffer, y.offset, 4 * kElements}})
        .value();
    memory_barrier(fns, commands, kOurUses, kHostReads);
    check(fns.vkEndCommandBuffer(commands), "vkEndCommandBuffer", "the host");
    VkSubmitInfo work{VK_STRUCTURE_TYPE_SUBMIT_INFO};
    work.commandBufferCount = 1;
    work.pCommandBuffers = &commands;
    check(fns.vkQueueSubmit(external.queue, 1, &work, VK_NULL_HANDLE), "vkQueueSubmit", "the host");
    check(fns.vkQueueWaitIdle(external.queue), "vkQueueWaitIdle", "the host");
    HostArray out(Type{DType::F32, {kElements}});
    from_device(y.mapped, out);
    return wrong(out, 2, "recorded commands");
  }
};

std::string host(const Settings&) {
  Host h;
  const std::shared_ptr<Device> device = Device::adopt(h.external).value();
  return use(device, device->preferred_form(), [&]() -> std::string {
    const auto s = Session::create(device, program(device->preferred_form())).value();
    if (auto w = h.record_and_submit(*s); !w.empty()) return w;
    DeviceArray x =
        DeviceArray::adopt(device, Type{DType::F32, {kElements}}, {h.x.buffer, h.x.offset, 4 * kElements}).value();
    s->bind("x", x).value();
    s->run(1).value();
    return wrong(s->read("y").value(), 2, "an array of the host");
  });
}

}  // namespace

std::span<const Life> lives() {
  static constexpr Life all[] = {{"first time", first_time},
                                 {"addresses", addresses},
                                 {"descriptors", descriptors},
                                 {"little work", little_work},
                                 {"host", host}};
  return all;
}

void prepare(const Settings& settings) { Device::create(options_of(settings.cache_dir)).value(); }

std::string take_messages() {
  vk::testing::Messages& m = messages();
  const std::lock_guard lock(m.mutex);
  std::string text = m.text();
  m.lines.clear();
  return text;
}

}  // namespace spirograd::faults
