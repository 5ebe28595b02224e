// From a plan to an executable: every kernel as a SPIR-V module.
#pragma once

#include "spirograd/compile.h"
#include "spirv/lower/plan.h"

namespace spirograd {

/// What kernels may use of the target in this form: lowering asks only whether there are addresses.
Target in_form(Target target, BindingForm form);

/// Throws SG0903 for a module that SPIRV-Tools rejects, where they are asked.
Executable assemble(lower::Plan plan, const Target& target, const CompileOptions& options);

}  // namespace spirograd
