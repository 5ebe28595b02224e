// Says of the first word of a buffer, as a float, whether it equals itself (1), whether it differs from itself (2), and whether
// adding 2^23 and taking it away leaves it as it was (4), also where compilers need not be exact (8).
#version 450
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer Report { uint report[]; };
layout(set = 0, binding = 1) readonly buffer Words { float x[]; };
layout(push_constant) uniform First { uint first_report, first_x; };

void main() {
  const float a = x[first_x];
  precise const float rounded = (a + 8388608.0) - 8388608.0;
  const float inexact = (a + 8388608.0) - 8388608.0;
  report[first_report] = (a == a ? 1u : 0u) + (a != a ? 2u : 0u) + (rounded == a ? 4u : 0u) +
                         (inexact == a ? 8u : 0u);
}
