// Loads of a whole row of neighbours, of which each lane takes its own (kGatheredLoads).
#include "spirv/emit/emitter.h"

namespace spirograd::spirv {
namespace {

constexpr uint32_t kVector = 4;  // elements that SPIR-V loads at a time
constexpr uint32_t kDigit = 16;  // pushed numbers: places are made of those
constexpr uint32_t kDigitBits = 4;
static_assert(kDigit == 1u << kDigitBits);
constexpr size_t kLeastRows = 8;  // that are worth the loads of the numbers

}  // namespace

// Where the target gathers, and there is room for the numbers.
void Emitter::find_rows() {
  const auto addresses = static_cast<uint32_t>(kernel_.bindings.size()) * push_bytes(BindingForm::Address);
  if (form_ != BindingForm::Address || !(target_.quirks & kGatheredLoads) || kernel_.subgroup % kVector != 0 ||
      addresses + kDigit * 4 > target_.max_push_bytes)
    return;
  rows_ = kernel::lane_rows(kernel_);
  if (rows_.count < kLeastRows) rows_ = {};
}

// The type of the member of the block of push constants behind the addresses.
Id Emitter::pushed_numbers() {
  const Id numbers = module_.distinct(Op::OpTypeArray, {type(Scalar::U32), word(kDigit)});
  module_.decorate(numbers, spv::Decoration::ArrayStride, {4});
  needs_.push_bytes = kDigit * 4;
  return numbers;
}

// The same number, but drivers take what is made of push constants and constants for the same in all lanes, and nothing
// else.
Id Emitter::made_of_pushed(Id number, uint64_t end) {
  const Id u32 = type(Scalar::U32), to_number = pointer(spv::StorageClass::PushConstant, u32);
  const Id member = word(static_cast<uint32_t>(kernel_.bindings.size()));
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

// Each lane's element of a row of `element`, which are `step` elements of the binding each.
Id Emitter::load_row(size_t at, Scalar element) {
  const Inst& i = kernel_.body[at];
  const kernel::LaneRow& row = rows_.loads[at];
  const Id u32 = type(Scalar::U32), t = type(element), vector = module_.type(Op::OpTypeVector, {t, kVector});
  constexpr auto storage = spv::StorageClass::PhysicalStorageBuffer;
  constexpr auto aligned = static_cast<uint32_t>(spv::MemoryAccessMask::Aligned);
  const Id to_element = pointer(storage, type(stored(kernel_.bindings[i.in[0]]))), to_vector = pointer(storage, vector);
  Id first = word(row.first.constant);
  for (const auto& [value, factor] : row.first.terms) {
    const Id times = word(factor);
    const Id term = factor == 1 ? ids_[value] : result(Op::OpIMul, u32, {ids_[value], times});
    first = result(Op::OpIAdd, u32, {first, term});
  }
  std::vector<Id> elements;
  for (uint32_t l = 0; l < kernel_.subgroup; l += kVector) {
    const Id apart = word(l * row.step), member = word(0);
    const Id begin = l == 0 ? first : result(Op::OpIAdd, u32, {first, apart});
    const Id place = result(Op::OpAccessChain, to_element, {buffers_[i.in[0]], member, begin});
    const Id loaded =
        result(Op::OpLoad, vector, {result(Op::OpBitcast, to_vector, {place}), aligned, kernel::bytes_of(element)});
    for (uint32_t e = 0; e < kVector; ++e) elements.push_back(result(Op::OpCompositeExtract, t, {loaded, e}));
  }
  Id own = elements.back();
  for (size_t l = is_lane_.size(); l-- > 0;) own = result(Op::OpSelect, t, {is_lane_[l], elements[l], own});
  return own;
}

}  // namespace spirograd::spirv
