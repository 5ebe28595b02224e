// One pass over the instruction list. Types, bindings and the invocation number first; then each instruction by a table of
// SPIR-V opcodes or, where it takes more than one instruction, by a function of its own.
#include "spirv/emit/emit.h"

#include <algorithm>

#include "spirv/emit/module.h"

namespace spirograd::spirv {
namespace {

using kernel::Access;
using kernel::Binding;
using kernel::Inst;
using kernel::Kernel;
using kernel::KOp;
using kernel::Scalar;
using kernel::Value;
using spv::Op;

// GLSL.std.450 instruction numbers.
enum Ext : uint32_t { kTrunc = 3, kFloor = 8, kSqrt = 31, kUMin = 38, kSMin = 39, kUMax = 41, kSMax = 42 };

bool is_float(Scalar s) { return s == Scalar::F32 || s == Scalar::F64; }

// The opcode of an operation on operands of type t that is one SPIR-V instruction; OpNop if it is not.
Op opcode(KOp op, Scalar t) {
  const auto of = [t](Op floats, Op ints, Op unsigneds, Op bools) {
    switch (t) {
      case Scalar::F32: case Scalar::F64: return floats;
      case Scalar::I32: return ints;
      case Scalar::U32: return unsigneds;
      case Scalar::Bool: return bools;
    }
    return Op::OpNop;
  };
  // clang-format off
  switch (op) {
    case KOp::Add:  return of(Op::OpFAdd, Op::OpIAdd, Op::OpIAdd, Op::OpNop);
    case KOp::Sub:  return of(Op::OpFSub, Op::OpISub, Op::OpISub, Op::OpNop);
    case KOp::Mul:  return of(Op::OpFMul, Op::OpIMul, Op::OpIMul, Op::OpNop);
    case KOp::Div:  return of(Op::OpFDiv, Op::OpNop, Op::OpNop, Op::OpNop);
    case KOp::Quot: return of(Op::OpNop, Op::OpSDiv, Op::OpUDiv, Op::OpNop);
    case KOp::Rem:  return of(Op::OpNop, Op::OpNop, Op::OpUMod, Op::OpNop);
    case KOp::Neg:  return of(Op::OpNop, Op::OpSNegate, Op::OpSNegate, Op::OpNop);
    case KOp::And:  return of(Op::OpNop, Op::OpBitwiseAnd, Op::OpBitwiseAnd, Op::OpLogicalAnd);
    case KOp::Or:   return of(Op::OpNop, Op::OpBitwiseOr, Op::OpBitwiseOr, Op::OpLogicalOr);
    case KOp::Xor:  return of(Op::OpNop, Op::OpBitwiseXor, Op::OpBitwiseXor, Op::OpLogicalNotEqual);
    case KOp::Not:  return of(Op::OpNop, Op::OpNot, Op::OpNot, Op::OpLogicalNot);
    case KOp::Shl:  return of(Op::OpNop, Op::OpShiftLeftLogical, Op::OpShiftLeftLogical, Op::OpNop);
    case KOp::ShrU: return of(Op::OpNop, Op::OpShiftRightLogical, Op::OpShiftRightLogical, Op::OpNop);
    case KOp::ShrS: return of(Op::OpNop, Op::OpShiftRightArithmetic, Op::OpShiftRightArithmetic, Op::OpNop);
    case KOp::Eq:   return of(Op::OpFOrdEqual, Op::OpIEqual, Op::OpIEqual, Op::OpLogicalEqual);
    case KOp::Ne:   return of(Op::OpFUnordNotEqual, Op::OpINotEqual, Op::OpINotEqual, Op::OpLogicalNotEqual);
    case KOp::Lt:   return of(Op::OpFOrdLessThan, Op::OpSLessThan, Op::OpULessThan, Op::OpNop);
    case KOp::Le:   return of(Op::OpFOrdLessThanEqual, Op::OpSLessThanEqual, Op::OpULessThanEqual, Op::OpNop);
    case KOp::Gt:   return of(Op::OpFOrdGreaterThan, Op::OpSGreaterThan, Op::OpUGreaterThan, Op::OpNop);
    case KOp::Ge:   return of(Op::OpFOrdGreaterThanEqual, Op::OpSGreaterThanEqual, Op::OpUGreaterThanEqual, Op::OpNop);
    case KOp::Select:  return Op::OpSelect;
    case KOp::Bitcast: return Op::OpBitcast;
    case KOp::Const: case KOp::Index: case KOp::Load: case KOp::Store: case KOp::AtomicAdd: case KOp::Min: case KOp::Max:
    case KOp::MulHiU: case KOp::Convert: case KOp::Sqrt: case KOp::Floor: case KOp::Trunc: case KOp::Var: case KOp::Get:
    case KOp::Set: case KOp::If: case KOp::Else: case KOp::EndIf: case KOp::Loop: case KOp::EndLoop: break;
  }
  // clang-format on
  return Op::OpNop;
}

class Emitter {
 public:
  Emitter(const Kernel& kernel, const Target& target, BindingForm form, const EmitOptions& options)
      : kernel_(kernel), target_(target), form_(form), options_(options),
        native_atomics_(uses_native_float_atomics(kernel, target, options)) {}

