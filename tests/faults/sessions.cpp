#include "tests/faults/sessions.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <vector>

#include "gpu/fixture.h"
#include "tests/faults/calls.h"
#include "vk_runtime/device.h"

namespace spirograd::faults {
namespace {

constexpr double kMostGrowth = 4;  // MiB of 9,000 sessions: 466 bytes each

struct Held {
  double resident = 0;  // MiB
  long threads = 0, files = 0;
  int64_t objects = 0;
};

Held held_now() {
  Held h;
  const auto entries = [](const char* folder) {
    return static_cast<long>(std::distance(std::filesystem::directory_iterator(folder), {}));
  };
  uint64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  h.resident = static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
  h.threads = entries("/proc/self/task");
  h.files = entries("/proc/self/fd");
  for (const auto& [kind, n] : alive()) h.objects += n;
  return h;
}

void live(const std::shared_ptr<vk::Device>& device, BindingForm form) {
  constexpr int64_t kRamp = 1000;
  const HostArray ramp = vk::testing::ramp(kRamp);
  const auto s = vk::Session::create(device, vk::testing::chain_program(form, kRamp, 3)).value();
  s->run(std::vector{ramp}).value();
  auto x = vk::DeviceArray::create(device, ramp).value();
  s->bind("x", x).value();
  s->feed("y", "x").value();
  s->run(2).value();
}

void print(int sessions, const Held& h) {
  std::printf("%8d sessions: %7.1f MiB resident, %ld threads, %ld open files, %lld Vulkan objects\n", sessions, h.resident,
              h.threads, h.files, static_cast<long long>(h.objects));
}

}  // namespace

std::string make_and_drop(int sessions, const std::string& cache_dir) {
  vk::DeviceOptions options;
  options.cache_dir = cache_dir;
  options.cache_pipelines = false;
  options.get_instance_proc_addr = get_instance_proc_addr;
  const std::shared_ptr<vk::Device> device = vk::Device::create(options).value();
  const int first = std::max(2, sessions / 10);
  Held before;
  for (int i = 0; i < sessions; ++i) {
    if (i == first) print(i, before = held_now());
    const bool addresses = i % 2 == 0 && device->target().device_address;
    live(device, addresses ? BindingForm::Address : BindingForm::Descriptors);
  }
  const Held after = held_now();
  print(sessions, after);
  if (after.resident > before.resident + kMostGrowth) return "resident memory has grown";
  if (after.threads > before.threads) return "there are more threads";
  if (after.files > before.files) return "there are more open files";
  return after.objects > before.objects ? "there are more Vulkan objects" : "";
}

}  // namespace spirograd::faults
