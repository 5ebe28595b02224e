#include "spirv/executable/module_facts.h"

#include <algorithm>
#include <optional>

#include "frontend/base/spirv_words.h"

namespace spirograd {
namespace {

// SPIR-V 1.6, section 3: numbers of the specification.
enum Instruction : uint16_t { EntryPoint = 15, ExecutionMode = 16, Capability = 17, Decorate = 71 };
constexpr uint32_t kCompute = 5, kLocalSize = 17, kSignedZero = 4461, kToEven = 4462, kBinding = 33, kDescriptorSet = 34;

struct CapabilityRow {
  uint32_t number;
  void (*ask)(Requirements&);  // null: every device has it, or an execution mode says more
};
constexpr CapabilityRow kCapabilities[] = {
    {0, nullptr},                                                                 // Matrix
    {1, nullptr},                                                                 // Shader
    {10, [](Requirements& n) { n.float64 = true; }},                              // Float64
    {61, [](Requirements& n) { n.subgroup_operations |= kSubgroupBasic; }},       // GroupNonUniform
    {62, [](Requirements& n) { n.subgroup_operations |= kSubgroupVote; }},        // GroupNonUniformVote
    {63, [](Requirements& n) { n.subgroup_operations |= kSubgroupArithmetic; }},  // GroupNonUniformArithmetic
    {64, [](Requirements& n) { n.subgroup_operations |= kSubgroupBallot; }},      // GroupNonUniformBallot
    {65, [](Requirements& n) { n.subgroup_operations |= kSubgroupShuffle; }},     // GroupNonUniformShuffle
    {4435, [](Requirements& n) { n.float16_addresses = true; }},                  // StoragePushConstant16
    {4433, [](Requirements& n) { n.float16_storage = true; }},                    // StorageBuffer16BitAccess
    {4466, nullptr},                                                              // SignedZeroInfNanPreserve
    {4467, nullptr},                                                              // RoundingModeRTE
    {5347, [](Requirements& n) { n.device_address = true; }},                     // PhysicalStorageBufferAddresses
    {6033, [](Requirements& n) { n.atomic_float_add = true; }},                   // AtomicFloat32AddEXT
};

class ModuleReader {
 public:
  ModuleReader(std::string_view name, std::span<const uint32_t> words) : name_(name), words_(words) {}

  ModuleFacts read() {
    if (words_.size() < kSpirvHeader || words_[0] != kSpirvMagic) fail("is no SPIR-V");
    for (size_t at = kSpirvHeader; at < words_.size();) {
      const size_t length = words_[at] >> 16;
      if (length == 0 || length > words_.size() - at) fail("ends in the middle of an instruction, or is damaged");
      visit(static_cast<uint16_t>(words_[at] & 0xffff), words_.subspan(at + 1, length - 1));
      at += length;
    }
    if (!main_) fail("has no compute shader of the name 'main'");
    if (!size_) fail("does not give the size of its workgroups as a literal (LocalSize)");
    facts_.form = facts_.needs.device_address ? BindingForm::Address : BindingForm::Descriptors;
    facts_.needs.descriptors = facts_.form == BindingForm::Descriptors;
    facts_.workgroup = facts_.needs.workgroup = *size_;
    return facts_;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error("SG0308", "the kernel '" + std::string(name_) + "' " + what)
        .hint("what a module has to be: docs/own-kernels.md");
  }

  void visit(uint16_t op, std::span<const uint32_t> in) {
    if (op == Capability && !in.empty()) return capability(in[0]);
    if (op == EntryPoint && in.size() >= 3 && in[0] == kCompute && is_main(in.subspan(2))) main_ = in[1];
    if (op == ExecutionMode && in.size() >= 3 && main_ == in[0]) mode(in[1], in.subspan(2));
    if (op != Decorate || in.size() < 3) return;
    if (in[1] == kDescriptorSet && in[2] != 0) fail("reads a descriptor set other than 0");
    if (in[1] == kBinding) facts_.bindings = std::max(facts_.bindings, in[2] == ~0u ? in[2] : in[2] + 1);
  }

  void mode(uint32_t which, std::span<const uint32_t> in) {
    if (which == kSignedZero) (in[0] == 64 ? facts_.needs.signed_zero_inf_nan64 : facts_.needs.signed_zero_inf_nan) = true;
    if (which == kToEven) (in[0] == 64 ? facts_.needs.round_to_even64 : facts_.needs.round_to_even) = true;
    if (which != kLocalSize || in.size() < 3) return;
    if (in[1] != 1 || in[2] != 1 || in[0] == 0) fail("has workgroups of more than one dimension");
    size_ = in[0];
  }

  void capability(uint32_t number) {
    const auto row = std::ranges::find(kCapabilities, number, &CapabilityRow::number);
    if (row == std::end(kCapabilities))
      fail("needs capability " + std::to_string(number) + " of SPIR-V, which devices are not asked for here");
    if (row->ask) row->ask(facts_.needs);
  }

  // A literal string: bytes from the low end of each word, then a zero.
  static bool is_main(std::span<const uint32_t> name) {
    constexpr uint32_t kMain = 'm' | 'a' << 8 | 'i' << 16 | 'n' << 24;
    return name.size() >= 2 && name[0] == kMain && (name[1] & 0xff) == 0;
  }

  std::string_view name_;
  std::span<const uint32_t> words_;
  ModuleFacts facts_;
  std::optional<uint32_t> main_, size_;
};

}  // namespace

ModuleFacts module_facts(std::string_view name, std::span<const uint32_t> words) { return ModuleReader(name, words).read(); }

}  // namespace spirograd
