// In place of check.cpp where Spirograd is built without SPIRV-Tools.
#include "spirv/emit/emit.h"

namespace spirograd::spirv {
namespace {

Error without_tools(const std::string& what) {
  return Error("SG0307", "this build of Spirograd has no SPIRV-Tools, which " + what + " modules")
      .hint("build it with the CMake option SPIROGRAD_SPIRV_TOOLS=ON");
}

}  // namespace

bool has_spirv_tools() { return false; }

std::optional<Error> validate(std::span<const uint32_t>) { return without_tools("validates"); }

std::string disassemble(std::span<const uint32_t>) { throw without_tools("disassembles"); }

}  // namespace spirograd::spirv
