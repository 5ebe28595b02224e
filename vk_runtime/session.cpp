// What a session does for its user: runs, replays, or records into the user's commands.
#include <chrono>
#include <cstring>

#include "vk_runtime/barrier_plan.h"
#include "vk_runtime/errors.h"
#include "vk_runtime/inline_device.h"
#include "vk_runtime/session_impl.h"

namespace spirograd::vk {
namespace {

// Host elements to device words and back. Bool is a byte here and a word there.
void to_device(const HostArray& from, uint8_t* to) {
  if (from.type.dtype != DType::Bool) {
    if (!from.bytes.empty()) std::memcpy(to, from.bytes.data(), from.bytes.size());
    return;
  }
  for (size_t i = 0; i < from.bytes.size(); ++i) {
    const uint32_t word = from.bytes[i] != 0;
    std::memcpy(to + 4 * i, &word, 4);
  }
}

void from_device(const uint8_t* from, HostArray& to) {
  if (to.type.dtype != DType::Bool) {
    if (!to.bytes.empty()) std::memcpy(to.bytes.data(), from, to.bytes.size());
    return;
  }
  for (size_t i = 0; i < to.bytes.size(); ++i) {
    uint32_t word = 0;
    std::memcpy(&word, from + 4 * i, 4);
    to.bytes[i] = word != 0;
  }
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() {
  if (!impl_ || !impl_->still_runs()) return;
  Device::Impl& device = impl_->d;
  const std::shared_ptr<Device> owner = std::move(impl_->owner);  // what is left does not keep its device
  const std::shared_ptr<Impl> left = std::move(impl_);
  device.leave({[&s = *left] { return s.still_runs(); }, left});
}

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<Device> device, const Executable& executable) {
  return guarded([&] {
    if (!device) throw Error("SG0303", "Session::create: the device is null");
    Device::Impl::of(*device).check_alive();
    device = quicker_device(std::move(device), executable.steps);
    return std::unique_ptr<Session>(new Session(std::make_unique<Impl>(std::move(device), executable)));
  });
}

Result<std::vector<HostArray>> Session::run(std::span<const HostArray> inputs, Timing* timing) {
  return impl_->run(inputs, UINT64_MAX, timing);
}

Result<std::vector<HostArray>> Session::Impl::run(std::span<const HostArray> inputs, uint64_t timeout_ns, Timing* timing) {
  return guarded([&] {
    const auto start = std::chrono::steady_clock::now();
    if (inputs.size() != e.n_inputs) {
      throw Error("SG0501", "the program takes " + std::to_string(e.n_inputs) + " inputs, and " +
                                std::to_string(inputs.size()) + " are given");
    }
    for (uint32_t i = 0; i < e.n_inputs; ++i) {
      const BufferDesc& b = e.buffers[i];
      if (inputs[i].type != b.type) {
        throw Error("SG0501",
                    "input '" + b.name + "' is " + to_string(b.type) + ", and " + to_string(inputs[i].type) + " is given");
      }
      if (inputs[i].bytes.size() != static_cast<uint64_t>(b.type.shape.count()) * host_bytes(b.type.dtype)) {
        throw Error("SG0501", "input '" + b.name + "' has " + std::to_string(inputs[i].bytes.size()) +
                                  " bytes, too many or too few for " + to_string(b.type));
      }
    }
    d.check_alive();
    finish(timeout_ns);  // before it reads other inputs
    for (uint32_t i = 0; i < e.n_inputs; ++i) {
      to_device(inputs[i], host_side(i));
      if (!staged || i + 1 == e.n_inputs) d.memory->flush(host_memory(i));
    }
    const double device_time = run_and_wait(staged, timeout_ns);
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
    const auto start = std::chrono::steady_clock::now();
    const double device_time = impl_->run_and_wait(false);
    return Timing{seconds_since(start), device_time};
  });
}

Result<void> Session::record(VkCommandBuffer commands, std::span<const Slice> inputs, std::span<const Slice> outputs) {
  return guarded([&] {
    Impl& s = *impl_;
    s.d.check_alive();
    if (!commands) throw Error("SG0501", "record: the command buffer is null");
    if (inputs.size() != s.e.n_inputs || outputs.size() != s.e.n_outputs) {
      throw Error("SG0501", "the program has " + std::to_string(s.e.n_inputs) + " inputs and " +
                                std::to_string(s.e.n_outputs) + " outputs; slices for " + std::to_string(inputs.size()) +
                                " and " + std::to_string(outputs.size()) + " are given");
    }
    std::vector<Place> places = s.places;
    for (uint32_t i = 0; i < s.n_arguments(); ++i) {
      const BufferDesc& b = s.e.buffers[i];
      const Slice& slice = i < s.e.n_inputs ? inputs[i] : outputs[i - s.e.n_inputs];
      if (b.bytes == 0) continue;  // ours serves as well as theirs
      const uint64_t element = spirograd::device_bytes(b.type.dtype);
      if (!slice.buffer || slice.bytes < b.bytes || slice.offset % element != 0) {
        throw Error("SG0501", "the slice for '" + b.name + "' must name a buffer, hold " + std::to_string(b.bytes) +
                                  " bytes and start at a multiple of " + std::to_string(element) + "; it holds " +
                                  std::to_string(slice.bytes) + " from " + std::to_string(slice.offset));
      }
      places[i] = {slice.buffer, slice.offset, 0};
      if (s.e.form == BindingForm::Address) {
        VkBufferDeviceAddressInfo info{VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
        info.buffer = slice.buffer;
        places[i].address = s.d.fns.vkGetBufferDeviceAddress(s.d.device, &info) + slice.offset;
      }
    }
    s.check_overlaps(places);
    if (s.record_sets) s.record_sets->update(places);
    const OuterBarriers outer = plan_outer_barriers(s.e, s.barriers);
    if (outer.before) memory_barrier(s.d.fns, commands, kOurUses, kOurUses);
    Progress progress(s.e.steps);
    record_steps(s.d, commands, s.e, *s.pipelines, s.barriers, places, s.record_sets.get(), progress);
    if (outer.after) memory_barrier(s.d.fns, commands, kOurUses, kOurUses);
  });
}

uint64_t Session::device_bytes() const { return impl_->bytes; }

}  // namespace spirograd::vk