  std::vector<uint32_t> run();

 private:
  struct Block {
    Id other = 0;      // If: the else label, or the merge label if there is no else
    Id merge = 0;
    Id header = 0, continuing = 0, counter = 0, next = 0;  // Loop
    bool has_else = false;
  };

  // Declarations.
  Id type(Scalar s);
  Id pointer(spv::StorageClass storage, Id to);
  Id word(uint32_t value) { return module_.constant(Op::OpConstant, type(Scalar::U32), {value}); }
  Id constant(const Inst& i);
  Scalar stored(const Binding& b) const;
  Id buffer_block(Scalar element, bool writable);
  void declare_bindings();
  Id built_in(spv::BuiltIn which, bool vector);
  void declare_entry(Id function);

  // The body.
  void put(Op op, Words operands) { append(code_, op, operands); }
  Id result(Op op, Id type, Words operands);
  Id arithmetic(Op op, Scalar t, Words operands);
  Id ext(Scalar t, uint32_t instruction, Words operands);
  void label(Id id);
  Id invocation();
  Id element(uint32_t binding, Value index);
  Id load(const Inst& i);
  void store(const Inst& i);
  void atomic_add(const Inst& i);
  void compare_exchange_add(Id pointer, Id addend);
  Id negate(const Inst& i);
  Id remainder(const Inst& i);
  Id convert(const Inst& i);
  Id min_max(const Inst& i);
  void begin_if(size_t at);
  void begin_loop(size_t at);
  void end_loop();
  Id emit(size_t at);

