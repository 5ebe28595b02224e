// From a program to an executable. Makes no Vulkan call; vectorises and simplifies what it is given.
#pragma once

#include <optional>
#include <vector>

#include "spirograd/choices.h"
#include "spirograd/executable.h"
#include "spirograd/program.h"
#include "spirograd/result.h"
#include "spirograd/target.h"

namespace spirograd {

struct CompileOptions {
  BindingForm form = BindingForm::Address;  // or the other one, where only in that the target has what is needed
  bool native_float_atomics = true;         // use them where the target proves them; off: compare-exchange
  bool deterministic = false;               // the same bits in every run: for deterministic(target)
  bool validate = false;                    // run SPIRV-Tools over every module (always on in debug builds)
  Choices choices;                          // schedules to prefer: those of vk::Device::tuned(), or of tune()
};

/// The target without what leaves the order of float additions open: scatters with equal indices round in whatever order
/// invocations come. Without, they take more time or scratch memory (docs/accuracy.md).
Target deterministic(Target target);

/// Errors: SG01xx for programs that are not well formed, SG03xx for what the target cannot do (limit, wish), SG0900 ours.
Result<Executable> compile(const Program& program, const Target& target, const CompileOptions& options = {});

/// What every device with Vulkan 1.1 has, and f64, which programs that use it tell to devices that lack it.
Target any_device();

/// The program in each binding form that the target has (`only`: in that one), for a bundle. A form in which the target
/// lacks something is left out, unless none is left. Errors: as compile(); SG0303 where there is no such form.
Result<std::vector<Executable>> compile_forms(const Program& program, const Target& target,
                                              const CompileOptions& options = {},
                                              std::optional<BindingForm> only = std::nullopt);

}  // namespace spirograd
