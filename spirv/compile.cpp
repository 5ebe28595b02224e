// The pipeline from a program to an executable: the passes over programs, lower, emit.
#include "spirograd/compile.h"

#include "frontend/rewrite/passes.h"
#include "spirv/assemble.h"
#include "spirv/emit/emit.h"

namespace spirograd {
namespace {

#ifdef NDEBUG
constexpr bool kAlwaysValidate = false;
#else
constexpr bool kAlwaysValidate = true;
#endif

}  // namespace

Executable assemble(lower::Plan plan, const Target& target, const CompileOptions& options) {
  Executable out;
  out.form = options.form;
  const spirv::EmitOptions emit{.native_float_atomics = options.native_float_atomics};
  for (const kernel::Kernel& k : plan.kernels) {
    out.kernels.push_back(spirv::emit(k, target, options.form, emit));
    if (!options.validate && !kAlwaysValidate) continue;
    if (auto complaint = spirv::validate(out.kernels.back().words)) throw *complaint;
  }
  out.buffers = std::move(plan.buffers);
  out.steps = std::move(plan.steps);
  out.n_inputs = plan.n_inputs;
  out.n_outputs = plan.n_outputs;
  out.scratch_bytes = plan.scratch_bytes;
  return out;
}

Result<Executable> compile(const Program& program, const Target& target, const CompileOptions& options) {
  return guarded([&] {
    const Program bulk = rewrite::optimise_for_lowering(program);
    return assemble(lower::lower(bulk, target), target, options);
  });
}

}  // namespace spirograd
