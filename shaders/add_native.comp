// Self-test: every invocation adds one to an address, by the device's own f32 atomic.
#version 450
#extension GL_EXT_shader_atomic_float : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Sums { float sums[]; };
layout(set = 0, binding = 1) readonly buffer Counts { uint counts[]; };
layout(push_constant) uniform First { uint first_sum, first_count; };

void main() {
  uint n = counts[first_count];
  atomicAdd(sums[first_sum + gl_GlobalInvocationID.x % n], 1.0);
}
