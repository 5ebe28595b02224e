#include "vk_runtime/probe_programs.h"

#include <algorithm>
#include <string_view>

namespace spirograd::vk {
namespace {

// SPIR-V: the words of a header, operations that declare, and the end of the declarations.
constexpr size_t kModuleHeader = 5;
constexpr uint32_t kExtension = 10, kExecutionMode = 16, kCapability = 17, kFunction = 54;

struct FloatControl {
  uint32_t capability, mode;
};
constexpr FloatControl kSignedZeroInfNan = {4466, 4461}, kRoundToEven = {4467, 4462};

// Leaves out the declarations for which `goes`, given the words of each from its first one on, is true.
template <class Goes>
void leave_out(std::vector<uint32_t>& words, Goes goes) {
  std::vector<uint32_t> kept(words.begin(), words.begin() + kModuleHeader);
  size_t at = kModuleHeader;
  for (uint32_t length = 0; at < words.size() && (words[at] & 0xffff) != kFunction; at += length) {
    length = std::max(1u, words[at] >> 16);
    const auto begin = words.begin() + static_cast<ptrdiff_t>(at);
    if (!goes(words[at] & 0xffff, &words[at + 1])) kept.insert(kept.end(), begin, begin + length);
  }
  kept.insert(kept.end(), words.begin() + static_cast<ptrdiff_t>(at), words.end());
  words = std::move(kept);
}

// Keeps the mode for 32 and for 64 bits or not, and the capability where one of them stays. Returns whether one does.
bool leave_out_modes(std::vector<uint32_t>& words, FloatControl control, bool keep32, bool keep64) {
  bool stays = false;
  leave_out(words, [&](uint32_t operation, const uint32_t* operands) {
    if (operation != kExecutionMode || operands[1] != control.mode) return false;
    const bool keep = operands[2] == 32 ? keep32 : keep64;
    stays = stays || keep;
    return !keep;
  });
  if (!stays)
    leave_out(words, [&](uint32_t operation, const uint32_t* operands) {
      return operation == kCapability && operands[0] == control.capability;
    });
  return stays;
}

}  // namespace

Executable program_for(const Probe& probe, BindingForm form, const Target& t) {
  Executable e = in_form(probe, form);
  for (KernelBinary& k : e.kernels) {
    const bool keeps = leave_out_modes(k.words, kSignedZeroInfNan, t.signed_zero_inf_nan, t.signed_zero_inf_nan64),
               rounds = leave_out_modes(k.words, kRoundToEven, t.round_to_even, t.round_to_even64);
    if (!keeps && !rounds)
      leave_out(k.words, [](uint32_t operation, const uint32_t* operands) {
        return operation == kExtension &&
               std::string_view(reinterpret_cast<const char*>(operands)) == "SPV_KHR_float_controls";
      });
    k.needs.signed_zero_inf_nan = t.signed_zero_inf_nan;
    k.needs.round_to_even = t.round_to_even;
    k.needs.signed_zero_inf_nan64 = k.needs.float64 && t.signed_zero_inf_nan64;
    k.needs.round_to_even64 = k.needs.float64 && t.round_to_even64;
  }
  for (Step& s : e.steps) s.work *= t.price.submission;
  return e;
}

Executable joined(std::span<const Executable> programs) {
  Executable out;
  out.form = programs.front().form;
  for (const Executable& e : programs) out.n_outputs += e.n_outputs;
  out.buffers.resize(out.n_outputs);  // the outputs of all come first
  uint32_t outputs = 0;
  for (const Executable& e : programs) {
    const auto kernels = static_cast<uint32_t>(out.kernels.size()), others = static_cast<uint32_t>(out.buffers.size());
    const auto place = [&](uint32_t b) { return b < e.n_outputs ? outputs + b : others + b - e.n_outputs; };
    for (uint32_t b = 0; b < e.buffers.size(); ++b) {
      BufferDesc buffer = e.buffers[b];
      if (buffer.role == Role::Scratch) buffer.scratch_offset += out.scratch_bytes;
      if (b < e.n_outputs)
        out.buffers[place(b)] = std::move(buffer);
      else
        out.buffers.push_back(std::move(buffer));
    }
    for (Step s : e.steps) {
      s.kernel += kernels;
      for (BufferUse& u : s.uses) u.buffer = place(u.buffer);
      out.steps.push_back(std::move(s));
    }
    out.kernels.insert(out.kernels.end(), e.kernels.begin(), e.kernels.end());
    out.scratch_bytes += e.scratch_bytes;
    outputs += e.n_outputs;
  }
  return out;
}

}  // namespace spirograd::vk
