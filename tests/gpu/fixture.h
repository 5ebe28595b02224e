// Devices under validation for the tests of the runtime, and small executables made by hand: every message of the layers is
// a failure.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "affine_address.h"
#include "affine_descriptors.h"
#include "flip_address.h"
#include "flip_descriptors.h"
#include "spirograd/vk.h"

namespace spirograd::vk::testing {

/// What validation said. Thread-safe, for drivers may call from their threads.
struct Messages {
  std::mutex mutex;
  std::vector<std::string> lines;
  static void take(void* user, const char* id, const char* text) {
    for (const char* harmless :
         {"Loader Message", "UNASSIGNED-CreateInstance-status-message", "UNASSIGNED-CreateDevice-status-message"})
      if (std::strcmp(id, harmless) == 0) return;
    auto& self = *static_cast<Messages*>(user);
    const std::lock_guard lock(self.mutex);
    self.lines.push_back(std::string(id) + ": " + text);
  }
  std::string text() const {
    std::string all;
    for (const std::string& l : lines) all += l + "\n";
    return all;
  }
};

/// A device of our own with core and synchronization validation. Its end must be silent, too: leaks are reported then.
class Gpu : public ::testing::Test {
 protected:
  void SetUp() override { open(); }
  void open() {
    DeviceOptions options;
    options.validation = true;
    options.on_message = Messages::take;
    options.user = &messages;
    // Tests have verdicts in common, so that each driver proves itself once.
    options.cache_dir = cache_dir.empty() ? SPIROGRAD_TEST_CACHE : cache_dir;
    options.cache_pipelines = !cache_dir.empty();
    // Else little programs would run on a device that tests do not see.
    options.inline_little_work = std::getenv("SPIROGRAD_TEST_INLINE") != nullptr;
    auto created = Device::create(options);
    ASSERT_TRUE(created) << created.error().str();
    device = *created;
  }
  void TearDown() override {
    device.reset();
    EXPECT_TRUE(messages.lines.empty()) << messages.text();
  }
  std::unique_ptr<Session> session(const Executable& e) {
    auto s = Session::create(device, e);
    if (s) return std::move(*s);
    ADD_FAILURE() << s.error().str();
    return nullptr;
  }

  Messages messages;
  std::string cache_dir;  // "": that of all tests, for verdicts only
  std::shared_ptr<Device> device;
};

inline std::vector<uint32_t> words(std::span<const uint32_t> w) { return {w.begin(), w.end()}; }

inline KernelBinary affine(BindingForm form) {
  return {"affine", form == BindingForm::Address ? words(affine_address) : words(affine_descriptors), 64, 3};
}
inline KernelBinary flip(BindingForm form) {
  return {"flip", form == BindingForm::Address ? words(flip_address) : words(flip_descriptors), 64, 3};
}

inline BufferDesc array(Role role, const char* name, Type type, uint64_t scratch_offset = 0) {
  return {role, name, type, static_cast<uint64_t>(type.shape.count()) * device_bytes(type.dtype), scratch_offset, {}};
}
inline BufferDesc constant(uint32_t value) {
  BufferDesc b = array(Role::Constant, "n", u32());
  b.data.resize(4);
  std::memcpy(b.data.data(), &value, 4);
  return b;
}
inline uint32_t groups_for(uint64_t n) { return static_cast<uint32_t>((n + 63) / 64); }

/// y = f(x) for all elements of buffers with these numbers; `n` is the constant that holds their count.
inline Step apply(const Executable& e, uint32_t x, uint32_t n, uint32_t y, uint32_t kernel = 0) {
  Step s;
  s.kernel = kernel;
  s.groups = groups_for(e.buffers[x].bytes / 4);
  s.uses = {{x, 0, e.buffers[x].bytes, true, false}, {n, 0, 4, true, false}, {y, 0, e.buffers[y].bytes, false, true}};
  return s;
}

/// One input x of n elements, one output y = 2 x + 1.
inline Executable affine_program(BindingForm form, int64_t n) {
  Executable e;
  e.form = form;
  e.kernels = {affine(form)};
  e.buffers = {array(Role::Input, "x", f32({n})), array(Role::Output, "y", f32({n})), constant(static_cast<uint32_t>(n))};
  e.n_inputs = e.n_outputs = 1;
  e.steps = {apply(e, 0, 2, 1)};
  return e;
}

/// y = f(f(..f(x))) with so many f, through two scratch arrays that take turns.
inline Executable chain_program(BindingForm form, int64_t n, int length) {
  Executable e = affine_program(form, n);
  const uint64_t half = (static_cast<uint64_t>(n) * 4 + 255) / 256 * 256;
  e.buffers.push_back(array(Role::Scratch, "a", f32({n}), 0));
  e.buffers.push_back(array(Role::Scratch, "b", f32({n}), half));
  e.scratch_bytes = 2 * half;
  e.steps.clear();
  uint32_t from = 0;
  for (int i = 0; i < length; ++i) {
    const uint32_t to = i + 1 == length ? 1 : 3 + static_cast<uint32_t>(i % 2);
    e.steps.push_back(apply(e, from, 2, to));
    from = to;
  }
  return e;
}

inline HostArray ramp(int64_t n) {
  HostArray x(f32({n}));
  for (int64_t i = 0; i < n; ++i) {
    const float v = static_cast<float>(i % 1000);
    std::memcpy(x.bytes.data() + 4 * i, &v, 4);
  }
  return x;
}

/// The first element that is not `scale` x + `shift`, or -1.
inline int64_t first_wrong(const HostArray& x, const HostArray& y, float scale, float shift) {
  if (x.bytes.size() != y.bytes.size()) return 0;
  for (size_t i = 0; i < x.bytes.size(); i += 4) {
    float a, b;
    std::memcpy(&a, x.bytes.data() + i, 4);
    std::memcpy(&b, y.bytes.data() + i, 4);
    if (b != scale * a + shift) return static_cast<int64_t>(i / 4);
  }
  return -1;
}

inline const BindingForm kForms[] = {BindingForm::Address, BindingForm::Descriptors};
inline const char* form_name(BindingForm f) { return f == BindingForm::Address ? "address form" : "descriptors form"; }

}  // namespace spirograd::vk::testing
