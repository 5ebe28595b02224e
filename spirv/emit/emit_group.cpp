// Which invocation this is, and what invocations of a workgroup do together.
#include <algorithm>

#include "spirv/emit/emitter.h"

namespace spirograd::spirv {
namespace {

constexpr auto kWorkgroup = static_cast<uint32_t>(spv::Scope::Workgroup);
constexpr auto kSubgroup = static_cast<uint32_t>(spv::Scope::Subgroup);

Op combining(KOp op, Scalar t) {
  const auto of = [t](Op floats, Op ints, Op unsigneds) {
    switch (t) {
      case Scalar::F32:
      case Scalar::F64: return floats;
      case Scalar::I32: return ints;
      case Scalar::U32: return unsigneds;
      case Scalar::Bool:
      case Scalar::F16: break;
    }
    return Op::OpNop;
  };
  if (op == KOp::Add) return of(Op::OpGroupNonUniformFAdd, Op::OpGroupNonUniformIAdd, Op::OpGroupNonUniformIAdd);
  if (op == KOp::Mul) return of(Op::OpGroupNonUniformFMul, Op::OpGroupNonUniformIMul, Op::OpGroupNonUniformIMul);
  if (op == KOp::Min) return of(Op::OpGroupNonUniformFMin, Op::OpGroupNonUniformSMin, Op::OpGroupNonUniformUMin);
  return of(Op::OpGroupNonUniformFMax, Op::OpGroupNonUniformSMax, Op::OpGroupNonUniformUMax);
}

}  // namespace

bool Emitter::uses(KOp op) const {
  return std::any_of(kernel_.body.begin(), kernel_.body.end(), [op](const Inst& i) { return i.op == op; });
}

// group.y * groups.x + group.x: the runtime folds long grids into two axes.
Id Emitter::group_number() {
  const Id u32 = type(Scalar::U32);
  const Id group = built_in(spv::BuiltIn::WorkgroupId, true), groups = built_in(spv::BuiltIn::NumWorkgroups, true);
  const Id x = result(Op::OpCompositeExtract, u32, {group, 0}), y = result(Op::OpCompositeExtract, u32, {group, 1});
  const Id row = result(Op::OpCompositeExtract, u32, {groups, 0});
  return result(Op::OpIAdd, u32, {result(Op::OpIMul, u32, {y, row}), x});
}

// Vulkan does not say how LocalInvocationIndex and lanes go together; so a kernel that knows of lanes counts by them. Others
// do so on software drivers, which compute LocalInvocationIndex by scalar divisions: the number inside the subgroup costs
// them nothing, and is the same order where subgroups are full.
Id Emitter::local_number() {
  const Id u32 = type(Scalar::U32);
  const bool lanes = kernel_.subgroup != 0;
  if (!lanes &&
      (!(target_.quirks & kSlowLocalIndex) || target_.subgroup_size < 4 || kernel_.workgroup % target_.subgroup_size != 0))
    return built_in(spv::BuiltIn::LocalInvocationIndex, false);
  const Id subgroup = subgroup_built_in(spv::BuiltIn::SubgroupId);
  const Id size = lanes ? word(kernel_.subgroup) : subgroup_built_in(spv::BuiltIn::SubgroupSize);
  const Id lane = subgroup_built_in(spv::BuiltIn::SubgroupLocalInvocationId);
  return result(Op::OpIAdd, u32, {result(Op::OpIMul, u32, {subgroup, size}), lane});
}

void Emitter::need_subgroups(SubgroupOperation operation, spv::Capability capability) {
  needs_.subgroup_operations |= operation;
  needs_.subgroup_size = kernel_.subgroup;
  module_.capability(capability);
}

Id Emitter::subgroup_built_in(spv::BuiltIn which) {
  need_subgroups(kSubgroupBasic, spv::Capability::GroupNonUniform);
  return built_in(which, false);
}

// The numbers that the body asks for, in the entry block.
void Emitter::number_invocations() {
  const Id u32 = type(Scalar::U32);
  const bool index = uses(KOp::Index);
  if (index || uses(KOp::GroupIndex)) group_ = group_number();
  const Id first = index ? result(Op::OpIMul, u32, {group_, word(kernel_.workgroup)}) : 0;
  if (index || uses(KOp::LocalIndex)) local_ = local_number();
  if (index) index_ = result(Op::OpIAdd, u32, {first, local_});
  if (uses(KOp::LaneIndex)) lane_ = subgroup_built_in(spv::BuiltIn::SubgroupLocalInvocationId);
  if (has_rows()) number_rows();
}

void Emitter::barrier() {
  const auto semantics = static_cast<uint32_t>(spv::MemorySemanticsMask::AcquireRelease) |
                         static_cast<uint32_t>(spv::MemorySemanticsMask::WorkgroupMemory);
  put(Op::OpControlBarrier, {word(kWorkgroup), word(kWorkgroup), word(semantics)});
}

Id Emitter::combine_lanes(const Inst& i) {
  need_subgroups(kSubgroupArithmetic, spv::Capability::GroupNonUniformArithmetic);
  const auto how = i.op == KOp::SubgroupReduce ? spv::GroupOperation::Reduce : spv::GroupOperation::ExclusiveScan;
  const Id scope = word(kSubgroup);
  return result(combining(kernel::combiner(i), i.type), type(i.type), {scope, static_cast<uint32_t>(how), ids_[i.in[0]]});
}

// OpGroupNonUniformBroadcast takes a lane that is no constant only where a feature of its own says so; a shuffle always
// does. Bools travel as words.
Id Emitter::value_of_lane(const Inst& i) {
  const bool constant = i.op == KOp::Broadcast && kernel_.body[i.in[1]].op == KOp::Const;
  if (constant)
    need_subgroups(kSubgroupBallot, spv::Capability::GroupNonUniformBallot);
  else
    need_subgroups(kSubgroupShuffle, spv::Capability::GroupNonUniformShuffle);
  const Op op = constant ? Op::OpGroupNonUniformBroadcast : Op::OpGroupNonUniformShuffle;
  const Id value = to_memory(i.type, ids_[i.in[0]]), scope = word(kSubgroup);
  return from_memory(i.type, result(op, type(in_memory(i.type)), {scope, value, ids_[i.in[1]]}));
}

Id Emitter::subgroup(const Inst& i) {
  using kernel::SubgroupOp;
  switch (as<SubgroupOp>(i.op)) {
    case SubgroupOp::SubgroupReduce:
    case SubgroupOp::SubgroupScan: return combine_lanes(i);
    case SubgroupOp::Broadcast:
    case SubgroupOp::Shuffle: return value_of_lane(i);
  }
  return 0;
}

}  // namespace spirograd::spirv
