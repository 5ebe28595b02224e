// Self-test: do the invocations of a workgroup fill its subgroups, is an invocation's number inside the subgroup what the
// kernels count by, and do lanes see each other's values? Run with as many lanes as kernels are made for.
#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
layout(local_size_x = 128) in;
layout(set = 0, binding = 0) buffer Report { uint report[]; };
layout(set = 0, binding = 1) readonly buffer Lanes { uint lanes[]; };
layout(push_constant) uniform First { uint first_report, first_lanes; };

// The squares of the numbers of a subgroup's lanes, added by halves.
void main() {
  const uint size = lanes[first_lanes], number = gl_SubgroupID * size + gl_SubgroupInvocationID;
  if (number >= 128u) return;
  uint sum = number * number;
  for (uint half_ = size / 2; half_ > 0; half_ /= 2) sum += subgroupShuffle(sum, gl_SubgroupInvocationID ^ half_);
  report[first_report + number] = sum;
}
