// Validation and disassembly of finished modules.
#include <spirv-tools/libspirv.h>

#include <memory>

#include "spirv/emit/emit.h"
#include "spirv/emit/module.h"

namespace spirograd::spirv {
namespace {

using Context = std::unique_ptr<spv_context_t, decltype(&spvContextDestroy)>;
Context context() { return {spvContextCreate(SPV_ENV_VULKAN_1_1), spvContextDestroy}; }

}  // namespace

bool has_spirv_tools() { return true; }

std::optional<Error> validate(std::span<const uint32_t> words) {
  const Context tools = context();
  spv_diagnostic complaint = nullptr;
  const spv_result_t result = spvValidateBinary(tools.get(), words.data(), words.size(), &complaint);
  std::optional<Error> error;
  if (result != SPV_SUCCESS) {
    error.emplace("SG0903",
                  std::string("the emitted module is not valid: ") + (complaint ? complaint->error : "no message"));
    if (complaint) error->notes.push_back("at word " + std::to_string(complaint->position.index));
  }
  spvDiagnosticDestroy(complaint);
  return error;
}

std::string disassemble(std::span<const uint32_t> words) {
  const Context tools = context();
  spv_text text = nullptr;
  const uint32_t options = SPV_BINARY_TO_TEXT_OPTION_NO_HEADER | SPV_BINARY_TO_TEXT_OPTION_INDENT;
  if (spvBinaryToText(tools.get(), words.data(), words.size(), options, &text, nullptr) != SPV_SUCCESS)
    return "; not a SPIR-V module\n";
  std::string out(text->str, text->length);
  spvTextDestroy(text);
  return out;
}

}  // namespace spirograd::spirv
