// y = 1 - x for n elements, through descriptors.
#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer Flags { uint x[]; };
layout(set = 0, binding = 1) readonly buffer Words { uint n[]; };
layout(set = 0, binding = 2) writeonly buffer Result { uint y[]; };
layout(push_constant) uniform First { uint x0, n0, y0; };

void main() {
  uint i = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * 64 + gl_LocalInvocationID.x;
  if (i < n[n0]) y[y0 + i] = 1 - x[x0 + i];
}
