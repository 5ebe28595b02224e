#include "vk_runtime/executable_check.h"

#include "vk_runtime/errors.h"

namespace spirograd::vk {
namespace {

Error malformed(const std::string& what) { return Error("SG0900", "the executable is malformed: " + what); }

struct Open {  // a Repeat around the current step
  size_t end;
  uint64_t count;
};

// Whether the use stays inside of so many bytes in all iterations. Nothing here overflows, whatever the numbers.
bool stays_inside(const BufferUse& use, uint64_t bytes, const std::vector<Open>& open) {
  if (use.offset > bytes || use.bytes > bytes - use.offset) return false;
  uint64_t below = use.offset, above = bytes - use.offset - use.bytes;  // so far it may move
  for (size_t d = 0; d < use.strides.size(); ++d) {
    const auto stride = static_cast<uint64_t>(use.strides[d]);
    uint64_t& room = use.strides[d] < 0 ? below : above;
    const uint64_t length = use.strides[d] < 0 ? 0 - stride : stride, moves = open[d].count - 1;
    if (length > room / moves) return false;
    room -= length * moves;
  }
  return true;
}

void check_uses(const Executable& e, const Step& step, const std::vector<Open>& open, const std::string& where) {
  for (const BufferUse& use : step.uses) {
    if (use.buffer >= e.buffers.size()) throw malformed(where + " uses a buffer that does not exist");
    if (use.strides.size() > open.size()) throw malformed(where + " has more strides than Repeats around it");
    if (!stays_inside(use, e.buffers[use.buffer].bytes, open)) throw malformed(where + " uses bytes outside of its buffer");
    // Fills are of words; f64 elements lie on words, too, and of f16 a word holds two.
    const uint64_t element = device_bytes(e.buffers[use.buffer].type.dtype);
    const uint64_t unit = step.kind == Step::Kind::Fill ? 4 : std::min<uint64_t>(4, element);
    bool words = use.offset % unit == 0 && (step.kind == Step::Kind::Dispatch || use.bytes % unit == 0);
    for (int64_t stride : use.strides) words = words && stride % static_cast<int64_t>(unit) == 0;
    if (!words) throw malformed(where + " uses parts of words");
  }
}

// Counts are at least 2 and commands bounded, which bounds how deep Repeats nest.
void check_steps(const Executable& e) {
  std::vector<Open> open;
  uint64_t times = 1, commands = 0;
  for (size_t i = 0; i < e.steps.size(); ++i) {
    for (; !open.empty() && i == open.back().end; open.pop_back()) times /= open.back().count;
    const Step& s = e.steps[i];
    const std::string where = "step " + std::to_string(i);
    size_t expected = 0;
    switch (s.kind) {
      case Step::Kind::Dispatch:
        if (s.kernel >= e.kernels.size()) throw malformed(where + " runs a kernel that does not exist");
        expected = e.kernels[s.kernel].bindings;
        break;
      case Step::Kind::Fill: expected = 1; break;
      case Step::Kind::Copy: expected = 2; break;
      case Step::Kind::Repeat: {
        if (s.count < 2) throw malformed(where + " repeats its body " + std::to_string(s.count) + " times");
        const size_t behind = (open.empty() ? e.steps.size() : open.back().end) - (i + 1);
        if (s.body == 0 || s.body > behind)
          throw malformed(where + " repeats " + std::to_string(s.body) + " steps of " + std::to_string(behind));
        open.push_back({i + 1 + s.body, s.count});
        times *= s.count;  // both are below 2^32
        break;
      }
    }
    if (s.uses.size() != expected) throw malformed(where + " has the wrong number of buffers");
    if (s.kind != Step::Kind::Repeat) commands += times;
    if (times > kCommandLimit || commands > kCommandLimit)
      throw malformed("it has more than " + std::to_string(kCommandLimit) + " commands, at " + where);
    check_uses(e, s, open, where);
  }
}

}  // namespace

void check_executable(const Executable& e) {
  if (e.version != 1) throw malformed("version " + std::to_string(e.version));
  if (uint64_t{e.n_inputs} + e.n_outputs > e.buffers.size()) throw malformed("fewer buffers than inputs and outputs");
  for (size_t i = 0; i < e.buffers.size(); ++i) {
    const BufferDesc& b = e.buffers[i];
    const std::string where = "buffer " + std::to_string(i);
    const bool input = i < e.n_inputs, output = !input && i < e.n_inputs + e.n_outputs;
    if (input != (b.role == Role::Input) || output != (b.role == Role::Output))
      throw malformed(where + " is in the wrong place");
    if ((input || output) && b.bytes != device_bytes(b.type)) throw malformed(where + " has the wrong size");
    if (b.role == Role::Constant && b.data.size() != b.bytes) throw malformed(where + " has the wrong contents");
    if (b.role == Role::Scratch && (b.scratch_offset % device_bytes(b.type.dtype) != 0 ||
                                    b.scratch_offset > e.scratch_bytes || b.bytes > e.scratch_bytes - b.scratch_offset))
      throw malformed(where + " lies outside of the arena");
  }
  for (const KernelBinary& k : e.kernels)
    if (descriptors(k, e.form) > k.bindings) throw malformed("kernel '" + k.name + "' has more descriptors than buffers");
  for (const KernelBinary& k : e.kernels)
    if (k.needs.push_bytes % 4 != 0) throw malformed("kernel '" + k.name + "' has parts of words among its push constants");
  check_steps(e);
}

void check_features(const Executable& e, const Device::Impl& d) {
  for (const BufferDesc& b : e.buffers)
    if (b.bytes > d.info.target.max_array)
      throw limit_error("an array of " + to_string(b.type) + " in bytes", b.bytes, "what the self-test has proved",
                        d.info.target.max_array, d.name());
  const std::vector<Missing> lacks = missing(requirements_of(e), d.info.target, "'" + d.name() + "'");
  if (lacks.empty()) return;
  Error error("SG0303", "this program needs " + lacks[0].what);
  for (size_t i = 1; i < lacks.size(); ++i) error.notes.push_back("and " + lacks[i].what);
  error.help = lacks[0].hint;
  throw error;
}

}  // namespace spirograd::vk
