// Loops of small state, by the size of the state and the number of steps: what one invocation or one workgroup runs.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "spirograd/program.h"
#include "spirograd/text.h"

namespace spirograd::test {

struct LoopProgram {
  const char* name;
  const char* body;          // of a, b: f32[H] and xs: f32[T, H]; a number
  bool gradient_too = true;  // its gradient runs in kernels as well
};

inline const std::vector<LoopProgram>& loop_programs() {
  static const std::vector<LoopProgram> all = {
      {"neighbours", "sum(square(fold(fn(s, x) => for k: H => 0.5 * s[k] + x[k] * s[H - 1 - k] * b[0], a, xs)))"},
      {"normalised",
       "{\n"
       "let (y, z) = fold(fn((s, t), x) => {\n"
       "let n = s - log(sum(exp(s)) + 2.0)\n"
       "(sin(n * b) + x, t + sum(n * x)) }, (a, 0.0), xs)\n"
       "sum(square(y)) + z }"},
      {"matrix",
       "{\n"
       "let w = for i: H, j: H => sin(f32(i * 3 + j)) * b[i] / f32(H)\n"
       "sum(square(fold(fn(s, x) => tanh(w @ s + x), a, xs))) }"},
      {"ignored", "sum(square(fold(fn(s, x) => x * b + sum(x), a, xs)))"},
      {"shapes",
       "{\n"
       "let u0 = for i: 2, k: H => b[k] * f32(i)\n"
       "let (s, u, m) = fold(fn((s, u, m), x) => (s * 0.3 + u[1] + x,\n"
       "for i: 2, k: H => u[1 - i, k] * 0.5 + s[k] * b[k], max(m, sum(s))), (a, u0, 0.0), xs)\n"
       "sum(square(s)) + sum(u) + m }"},
      {"places", "sum(square(fori(T, fn(i, s) => for k: H => 0.5 * s[rem(k + i, H)] + b[argmax(s)] * xs[i, k], a)))", false},
      {"nested", "sum(fold(fn(s, x) => fori(3, fn(j, u) => for k: H => sin(u[H - 1 - k]) + 0.2 * s[0] + x[k], s), a, xs))",
       false},
      {"states", "sum(square(scan(fn(s, x) => sin(s * sum(s) + x) * b, a, xs)))"},
      {"elements", "sum(square(fold(fn(s, x) => tanh(s * b + x), a, xs)))"},
  };
  return all;
}

inline Program loop_program(const LoopProgram& p, int64_t state, int64_t steps) {
  const std::string text = std::string("def main(a: f32[H], b: f32[H], xs: f32[T, H]) -> (l: f32) = ") + p.body + "\n";
  return text::instantiate(text::parse(text, "loops.sg").value(), "", {{"H", state}, {"T", steps}}).value();
}

/// Inputs of such a program.
inline std::vector<std::vector<double>> loop_inputs(int64_t state, int64_t steps) {
  std::vector<std::vector<double>> out;
  for (int64_t n : {state, state, state * steps}) {
    std::vector<double>& v = out.emplace_back();
    for (int64_t i = 0; i < n; ++i)
      v.push_back(static_cast<float>(0.6 * std::sin(0.7 * static_cast<double>(i + 5 * static_cast<int64_t>(out.size())))));
  }
  return out;
}

}  // namespace spirograd::test
