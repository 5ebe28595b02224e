// Self-test: every invocation adds one to an address, by compare-exchange on the bits. The accumulated buffer is seen as words only.
#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Sums { uint sums[]; };
layout(set = 0, binding = 1) readonly buffer Counts { uint counts[]; };
layout(push_constant) uniform First { uint first_sum, first_count; };

void main() {
  uint n = counts[first_count];
  uint at = first_sum + gl_GlobalInvocationID.x % n;
  uint expected = 0;
  for (;;) {
    uint found = atomicCompSwap(sums[at], expected, floatBitsToUint(uintBitsToFloat(expected) + 1.0));
    if (found == expected) break;
    expected = found;
  }
}
