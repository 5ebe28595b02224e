// Random programs as people write them: functions, closures, derivatives inside of derivatives, rules of one's own, loops
// that end early or keep few states, structs. Each is spelt in two ways that mean the same: with these things, and without.
#pragma once

#include <string>
#include <vector>

#include "support/random_program.h"

namespace spirograd::test {

enum class Spelling : uint8_t {
  Rich,   // def, fn, custom_jvp, custom_vjp, struct, while, keep=, vmap, grad, vjp, hessian, fold, scan
  Plain,  // written out in let, for, fori, tuples and jvp
};

struct RandomSource {
  std::string text;
  std::vector<std::vector<double>> inputs;  // of main(v: f32[n], w: f32[n], s: f32, k: i32[n], m: bool)
};

/// The program of these decisions. Values and slopes are moderate, and nothing in it has a kink that inputs are likely to
/// hit, so that finite differences work.
RandomSource random_source(const Decisions& decisions, Spelling spelling);

}  // namespace spirograd::test
