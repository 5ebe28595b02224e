// The pipeline from a program to an executable: the passes over programs, lower, emit.
#include "spirograd/compile.h"

#include <algorithm>

#include "frontend/rewrite/passes.h"
#include "spirv/assemble.h"
#include "spirv/emit/emit.h"
#include "spirv/kernel/in_place.h"
#include "spirv/kernel/iterations.h"
#include "spirv/schedule/cost.h"

namespace spirograd {
namespace {

#ifdef NDEBUG
constexpr bool kAlwaysValidate = false;
#else
constexpr bool kAlwaysValidate = true;
#endif

// Of what multiples in bytes the bindings of each kernel begin at one at each of its dispatches: arrays do at one of
// kRowBytes.
std::vector<std::vector<uint32_t>> beginnings(const lower::Plan& plan) {
  std::vector<std::vector<uint32_t>> out;
  for (const kernel::Kernel& k : plan.kernels) out.emplace_back(k.bindings.size(), kRowBytes);
  for (const Step& s : plan.steps) {
    if (s.kind != Step::Kind::Dispatch || s.kernel >= out.size()) continue;
    for (size_t j = 0; j < s.uses.size(); ++j) {
      uint32_t& bytes = out[s.kernel][j];
      const auto begins_at = [&](int64_t place) {
        while (place % bytes != 0) bytes /= 2;
      };
      begins_at(static_cast<int64_t>(s.uses[j].offset));
      for (const int64_t stride : s.uses[j].strides) begins_at(stride);
    }
  }
  return out;
}

// How many bindings of each kernel, from the first on, a descriptor can hold at each of its dispatches.
std::vector<uint32_t> described_bindings(const lower::Plan& plan, uint64_t max_range) {
  constexpr uint32_t kMostPushed = 32;  // maxPushDescriptors: as many as each device has that can push them
  constexpr uint64_t kLead = 256;       // bytes before an array, so that its descriptor begins where it may
  std::vector<uint32_t> out(plan.kernels.size(), kMostPushed);
  for (const Step& s : plan.steps) {
    if (s.kind != Step::Kind::Dispatch || s.kernel >= out.size()) continue;
    const auto beyond = [&](const BufferUse& use) { return use.bytes > max_range - kLead; };
    const auto first = std::ranges::find_if(s.uses, beyond);
    out[s.kernel] = std::min(out[s.kernel], static_cast<uint32_t>(first - s.uses.begin()));
  }
  return out;
}

}  // namespace

Executable assemble(lower::Plan plan, const Target& target, const CompileOptions& options) {
  Executable out;
  out.form = options.form;
  spirv::EmitOptions emit{.native_float_atomics = options.native_float_atomics};
  const bool pairs = options.form == BindingForm::Address && schedule::takes_pairs(target);
  std::vector<std::vector<uint32_t>> begins =
      pairs ? beginnings(plan) : std::vector<std::vector<uint32_t>>(plan.kernels.size());
  const bool rows = pairs && (target.quirks & kScatteredStores);
  const std::vector<uint32_t> described =
      rows ? described_bindings(plan, target.max_range) : std::vector<uint32_t>(plan.kernels.size());
  for (size_t j = 0; j < plan.kernels.size(); ++j) {
    const kernel::Kernel& k = plan.kernels[j];
    emit.begins = std::move(begins[j]);
    emit.described = described[j];
    out.kernels.push_back(spirv::emit(k, target, options.form, emit));
    out.kernels.back().operations = kernel::float_operations(k);
    for (const auto& [read, written] : kernel::in_place(k)) out.kernels.back().in_place.push_back({read, written});
    if (!options.validate && !(kAlwaysValidate && spirv::has_spirv_tools())) continue;
    if (auto complaint = spirv::validate(out.kernels.back().words)) throw *complaint;
  }
  for (lower::GivenKernel& k : plan.given) {
    if (const std::vector<Missing> lacks = missing(k.needs, target); !lacks.empty())
      throw Error("SG0303", "the kernel '" + k.name + "' needs " + lacks[0].what).hint(lacks[0].hint);
    if (options.validate)
      if (auto complaint = spirv::validate(k.words)) throw Error(complaint->code, "'" + k.name + "': " + complaint->message);
    out.kernels.push_back({k.name, std::move(k.words), k.workgroup, k.bindings, 0, k.needs});
  }
  out.buffers = std::move(plan.buffers);
  out.steps = std::move(plan.steps);
  out.n_inputs = plan.n_inputs;
  out.n_outputs = plan.n_outputs;
  out.scratch_bytes = plan.scratch_bytes;
  return out;
}

Target in_form(Target target, BindingForm form) {
  target.device_address = target.device_address && form == BindingForm::Address;
  return target;
}

Target deterministic(Target target) {
  target.atomic_float_add = target.exchange_float_add = false;
  return target;
}

namespace {

// `asked`, if given, gets the questions of the compilation that is returned.
Decided compiled(const Program& bulk, const Target& target, const CompileOptions& options,
                 std::vector<schedule::Asked>* asked) {
  Target used = options.deterministic ? deterministic(target) : target;
  used.atomic_float_add = used.atomic_float_add && options.native_float_atomics;
  const auto in = [&](BindingForm form) {
    CompileOptions o = options;
    o.form = form;
    if (asked) asked->clear();
    lower::Plan plan = lower::lower(bulk, in_form(used, form), schedule::Chooser(options.choices, asked));
    Decided out;
    out.schedules = std::move(plan.schedules);
    for (const kernel::Kernel& k : plan.kernels) out.iterations = std::max(out.iterations, kernel::loop_iterations(k));
    out.executable = assemble(std::move(plan), used, o);
    return out;
  };
  if (!target.device_address) return in(options.form);
  try {
    return in(options.form);
  } catch (const Error& lack) {
    if (lack.code != "SG0303") throw;
    try {
      return in(options.form == BindingForm::Address ? BindingForm::Descriptors : BindingForm::Address);
    } catch (const Error& other) {
      if (other.code != "SG0303") throw;
      throw lack;  // the one that was asked for
    }
  }
}

}  // namespace

Decided decide(const Program& program, const Target& target, const CompileOptions& options) {
  std::vector<schedule::Asked> asked;
  Decided out = compiled(rewrite::optimise_for_lowering(program), target, options, &asked);
  out.asked = std::move(asked);
  return out;
}

Result<Executable> compile(const Program& program, const Target& target, const CompileOptions& options) {
  return guarded([&] {
    const Program bulk = rewrite::optimise_for_lowering(program);
    try {
      return compiled(bulk, target, options, nullptr).executable;
    } catch (const Error&) {
      if (options.choices.empty()) throw;
    }
    // What suited one program may leave no room in another, where the same work has other neighbours.
    CompileOptions usual = options;
    usual.choices.clear();
    return compiled(bulk, target, usual, nullptr).executable;
  });
}

Target any_device() {
  Target t;
  t.float64 = t.float16_storage = t.float16_addresses = true;
  return t;
}

Result<std::vector<Executable>> compile_forms(const Program& program, const Target& target, const CompileOptions& options,
                                              std::optional<BindingForm> only) {
  return guarded([&] {
    std::vector<Executable> out;
    std::optional<Error> lack;
    for (BindingForm form : {BindingForm::Address, BindingForm::Descriptors}) {
      if (only && *only != form) continue;
      if (form == BindingForm::Address ? !target.device_address : !target.descriptors) continue;
      CompileOptions how = options;
      how.form = form;
      Result<Executable> made = compile(program, target, how);
      if (!made && made.error().code != "SG0303") throw made.error();
      // Where one form has no room, compile() may give the other one.
      if (made && made->form == form)
        out.push_back(*std::move(made));
      else if (!made)
        lack = made.error();
    }
    if (!out.empty()) return out;
    if (lack) throw *lack;
    throw Error("SG0303", "the device runs no program in the binding form that was asked for").hint("ask for no form");
  });
}

}  // namespace spirograd
