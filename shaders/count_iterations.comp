// Self-test: how many loop iterations does an invocation get? Steps a generator that no compiler has a closed form for, in two
// nested loops, and reports its state, the steps and the rounds of the outer loop that were really run.
#version 450
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer Report { uint report[]; };  // state, steps, rounds
layout(set = 0, binding = 1) readonly buffer Counts { uint counts[]; };  // outer, inner
layout(push_constant) uniform First { uint first_report, first_count; };

void main() {
  uint outer = counts[first_count], inner = counts[first_count + 1];
  uint state = 1, steps = 0, rounds = 0;
  for (uint i = 0; i < outer; ++i) {
    for (uint j = 0; j < inner; ++j) {
      state = state * 1664525u + 1013904223u;
      ++steps;
    }
    ++rounds;
  }
  report[first_report] = state;
  report[first_report + 1] = steps;
  report[first_report + 2] = rounds;
}
