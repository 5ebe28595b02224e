// A pretended device under validation, which sees the pretended limits: every message of it is a failure. A process plays
// one device, as ctest does it: the validation layer keeps what the first one said of itself.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "spirograd/compile.h"
#include "spirograd/vk.h"
#include "tests/pretend/devices.h"
#include "tests/pretend/expectations.h"
#include "tests/pretend/slices.h"
#include "vk_runtime/device.h"

namespace spirograd::pretend {

class Pretended : public ::testing::Test {
 protected:
  Result<std::shared_ptr<vk::Device>> open(std::string_view name) {
    ::setenv(kVariable, std::string(name).c_str(), 1);
    vk::DeviceOptions options;
    options.validation = true;
    options.on_message = take;
    options.user = this;
    Result<std::shared_ptr<vk::Device>> device = vk::Device::create(options);
    if (const double submission = find_device(name)->submission; device && submission > 0)
      vk::Device::Impl::of(**device).info.target.price.submission = submission;
    return device;
  }
  /// What validation has said since the last call.
  std::string take_messages() {
    const std::lock_guard lock(mutex_);
    return std::exchange(said_, {});
  }
  void TearDown() override { EXPECT_EQ(take_messages(), "") << "validation"; }

 private:
  static void take(void* user, const char* id, const char* text) {
    const std::string_view kind = id;
    if (kind == "Loader Message" || kind.ends_with("status-message")) return;
    auto& self = *static_cast<Pretended*>(user);
    const std::lock_guard lock(self.mutex_);
    self.said_ += std::string(id) + ": " + text + "\n";
  }
  std::mutex mutex_;
  std::string said_;
};

}  // namespace spirograd::pretend
