#include "spirv/lower/steps.h"

#include <bit>

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

std::optional<Step> fill_step(BufferRef to, const Type& type, uint32_t word) {
  const uint64_t bytes = device_bytes(type);
  if (bytes == 0) return std::nullopt;
  Step s;
  s.kind = Step::Kind::Fill;
  s.fill_word = word;
  s.uses = {{to.buffer, to.offset, bytes, false, true}};
  s.label = (word == 0 ? "zero " : "fill ") + to_string(type);
  return s;
}

namespace {

std::optional<uint32_t> word_of(DType t, double x) {
  switch (t) {
    case DType::F32: return std::bit_cast<uint32_t>(static_cast<float>(x));
    case DType::I32: return static_cast<uint32_t>(static_cast<int32_t>(x));
    case DType::U32: return static_cast<uint32_t>(x);
    case DType::Bool: return x != 0;
    case DType::F64: return std::bit_cast<uint64_t>(x) == 0 ? std::optional(0u) : std::nullopt;
    case DType::F16: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

// Smaller ones cost nothing in a kernel that is there anyway.
std::optional<uint32_t> filled_with(const ir::Graph& g, ir::NodeId id) {
  constexpr uint64_t kLarge = 1 << 20;  // bytes
  const ir::Node& n = g[id];
  if (n.op != ir::Op::Broadcast || device_bytes(n.type) < kLarge) return std::nullopt;
  const ir::Node& number = g[n.in[0]];
  if (number.op != ir::Op::Const || number.type.shape.rank() != 0) return std::nullopt;
  return word_of(n.type.dtype, number.data[0]);
}

}  // namespace spirograd::lower
