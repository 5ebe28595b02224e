#include "vk_runtime/executable_check.h"

namespace spirograd::vk {
namespace {

Error malformed(const std::string& what) { return Error("SG0900", "the executable is malformed: " + what); }

void check_ranges(const Executable& e, const Step& step, const std::string& where) {
  for (const BufferUse& use : step.uses) {
    if (use.buffer >= e.buffers.size()) throw malformed(where + " uses a buffer that does not exist");
    const uint64_t bytes = e.buffers[use.buffer].bytes;
    if (use.offset > bytes || use.bytes > bytes - use.offset) throw malformed(where + " uses bytes outside of its buffer");
    // Word-wise commands; f64 elements lie on words, too.
    if (use.offset % 4 != 0 || (step.kind != Step::Kind::Dispatch && use.bytes % 4 != 0))
      throw malformed(where + " uses parts of words");
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
    if ((input || output) && b.bytes != static_cast<uint64_t>(b.type.shape.count()) * device_bytes(b.type.dtype))
      throw malformed(where + " has the wrong size");
    if (b.role == Role::Constant && b.data.size() != b.bytes) throw malformed(where + " has the wrong contents");
    if (b.role == Role::Scratch && (b.scratch_offset % device_bytes(b.type.dtype) != 0 ||
                                    b.scratch_offset > e.scratch_bytes || b.bytes > e.scratch_bytes - b.scratch_offset))
      throw malformed(where + " lies outside of the arena");
  }
  for (size_t i = 0; i < e.steps.size(); ++i) {
    const Step& s = e.steps[i];
    const std::string where = "step " + std::to_string(i);
    size_t expected = s.kind == Step::Kind::Fill ? 1 : 2;
    if (s.kind == Step::Kind::Dispatch) {
      if (s.kernel >= e.kernels.size()) throw malformed(where + " runs a kernel that does not exist");
      expected = e.kernels[s.kernel].bindings;
    }
    if (s.uses.size() != expected) throw malformed(where + " has the wrong number of buffers");
    check_ranges(e, s, where);
  }
}

void check_features(const Executable& e, const Device::Impl& d) {
  const std::vector<Missing> lacks = missing(requirements_of(e), d.info.target, "'" + d.name() + "'");
  if (lacks.empty()) return;
  Error error("SG0303", "this program needs " + lacks[0].what);
  for (size_t i = 1; i < lacks.size(); ++i) error.notes.push_back("and " + lacks[i].what);
  error.help = lacks[0].hint;
  throw error;
}

}  // namespace spirograd::vk
