// Kernels that programs name: made by the compiler itself, whose modules keep the contract of own_kernel.h.
#pragma once

#include "spirograd/compile.h"
#include "spirograd/text.h"

namespace spirograd::test {

/// The module of a program that is one kernel, whose bindings are its inputs in their order, then its result; as the bytes
/// of a file.
inline std::string module_bytes(const std::string& text, const Target& target, BindingForm form) {
  const Program p = text::instantiate(text::parse(text, "kernel.sg").value()).value();
  const Executable e = compile(p, target, {.form = form}).value();
  const std::vector<uint32_t>& words = e.kernels.at(0).words;
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint32_t)};
}

/// Of "address.spv", "descriptors.spv", and of everything else words that are no module.
inline text::FileLoader modules_of(const std::string& text, const Target& target) {
  return [text, target](const std::string& path) -> Result<std::string> {
    if (path == "address.spv") return module_bytes(text, target, BindingForm::Address);
    if (path == "descriptors.spv") return module_bytes(text, target, BindingForm::Descriptors);
    if (path == "nowhere.spv") return Error("SG0504", "there is no such file");
    return std::string("no module");
  };
}

}  // namespace spirograd::test
