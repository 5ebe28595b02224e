// What is the same for all invocations of a workgroup or of a subgroup: values, and the paths that they take. Barriers and
// operations of subgroups depend on it. Conservative: what is called divergent may be the same all the same.
#pragma once

#include <string_view>
#include <vector>

#include "spirv/kernel/kernel.h"

namespace spirograd::kernel {

/// From more to less: whatever is uniform in the workgroup is so in each subgroup.
enum class Uniformity : uint8_t { Workgroup, Subgroup, Divergent };

struct UniformityFacts {
  std::vector<Uniformity> value;  // per instruction: of its result, among the invocations that get there
  std::vector<Uniformity> path;   // per instruction: Workgroup: all of the workgroup get there or none; so for subgroups
  std::vector<Value> decided_by;  // per instruction: the If or Loop that makes the path less uniform than around it
};

/// Pre: the kernel's blocks are closed and its operands are defined.
///
/// Loads of bindings that are only read are as uniform as their index, as are those of shared arrays, since nothing that is
/// read is written between the same barriers. What is read from a binding that is also written is divergent. A variable, or
/// an array of the invocation, is as uniform as the least uniform of what is stored in it and of the paths to the stores.
/// With S lanes in a subgroup, LocalIndex / S, LocalIndex < n S and the like are uniform in the subgroup.
UniformityFacts uniformity(const Kernel& kernel);

}  // namespace spirograd::kernel
