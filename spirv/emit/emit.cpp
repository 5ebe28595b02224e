// One pass over the instruction list: bindings, arrays and the numbers of invocations first, then the body.
#include "spirv/emit/emit.h"

#include <algorithm>

#include "spirv/emit/emitter.h"
#include "spirv/kernel/unroll.h"

namespace spirograd::spirv {

std::vector<uint32_t> Emitter::run() {
  const Id function = module_.fresh(), entry = module_.fresh();
  const Id nothing = module_.type(Op::OpTypeVoid, {}), signature = module_.type(Op::OpTypeFunction, {nothing});

  ids_.assign(kernel_.body.size(), 0);
  unrollable_ = kernel::unrollable(kernel_, form_ == BindingForm::Descriptors, target_.price.cooperates);
  std::vector<bool> even;
  for (const uint32_t bytes : options_.begins) even.push_back(bytes % 8 == 0);
  pairs_ = kernel::pairs(kernel_, even);
  else_of_.assign(kernel_.body.size(), 0);
  std::vector<size_t> open;
  for (size_t at = 0; at < kernel_.body.size(); ++at) {
    const KOp op = kernel_.body[at].op;
    if (op == KOp::If) open.push_back(at);
    if (op == KOp::Else) else_of_[open.back()] = at;
    if (op == KOp::EndIf) open.pop_back();
  }

  label_ = entry;
  declare_bindings();
  declare_arrays();
  number_invocations();
  for (size_t at = 0; at < kernel_.body.size(); ++at)
    if (!paired(at)) ids_[at] = emit(at);
  put(Op::OpReturn, {});
  put(Op::OpFunctionEnd, {});

  declare_entry(function);
  record_sizes();
  module_.put(Section::Function, Op::OpFunction, {nothing, function, 0, signature});
  module_.put(Section::Function, Op::OpLabel, {entry});
  std::vector<uint32_t> words = module_.finish();
  words.insert(words.end(), variables_.begin(), variables_.end());
  words.insert(words.end(), code_.begin(), code_.end());
  return words;
}

namespace {

// What no device can, and how many invocations one dispatch may have. Those are numbered in 32 bits, surplus ones included:
// numbers that wrap around would get past the guard.
void check(const Kernel& kernel, const Target& target) {
  constexpr uint64_t kMost = uint64_t{1} << 32;
  const uint64_t groups = (kernel.invocations + kernel.workgroup - 1) / kernel.workgroup;
  const Grid grid = folded(static_cast<uint32_t>(std::min(groups, kMost - 1)), target.max_groups);
  if (groups >= kMost || uint64_t{grid.x} * grid.y * kernel.workgroup > kMost)
    throw Error("SG0303", "kernel " + kernel.name + " needs " + std::to_string(kernel.invocations) +
                              " invocations; one dispatch has at most 4294967295, those of surplus workgroups included");
  if (grid.y > target.max_groups_y)
    throw Error("SG0303", "kernel " + kernel.name + " needs " + std::to_string(groups) + " workgroups; the device has " +
                              std::to_string(target.max_groups) + " x " + std::to_string(target.max_groups_y));
  for (const Inst& i : kernel.body)
    if (i.op == KOp::AtomicAdd && i.type == Scalar::F64)
      throw Error("SG0303", "kernel " + kernel.name + " adds atomically to f64, which no portable device can")
          .hint("sum in f32, or scatter with unique indices");
}

}  // namespace

KernelBinary emit(const Kernel& kernel, const Target& target, BindingForm form, const EmitOptions& options) {
  check(kernel, target);
  Emitter emitter(kernel, target, form, options);
  KernelBinary binary;
  binary.name = kernel.name;
  binary.workgroup = kernel.workgroup;
  binary.bindings = static_cast<uint32_t>(kernel.bindings.size());
  binary.words = emitter.run();
  binary.needs = emitter.needs();
  if (const std::vector<Missing> lacks = missing(binary.needs, target); !lacks.empty())
    throw Error("SG0303", "kernel " + kernel.name + " needs " + lacks[0].what).hint(lacks[0].hint);
  return binary;
}

}  // namespace spirograd::spirv
