// Says of the first word of a buffer, as a float, whether it equals itself (1) and whether it differs from itself (2).
#version 450
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer Report { uint report[]; };
layout(set = 0, binding = 1) readonly buffer Words { float x[]; };
layout(push_constant) uniform First { uint first_report, first_x; };

void main() {
  const float a = x[first_x];
  report[first_report] = (a == a ? 1u : 0u) + (a != a ? 2u : 0u);
}
