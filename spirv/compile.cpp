// The pipeline from a program to an executable: the passes over programs, lower, emit.
#include "spirograd/compile.h"

#include <algorithm>

#include "frontend/rewrite/passes.h"
#include "spirv/emit/emit.h"
#include "spirv/kernel/iterations.h"
#include "spirv/lower/plan.h"

namespace spirograd {
namespace {

#ifdef NDEBUG
constexpr bool kAlwaysValidate = false;
#else
constexpr bool kAlwaysValidate = true;
#endif

bool uses_float64(const lower::Plan& plan) {
  for (const kernel::Kernel& k : plan.kernels) {
    for (const kernel::Binding& b : k.bindings)
      if (b.type == kernel::Scalar::F64) return true;
    for (const kernel::Inst& i : k.body)
      if (i.type == kernel::Scalar::F64) return true;
  }
  return false;
}

Executable compile_or_throw(const Program& program, const Target& target, const CompileOptions& options) {
  const Program bulk = rewrite::optimise_for_lowering(program);
  lower::Plan plan = lower::lower(bulk, target);
  Executable out;
  out.form = options.form;
  out.needs_float64 = uses_float64(plan);
  if (out.needs_float64 && !target.float64)
    throw Error("SG0303", "the program computes in f64, which the device does not offer (shaderFloat64)")
        .hint("use f32, or choose a device with f64: spirograd devices");
  const spirv::EmitOptions emit{.native_float_atomics = options.native_float_atomics};
  for (const kernel::Kernel& k : plan.kernels) {
    out.kernels.push_back(spirv::emit(k, target, options.form, emit));
    out.needs_loop_iterations = std::max(out.needs_loop_iterations, kernel::loop_iterations(k));
    out.needs_atomic_float_add |= spirv::uses_native_float_atomics(k, target, emit);
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

}  // namespace

Result<Executable> compile(const Program& program, const Target& target, const CompileOptions& options) {
  return guarded([&] { return compile_or_throw(program, target, options); });
}

}  // namespace spirograd
