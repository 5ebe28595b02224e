// Accesses to buffers and arrays.
#include "spirv/emit/emitter.h"

namespace spirograd::spirv {
Id Emitter::element(uint32_t binding, Value index) {
  const auto storage =
      form_ == BindingForm::Address ? spv::StorageClass::PhysicalStorageBuffer : spv::StorageClass::StorageBuffer;
  const Id t = type(stored(kernel_.bindings[binding]));
  Id at = ids_[index];
  if (form_ == BindingForm::Descriptors) at = result(Op::OpIAdd, type(Scalar::U32), {at, offsets_[binding]});
  const Id to_element = pointer(storage, t);
  return result(Op::OpAccessChain, to_element, {buffers_[binding], word(0), at});
}

Id Emitter::to_memory(Scalar t, Id value) {
  if (t == Scalar::F16) return result(Op::OpFConvert, type(t), {value});  // exact: what is stored has been rounded
  if (t != Scalar::Bool) return value;
  const Id one = word(1), zero = word(0);
  return result(Op::OpSelect, type(Scalar::U32), {value, one, zero});
}

Id Emitter::from_memory(Scalar t, Id word_or_value) {
  if (t == Scalar::F16) return result(Op::OpFConvert, type(Scalar::F32), {word_or_value});
  if (t != Scalar::Bool) return word_or_value;
  const Id zero = word(0);
  return result(Op::OpINotEqual, type(Scalar::Bool), {word_or_value, zero});
}

Id Emitter::access(size_t at) {
  using kernel::MemoryOp;
  const Inst& i = kernel_.body[at];
  switch (as<MemoryOp>(i.op)) {
    case MemoryOp::Load: return load(at);
    case MemoryOp::Store: store(at); return 0;
    case MemoryOp::AtomicAdd:
    case MemoryOp::AtomicMax: atomic(i); return 0;
    case MemoryOp::SharedLoad:
    case MemoryOp::LocalLoad: return array_load(i);
    case MemoryOp::SharedStore:
    case MemoryOp::LocalStore: array_store(i); return 0;
  }
  return 0;
}

Id Emitter::array_element(const Inst& i) {
  const bool shared = info(i.op).memory == kernel::Memory::Shared;
  const auto storage = shared ? spv::StorageClass::Workgroup : spv::StorageClass::Function;
  const Id variable = shared ? shared_[i.in[0]] : locals_[i.in[0]];
  return result(Op::OpAccessChain, pointer(storage, type(in_memory(i.type))), {variable, ids_[i.in[1]]});
}

Id Emitter::array_load(const Inst& i) {
  const Id place = array_element(i);
  return from_memory(i.type, result(Op::OpLoad, type(in_memory(i.type)), {place}));
}

void Emitter::array_store(const Inst& i) {
  const Id value = to_memory(i.type, ids_[i.in[2]]);
  put(Op::OpStore, {array_element(i), value});
}

Id Emitter::load(size_t at) {
  const Inst& i = kernel_.body[at];
  const Binding& b = kernel_.bindings[i.in[0]];
  if (is_row(at, 1)) return from_memory(b.type, load_row(at, stored(b)));
  const Id place = is_common(at) ? place_of_row(i.in[0], rows_.accesses[at].first, 0) : element(i.in[0], i.in[1]);
  constexpr auto aligned = static_cast<uint32_t>(spv::MemoryAccessMask::Aligned);
  const Id loaded = form_ == BindingForm::Address
                        ? result(Op::OpLoad, type(stored(b)), {place, aligned, kernel::bytes_of(b.type)})
                        : result(Op::OpLoad, type(stored(b)), {place});
  return from_memory(b.type, loaded);
}

void Emitter::store(size_t at) {
  const Inst& i = kernel_.body[at];
  const Binding& b = kernel_.bindings[i.in[0]];
  Id value = to_memory(b.type, ids_[i.in[2]]);
  if (is_row(at, 1)) {
    if (rows_.common > rows_.stores && !held_.contains(at)) value = held_together(at, value, in_memory(b.type));
    return store_row(at, {&value, 1});
  }
  const Id place = element(i.in[0], i.in[1]);
  constexpr auto aligned = static_cast<uint32_t>(spv::MemoryAccessMask::Aligned);
  if (form_ == BindingForm::Address)
    put(Op::OpStore, {place, value, aligned, kernel::bytes_of(b.type)});
  else
    put(Op::OpStore, {place, value});
}

// Whether the access at `at` is half of a pair. Two elements are one number of 64 bits: drivers for processors, the only
// ones that kernels have pairs for, load and store lane by lane, and twice where it is a vector of two. A processor takes
// such a number at any address.
bool Emitter::paired(size_t at) {
  const Value other = pairs_[at].other;
  if (other == 0 || (is_common(at) && is_common(other))) return false;
  const bool load = kernel_.body[at].op == kernel::KOp::Load;
  if (load && at < other) load_pair(at);
  if (!load && at > other) store_pair(at);
  return true;
}

Id Emitter::pair_place(size_t at) {
  const Inst& i = kernel_.body[at];
  Id even = ids_[i.in[1]];
  if (pairs_[at].odd) {
    const Id one = word(1);
    even = result(Op::OpISub, type(Scalar::U32), {even, one});  // of integers of either type
  }
  constexpr auto storage = spv::StorageClass::PhysicalStorageBuffer;
  const Id element = pointer(storage, type(stored(kernel_.bindings[i.in[0]])));
  const Id place = result(Op::OpAccessChain, element, {buffers_[i.in[0]], word(0), even});
  return result(Op::OpBitcast, pointer(storage, type(Scalar::F64)), {place});
}

void Emitter::load_pair(size_t at) {
  const Id element = type(kernel_.bindings[kernel_.body[at].in[0]].type);
  constexpr auto aligned = static_cast<uint32_t>(spv::MemoryAccessMask::Aligned);
  const size_t even = pairs_[at].odd ? pairs_[at].other : at;
  Id loaded = 0;
  if (is_row(even, 2)) {
    loaded = load_row(even, Scalar::F64);
  } else {
    const Id place = pair_place(at);
    loaded = result(Op::OpLoad, type(Scalar::F64), {place, aligned, 8});
  }
  const Id both = result(Op::OpBitcast, module_.type(Op::OpTypeVector, {element, 2}), {loaded});
  for (const size_t half : {at, size_t{pairs_[at].other}})
    ids_[half] = result(Op::OpCompositeExtract, element, {both, pairs_[half].odd ? 1u : 0u});
}

void Emitter::store_pair(size_t at) {
  const Id element = type(kernel_.bindings[kernel_.body[at].in[0]].type);
  const size_t even = pairs_[at].odd ? pairs_[at].other : at, odd = pairs_[at].odd ? at : pairs_[at].other;
  const Id values[] = {ids_[kernel_.body[even].in[2]], ids_[kernel_.body[odd].in[2]]};
  if (has_rows() && rows_.accesses[even].step != 0) return store_row(even, values);
  const Id both = result(Op::OpCompositeConstruct, module_.type(Op::OpTypeVector, {element, 2}), {values[0], values[1]});
  constexpr auto aligned = static_cast<uint32_t>(spv::MemoryAccessMask::Aligned);
  put(Op::OpStore, {pair_place(at), result(Op::OpBitcast, type(Scalar::F64), {both}), aligned, 8});
}

void Emitter::atomic(const Inst& i) {
  const Scalar t = kernel_.bindings[i.in[0]].type;
  const Id place = element(i.in[0], i.in[1]), value = ids_[i.in[2]];
  const Id device = word(static_cast<uint32_t>(spv::Scope::Device)), relaxed = word(0);
  if (t != Scalar::F32) {
    needs_.integer_atomics = true;
    result(i.op == kernel::KOp::AtomicAdd ? Op::OpAtomicIAdd : Op::OpAtomicUMax, type(t), {place, device, relaxed, value});
  } else if (native_atomics_) {
    needs_.atomic_float_add = true;
    module_.capability(spv::Capability::AtomicFloat32AddEXT);
    module_.extension("SPV_EXT_shader_atomic_float_add");
    result(Op::OpAtomicFAddEXT, type(t), {place, device, relaxed, value});
  } else {
    compare_exchange_add(place, value);
  }
}

// Compares bits, since a NaN never equals itself; goes on with the value that the failed exchange returned.
void Emitter::compare_exchange_add(Id pointer, Id addend) {
  needs_.exchange_float_add = true;
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
  const Id sum = arithmetic(Op::OpFAdd, Scalar::F32, false, {result(Op::OpBitcast, type(Scalar::F32), {old}), addend});
  const Id wanted = result(Op::OpBitcast, u32, {sum});
  put(Op::OpAtomicCompareExchange, {u32, seen, pointer, device, relaxed, relaxed, wanted, old});
  const Id done = result(Op::OpIEqual, type(Scalar::Bool), {seen, old});
  put(Op::OpBranchConditional, {done, merge, again});
  label(again);
  put(Op::OpBranch, {header});
  label(merge);
}

}  // namespace spirograd::spirv
