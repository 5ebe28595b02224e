#include "spirograd/own_kernel.h"

#include <cstring>

#include "frontend/base/spirv_words.h"

namespace spirograd {

Result<OwnKernel::Module> module_of(std::string name, const std::string& bytes) {
  OwnKernel::Module out{std::move(name), std::vector<uint32_t>(bytes.size() / sizeof(uint32_t))};
  std::memcpy(out.words.data(), bytes.data(), out.words.size() * sizeof(uint32_t));
  if (bytes.size() % sizeof(uint32_t) != 0 || out.words.size() < kSpirvHeader || out.words[0] != kSpirvMagic)
    return Error("SG0308", "'" + out.name + "' holds no SPIR-V")
        .hint("a module is what glslangValidator -V or spirv-as writes, as bytes of this machine");
  return out;
}

}  // namespace spirograd
