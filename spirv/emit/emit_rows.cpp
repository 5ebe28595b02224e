// Loads of a whole row of neighbours, of which each lane takes its own (kGatheredLoads), and stores of whole rows
// (kScatteredStores).
#include <algorithm>

#include "spirv/emit/emitter.h"

namespace spirograd::spirv {
namespace {

constexpr uint32_t kVector = 4;  // elements that SPIR-V loads at a time
constexpr uint32_t kDigit = 16;  // pushed numbers: places are made of those
constexpr uint32_t kDigitBits = 4;
static_assert(kDigit == 1u << kDigitBits);
constexpr size_t kLeastRows = 8;       // that are worth the loads of the numbers
constexpr size_t kLoadsPerStore = 24;  // stores are branches to drivers: few of them, in much code, are not worth it

}  // namespace

// The lanes' stores may be of numbers of 64 bits, so many together: of words, in a binding that may have a descriptor, at
// places that are multiples of so many. 0: they may not.
uint32_t Emitter::numbers_stored(size_t at) const {
  const Inst& i = kernel_.body[at];
  const kernel::LaneRow& row = rows_.accesses[at];
  if (row.step == 0 || i.in[0] >= options_.described || !lanes_can(target_, kSubgroupShuffle)) return 0;
  if (kernel::bytes_of(kernel_.bindings[i.in[0]].type) != 4) return 0;
  if (row.step != 1) return pairs_[at].other != 0 ? 1 : 0;
  uint32_t words = i.in[0] < options_.begins.size() ? options_.begins[i.in[0]] / 4 : 1;
  const auto begins_at = [&](uint32_t place) {
    while (place % words != 0) words /= 2;
  };
  words = std::min(words, kernel_.subgroup);
  begins_at(row.first.constant);
  for (const auto& [value, factor] : row.first.terms) begins_at(factor);
  return words / 2;
}

// Where the target gathers and scatters, and there is room for the numbers.
void Emitter::find_rows() {
  if (form_ != BindingForm::Address || !(target_.quirks & kGatheredLoads) || kernel_.subgroup % kVector != 0) return;
  rows_ = kernel::lane_rows(kernel_);
  std::vector<size_t> stores;
  uint32_t described = 0;
  for (size_t at = 0; at < kernel_.body.size(); ++at) {
    if (kernel_.body[at].op != KOp::Store) continue;
    if (numbers_stored(at) > 0)
      stores.push_back(at), described = std::max(described, kernel_.body[at].in[0] + 1);
    else
      rows_.accesses[at] = {};
  }
  if (stores.size() < kLeastRows || stores.size() * kLoadsPerStore < rows_.loads) {
    for (const size_t at : stores) rows_.accesses[at] = {};
    stores.clear(), described = 0;
  }
  rows_.stores = stores.size();
  const auto bindings = static_cast<uint32_t>(kernel_.bindings.size());
  const auto has_room = [&](uint32_t n) {
    return bindings * push_bytes(BindingForm::Address) + n * push_bytes(BindingForm::Descriptors) + kDigit * 4 <=
           target_.max_push_bytes;
  };
  if (rows_.loads + rows_.stores < kLeastRows || !has_room(described)) {
    rows_ = {};
    return;
  }
  described_ = described;
}

// The members of the block of push constants behind the addresses.
void Emitter::push_for_rows(Id push, std::vector<Id>& members) {
  const auto put_member = [&](Id type, uint32_t offset) {
    module_.decorate_member(push, static_cast<uint32_t>(members.size()), spv::Decoration::Offset, {offset});
    members.push_back(type);
  };
  uint32_t offset = static_cast<uint32_t>(members.size()) * push_bytes(BindingForm::Address);
  for (uint32_t j = 0; j < described_; ++j, offset += push_bytes(BindingForm::Descriptors))
    put_member(type(Scalar::U32), offset);
  const Id numbers = module_.distinct(Op::OpTypeArray, {type(Scalar::U32), word(kDigit)});
  module_.decorate(numbers, spv::Decoration::ArrayStride, {4});
  put_member(numbers, offset);
  needs_.push_bytes = described_ * push_bytes(BindingForm::Descriptors) + kDigit * 4;
}

// Bindings of which rows are stored, as numbers of 64 bits.
void Emitter::declare_row_stores() {
  const Id u32 = type(Scalar::U32), to_offset = pointer(spv::StorageClass::PushConstant, u32);
  for (size_t at = 0; at < kernel_.body.size(); ++at) {
    if (kernel_.body[at].op != KOp::Store || rows_.accesses[at].step == 0) continue;
    const uint32_t together = numbers_stored(at);
    Id& variable = described_as_[{kernel_.body[at].in[0], together}];
    if (variable) continue;
    const Id block = pointer(spv::StorageClass::StorageBuffer, buffer_block(Scalar::F64, true, together));
    variable = descriptor(kernel_.body[at].in[0], block);
    module_.decorate(variable, spv::Decoration::Aliased, {});
  }
  for (uint32_t j = 0; j < described_; ++j) {
    const Id member = word(static_cast<uint32_t>(kernel_.bindings.size()) + j);
    offsets_.push_back(result(Op::OpLoad, u32, {result(Op::OpAccessChain, to_offset, {push_, member})}));
  }
}

// The same number, but drivers take what is made of push constants and constants for the same in all lanes, and nothing
// else.
Id Emitter::made_of_pushed(Id number, uint64_t end) {
  const Id u32 = type(Scalar::U32), to_number = pointer(spv::StorageClass::PushConstant, u32);
  const Id member = word(static_cast<uint32_t>(kernel_.bindings.size()) + described_);
  Id all = 0;
  for (uint32_t shift = 0; shift == 0 || (shift < 32 && (end - 1) >> shift != 0); shift += kDigitBits) {
    const Id by = word(shift), mask = word(kDigit - 1);
    const Id digit = result(Op::OpBitwiseAnd, u32, {result(Op::OpShiftRightLogical, u32, {number, by}), mask});
    const Id pushed = result(Op::OpLoad, u32, {result(Op::OpAccessChain, to_number, {push_, member, digit})});
    const Id moved = result(Op::OpShiftLeftLogical, u32, {pushed, by});
    all = all ? result(Op::OpIAdd, u32, {all, moved}) : moved;
  }
  return all;
}

// GroupIndex and the number of the subgroup, before the body.
void Emitter::number_rows() {
  const Id u32 = type(Scalar::U32);
  // Grids that are folded have surplus workgroups, fewer than there are in a row.
  const uint64_t groups = (kernel_.invocations + kernel_.workgroup - 1) / kernel_.workgroup;
  if (group_) group_ = made_of_pushed(group_, groups > target_.max_groups ? groups + target_.max_groups : groups);
  const Id subgroup = subgroup_built_in(spv::BuiltIn::SubgroupId);
  subgroup_ = made_of_pushed(subgroup, kernel_.workgroup / kernel_.subgroup);
  const Id lane = subgroup_built_in(spv::BuiltIn::SubgroupLocalInvocationId);
  for (uint32_t l = 0; l + 1 < kernel_.subgroup; ++l) {
    const Id number = word(l), truth = type(Scalar::Bool);
    is_lane_.push_back(result(Op::OpIEqual, truth, {lane, number}));
  }
  const Id size = word(kernel_.subgroup);
  if (local_) local_ = result(Op::OpIAdd, u32, {result(Op::OpIMul, u32, {subgroup_, size}), lane});
}

// The number of the subgroup, divided.
Id Emitter::subgroup_by(Scalar t, uint32_t divisor) {
  const Id u32 = type(Scalar::U32), by = word(divisor);
  const Id number = divisor == 1 ? subgroup_ : result(Op::OpUDiv, u32, {subgroup_, by});
  return t == Scalar::U32 ? number : result(Op::OpBitcast, type(t), {number});
}

Id Emitter::sum_of_terms(const kernel::Sum& sum) {
  const Id u32 = type(Scalar::U32);
  Id all = 0;
  for (const auto& [value, factor] : sum.terms) {
    const Id times = word(factor);
    const Id term = factor == 1 ? ids_[value] : result(Op::OpIMul, u32, {ids_[value], times});
    all = all ? result(Op::OpIAdd, u32, {all, term}) : term;
  }
  return all ? all : word(0);
}

// The number of the element `behind` the one at `first`.
Id Emitter::row_begin(const kernel::Sum& first, uint32_t behind) {
  const Id terms = sum_of_terms(first), constant = word(first.constant + behind);
  return result(Op::OpIAdd, type(Scalar::U32), {terms, constant});
}

// The pointer to the element `behind` the one at `first`. What differs by constants has one address, and places behind it
// that instructions of a processor hold; but where all that is read is stored again, compilers would load all of it first.
Id Emitter::place_of_row(uint32_t binding, const kernel::Sum& first, uint32_t behind) {
  const Scalar t = stored(kernel_.bindings[binding]);
  const Id to_element = pointer(spv::StorageClass::PhysicalStorageBuffer, type(t));
  // What comes before the array with less than all of the sum is nowhere near it: addresses have more bits.
  const bool falls = std::ranges::any_of(first.terms, [](const auto& term) { return term.second > INT32_MAX; });
  if (falls || rows_.stores > rows_.common) {
    const Id member = word(0), at = row_begin(first, behind);
    return result(Op::OpAccessChain, to_element, {buffers_[binding], member, at});
  }
  Id& begin = begins_[{binding, first.terms}];
  if (!begin) {
    const Id member = word(0), terms = sum_of_terms(first);
    begin = result(Op::OpAccessChain, to_element, {buffers_[binding], member, terms});
    if (strided_.insert(to_element).second)
      module_.decorate(to_element, spv::Decoration::ArrayStride, {static_cast<uint32_t>(kernel::bytes_of(t))});
  }
  const Id constant = word(first.constant + behind);
  return result(Op::OpPtrAccessChain, to_element, {begin, constant});
}

// Each lane's element of a row of `element`, which are `step` elements of the binding each.
Id Emitter::load_row(size_t at, Scalar element) {
  const Inst& i = kernel_.body[at];
  const kernel::LaneRow& row = rows_.accesses[at];
  const Id t = type(element), vector = module_.type(Op::OpTypeVector, {t, kVector});
  constexpr auto storage = spv::StorageClass::PhysicalStorageBuffer;
  constexpr auto aligned = static_cast<uint32_t>(spv::MemoryAccessMask::Aligned);
  const Id to_vector = pointer(storage, vector);
  std::vector<Id> elements;
  for (uint32_t l = 0; l < kernel_.subgroup; l += kVector) {
    const Id place = place_of_row(i.in[0], row.first, l * row.step);
    const Id loaded =
        result(Op::OpLoad, vector, {result(Op::OpBitcast, to_vector, {place}), aligned, kernel::bytes_of(element)});
    for (uint32_t e = 0; e < kVector; ++e) elements.push_back(result(Op::OpCompositeExtract, t, {loaded, e}));
  }
  if (row.turned) std::ranges::reverse(elements);
  Id own = elements.back();
  for (size_t l = is_lane_.size(); l-- > 0;) own = result(Op::OpSelect, t, {is_lane_[l], elements[l], own});
  return own;
}

// What is stored by one store after the other, beginning with the one at `at`, as one value that the first of them stores:
// compilers move what is stored after a branch behind it, and would compute the elements of a tile one by one then, with
// all that they read kept for the last of them. The pushed number is 0.
Id Emitter::held_together(size_t at, Id value, Scalar t) {
  const Id u32 = type(Scalar::U32), to_number = pointer(spv::StorageClass::PushConstant, u32);
  const auto bits = [&](Id v) { return t == Scalar::U32 ? v : result(Op::OpBitcast, u32, {v}); };
  Id all = 0;
  for (size_t j = at; j < kernel_.body.size(); ++j) {
    const Inst& i = kernel_.body[j];
    if (i.op != KOp::Store || rows_.accesses[j].step == 0) continue;
    if (i.in[2] > at) break;
    held_.insert(j);
    const Scalar stored_as = kernel_.bindings[i.in[0]].type;
    if (j == at || in_memory(stored_as) != t) continue;
    const Id other = bits(to_memory(stored_as, ids_[i.in[2]]));
    all = all ? result(Op::OpBitwiseOr, u32, {all, other}) : other;
  }
  if (!all) return value;
  const Id member = word(static_cast<uint32_t>(kernel_.bindings.size()) + described_), first = word(0);
  const Id zero = result(Op::OpLoad, u32, {result(Op::OpAccessChain, to_number, {push_, member, first})});
  const Id own = bits(value), nothing = result(Op::OpBitwiseAnd, u32, {all, zero});
  const Id same = result(Op::OpBitwiseXor, u32, {own, nothing});
  return t == Scalar::U32 ? same : result(Op::OpBitcast, type(t), {same});
}

// A row of what lanes have, or the pair of each: each number of 64 bits is stored by all lanes, at one place. Drivers make
// one store of that; several at a time they would scatter. Those together share their address, and what drivers ask of it.
void Emitter::store_row(size_t at, std::span<const Id> values) {
  const Inst& i = kernel_.body[at];
  const size_t even = values.size() == 2 && pairs_[at].odd ? pairs_[at].other : at;
  const Scalar element = in_memory(kernel_.bindings[i.in[0]].type);
  const uint32_t together = numbers_stored(even), per_lane = static_cast<uint32_t>(values.size());
  const Id u32 = type(Scalar::U32), t = type(element), f64 = type(Scalar::F64),
           both = module_.type(Op::OpTypeVector, {t, 2});
  const Id stored = together == 1 ? f64 : module_.type(Op::OpTypeVector, {f64, together});
  need_subgroups(kSubgroupShuffle, spv::Capability::GroupNonUniformShuffle);
  const Id scope = word(static_cast<uint32_t>(spv::Scope::Subgroup)), member = word(0), divisor = word(2 * together);
  const Id begin = result(Op::OpIAdd, u32, {row_begin(rows_.accesses[even].first, 0), offsets_[i.in[0]]});
  const Id first = result(Op::OpUDiv, u32, {begin, divisor});
  const auto of_lane = [&](Id value, uint32_t lane) {
    const Id number = word(lane);
    return result(Op::OpGroupNonUniformShuffle, t, {scope, value, number});
  };
  const auto number = [&](uint32_t n) {
    const uint32_t lane = per_lane == 2 ? n : 2 * n;
    const Id low = of_lane(values[0], lane), high = per_lane == 2 ? of_lane(values[1], lane) : of_lane(values[0], lane + 1);
    return result(Op::OpBitcast, f64, {result(Op::OpCompositeConstruct, both, {low, high})});
  };
  const Id to_stored = pointer(spv::StorageClass::StorageBuffer, stored);
  for (uint32_t n = 0; n < kernel_.subgroup * per_lane / 2; n += together) {
    std::vector<Id> numbers;
    for (uint32_t j = 0; j < together; ++j) numbers.push_back(number(n + j));
    const Id value = together == 1 ? numbers[0] : composite(stored, numbers);
    const Id behind = word(per_lane == 2 ? n * (rows_.accesses[even].step / 2) : n / together),
             place = n == 0 ? first : result(Op::OpIAdd, u32, {first, behind});
    put(Op::OpStore, {result(Op::OpAccessChain, to_stored, {described_as_[{i.in[0], together}], member, place}), value});
  }
}

}  // namespace spirograd::spirv
