#include "spirv/probes/recipe.h"

#include <cstring>

#include "spirv/emit/emit.h"

namespace spirograd::probes {

using kernel::Access;
using kernel::Kernel;

Draft::Draft(std::string name) { recipe_.probe.name = std::move(name); }

uint32_t Draft::array(Role role, uint64_t count, DType dtype) {
  Executable& e = recipe_.probe.program;
  e.buffers.push_back({role, "", {dtype, {static_cast<int64_t>(count)}}, count * device_bytes(dtype), 0, {}});
  return static_cast<uint32_t>(e.buffers.size() - 1);
}

uint32_t Draft::output(uint64_t count, DType dtype) {
  ++recipe_.probe.program.n_outputs;
  return array(Role::Output, count, dtype);
}

uint32_t Draft::constant(const std::vector<uint32_t>& words) {
  const uint32_t buffer = array(Role::Constant, words.size(), DType::U32);
  std::vector<uint8_t>& data = recipe_.probe.program.buffers[buffer].data;
  data.resize(4 * words.size());
  std::memcpy(data.data(), words.data(), data.size());
  return buffer;
}

uint32_t Draft::scratch(uint64_t count) {
  const uint32_t buffer = array(Role::Scratch, count, DType::U32);
  uint64_t& end = recipe_.probe.program.scratch_bytes;
  recipe_.probe.program.buffers[buffer].scratch_offset = end;
  end += (4 * count + 255) / 256 * 256;
  return buffer;
}

uint32_t Draft::kernel(Kernel kernel) {
  recipe_.kernels.push_back(std::move(kernel));
  return static_cast<uint32_t>(recipe_.kernels.size() - 1);
}

void Draft::fill(uint32_t buffer, uint32_t word) {
  Executable& e = recipe_.probe.program;
  e.steps.push_back({Step::Kind::Fill, 0, 1, word, {{buffer, 0, e.buffers[buffer].bytes, false, true, {}}}, "fill"});
}

void Draft::run(uint32_t number, const std::vector<Use>& uses, uint32_t groups) {
  const Kernel& k = recipe_.kernels[number];
  Executable& e = recipe_.probe.program;
  Step s;
  s.kernel = number;
  s.groups = groups != 0 ? groups : static_cast<uint32_t>((k.invocations + k.workgroup - 1) / k.workgroup);
  s.label = k.name;
  for (size_t j = 0; j < uses.size(); ++j) {
    const auto& [buffer, offset] = uses[j];
    const Access access = k.bindings[j].access;
    s.uses.push_back(
        {buffer, offset, e.buffers[buffer].bytes - offset, access != Access::Write, access != Access::Read, {}});
  }
  e.steps.push_back(std::move(s));
}

void Draft::run_in_parts(uint32_t parts, uint32_t kernel, const std::vector<Use>& uses) {
  run(kernel, uses);
  recipe_.probe.program.steps.back().work = parts;
}

void Draft::repeat(uint32_t count, uint32_t body) {
  Step s;
  s.kind = Step::Kind::Repeat;
  s.count = count;
  s.body = body;
  recipe_.probe.program.steps.push_back(std::move(s));
}

Expectation& Draft::expect(uint32_t number, std::string what, uint32_t output, std::vector<uint32_t> words, uint32_t first) {
  const auto count = static_cast<uint32_t>(words.size());
  recipe_.probe.expected.push_back({number, kWholeProbe, std::move(what), output, first, count, false, 0, std::move(words)});
  return recipe_.probe.expected.back();
}

Expectation& Draft::expect_steps(uint32_t number, std::string what, uint32_t output, uint32_t first, uint32_t step) {
  const auto count = static_cast<uint32_t>(recipe_.probe.program.buffers[output].bytes / 4);
  recipe_.probe.expected.push_back({number, kWholeProbe, std::move(what), output, 0, count, true, 0, {first, step}});
  return recipe_.probe.expected.back();
}

Recipes recipes() {
  Recipes all;
  add_memory(all);
  add_loops(all);
  add_sums(all);
  add_integers(all);
  add_floats(all);
  add_doubles(all);
  add_groups(all);
  add_f16_storage(all);
  add_functions(all);
  return all;
}

Probe emitted(const Recipe& recipe) {
  Probe probe = recipe.probe;
  Target all;
  all.float64 = all.float16_storage = all.float16_addresses = all.atomic_float_add = all.signed_zero_inf_nan =
      all.round_to_even = true;
  all.signed_zero_inf_nan64 = all.round_to_even64 = true;
  all.subgroup_operations = ~0u;
  all.max_invocations = 1024;
  all.shared_bytes = 1u << 16;
  all.max_groups = ~0u;
  all.max_buffers = 32;
  all.max_push_bytes = 256;
  for (const Kernel& k : recipe.kernels) {
    all.subgroup_size = k.subgroup;
    for (const BindingForm form : {BindingForm::Address, BindingForm::Descriptors})
      probe.kernels[static_cast<size_t>(form)].push_back(
          spirv::emit(k, all, form, {.native_float_atomics = recipe.native_atomics}));
  }
  return probe;
}

}  // namespace spirograd::probes
