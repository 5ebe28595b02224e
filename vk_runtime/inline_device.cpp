#include "vk_runtime/inline_device.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "vk_runtime/clock.h"

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

// Until as many threads as there are processors have been woken, and have woken this one: what a dispatch pays for them. It
// differs tenfold between machines, most of all with whether processors sleep inside of a virtual one. Microseconds, the
// median of a few.
double round_trip() {
  constexpr int kTrips = 9;
  std::mutex mutex;
  std::condition_variable begins, ends;
  int trip = 0;
  uint32_t working = 0;
  std::vector<std::thread> threads;
  const auto work = [&] {
    for (int next = 1; next <= kTrips; ++next) {
      std::unique_lock lock(mutex);
      begins.wait(lock, [&] { return trip >= next; });
      if (--working == 0) ends.notify_one();
    }
  };
  with_threads_apart([&] {
    for (uint32_t i = 0; i < host_cores(); ++i) threads.emplace_back(work);
  });
  std::array<double, kTrips> took;
  for (double& t : took) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));  // so that all of them sleep
    const auto start = Clock::now();
    std::unique_lock lock(mutex);
    working = static_cast<uint32_t>(threads.size());
    ++trip;
    begins.notify_all();
    ends.wait(lock, [&] { return working == 0; });
    t = 1e6 * seconds_since(start);
  }
  for (std::thread& t : threads) t.join();
  std::nth_element(took.begin(), took.begin() + kTrips / 2, took.end());
  return took[kTrips / 2];
}

}  // namespace

double waking(const Prices& price) {
  constexpr double kPerLane = 4600;  // operations in a microsecond: vectors of 2020 and later processors, half busy
  constexpr double kLonger = 1.3;    // threads that compute come to their end one after the other
  constexpr double kLeast = 10, kMost = 300;
  static const double time = std::clamp(kLonger * round_trip(), kLeast, kMost);
  return time * kPerLane * price.lanes;
}

bool is_little(std::span<const Step> steps, const Prices& price, double waking) {
  const bool known = std::all_of(steps.begin(), steps.end(), [](const Step& s) {
    return s.kind != Step::Kind::Dispatch || s.groups == 0 || s.work > 0;
  });
  const double threads = static_cast<double>(price.busy) / price.lanes;
  // What several threads save: they share whole workgroups.
  const double saved = total(steps, [&](const Step& s) {
    if (s.kind != Step::Kind::Dispatch || s.groups == 0) return 0.0;
    return s.work * (1 - std::ceil(s.groups / threads) / s.groups);
  });
  // Once more for the thread that hands them over.
  const auto dispatches = static_cast<double>(runs(steps, Step::Kind::Dispatch));
  return known && dispatches > 0 && saved < (dispatches + 1) * waking;
}

std::shared_ptr<Device> quicker_device(std::shared_ptr<Device> device, std::span<const Step> steps) {
  Device::Impl& d = Device::Impl::of(*device);
  if (!d.owned || !d.options.inline_little_work || !d.facts.own_threads || d.facts.type != VK_PHYSICAL_DEVICE_TYPE_CPU ||
      !is_little(steps, device->target().price, waking(device->target().price)))
    return device;
  const std::lock_guard lock(d.inline_mutex);
  if (!d.without_threads) {
    const Result<std::shared_ptr<Device>> made = guarded([&] { return create(d); });
    d.without_threads = made ? *made : nullptr;  // it is a convenience
  }
  return *d.without_threads ? *d.without_threads : device;
}

}  // namespace spirograd::vk
