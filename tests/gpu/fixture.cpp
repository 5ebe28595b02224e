#include "gpu/fixture.h"

#include <cstdlib>
#include <cstring>

#include "affine_address.h"
#include "affine_descriptors.h"
#include "flip_address.h"
#include "flip_descriptors.h"

namespace spirograd::vk::testing {

void Messages::take(void* user, const char* id, const char* text) {
  for (const char* harmless :
       {"Loader Message", "UNASSIGNED-CreateInstance-status-message", "UNASSIGNED-CreateDevice-status-message"})
    if (std::strcmp(id, harmless) == 0) return;
  auto& self = *static_cast<Messages*>(user);
  const std::lock_guard lock(self.mutex);
  self.lines.push_back(std::string(id) + ": " + text);
}

std::string Messages::text() const {
  std::string all;
  for (const std::string& l : lines) all += l + "\n";
  return all;
}

void Gpu::open() {
  DeviceOptions options;
  options.validation = true;
  options.on_message = Messages::take;
  options.user = &messages;
  // Tests have verdicts in common, so that each driver proves itself once.
  options.cache_dir = cache_dir.empty() ? SPIROGRAD_TEST_CACHE : cache_dir;
  options.cache_pipelines = !cache_dir.empty();
  // Else little programs would run on a device that tests do not see.
  options.inline_little_work = std::getenv("SPIROGRAD_TEST_INLINE") != nullptr;
  options.get_instance_proc_addr = get_instance_proc_addr;
  auto created = Device::create(options);
  ASSERT_TRUE(created) << created.error().str();
  device = *created;
}

void Gpu::TearDown() {
  device.reset();
  EXPECT_TRUE(messages.lines.empty()) << messages.text();
}

std::unique_ptr<Session> Gpu::session(const Executable& e) {
  auto s = Session::create(device, e);
  if (s) return std::move(*s);
  ADD_FAILURE() << s.error().str();
  return nullptr;
}

std::vector<uint32_t> words(std::span<const uint32_t> w) { return {w.begin(), w.end()}; }

KernelBinary affine(BindingForm form) {
  return {"affine", form == BindingForm::Address ? words(affine_address) : words(affine_descriptors), 64, 3};
}
KernelBinary flip(BindingForm form) {
  return {"flip", form == BindingForm::Address ? words(flip_address) : words(flip_descriptors), 64, 3};
}

BufferDesc array(Role role, const char* name, Type type, uint64_t scratch_offset) {
  return {role, name, type, static_cast<uint64_t>(type.shape.count()) * device_bytes(type.dtype), scratch_offset, {}};
}
BufferDesc constant(uint32_t value) {
  BufferDesc b = array(Role::Constant, "n", u32());
  b.data.resize(4);
  std::memcpy(b.data.data(), &value, 4);
  return b;
}
uint32_t groups_for(uint64_t n) { return static_cast<uint32_t>((n + 63) / 64); }

Step apply(const Executable& e, uint32_t x, uint32_t n, uint32_t y, uint32_t kernel) {
  Step s;
  s.kernel = kernel;
  s.groups = groups_for(e.buffers[x].bytes / 4);
  s.uses = {{x, 0, e.buffers[x].bytes, true, false}, {n, 0, 4, true, false}, {y, 0, e.buffers[y].bytes, false, true}};
  return s;
}

Executable affine_program(BindingForm form, int64_t n) {
  Executable e;
  e.form = form;
  e.kernels = {affine(form)};
  e.buffers = {array(Role::Input, "x", f32({n})), array(Role::Output, "y", f32({n})), constant(static_cast<uint32_t>(n))};
  e.n_inputs = e.n_outputs = 1;
  e.steps = {apply(e, 0, 2, 1)};
  return e;
}

Executable chain_program(BindingForm form, int64_t n, int length) {
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

HostArray ramp(int64_t n) {
  HostArray x(f32({n}));
  for (int64_t i = 0; i < n; ++i) {
    const float v = static_cast<float>(i % 1000);
    std::memcpy(x.bytes.data() + 4 * i, &v, 4);
  }
  return x;
}

int64_t first_wrong(const HostArray& x, const HostArray& y, float scale, float shift) {
  if (x.bytes.size() != y.bytes.size()) return 0;
  for (size_t i = 0; i < x.bytes.size(); i += 4) {
    float a, b;
    std::memcpy(&a, x.bytes.data() + i, 4);
    std::memcpy(&b, y.bytes.data() + i, 4);
    if (b != scale * a + shift) return static_cast<int64_t>(i / 4);
  }
  return -1;
}

}  // namespace spirograd::vk::testing
