// Types, constants, buffers and the entry point: what stands outside of the function; and what the module needs.
#include "spirv/emit/emitter.h"
#include "spirv/kernel/guard.h"
#include "spirv/kernel/iterations.h"

namespace spirograd::spirv {
Id Emitter::type(Scalar s) {
  Id& known = types_[static_cast<size_t>(s)];
  if (!known) known = declared(s);
  return known;
}

Id Emitter::declared(Scalar s) {
  switch (s) {
    case Scalar::Bool: return module_.type(Op::OpTypeBool, {});
    case Scalar::I32: return module_.type(Op::OpTypeInt, {32, 1});
    case Scalar::U32: return module_.type(Op::OpTypeInt, {32, 0});
    case Scalar::F32: return module_.type(Op::OpTypeFloat, {32});
    case Scalar::F64:
      needs_.float64 = true;
      module_.capability(spv::Capability::Float64);
      return module_.type(Op::OpTypeFloat, {64});
    case Scalar::F16:
      needs_.float16_storage = true;
      module_.capability(spv::Capability::StorageBuffer16BitAccess);
      return module_.type(Op::OpTypeFloat, {16});
  }
  return 0;
}

Id Emitter::pointer(spv::StorageClass storage, Id to) {
  return module_.type(Op::OpTypePointer, {static_cast<uint32_t>(storage), to});
}

Id Emitter::constant(const Inst& i) {
  const uint32_t low = static_cast<uint32_t>(i.imm), high = static_cast<uint32_t>(i.imm >> 32);
  if (i.type == Scalar::Bool) return module_.constant(i.imm ? Op::OpConstantTrue : Op::OpConstantFalse, type(i.type), {});
  if (i.type == Scalar::F64) return module_.constant(Op::OpConstant, type(i.type), {low, high});
  return module_.constant(Op::OpConstant, type(i.type), {low});
}

// What lies in memory: bools as words; the accumulator of a compare-exchange loop as words, and as nothing else, since two
// typed views of one buffer may be taken not to alias.
Scalar Emitter::stored(const Binding& b) const {
  if (b.type == Scalar::F32 && b.access == Access::Atomic && !native_atomics_) return Scalar::U32;
  return in_memory(b.type);
}

// struct { element data[]; }
Id Emitter::buffer_block(Scalar element, bool writable, uint32_t together) {
  Id& block = block_types_[{element, writable, together}];
  if (block) return block;
  const Id one = type(element), all = together == 1 ? one : module_.type(Op::OpTypeVector, {one, together});
  const Id array = module_.distinct(Op::OpTypeRuntimeArray, {all});
  block = module_.distinct(Op::OpTypeStruct, {array});
  module_.decorate(array, spv::Decoration::ArrayStride, {together * kernel::bytes_of(element)});
  module_.decorate(block, spv::Decoration::Block);
  module_.decorate_member(block, 0, spv::Decoration::Offset, {0});
  if (!writable) module_.decorate_member(block, 0, spv::Decoration::NonWritable);
  return block;
}

// Address: push constants hold one pointer per binding. Descriptors: push constants hold one element offset per binding.
// Reads the push constants into the entry block.
void Emitter::declare_bindings() {
  const auto count = static_cast<uint32_t>(kernel_.bindings.size());
  if (count == 0) return;
  find_rows();
  const bool address = form_ == BindingForm::Address;
  const auto storage = address ? spv::StorageClass::PhysicalStorageBuffer : spv::StorageClass::StorageBuffer;
  std::vector<uint32_t> members;
  std::vector<Id> pointers;
  for (const Binding& b : kernel_.bindings) {
    pointers.push_back(pointer(storage, buffer_block(stored(b), b.access != Access::Read)));
    members.push_back(address ? pointers.back() : type(Scalar::U32));
    if (!address || b.type != Scalar::F16) continue;
    // Validators take a pointer to halves in push constants for halves there.
    module_.capability(spv::Capability::StoragePushConstant16);
    needs_.float16_addresses = true;
  }
  const Id push = module_.fresh();
  if (has_rows()) push_for_rows(push, members);
  members.insert(members.begin(), push);
  module_.put(Section::Global, Op::OpTypeStruct, members);
  module_.decorate(push, spv::Decoration::Block);
  for (uint32_t j = 0; j < count; ++j) module_.decorate_member(push, j, spv::Decoration::Offset, {j * (address ? 8 : 4)});
  push_ = module_.variable(pointer(spv::StorageClass::PushConstant, push), spv::StorageClass::PushConstant);
  for (uint32_t j = 0; j < count; ++j) {
    const Id member = members[j + 1], number = word(j), to_member = pointer(spv::StorageClass::PushConstant, member);
    const Id place = result(Op::OpAccessChain, to_member, {push_, number});
    const Id loaded = result(Op::OpLoad, member, {place});
    if (address) {
      buffers_.push_back(loaded);
      continue;
    }
    offsets_.push_back(loaded);
    buffers_.push_back(descriptor(j, pointers[j]));
  }
  if (has_rows()) declare_row_stores();
}

Id Emitter::descriptor(uint32_t binding, Id to_block) {
  const Id variable = module_.variable(to_block, spv::StorageClass::StorageBuffer);
  module_.decorate(variable, spv::Decoration::DescriptorSet, {0});
  module_.decorate(variable, spv::Decoration::Binding, {binding});
  return variable;
}

void Emitter::declare_arrays() {
  const auto array = [&](const kernel::Array& a, spv::StorageClass storage) {
    return pointer(storage, module_.type(Op::OpTypeArray, {type(in_memory(a.type)), word(a.count)}));
  };
  for (const kernel::Array& a : kernel_.shared) {
    shared_.push_back(module_.variable(array(a, spv::StorageClass::Workgroup), spv::StorageClass::Workgroup));
  }
  for (const kernel::Array& a : kernel_.locals) {
    constexpr auto function = spv::StorageClass::Function;
    locals_.push_back(module_.fresh());
    append(variables_, Op::OpVariable, {array(a, function), locals_.back(), static_cast<uint32_t>(function)});
  }
}

Id Emitter::built_in(spv::BuiltIn which, bool vector) {
  if (const auto known = built_ins_.find(which); known != built_ins_.end()) return known->second;
  const Id t = vector ? module_.type(Op::OpTypeVector, {type(Scalar::U32), 3}) : type(Scalar::U32);
  const Id variable = module_.variable(pointer(spv::StorageClass::Input, t), spv::StorageClass::Input);
  module_.decorate(variable, spv::Decoration::BuiltIn, {static_cast<uint32_t>(which)});
  interface_.push_back(variable);
  return built_ins_[which] = result(Op::OpLoad, t, {variable});
}

void Emitter::declare_entry(Id function) {
  const bool address = form_ == BindingForm::Address && !kernel_.bindings.empty();
  module_.capability(spv::Capability::Shader);
  needs_.device_address = address;
  if (address) {
    module_.capability(spv::Capability::PhysicalStorageBufferAddresses);
    module_.extension("SPV_KHR_physical_storage_buffer");
  }
  module_.put(
      Section::MemoryModel, Op::OpMemoryModel,
      {static_cast<uint32_t>(address ? spv::AddressingModel::PhysicalStorageBuffer64 : spv::AddressingModel::Logical),
       static_cast<uint32_t>(spv::MemoryModel::GLSL450)});
  std::vector<uint32_t> entry{static_cast<uint32_t>(spv::ExecutionModel::GLCompute), function};
  const std::vector<uint32_t> name = literal("main");
  entry.insert(entry.end(), name.begin(), name.end());
  entry.insert(entry.end(), interface_.begin(), interface_.end());
  module_.put(Section::EntryPoint, Op::OpEntryPoint, entry);
  const auto mode = [&](spv::ExecutionMode m, std::vector<uint32_t> extra) {
    extra.insert(extra.begin(), {function, static_cast<uint32_t>(m)});
    module_.put(Section::ExecutionMode, Op::OpExecutionMode, extra);
  };
  mode(spv::ExecutionMode::LocalSize, {kernel_.workgroup, 1, 1});
  needs_.signed_zero_inf_nan = target_.signed_zero_inf_nan;
  needs_.round_to_even = target_.round_to_even;
  needs_.signed_zero_inf_nan64 = needs_.float64 && target_.signed_zero_inf_nan64;
  needs_.round_to_even64 = needs_.float64 && target_.round_to_even64;
  const auto float_mode = [&](bool declared, spv::Capability capability, spv::ExecutionMode m, uint32_t width) {
    if (!declared) return;
    module_.extension("SPV_KHR_float_controls");
    module_.capability(capability);
    mode(m, {width});
  };
  constexpr auto kKeep = spv::Capability::SignedZeroInfNanPreserve;
  constexpr auto kEven = spv::Capability::RoundingModeRTE;
  float_mode(needs_.signed_zero_inf_nan, kKeep, spv::ExecutionMode::SignedZeroInfNanPreserve, 32);
  float_mode(needs_.signed_zero_inf_nan64, kKeep, spv::ExecutionMode::SignedZeroInfNanPreserve, 64);
  float_mode(needs_.round_to_even, kEven, spv::ExecutionMode::RoundingModeRTE, 32);
  float_mode(needs_.round_to_even64, kEven, spv::ExecutionMode::RoundingModeRTE, 64);
  module_.put(Section::Debug, Op::OpSource, {static_cast<uint32_t>(spv::SourceLanguage::Unknown), 0});
}

// What can be counted in the kernel; features are recorded where the module declares them.
void Emitter::record_sizes() {
  const auto bindings = static_cast<uint32_t>(kernel_.bindings.size());
  needs_.workgroup = kernel_.workgroup;
  if (!target_.folded_grids || !kernel::guards_surplus(kernel_))
    needs_.groups = static_cast<uint32_t>((kernel_.invocations + kernel_.workgroup - 1) / kernel_.workgroup);
  needs_.buffers = form_ == BindingForm::Descriptors ? bindings : described_;
  needs_.push_bytes += bindings * push_bytes(form_);
  needs_.shared_bytes = kernel::shared_bytes(kernel_);
  needs_.shared_memory = needs_.shared_bytes > 0;
  needs_.loop_iterations = kernel::loop_iterations(kernel_);
}

}  // namespace spirograd::spirv
