// Writes a SPIR-V module: one word list per section, joined in the order that the format demands (SPIR-V spec, 2.4), types
// and constants declared once. Knows nothing of kernels.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <spirv/unified1/spirv.hpp11>
#include <string_view>
#include <vector>

namespace spirograd::spirv {

using Id = uint32_t;

enum class Section : uint8_t {
  Capability,
  Extension,
  Import,
  MemoryModel,
  EntryPoint,
  ExecutionMode,
  Debug,
  Annotation,
  Global,
  Function,
};

using Words = std::initializer_list<uint32_t>;

/// Words of a literal string: nul-terminated, padded to whole words.
std::vector<uint32_t> literal(std::string_view text);

/// Appends one instruction.
void append(std::vector<uint32_t>& to, spv::Op op, std::span<const uint32_t> operands);
inline void append(std::vector<uint32_t>& to, spv::Op op, Words operands) {
  append(to, op, std::span(operands.begin(), operands.size()));
}

class Module {
 public:
  Id fresh() { return next_++; }

  void put(Section section, spv::Op op, std::span<const uint32_t> operands);
  void put(Section section, spv::Op op, Words operands) { put(section, op, std::span(operands.begin(), operands.size())); }

  /// Each declared once, however often asked for.
  void capability(spv::Capability c);
  void extension(std::string_view name);
  Id import(std::string_view name);
  /// A type that is not an aggregate with a layout of its own; equal operands give the same id.
  Id type(spv::Op op, Words operands);
  /// OpConstant of a type, or OpConstantTrue and OpConstantFalse (no words).
  Id constant(spv::Op op, Id type, Words words);
  /// A type or variable that is unique by intent: structures and runtime arrays carry decorations.
  Id distinct(spv::Op op, Words operands);
  Id variable(Id pointer_type, spv::StorageClass storage);

  void decorate(Id target, spv::Decoration decoration, Words extra = {});
  void decorate_member(Id target, uint32_t member, spv::Decoration decoration, Words extra = {});

  /// SPIR-V 1.3.
  std::vector<uint32_t> finish() const;

 private:
  Id unique(spv::Op op, std::vector<uint32_t> operands, bool typed);

  Id next_ = 1;
  std::array<std::vector<uint32_t>, 10> sections_;
  std::map<std::vector<uint32_t>, Id> known_;
};

}  // namespace spirograd::spirv
