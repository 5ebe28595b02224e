#include "spirv/lower/steps.h"

namespace spirograd::lower {

std::optional<Step> copy_step(BufferRef from, BufferRef to, const Type& type) {
  const uint64_t bytes = device_bytes(type);
  if (bytes == 0) return std::nullopt;
  Step s;
  s.kind = Step::Kind::Copy;
  s.uses = {{from.buffer, from.offset, bytes, true, false}, {to.buffer, to.offset, bytes, false, true}};
  s.label = "copy " + to_string(type);
  return s;
}

std::optional<Step> zero_step(BufferRef to, const Type& type) {
  const uint64_t bytes = device_bytes(type);
  if (bytes == 0) return std::nullopt;
  Step s;
  s.kind = Step::Kind::Fill;
  s.uses = {{to.buffer, to.offset, bytes, false, true}};
  s.label = "zero " + to_string(type);
  return s;
}

}  // namespace spirograd::lower
