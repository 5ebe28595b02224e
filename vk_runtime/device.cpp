#include "vk_runtime/device.h"

#include <algorithm>
#include <cstdlib>

#include "vk_runtime/cache_file.h"
#include "vk_runtime/errors.h"
#include "vk_runtime/feature_chain.h"
#include "vk_runtime/self_test.h"

namespace spirograd::vk {
namespace {

VkBool32 VKAPI_PTR on_message(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                              const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) {
  const auto& options = *static_cast<const DeviceOptions*>(user);
  options.on_message(options.user, data->pMessageIdName ? data->pMessageIdName : "", data->pMessage ? data->pMessage : "");
  return VK_FALSE;
}

void create_messenger(Device::Impl& d) {
  if (!d.options.on_message || !d.instance_fns.vkCreateDebugUtilsMessengerEXT) return;
  VkDebugUtilsMessengerCreateInfoEXT info{VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
  info.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                     VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
  info.pfnUserCallback = on_message;
  info.pUserData = &d.options;
  check(or_null(d.instance_fns.vkCreateDebugUtilsMessengerEXT(d.instance, &info, nullptr, &d.messenger), d.messenger),
        "vkCreateDebugUtilsMessengerEXT", d.name());
}

void create_device(Device::Impl& d) {
  const float priority = 1;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = d.plan.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  FeatureChain features(d.plan);
  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, features.head()};
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<uint32_t>(d.plan.extensions.size());
  info.ppEnabledExtensionNames = d.plan.extensions.data();
  const auto create = [&] {
    check(or_null(d.instance_fns.vkCreateDevice(d.physical, &info, nullptr, &d.device), d.device), "vkCreateDevice",
          d.name());
  };
  // Whoever says how many threads there are also decides where they run.
  d.facts.own_threads && !std::getenv("LP_NUM_THREADS") ? with_threads_apart(create) : create();
  // Until the table is loaded nobody can destroy the device but this one entry.
  d.fns.vkDestroyDevice =
      reinterpret_cast<PFN_vkDestroyDevice>(d.instance_fns.vkGetDeviceProcAddr(d.device, "vkDestroyDevice"));
  d.fns = load_device(d.instance_fns.vkGetDeviceProcAddr, d.device);
  d.queue_family = d.plan.queue_family;
  d.fns.vkGetDeviceQueue(d.device, d.queue_family, 0, &d.queue);
}

}  // namespace

std::vector<Found> ranked_devices(const Instance& instance) {
  std::vector<DeviceFacts> facts;
  const std::vector<VkPhysicalDevice> handles = physical_devices(instance);
  for (VkPhysicalDevice p : handles) facts.push_back(read_facts(instance.fns, p, instance.api_version));
  std::vector<Found> out;
  for (size_t i : rank_devices(facts)) out.push_back({handles[i], facts[i]});
  return out;
}

std::unique_ptr<Device::Impl> own_device(const Instance& instance, const Found& found, uint32_t index,
                                         const DeviceOptions& options) {
  auto d = std::make_unique<Device::Impl>();
  d->owned = true;
  d->options = options;
  d->instance = instance.handle;
  d->instance_fns = instance.fns;
  d->physical = found.handle;
  d->facts = found.facts;
  d->plan = plan_device(found.facts, host_cores());
  d->info = describe(found.facts, d->plan);
  d->info.index = index;
  // Its threads wake each other over and over in what takes so long. A processor that the host keeps from sleeping takes
  // them up at once.
  constexpr uint64_t kWatched = 2'000'000;  // nanoseconds
  if (options.inline_little_work && found.facts.own_threads) d->watched_ns = kWatched;
  create_messenger(*d);
  create_device(*d);
  d->set_up();
  return d;
}

Device::Impl::~Impl() {
  const auto gave_up = [](const Left& l) { return l.gave_up; };
  if (may_destroy() && !left.empty() && std::none_of(left.begin(), left.end(), gave_up)) settle();
  sweep();
  if (!left.empty()) abandoned = true;
  if (!may_destroy()) {
    if (memory) memory->abandon();
    if (timeline) timeline->abandon();
    // Its messages would go to what is about to end.
    if (messenger && process == this_process()) instance_fns.vkDestroyDebugUtilsMessengerEXT(instance, messenger, nullptr);
    return;
  }
  if (device && fns.vkDestroyPipelineCache) {
    save_pipeline_cache();
    if (pipeline_cache) fns.vkDestroyPipelineCache(device, pipeline_cache, nullptr);
  }
  pipeline_layouts.destroy(fns, device);
  memory.reset();
  timeline.reset();
  if (owned && device && fns.vkDestroyDevice) fns.vkDestroyDevice(device, nullptr);
  if (messenger) instance_fns.vkDestroyDebugUtilsMessengerEXT(instance, messenger, nullptr);
}

void Device::Impl::check(VkResult r, const char* call) {
  if (r == VK_SUCCESS) return;
  if (r == VK_ERROR_DEVICE_LOST) lost = true;
  throw vulkan_error(r, call, name());
}

void Device::Impl::check_alive() const {
  if (process != this_process()) throw forked_error("the device '" + name() + "'");
  if (lost) throw vulkan_error(VK_ERROR_DEVICE_LOST, "an earlier call", name());
}

void Device::Impl::open_pipeline_cache() {
  VkPipelineCacheCreateInfo cache{VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  std::optional<std::vector<uint8_t>> data;
  if (caches_pipelines()) data = load_cache(cache_path(options.cache_dir, "pipelines", facts.identity), facts.identity);
  if (data) {
    cache.initialDataSize = data->size();
    cache.pInitialData = data->data();
    saved_cache_hash = hash64(*data);
  }
  const auto create = [&] {
    return or_null(fns.vkCreatePipelineCache(device, &cache, nullptr, &pipeline_cache), pipeline_cache);
  };
  VkResult r = create();
  cache_was_loaded = data && r == VK_SUCCESS;
  if (data && r != VK_SUCCESS) {  // the driver does not like its own data of another day
    cache.initialDataSize = 0;
    r = create();
  }
  check(r, "vkCreatePipelineCache");
}

void Device::Impl::save_pipeline_cache() {
  if (!caches_pipelines() || !pipeline_cache || lost) return;
  const std::lock_guard lock(cache_mutex);
  size_t bytes = 0;
  if (fns.vkGetPipelineCacheData(device, pipeline_cache, &bytes, nullptr) != VK_SUCCESS || bytes == 0) return;
  std::vector<uint8_t> data(bytes);
  // VK_INCOMPLETE happens when another thread adds a pipeline in between; the next save has it all.
  if (fns.vkGetPipelineCacheData(device, pipeline_cache, &bytes, data.data()) != VK_SUCCESS) return;
  data.resize(bytes);
  if (hash64(data) == saved_cache_hash) return;
  if (save_cache(cache_path(options.cache_dir, "pipelines", facts.identity), facts.identity, data))
    saved_cache_hash = hash64(data);
}

void Device::Impl::set_up() {
  MemoryConfig config;
  config.properties = facts.memory;
  config.device_address = plan.enable_device_address;
  config.direct = shares_memory(facts);
  config.alignment = std::max<uint64_t>(plan.descriptor_alignment, facts.limits.nonCoherentAtomSize);
  config.max_allocation = facts.max_allocation;
  config.device = info.name;
  if (facts.memory_budget)
    config.room = [this](uint32_t heap) {
      VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
      VkPhysicalDeviceMemoryProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2, &budget};
      instance_fns.vkGetPhysicalDeviceMemoryProperties2(physical, &properties);
      return budget.heapBudget[heap] - std::min(budget.heapBudget[heap], budget.heapUsage[heap]);
    };
  memory = std::make_unique<Memory>(fns, device, config);
  timeline = std::make_unique<Timeline>(fns, device);
  if (plan.enable_timeline && fns.vkWaitSemaphores && fns.vkGetSemaphoreCounterValue)
    check(timeline->use_semaphore(), "vkCreateSemaphore");
  open_pipeline_cache();
}

Device::Device(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Device::~Device() = default;

uint64_t Device::trim() {
  if (!impl_->may_destroy()) return 0;
  impl_->sweep();
  const std::lock_guard lock(impl_->inline_mutex);
  const std::shared_ptr<Device> quick = impl_->without_threads.value_or(nullptr);
  return impl_->memory->trim() + (quick ? quick->trim() : 0);
}

const DeviceInfo& Device::info() const { return impl_->info; }

BindingForm Device::preferred_form() const {
  return impl_->info.target.device_address ? BindingForm::Address : BindingForm::Descriptors;
}

namespace {

std::vector<Candidate> candidates_of(const std::vector<Found>& found) {
  std::vector<Candidate> out;
  for (const Found& f : found) out.push_back({f.facts.name, plan_device(f.facts, 1).unusable});
  return out;
}

// Proved as far as it goes: info().unusable says whether it can be used. A device that a probe has ended is replaced.
std::shared_ptr<Device> tested(const Instance& instance, const std::vector<Found>& found, size_t i,
                               const DeviceOptions& options, SelfTest& test) {
  for (;;) {
    auto device = Device::Impl::wrapped(own_device(instance, found[i], static_cast<uint32_t>(i), options));
    if (prove(device, test)) return device;
  }
}

}  // namespace

Result<std::shared_ptr<Device>> Device::create(const DeviceOptions& options) {
  return guarded([&] {
    const Instance& instance = process_instance({options.validation, options.get_instance_proc_addr});
    const std::vector<Found> found = ranked_devices(instance);
    std::vector<Candidate> candidates = candidates_of(found);
    for (;;) {
      const size_t i = select_device(candidates, options.select);
      SelfTest test;
      std::shared_ptr<Device> device = tested(instance, found, i, options, test);
      if (device->info().unusable.empty()) return device;
      candidates[i].unusable = device->info().unusable;  // an error, unless the options leave the choice to us
    }
  });
}

Result<DeviceInfo> examine(const DeviceOptions& options, const std::function<void(std::string_view)>& progress) {
  return guarded([&] {
    const Instance& instance = process_instance({options.validation, options.get_instance_proc_addr});
    const std::vector<Found> found = ranked_devices(instance);
    SelfTest test;
    test.thorough = true;
    test.progress = progress;
    return tested(instance, found, select_device(candidates_of(found), options.select), options, test)->info();
  });
}

Result<std::shared_ptr<Device>> Device::adopt(const External& e) {
  return guarded([&] {
    if (!e.get_instance_proc_addr || !e.instance || !e.physical_device || !e.device || !e.queue) {
      throw Error("SG0303", "adopt: get_instance_proc_addr, instance, physical_device, device and queue must be given");
    }
    if ((e.lock_queue == nullptr) != (e.unlock_queue == nullptr))
      throw Error("SG0303", "adopt: lock_queue and unlock_queue go together");
    auto d = std::make_unique<Impl>();
    d->external = e;
    d->instance = e.instance;
    d->instance_fns = load_instance(e.get_instance_proc_addr, e.instance);
    d->physical = e.physical_device;
    d->queue = e.queue;
    d->queue_use = QueueUse(e.queue, e.lock_queue != nullptr);
    d->queue_family = e.queue_family;
    d->facts = read_facts(d->instance_fns, e.physical_device, e.api_version);
    // What counts is what the host enabled, and the one queue that it gives.
    d->facts.buffer_device_address = d->facts.buffer_device_address && e.buffer_device_address;
    d->facts.float64 = d->facts.float64 && e.float64;
    d->facts.float16_storage = d->facts.float16_storage && e.float16_storage;
    d->facts.float16_addresses = d->facts.float16_addresses && e.float16_addresses;
    d->facts.timeline_semaphore = d->facts.timeline_semaphore && e.timeline_semaphore;
    d->facts.external_memory_fd = d->facts.external_memory_fd && e.external_memory_fd;
    d->facts.push_descriptor = d->facts.push_descriptor && e.push_descriptor;
    d->facts.atomic_float_add = d->facts.atomic_float_add && e.atomic_float_add;
    d->facts.subgroup_size_control = d->facts.subgroup_size_control && e.subgroup_size_control;
    if (d->facts.api_version < VK_API_VERSION_1_2 && !e.shader_float_controls) {
      d->facts.signed_zero_inf_nan = d->facts.signed_zero_inf_nan64 = false;
      d->facts.round_to_even = d->facts.round_to_even64 = false;
    }
    d->plan = plan_device(d->facts, host_cores());
    d->info = describe(d->facts, d->plan);
    if (d->facts.api_version < VK_API_VERSION_1_1)
      throw Error("SG0303", "'" + d->name() + "' cannot be used: it lacks Vulkan 1.1");
    if (e.queue_family >= d->facts.queues.size() || !(d->facts.queues[e.queue_family].flags & VK_QUEUE_COMPUTE_BIT)) {
      throw Error("SG0303",
                  "adopt: queue family " + std::to_string(e.queue_family) + " of '" + d->name() + "' has no compute");
    }
    d->plan.queue_family = e.queue_family;
    d->plan.timestamp_bits = d->facts.timestamp_period > 0 ? d->facts.queues[e.queue_family].timestamp_bits : 0;
    d->fns = load_device(d->instance_fns.vkGetDeviceProcAddr, e.device);
    if (d->plan.enable_push_descriptor && !d->fns.vkCmdPushDescriptorSetKHR)
      throw Error("SG0303", "adopt: push_descriptor says that VK_KHR_push_descriptor is enabled, and it is not");
    d->device = e.device;
    d->set_up();
    std::shared_ptr<Device> device = Device::Impl::wrapped(std::move(d));
    SelfTest test;
    if (!prove(device, test)) throw Error("SG0310", "'" + device->info().name + "' was lost in the self-test");
    if (!test.unusable.empty())
      throw Error("SG0303", "'" + device->info().name + "' cannot be used: it lacks " + test.unusable);
    return device;
  });
}

Result<std::vector<DeviceInfo>> devices(bool prove_each, PFN_vkGetInstanceProcAddr get) {
  return guarded([&] {
    const Instance& instance = process_instance({.get = get});
    std::vector<DeviceInfo> out;
    DeviceOptions options;
    options.get_instance_proc_addr = get;
    const std::vector<Found> found = ranked_devices(instance);
    for (size_t i = 0; i < found.size(); ++i) {
      const DevicePlan plan = plan_device(found[i].facts, host_cores());
      DeviceInfo info = describe(found[i].facts, plan);
      info.index = static_cast<uint32_t>(i);
      if (prove_each && plan.unusable.empty()) try {
          SelfTest test;
          info = tested(instance, found, i, options, test)->info();
        } catch (const Error& e) {
          info.unusable = e.message;  // one broken driver does not hide the others
        }
      out.push_back(std::move(info));
    }
    return out;
  });
}

}  // namespace spirograd::vk
