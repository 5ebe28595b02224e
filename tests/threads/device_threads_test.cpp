// Devices and sessions on several threads at once: one device that threads share, and a device per thread, of two drivers
// where there are two. Run under ThreadSanitizer by tools/test --tsan.
#include <gtest/gtest.h>

#include <thread>

#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "spirograd/vk.h"

namespace spirograd {
namespace device_threads_test {

constexpr int kRounds = 10;

Program gradient() {
  const char* source = "def f(x: f32[600]) -> f32 {\n  sum(for i: 600 => x[i] * tanh(x[599 - i]) * 0.5)\n}\n";
  return value_and_grad(text::instantiate(text::parse(source, "f.sg").value()).value()).value();
}

// Makes sessions of its own on the device and runs them; the bytes that come out.
std::vector<std::vector<uint8_t>> work(const std::shared_ptr<vk::Device>& device, const Program& p, int rounds) {
  std::vector<double> ramp(600);
  for (size_t j = 0; j < ramp.size(); ++j) ramp[j] = static_cast<double>(j) / 300 - 1;
  const HostArray x(f32({600}), ramp);
  CompileOptions how;
  how.form = device->preferred_form();
  const Executable executable = compile(p, device->target(), how).value();
  std::vector<std::vector<uint8_t>> out;
  for (int round = 0; round < rounds; ++round) {
    const auto session = vk::Session::create(device, executable).value();
    for (const HostArray& a : session->run({&x, 1}).value()) out.push_back(a.bytes);
    session->replay().value();
  }
  return out;
}

std::shared_ptr<vk::Device> open(size_t which) {
  vk::DeviceOptions options;
  options.select = std::to_string(which);
  return vk::Device::create(options).value();
}

TEST(DeviceThreads, ThreadsShareADevice) {
  const Program p = gradient();
  const auto device = open(0);
  const auto alone = work(device, p, kRounds);
  std::vector<std::vector<std::vector<uint8_t>>> out(3);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : out) threads.emplace_back([&] { mine = work(device, p, kRounds); });
  }
  for (const auto& mine : out) EXPECT_EQ(mine, alone);
}

TEST(DeviceThreads, EachThreadHasItsDevice) {
  const size_t n_devices = vk::devices().value().size();
  const char* drivers = std::getenv("SPIROGRAD_TEST_DRIVER");
  ASSERT_EQ(n_devices, drivers && std::string_view(drivers) == "both" ? 2u : 1u)
      << "drivers: " << (drivers ? drivers : "any");
  const Program p = gradient();
  std::vector<std::vector<std::vector<uint8_t>>> alone(2), out(2);
  for (size_t t = 0; t < 2; ++t) alone[t] = work(open(t % n_devices), p, 1);
  {
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < 2; ++t)
      threads.emplace_back([&, t] {
        for (int round = 0; round < kRounds; ++round) {
          out[t] = work(open(t % n_devices), p, 1);
          if (out[t] != alone[t]) return;
        }
      });
  }
  EXPECT_EQ(out, alone);
}

}  // namespace device_threads_test
}  // namespace spirograd
