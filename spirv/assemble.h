// From a plan to an executable: every kernel as a SPIR-V module; and a compilation that tells what it has decided.
#pragma once

#include "spirograd/compile.h"
#include "spirv/lower/plan.h"
#include "spirv/schedule/chooser.h"

namespace spirograd {

/// What kernels may use of the target in this form: lowering asks only whether there are addresses.
Target in_form(Target target, BindingForm form);

/// Throws SG0903 for a module that SPIRV-Tools rejects, where they are asked.
Executable assemble(lower::Plan plan, const Target& target, const CompileOptions& options);

/// An executable, and how it came to be.
struct Decided {
  Executable executable;
  std::vector<std::vector<lower::ScheduleLine>> schedules;  // one list per kernel
  std::vector<schedule::Asked> asked;
  uint64_t iterations = 0;  // of loops, that one invocation runs at most
};
/// As compile(), but that the choices of the options are all that is tried. Throws what compile() answers.
Decided decide(const Program& program, const Target& target, const CompileOptions& options);

}  // namespace spirograd
