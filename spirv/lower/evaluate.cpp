#include "spirv/lower/evaluate.h"

#include <algorithm>
#include <cstring>

#include "spirv/kernel/eval.h"

namespace spirograd::lower {
namespace {

constexpr uint8_t kGarbage = 0xcd;

// Device layout of a host array: bool elements as words.
std::vector<uint8_t> to_device(const HostArray& a) {
  if (a.type.dtype != DType::Bool) return a.bytes;
  std::vector<uint8_t> out(a.bytes.size() * 4, 0);
  for (size_t i = 0; i < a.bytes.size(); ++i) out[4 * i] = a.bytes[i] != 0;
  return out;
}

HostArray to_host(const Type& type, const std::vector<uint8_t>& bytes) {
  HostArray a(type);
  if (type.dtype != DType::Bool) {
    std::copy_n(bytes.begin(), a.bytes.size(), a.bytes.begin());
    return a;
  }
  for (size_t i = 0; i < a.bytes.size(); ++i) a.bytes[i] = bytes[4 * i];
  return a;
}

}  // namespace

std::vector<HostArray> evaluate(const Plan& plan, std::span<const HostArray> inputs, uint64_t* instructions) {
  if (inputs.size() != plan.n_inputs)
    throw Error("SG0501",
                "the program takes " + std::to_string(plan.n_inputs) + " inputs, got " + std::to_string(inputs.size()));
  std::vector<uint8_t> scratch(plan.scratch_bytes, kGarbage);
  std::vector<std::vector<uint8_t>> own(plan.buffers.size());
  for (size_t j = 0; j < plan.buffers.size(); ++j) {
    const BufferDesc& d = plan.buffers[j];
    if (d.role == Role::Scratch) continue;
    own[j] = d.role == Role::Constant ? d.data : std::vector<uint8_t>(d.bytes, kGarbage);
    if (d.role != Role::Input) continue;
    if (inputs[j].type != d.type)
      throw Error("SG0501", "input '" + d.name + "' must be " + to_string(d.type) + ", got " + to_string(inputs[j].type));
    own[j] = to_device(inputs[j]);
  }
  const auto bytes_of = [&](const BufferUse& u, uint64_t offset) {
    const BufferDesc& d = plan.buffers[u.buffer];
    uint8_t* base = d.role == Role::Scratch ? scratch.data() + d.scratch_offset : own[u.buffer].data();
    return std::span<uint8_t>(base + offset, u.bytes);
  };
  run_through(plan.steps, [&](size_t number, std::span<const uint64_t> offsets) {
    const Step& s = plan.steps[number];
    switch (s.kind) {
      case Step::Kind::Dispatch: {
        if (s.kernel >= plan.kernels.size())
          throw Error("SG0902", "the kernel '" + plan.given[s.kernel - plan.kernels.size()].name + "' runs on devices only");
        std::vector<std::span<uint8_t>> buffers;
        for (size_t j = 0; j < s.uses.size(); ++j) buffers.push_back(bytes_of(s.uses[j], offsets[j]));
        const uint64_t executed = kernel::evaluate(plan.kernels[s.kernel], buffers);
        if (instructions) *instructions += executed;
        break;
      }
      case Step::Kind::Fill: {
        const std::span<uint8_t> to = bytes_of(s.uses[0], offsets[0]);
        for (size_t i = 0; i + 4 <= to.size(); i += 4) std::memcpy(to.data() + i, &s.fill_word, 4);
        break;
      }
      case Step::Kind::Copy:
        std::memmove(bytes_of(s.uses[1], offsets[1]).data(), bytes_of(s.uses[0], offsets[0]).data(), s.uses[0].bytes);
        break;
      case Step::Kind::Repeat: break;
    }
  });
  std::vector<HostArray> out;
  for (size_t j = 0; j < plan.n_outputs; ++j)
    out.push_back(to_host(plan.buffers[plan.n_inputs + j].type, own[plan.n_inputs + j]));
  return out;
}

}  // namespace spirograd::lower
