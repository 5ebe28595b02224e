// y = 2 x + 1 for n elements, through device addresses.
#version 450
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 64) in;
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Floats { float at[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Words { uint at[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer Result { float at[]; };
layout(push_constant) uniform Bindings { Floats x; Words n; Result y; };

void main() {
  uint i = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * 64 + gl_LocalInvocationID.x;
  if (i < n.at[0]) y.at[i] = 2 * x.at[i] + 1;
}
