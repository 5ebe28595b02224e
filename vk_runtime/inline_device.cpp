#include "vk_runtime/inline_device.h"

#include <algorithm>
#include <cmath>

namespace spirograd::vk {
namespace {

std::shared_ptr<Device> create(const Device::Impl& d) {
  DeviceOptions options = d.options;
  options.cache_dir.clear();  // lavapipe keeps kernels in a cache of its own, and the verdicts are those of the other device
  const Instance& instance = process_instance({options.validation, options.get_instance_proc_addr, false});
  for (const Found& found : ranked_devices(instance)) {
    if (found.facts.identity != d.facts.identity || !found.facts.own_threads) continue;
    std::unique_ptr<Device::Impl> out = own_device(instance, found, d.info.index, options);
    out->info = d.info;
    out->plan = d.plan;
    return Device::Impl::wrapped(std::move(out));
  }
  return nullptr;
}

}  // namespace

bool is_little(std::span<const Step> steps, const Prices& price) {
  const bool known = std::all_of(steps.begin(), steps.end(), [](const Step& s) {
    return s.kind != Step::Kind::Dispatch || s.groups == 0 || s.work > 0;
  });
  const double threads = static_cast<double>(price.busy) / price.lanes,
               woken = price.dispatch * static_cast<double>(runs(steps, Step::Kind::Dispatch));
  // What several threads save: they share whole workgroups.
  const double saved = total(steps, [&](const Step& s) {
    if (s.kind != Step::Kind::Dispatch || s.groups == 0) return 0.0;
    return s.work * threads * (1 - std::ceil(s.groups / threads) / s.groups);
  });
  return known && saved < woken;
}

std::shared_ptr<Device> quicker_device(std::shared_ptr<Device> device, std::span<const Step> steps) {
  Device::Impl& d = Device::Impl::of(*device);
  if (!d.owned || !d.options.inline_little_work || !d.facts.own_threads || d.facts.type != VK_PHYSICAL_DEVICE_TYPE_CPU ||
      !is_little(steps, device->target().price))
    return device;
  const std::lock_guard lock(d.inline_mutex);
  if (!d.without_threads) {
    const Result<std::shared_ptr<Device>> made = guarded([&] { return create(d); });
    d.without_threads = made ? *made : nullptr;  // it is a convenience
  }
  return *d.without_threads ? *d.without_threads : device;
}

}  // namespace spirograd::vk
