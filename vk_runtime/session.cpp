// What a session does for its user: runs, replays, or records into the user's commands.
#include <algorithm>

#include "vk_runtime/clock.h"
#include "vk_runtime/device_array.h"
#include "vk_runtime/errors.h"
#include "vk_runtime/inline_device.h"
#include "vk_runtime/session_impl.h"

namespace spirograd::vk {

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() {
  if (!impl_ || !impl_->still_runs()) return;
  Device::Impl& device = impl_->d;
  const std::shared_ptr<Device> owner = std::move(impl_->owner);  // what is left does not keep its device
  const std::shared_ptr<Impl> left = std::move(impl_);
  for (std::shared_ptr<Storage>& a : left->arguments)
    if (a->keeps) a.reset();
  device.leave({[&s = *left] { return s.still_runs(); }, left, left->gave_up});
}

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<Device> device, const Executable& executable) {
  return guarded([&] {
    if (!device) throw Error("SG0303", "Session::create: the device is null");
    Device::Impl::of(*device).check_alive();
    std::shared_ptr<Device> quicker = quicker_device(device, executable.steps);
    return std::unique_ptr<Session>(new Session(std::make_unique<Impl>(std::move(quicker), device, executable)));
  });
}

Result<std::vector<HostArray>> Session::run(std::span<const HostArray> inputs, Timing* timing) {
  return impl_->run(inputs, UINT64_MAX, timing);
}

Result<std::vector<HostArray>> Session::Impl::run(std::span<const HostArray> inputs, uint64_t timeout_ns, Timing* timing) {
  return guarded([&] {
    const auto start = Clock::now();
    if (inputs.size() != e.n_inputs) {
      throw Error("SG0501", "the program takes " + std::to_string(e.n_inputs) + " inputs, and " +
                                std::to_string(inputs.size()) + " are given");
    }
    if (is_bound())
      throw Error("SG0501", "run of given inputs: this session has arrays that are bound, fed or donated")
          .hint("write() sets an input by its name, run(1) runs with what is there, read() gives one output");
    for (uint32_t i = 0; i < e.n_inputs; ++i)
      check_contents("input '" + e.buffers[i].name + "'", e.buffers[i].type, inputs[i]);
    d.check_alive();
    finish(timeout_ns);  // before it reads other inputs
    for (uint32_t i = 0; i < e.n_inputs; ++i) {
      to_device(inputs[i], host_side(i));
      if (!staged || i + 1 == e.n_inputs) d.memory->flush(host_memory(i));
    }
    std::fill(given.begin(), given.end(), true);
    const double device_time = run_and_wait(1, staged, timeout_ns);
    std::vector<HostArray> outputs;
    outputs.reserve(e.n_outputs);
    for (uint32_t i = e.n_inputs; i < n_arguments(); ++i) {
      if (!staged || i == e.n_inputs) d.memory->invalidate(host_memory(i));
      outputs.emplace_back(e.buffers[i].type);
      from_device(host_side(i), outputs.back());
    }
    if (timing) *timing = {seconds_since(start), device_time};
    return outputs;
  });
}

Result<Timing> Session::replay() {
  return guarded([&] {
    const auto start = Clock::now();
    const double device_time = impl_->run_and_wait(1, false);
    return Timing{seconds_since(start), device_time};
  });
}

Result<Timing> Session::run_steps(uint64_t steps) {
  return guarded([&] {
    const auto start = Clock::now();
    if (steps == 0) throw Error("SG0501", "run: the number of steps is not positive").hint("run(1) is one step");
    impl_->check_given();
    const double device_time = impl_->run_and_wait(steps, false);
    return Timing{seconds_since(start), device_time};
  });
}

namespace {

void check_semaphores(const Device::Impl& d, const Semaphores& semaphores) {
  for (const std::span<const SemaphoreValue> given : {semaphores.wait, semaphores.signal}) {
    if (!given.empty() && d.owned)
      throw Error("SG0501", "submit: semaphores are those of a host's device, and '" + d.name() + "' is not adopted")
          .hint("wait(point) waits on the host");
    if (std::ranges::any_of(given, [](const SemaphoreValue& v) { return v.semaphore == VK_NULL_HANDLE; }))
      throw Error("SG0501", "submit: a semaphore is null");
  }
}

}  // namespace

Result<Point> Session::submit(uint64_t steps) { return submit(steps, {}); }

Result<Point> Session::submit(uint64_t steps, const Semaphores& semaphores) {
  return guarded([&] {
    Impl& s = *impl_;
    if (steps == 0) throw Error("SG0501", "submit: the number of steps is not positive").hint("submit() is one step");
    check_semaphores(s.d, semaphores);
    s.check_given();
    s.d.check_alive();
    s.d.sweep();
    s.come_here();
    s.d.submit_semaphores({.wait = semaphores.wait});
    s.send(steps, false, UINT64_MAX);
    s.d.submit_semaphores({.signal = semaphores.signal});
    return Point{s.last};
  });
}

namespace {

void check_submitted(const Device::Impl& d, Point point) {
  d.check_alive();
  if (point.value > d.timeline->last())
    throw Error("SG0501", "wait: nothing was submitted for the point " + std::to_string(point.value) + "; the last one is " +
                              std::to_string(d.timeline->last()))
        .hint("points come from submit() of a session on the same device");
}

}  // namespace

Result<void> Session::wait(Point point) {
  return guarded([&] {
    check_submitted(impl_->d, point);
    impl_->d.wait(point.value);
  });
}

Result<bool> Session::done(Point point) {
  return guarded([&] {
    check_submitted(impl_->d, point);
    const VkResult r = impl_->d.timeline->status(point.value);
    if (r != VK_NOT_READY) impl_->d.check(r, impl_->d.timeline->asking());
    return r == VK_SUCCESS;
  });
}

Result<void> Session::bind(std::string_view name, DeviceArray& array, std::optional<Role> role) {
  return guarded([&] { impl_->bind(name, array, role); });
}

Result<void> Session::feed(std::string_view output, std::string_view input) {
  return guarded([&] { impl_->feed(output, input); });
}

Result<void> Session::donate(std::string_view input, std::string_view output) {
  return guarded([&] { impl_->donate(input, output); });
}

Result<void> Session::write(std::string_view input, const HostArray& contents) {
  return guarded([&] {
    Impl& s = *impl_;
    const uint32_t i = s.argument(input, "write", Role::Input);
    check_contents("input '" + s.e.buffers[i].name + "'", s.e.buffers[i].type, contents);
    s.d.check_alive();
    s.arguments[i]->upload(&contents);
    s.given[i] = true;
  });
}

Result<HostArray> Session::read(std::string_view name) {
  return guarded([&] {
    Impl& s = *impl_;
    const uint32_t i = s.argument(name, "read", std::nullopt);
    if (!s.given[i])
      throw Error("SG0502", "read: '" + s.e.buffers[i].name + "' has no contents: nothing was run or given")
          .hint("run(steps) makes the outputs");
    s.d.check_alive();
    return s.arguments[s.newest(i)]->download();
  });
}

uint64_t Session::device_bytes() const { return impl_->bytes; }

}  // namespace spirograd::vk
