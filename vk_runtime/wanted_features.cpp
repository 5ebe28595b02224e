// What a host should create its device with.
#include <algorithm>
#include <string_view>

#include "vk_runtime/device.h"
#include "vk_runtime/errors.h"
#include "vk_runtime/feature_chain.h"
#include "vk_runtime/memory.h"

namespace spirograd::vk {

struct WantedFeatures::Impl {
  explicit Impl(const DevicePlan& p) : plan(p), chain(plan) {}
  DevicePlan plan;
  FeatureChain chain;
  External known;  // all but device and queue
};

WantedFeatures::WantedFeatures(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WantedFeatures::WantedFeatures(WantedFeatures&&) noexcept = default;
WantedFeatures& WantedFeatures::operator=(WantedFeatures&&) noexcept = default;
WantedFeatures::~WantedFeatures() = default;

const void* WantedFeatures::chain(void* mine) { return impl_->chain.head(mine); }

std::vector<const char*> WantedFeatures::extensions(std::span<const char* const> mine) const {
  std::vector<const char*> out(mine.begin(), mine.end());
  for (const char* ours : impl_->plan.extensions)
    if (std::find(out.begin(), out.end(), std::string_view(ours)) == out.end()) out.push_back(ours);
  return out;
}

uint32_t WantedFeatures::queue_family() const { return impl_->plan.queue_family; }

VkBufferUsageFlags WantedFeatures::buffer_usage() const { return usage_of_arrays(impl_->plan.enable_device_address); }

External WantedFeatures::external(VkDevice device, VkQueue queue, uint32_t queue_family) const {
  External out = impl_->known;
  out.device = device;
  out.queue = queue;
  out.queue_family = queue_family;
  return out;
}

Result<WantedFeatures> wanted_features(PFN_vkGetInstanceProcAddr get, VkInstance instance, VkPhysicalDevice physical_device,
                                       uint32_t api_version) {
  return guarded([&] {
    if (!get || !instance || !physical_device)
      throw Error("SG0303", "wanted_features: get_instance_proc_addr, instance and physical_device must be given");
    const DeviceFacts facts = read_facts(load_instance(get, instance), physical_device, api_version);
    auto impl = std::make_unique<WantedFeatures::Impl>(plan_device(facts, host_cores()));
    const DevicePlan& plan = impl->plan;
    if (!plan.unusable.empty()) throw Error("SG0303", "'" + facts.name + "' cannot be used: it lacks " + plan.unusable);
    const auto enabled = [&](std::string_view extension) {
      return std::find(plan.extensions.begin(), plan.extensions.end(), extension) != plan.extensions.end();
    };
    External& known = impl->known;
    known.get_instance_proc_addr = get;
    known.instance = instance;
    known.physical_device = physical_device;
    known.api_version = api_version;
    known.buffer_device_address = plan.enable_device_address;
    known.float64 = plan.enable_float64;
    known.external_memory_fd = plan.enable_external_memory_fd;
    known.float16_storage = plan.enable_float16_storage;
    known.float16_addresses = plan.enable_float16_addresses;
    known.atomic_float_add = plan.enable_atomic_float_add;
    known.subgroup_size_control = plan.enable_subgroup_size;
    known.timeline_semaphore = plan.enable_timeline;
    known.push_descriptor = plan.enable_push_descriptor;
    known.shader_float_controls = enabled(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME);
    return WantedFeatures(std::move(impl));
  });
}

}  // namespace spirograd::vk