  const Kernel& kernel_;
  const Target& target_;
  const BindingForm form_;
  const EmitOptions& options_;
  const bool native_atomics_;
  Module module_;
  std::vector<uint32_t> variables_, code_;
  std::vector<Id> interface_;
  std::vector<Id> buffers_;         // per binding: pointer to its block
  std::vector<Id> offsets_;         // Descriptors: the element offset of each binding
  std::vector<Id> ids_;             // per kernel value
  std::vector<size_t> else_of_;     // per If: the position of its Else, or 0
  std::vector<Block> blocks_;
  std::map<std::pair<Scalar, bool>, Id> block_types_;
  Id label_ = 0;                    // of the block being written
  Id index_ = 0;
};

Id Emitter::type(Scalar s) {
  switch (s) {
    case Scalar::Bool: return module_.type(Op::OpTypeBool, {});
    case Scalar::I32: return module_.type(Op::OpTypeInt, {32, 1});
    case Scalar::U32: return module_.type(Op::OpTypeInt, {32, 0});
    case Scalar::F32: return module_.type(Op::OpTypeFloat, {32});
    case Scalar::F64: module_.capability(spv::Capability::Float64); return module_.type(Op::OpTypeFloat, {64});
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
  if (b.type == Scalar::Bool) return Scalar::U32;
  if (b.type == Scalar::F32 && b.access == Access::Atomic && !native_atomics_) return Scalar::U32;
  return b.type;
}

// struct { element data[]; }
Id Emitter::buffer_block(Scalar element, bool writable) {
  Id& block = block_types_[{element, writable}];
  if (block) return block;
  const Id array = module_.distinct(Op::OpTypeRuntimeArray, {type(element)});
  block = module_.distinct(Op::OpTypeStruct, {array});
  module_.decorate(array, spv::Decoration::ArrayStride, {element == Scalar::F64 ? 8u : 4u});
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
  const bool address = form_ == BindingForm::Address;
  const auto storage = address ? spv::StorageClass::PhysicalStorageBuffer : spv::StorageClass::StorageBuffer;
  std::vector<uint32_t> members;
  std::vector<Id> pointers;
  for (const Binding& b : kernel_.bindings) {
    pointers.push_back(pointer(storage, buffer_block(stored(b), b.access != Access::Read)));
    members.push_back(address ? pointers.back() : type(Scalar::U32));
  }
  const Id push = module_.fresh();
  members.insert(members.begin(), push);
  module_.put(Section::Global, Op::OpTypeStruct, members);
  module_.decorate(push, spv::Decoration::Block);
  for (uint32_t j = 0; j < count; ++j) module_.decorate_member(push, j, spv::Decoration::Offset, {j * (address ? 8 : 4)});
  const Id block = module_.variable(pointer(spv::StorageClass::PushConstant, push), spv::StorageClass::PushConstant);
  interface_.push_back(block);
  for (uint32_t j = 0; j < count; ++j) {
    const Id member = members[j + 1];
    const Id place = result(Op::OpAccessChain, pointer(spv::StorageClass::PushConstant, member), {block, word(j)});
    const Id loaded = result(Op::OpLoad, member, {place});
    if (address) {
      buffers_.push_back(loaded);
      continue;
    }
    offsets_.push_back(loaded);
    buffers_.push_back(module_.variable(pointers[j], storage));
    interface_.push_back(buffers_.back());
    module_.decorate(buffers_.back(), spv::Decoration::DescriptorSet, {0});
    module_.decorate(buffers_.back(), spv::Decoration::Binding, {j});
  }
}

Id Emitter::built_in(spv::BuiltIn which, bool vector) {
  const Id t = vector ? module_.type(Op::OpTypeVector, {type(Scalar::U32), 3}) : type(Scalar::U32);
  const Id variable = module_.variable(pointer(spv::StorageClass::Input, t), spv::StorageClass::Input);
  module_.decorate(variable, spv::Decoration::BuiltIn, {static_cast<uint32_t>(which)});
  interface_.push_back(variable);
  return result(Op::OpLoad, t, {variable});
}

Id Emitter::result(Op op, Id type, Words operands) {
  const Id id = module_.fresh();
  std::vector<uint32_t> all{type, id};
  all.insert(all.end(), operands);
  append(code_, op, all);
  return id;
}

Id Emitter::arithmetic(Op op, Scalar t, Words operands) {
  const Id id = result(op, type(t), operands);
  if (is_float(t)) module_.decorate(id, spv::Decoration::NoContraction);
  return id;
}

Id Emitter::ext(Scalar t, uint32_t instruction, Words operands) {
  std::vector<uint32_t> all{type(t), module_.fresh(), module_.import("GLSL.std.450"), instruction};
  all.insert(all.end(), operands);
  append(code_, Op::OpExtInst, all);
  return all[1];
}

void Emitter::label(Id id) {
  put(Op::OpLabel, {id});
  label_ = id;
}

// (group.y * groups.x + group.x) * workgroup + local. Software drivers compute LocalInvocationIndex by scalar divisions; the
// number inside the subgroup costs them nothing, and is the same order where subgroups are full.
Id Emitter::invocation() {
  const Id u32 = type(Scalar::U32);
  const Id group = built_in(spv::BuiltIn::WorkgroupId, true), groups = built_in(spv::BuiltIn::NumWorkgroups, true);
  const Id x = result(Op::OpCompositeExtract, u32, {group, 0}), y = result(Op::OpCompositeExtract, u32, {group, 1});
  const Id row = result(Op::OpCompositeExtract, u32, {groups, 0});
  const Id linear = result(Op::OpIAdd, u32, {result(Op::OpIMul, u32, {y, row}), x});
  const Id first = result(Op::OpIMul, u32, {linear, word(kernel_.workgroup)});
  Id local = 0;
  if (target_.cpu && target_.subgroup_size >= 4 && kernel_.workgroup % target_.subgroup_size == 0) {
    module_.capability(spv::Capability::GroupNonUniform);
    const Id subgroup = built_in(spv::BuiltIn::SubgroupId, false), size = built_in(spv::BuiltIn::SubgroupSize, false);
    const Id lane = built_in(spv::BuiltIn::SubgroupLocalInvocationId, false);
    local = result(Op::OpIAdd, u32, {result(Op::OpIMul, u32, {subgroup, size}), lane});
  } else {
    local = built_in(spv::BuiltIn::LocalInvocationIndex, false);
  }
  return result(Op::OpIAdd, u32, {first, local});
}

Id Emitter::element(uint32_t binding, Value index) {
  const auto storage =
      form_ == BindingForm::Address ? spv::StorageClass::PhysicalStorageBuffer : spv::StorageClass::StorageBuffer;
  const Id t = type(stored(kernel_.bindings[binding]));
  Id at = ids_[index];
  if (form_ == BindingForm::Descriptors) at = result(Op::OpIAdd, type(Scalar::U32), {at, offsets_[binding]});
  return result(Op::OpAccessChain, pointer(storage, t), {buffers_[binding], word(0), at});
}

Id Emitter::load(const Inst& i) {
  const Binding& b = kernel_.bindings[i.in[0]];
  const Id place = element(i.in[0], i.in[1]);
  constexpr auto aligned = static_cast<uint32_t>(spv::MemoryAccessMask::Aligned);
  const Id loaded = form_ == BindingForm::Address
                        ? result(Op::OpLoad, type(stored(b)), {place, aligned, b.type == Scalar::F64 ? 8u : 4u})
                        : result(Op::OpLoad, type(stored(b)), {place});
  return b.type == Scalar::Bool ? result(Op::OpINotEqual, type(Scalar::Bool), {loaded, word(0)}) : loaded;
}

void Emitter::store(const Inst& i) {
  const Binding& b = kernel_.bindings[i.in[0]];
  Id value = ids_[i.in[2]];
  if (b.type == Scalar::Bool) value = result(Op::OpSelect, type(Scalar::U32), {value, word(1), word(0)});
  const Id place = element(i.in[0], i.in[1]);
  constexpr auto aligned = static_cast<uint32_t>(spv::MemoryAccessMask::Aligned);
  if (form_ == BindingForm::Address) put(Op::OpStore, {place, value, aligned, b.type == Scalar::F64 ? 8u : 4u});
  else put(Op::OpStore, {place, value});
}

void Emitter::atomic_add(const Inst& i) {
  const Scalar t = kernel_.bindings[i.in[0]].type;
  const Id place = element(i.in[0], i.in[1]), addend = ids_[i.in[2]];
  const Id device = word(static_cast<uint32_t>(spv::Scope::Device)), relaxed = word(0);
  if (t != Scalar::F32) {
    result(Op::OpAtomicIAdd, type(t), {place, device, relaxed, addend});
  } else if (native_atomics_) {
    module_.capability(spv::Capability::AtomicFloat32AddEXT);
    module_.extension("SPV_EXT_shader_atomic_float_add");
    result(Op::OpAtomicFAddEXT, type(t), {place, device, relaxed, addend});
  } else {
    compare_exchange_add(place, addend);
  }
}

// Compares bits, since a NaN never equals itself; goes on with the value that the failed exchange returned.
void Emitter::compare_exchange_add(Id pointer, Id addend) {
  const Id u32 = type(Scalar::U32);
  const Id device = word(static_cast<uint32_t>(spv::Scope::Device)), relaxed = word(0);
  const Id first = result(Op::OpAtomicLoad, u32, {pointer, device, relaxed});
  const Id before = label_, header = module_.fresh(), body = module_.fresh(), again = module_.fresh(),
           merge = module_.fresh();
  const Id old = module_.fresh(), seen = module_.fresh();
  put(Op::OpBranch, {header});
  label(header);
  put(Op::OpPhi, {u32, old, first, before, seen, again});
  put(Op::OpLoopMerge, {merge, again, 0});
  put(Op::OpBranch, {body});
  label(body);
  const Id sum = arithmetic(Op::OpFAdd, Scalar::F32, {result(Op::OpBitcast, type(Scalar::F32), {old}), addend});
  const Id wanted = result(Op::OpBitcast, u32, {sum});
  put(Op::OpAtomicCompareExchange, {u32, seen, pointer, device, relaxed, relaxed, wanted, old});
  const Id done = result(Op::OpIEqual, type(Scalar::Bool), {seen, old});
  put(Op::OpBranchConditional, {done, merge, again});
  label(again);
  put(Op::OpBranch, {header});
  label(merge);
}

// By the sign bit: some drivers' optimisers mistreat FNegate. There are no 64-bit integers to do so for f64.
Id Emitter::negate(const Inst& i) {
  const Id a = ids_[i.in[0]];
  if (i.type == Scalar::F64) {
    const uint64_t minus_one = kernel::bits(-1.0);
    return arithmetic(Op::OpFMul, i.type, {a, constant({KOp::Const, i.type, {}, minus_one})});
  }
  const Id u32 = type(Scalar::U32);
  const Id flipped = result(Op::OpBitwiseXor, u32, {result(Op::OpBitcast, u32, {a}), word(0x80000000u)});
  return result(Op::OpBitcast, type(i.type), {flipped});
}

// Vulkan leaves OpSRem undefined for negative operands (SPIR-V environment appendix); a - (a quot b) * b is not.
Id Emitter::remainder(const Inst& i) {
  const Id t = type(i.type), a = ids_[i.in[0]], b = ids_[i.in[1]];
  const Id quotient = result(Op::OpSDiv, t, {a, b});
  return result(Op::OpISub, t, {a, result(Op::OpIMul, t, {quotient, b})});
}

Id Emitter::convert(const Inst& i) {
  const Scalar from = kernel_.body[i.in[0]].type;
  const Id a = ids_[i.in[0]];
  if (is_float(from) && is_float(i.type)) return result(Op::OpFConvert, type(i.type), {a});
  if (is_float(from)) return result(i.type == Scalar::I32 ? Op::OpConvertFToS : Op::OpConvertFToU, type(i.type), {a});
  if (from == Scalar::I32 || i.type == Scalar::F64)
    return result(from == Scalar::I32 ? Op::OpConvertSToF : Op::OpConvertUToF, type(i.type), {a});
  // Some drivers round u32 above 2^31 twice. Halve those, with the lost bit kept in the last place so that rounding sees it.
  const Id u32 = type(Scalar::U32), i32 = type(Scalar::I32), f32 = type(Scalar::F32);
  const Id as_signed = result(Op::OpBitcast, i32, {a});
  const Id large = result(Op::OpSLessThan, type(Scalar::Bool), {as_signed, module_.constant(Op::OpConstant, i32, {0})});
  const Id half = result(Op::OpShiftRightLogical, u32, {a, word(1)}), last = result(Op::OpBitwiseAnd, u32, {a, word(1)});
  const Id reduced = result(Op::OpSelect, u32, {large, result(Op::OpBitwiseOr, u32, {half, last}), a});
  const Id converted = result(Op::OpConvertSToF, f32, {result(Op::OpBitcast, i32, {reduced})});
  const auto number = [&](float x) { return constant({KOp::Const, Scalar::F32, {}, kernel::bits(x)}); };
  const Id factor = result(Op::OpSelect, f32, {large, number(2.0f), number(1.0f)});
  return arithmetic(Op::OpFMul, Scalar::F32, {converted, factor});
}

Id Emitter::min_max(const Inst& i) {
  const bool is_signed = i.type == Scalar::I32;
  const uint32_t which = i.op == KOp::Min ? (is_signed ? kSMin : kUMin) : (is_signed ? kSMax : kUMax);
  return ext(i.type, which, {ids_[i.in[0]], ids_[i.in[1]]});
}

void Emitter::begin_if(size_t at) {
  Block b;
  const Id then = module_.fresh();
  b.merge = module_.fresh();
  b.has_else = else_of_[at] != 0;
  b.other = b.has_else ? module_.fresh() : b.merge;
  put(Op::OpSelectionMerge, {b.merge, 0});
  put(Op::OpBranchConditional, {ids_[kernel_.body[at].in[0]], then, b.other});
  label(then);
  blocks_.push_back(b);
}

void Emitter::begin_loop(size_t at) {
  Block b;
  const Id i32 = type(Scalar::I32), before = label_, test = module_.fresh(), body = module_.fresh();
  const Id zero = module_.constant(Op::OpConstant, i32, {0});
  b.header = module_.fresh();
  b.merge = module_.fresh();
  b.continuing = module_.fresh();
  b.counter = module_.fresh();
  b.next = module_.fresh();
  put(Op::OpBranch, {b.header});
  label(b.header);
  put(Op::OpPhi, {i32, b.counter, zero, before, b.next, b.continuing});
  put(Op::OpLoopMerge, {b.merge, b.continuing, 0});
  put(Op::OpBranch, {test});
  label(test);
  const Id more = result(Op::OpSLessThan, type(Scalar::Bool), {b.counter, ids_[kernel_.body[at].in[0]]});
  put(Op::OpBranchConditional, {more, body, b.merge});
  label(body);
  ids_[at] = b.counter;
  blocks_.push_back(b);
}

void Emitter::end_loop() {
  const Block b = blocks_.back();
  blocks_.pop_back();
  put(Op::OpBranch, {b.continuing});
  label(b.continuing);
  put(Op::OpIAdd, {type(Scalar::I32), b.next, b.counter, module_.constant(Op::OpConstant, type(Scalar::I32), {1})});
  put(Op::OpBranch, {b.header});
  label(b.merge);
}

Id Emitter::emit(size_t at) {
  const Inst& i = kernel_.body[at];
  const Id t = i.op < KOp::If ? type(i.type) : 0;
  const auto in = [&](int k) { return ids_[i.in[static_cast<size_t>(k)]]; };
  const auto operand = [&] { return kernel_.body[i.in[0]].type; };
  switch (i.op) {
    case KOp::Const: return constant(i);
    case KOp::Index: return index_;
    case KOp::Load: return load(i);
    case KOp::Store: store(i); return 0;
    case KOp::AtomicAdd: atomic_add(i); return 0;
    case KOp::Add: case KOp::Sub: case KOp::Mul: case KOp::Div: case KOp::Quot:
      return arithmetic(opcode(i.op, i.type), i.type, {in(0), in(1)});
    case KOp::Rem: return i.type == Scalar::I32 ? remainder(i) : result(opcode(i.op, i.type), t, {in(0), in(1)});
    case KOp::Neg: return is_float(i.type) ? negate(i) : result(Op::OpSNegate, t, {in(0)});
    case KOp::Min: case KOp::Max: return min_max(i);
    case KOp::Not: return result(opcode(i.op, i.type), t, {in(0)});
    case KOp::And: case KOp::Or: case KOp::Xor: case KOp::Shl: case KOp::ShrU: case KOp::ShrS:
      return result(opcode(i.op, i.type), t, {in(0), in(1)});
    case KOp::MulHiU: {
      const Id both = module_.type(Op::OpTypeStruct, {t, t});
      return result(Op::OpCompositeExtract, t, {result(Op::OpUMulExtended, both, {in(0), in(1)}), 1});
    }
    case KOp::Eq: case KOp::Ne: case KOp::Lt: case KOp::Le: case KOp::Gt: case KOp::Ge:
      return result(opcode(i.op, operand()), t, {in(0), in(1)});
    case KOp::Select: return result(Op::OpSelect, t, {in(0), in(1), in(2)});
    case KOp::Bitcast: return result(Op::OpBitcast, t, {in(0)});
    case KOp::Convert: return convert(i);
    case KOp::Sqrt: return ext(i.type, kSqrt, {in(0)});
    case KOp::Floor: return ext(i.type, kFloor, {in(0)});
    case KOp::Trunc: return ext(i.type, kTrunc, {in(0)});
    case KOp::Var: {
      constexpr auto function = spv::StorageClass::Function;
      const Id variable = module_.fresh();
      append(variables_, Op::OpVariable, {pointer(function, t), variable, static_cast<uint32_t>(function)});
      put(Op::OpStore, {variable, in(0)});
      return variable;
    }
    case KOp::Get: return result(Op::OpLoad, t, {in(0)});
    case KOp::Set: put(Op::OpStore, {in(0), in(1)}); return 0;
    case KOp::If: begin_if(at); return 0;
    case KOp::Else:
      put(Op::OpBranch, {blocks_.back().merge});
      label(blocks_.back().other);
      return 0;
    case KOp::EndIf:
      put(Op::OpBranch, {blocks_.back().merge});
      label(blocks_.back().merge);
      blocks_.pop_back();
      return 0;
    case KOp::Loop: begin_loop(at); return ids_[at];
    case KOp::EndLoop: end_loop(); return 0;
  }
  return 0;
}

void Emitter::declare_entry(Id function) {
  const bool address = form_ == BindingForm::Address && !kernel_.bindings.empty();
  module_.capability(spv::Capability::Shader);
  if (address) module_.capability(spv::Capability::PhysicalStorageBufferAddresses);
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
  if (target_.signed_zero_inf_nan) {
    module_.capability(spv::Capability::SignedZeroInfNanPreserve);
    mode(spv::ExecutionMode::SignedZeroInfNanPreserve, {32});
  }
  if (target_.round_to_even) {
    module_.capability(spv::Capability::RoundingModeRTE);
    mode(spv::ExecutionMode::RoundingModeRTE, {32});
  }
  module_.put(Section::Debug, Op::OpSource, {static_cast<uint32_t>(spv::SourceLanguage::Unknown), 0});
  module_.name(function, kernel_.name);
}

std::vector<uint32_t> Emitter::run() {
  const Id function = module_.fresh(), entry = module_.fresh(), guarded = module_.fresh(), end = module_.fresh();
  const Id nothing = module_.type(Op::OpTypeVoid, {}), signature = module_.type(Op::OpTypeFunction, {nothing});

  ids_.assign(kernel_.body.size(), 0);
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
  index_ = invocation();
  const Id inside = result(Op::OpULessThan, type(Scalar::Bool), {index_, word(static_cast<uint32_t>(kernel_.invocations))});
  put(Op::OpSelectionMerge, {end, 0});
  put(Op::OpBranchConditional, {inside, guarded, end});
  label(guarded);
  for (size_t at = 0; at < kernel_.body.size(); ++at) {
    ids_[at] = emit(at);
    const KOp op = kernel_.body[at].op;
    if (options_.value_names && ids_[at] && op != KOp::Const && op != KOp::Index)
      module_.name(ids_[at], "v" + std::to_string(at));
  }
  put(Op::OpBranch, {end});
  label(end);
  put(Op::OpReturn, {});
  put(Op::OpFunctionEnd, {});

  declare_entry(function);
  module_.put(Section::Function, Op::OpFunction, {nothing, function, 0, signature});
  module_.put(Section::Function, Op::OpLabel, {entry});
  std::vector<uint32_t> words = module_.finish();
  words.insert(words.end(), variables_.begin(), variables_.end());
  words.insert(words.end(), code_.begin(), code_.end());
  return words;
}

void check(const Kernel& kernel, const Target& target) {
  if (kernel.invocations >= uint64_t{1} << 32)
    throw Error("SG0303", "kernel " + kernel.name + " needs " + std::to_string(kernel.invocations) +
                              " invocations; one dispatch has at most 4294967295");
  if (kernel.workgroup == 0 || kernel.workgroup > target.max_invocations)
    throw Error("SG0303", "kernel " + kernel.name + " has workgroups of " + std::to_string(kernel.workgroup) +
                              " invocations; the device takes 1 to " + std::to_string(target.max_invocations));
  for (const Inst& i : kernel.body) {
    if (i.op == KOp::AtomicAdd && i.type == Scalar::F64)
      throw Error("SG0303", "kernel " + kernel.name + " adds atomically to f64, which no portable device can")
          .hint("sum in f32, or scatter with unique indices");
    if (i.type == Scalar::F64 && i.op < KOp::If && !target.float64)
      throw Error("SG0303", "kernel " + kernel.name + " computes in f64, which the device cannot").hint("use f32");
  }
}

}  // namespace

bool uses_native_float_atomics(const Kernel& kernel, const Target& target, const EmitOptions& options) {
  if (!target.atomic_float_add || !options.native_float_atomics) return false;
  return std::any_of(kernel.body.begin(), kernel.body.end(),
                     [](const Inst& i) { return i.op == KOp::AtomicAdd && i.type == Scalar::F32; });
}

KernelBinary emit(const Kernel& kernel, const Target& target, BindingForm form, const EmitOptions& options) {
  check(kernel, target);
  KernelBinary binary;
  binary.name = kernel.name;
  binary.workgroup = kernel.workgroup;
  binary.bindings = static_cast<uint32_t>(kernel.bindings.size());
  binary.words = Emitter(kernel, target, form, options).run();
  return binary;
}

}  // namespace spirograd::spirv
