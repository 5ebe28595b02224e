// The module writer; see module.h.
#include "spirv/emit/module.h"

namespace spirograd::spirv {
namespace {

constexpr uint32_t kVersion = 0x00010300;  // of Vulkan 1.1

}  // namespace

std::vector<uint32_t> literal(std::string_view text) {
  std::vector<uint32_t> words(text.size() / 4 + 1, 0);
  for (size_t i = 0; i < text.size(); ++i) words[i / 4] |= uint32_t{static_cast<uint8_t>(text[i])} << (8 * (i % 4));
  return words;
}

void append(std::vector<uint32_t>& to, spv::Op op, std::span<const uint32_t> operands) {
  to.push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | static_cast<uint32_t>(op));
  to.insert(to.end(), operands.begin(), operands.end());
}

void Module::put(Section section, spv::Op op, std::span<const uint32_t> operands) {
  append(sections_[static_cast<size_t>(section)], op, operands);
}

// The key of a declaration is the instruction itself, without its result id.
Id Module::unique(spv::Op op, std::vector<uint32_t> operands, bool typed) {
  std::vector<uint32_t> key = operands;
  key.push_back(static_cast<uint32_t>(op));
  const auto [entry, added] = known_.emplace(std::move(key), next_);
  if (!added) return entry->second;
  const Id id = fresh();
  operands.insert(operands.begin() + (typed ? 1 : 0), id);
  const Section section = op == spv::Op::OpExtInstImport ? Section::Import : Section::Global;
  put(section, op, operands);
  return id;
}

void Module::capability(spv::Capability c) {
  const uint32_t word = static_cast<uint32_t>(c);
  if (known_.emplace(std::vector{word, static_cast<uint32_t>(spv::Op::OpCapability)}, 0).second)
    put(Section::Capability, spv::Op::OpCapability, {word});
}

void Module::extension(std::string_view name) {
  std::vector<uint32_t> key = literal(name);
  key.push_back(static_cast<uint32_t>(spv::Op::OpExtension));
  if (known_.emplace(std::move(key), 0).second) put(Section::Extension, spv::Op::OpExtension, literal(name));
}

Id Module::import(std::string_view name) { return unique(spv::Op::OpExtInstImport, literal(name), false); }

Id Module::type(spv::Op op, Words operands) { return unique(op, operands, false); }

Id Module::constant(spv::Op op, Id type, Words words) {
  std::vector<uint32_t> operands{type};
  operands.insert(operands.end(), words);
  return unique(op, std::move(operands), true);
}

Id Module::distinct(spv::Op op, Words operands) {
  const Id id = fresh();
  std::vector<uint32_t> all{id};
  all.insert(all.end(), operands);
  put(Section::Global, op, all);
  return id;
}

Id Module::variable(Id pointer_type, spv::StorageClass storage) {
  const Id id = fresh();
  put(Section::Global, spv::Op::OpVariable, {pointer_type, id, static_cast<uint32_t>(storage)});
  return id;
}

void Module::decorate(Id target, spv::Decoration decoration, Words extra) {
  std::vector<uint32_t> operands{target, static_cast<uint32_t>(decoration)};
  operands.insert(operands.end(), extra);
  put(Section::Annotation, spv::Op::OpDecorate, operands);
}

void Module::decorate_member(Id target, uint32_t member, spv::Decoration decoration, Words extra) {
  std::vector<uint32_t> operands{target, member, static_cast<uint32_t>(decoration)};
  operands.insert(operands.end(), extra);
  put(Section::Annotation, spv::Op::OpMemberDecorate, operands);
}

std::vector<uint32_t> Module::finish() const {
  std::vector<uint32_t> words{spv::MagicNumber, kVersion, 0, next_, 0};
  for (const std::vector<uint32_t>& section : sections_) words.insert(words.end(), section.begin(), section.end());
  return words;
}

}  // namespace spirograd::spirv
