// What a compute shader that somebody else wrote says of itself: enough to run it, and to say what of it cannot be.
#pragma once

#include <span>
#include <string_view>

#include "spirograd/executable.h"
#include "spirograd/result.h"

namespace spirograd {

struct ModuleFacts {
  BindingForm form = BindingForm::Descriptors;
  uint32_t workgroup = 1;  // invocations
  uint32_t bindings = 0;   // of set 0: one more than the highest
  Requirements needs;      // by its capabilities
};

/// Throws SG0308 with the name and what is wrong: words that are no module, no entry point "main" of a compute shader, a
/// workgroup of more than one dimension or of a size that is not a literal, another set than 0, a capability that no device
/// here is asked for.
ModuleFacts module_facts(std::string_view name, std::span<const uint32_t> words);

}  // namespace spirograd
