// Which invocation this is.
#include "spirv/emit/emitter.h"

namespace spirograd::spirv {
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

}  // namespace spirograd::spirv
