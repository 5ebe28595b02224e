// An `if` on a scalar whose arms are work: what stands in them, and how much of it is saved where the other one is taken.
#pragma once

#include <string>

namespace spirograd::test {

struct ArmsProgram {
  const char* name;
  const char* arguments;  // with their types
  const char* taken;      // where the flag is true; both give the same type
  const char* other;
  const char* before = "";   // statements that both share
  double other_costs = 0.5;  // at most so much of what the taken arm does, in executed instructions,
  double gradient = 0.5;     // and of the gradient
};

/// A function of the arguments and `flag`, which is true above 1/2.
inline std::string text_of(const ArmsProgram& p) {
  return std::string("def main(") + p.arguments + ", flag: f32) -> f32 = {\n" + p.before + "if flag > 0.5 then " + p.taken +
         " else " + p.other + "\n}\n";
}
/// The same of one arm alone, without the flag.
inline std::string text_of(const ArmsProgram& p, bool taken) {
  return std::string("def main(") + p.arguments + ") -> f32 = {\n" + p.before + (taken ? p.taken : p.other) + "\n}\n";
}

inline constexpr ArmsProgram kArmsPrograms[] = {
    {"a_loop_in_an_arm", "x: f32, y: f32", "fori(200, fn(i, s) => s + 0.01 * sin(s * y), x)", "x * y", "", 0.1, 0.1},
    {"a_loop_of_dispatches", "x: f32[40, 40], y: f32", "sum(fori(4, fn(i, s) => tanh(s @ x), x)) * y", "y", "", 0.1, 0.1},
    {"a_reduction", "x: f32[900], y: f32", "sum(exp(sin(x)) * y)", "y", "", 0.2, 0.9},
    {"a_product", "x: f32[30, 20], y: f32[20, 30]", "sum(sin(x @ y))", "sum(x)", "", 0.3, 0.5},
    {"both_read_the_same", "x: f32[900], y: f32", "sum(fori(20, fn(i, s) => s * z, x))", "sum(z) * y",
     "let z = exp(x * y)\n", 0.6, 0.8},
    {"an_undefined_arm", "x: f32[50], y: f32", "sum(log(x - 2.0) / (y - y)) + fori(9, fn(i, s) => 1.0 / (s - s), y)",
     "sum(x) * y"},
    {"an_infinite_arm", "x: f32[50], y: f32", "sum(exp(fori(20, fn(i, s) => s * s * 40.0, x + 2.0)))", "sum(x * y)"},
    {"a_place_is_found", "x: f32[900], y: f32", "y * f32(argmax(sin(x)))", "sum(x[0:4])", "", 0.5, 1},
    {"running_sums", "x: f32[300], y: f32", "sum(sin(cumsum(x) * y))", "y", "", 0.3, 0.9},
    {"a_scatter", "x: f32[300], y: f32", "sum(exp(scatter([9], x, for i: 300 => i % 9)) * y)", "y", "", 0.5, 1},
    {"nested", "x: f32[60], y: f32",
     "if y > 100.0 then sum(fori(50, fn(i, s) => sin(s), x)) else if y > 50.0 then sum(x) else sum(fori(30, fn(i, s) => s * "
     "y, x))",
     "y", "", 0.3, 0.3},
    {"one_of_three", "x: f32[60], y: f32",
     "switch(i32(y) - 1, (fn(a) => sum(fori(20, fn(i, s) => sin(s), a)), fn(a) => sum(a * y), fn(a) => sum(fori(90, fn(i, "
     "s) => "
     "cos(s), a))), x)",
     "y * y", "", 0.5, 0.5},
    {"not_taken_where_true", "x: f32[60], y: f32", "if not (y > 100.0) then sum(fori(50, fn(i, s) => sin(s), x)) else y",
     "y", "", 0.2, 0.2},
    {"in_a_loop", "x: f32, y: f32",
     "fori(30, fn(i, s) => if s > 0.5 then fori(40, fn(j, t) => t - 0.001 * sin(t), s) else s + 0.01, x)", "y", "", 0.2,
     0.4},
    {"the_same_in_all_steps", "x: f32[2], y: f32",
     "fori(9, fn(i, s) => if s < 1.7 then s + 0.1 * fori(3, fn(j, t) => sin(sum(x * x)), sum(x)) else s, y)", "y", "", 0.5,
     0.7},
    {"a_loop_with_state_of_many", "x: f32[64], y: f32",
     "sum(fori(12, fn(i, s) => if sum(s) > 0.0 then fori(5, fn(j, t) => sin(t + reverse(t)), s) else s * y, x))", "y", "",
     0.3, 0.3},
    {"two_results_of_one_loop", "x: f32, y: f32",
     "{ let (a, b) = fori(50, fn(i, s) => (s[0] + 0.1 * s[1], s[1] - 0.1 * s[0]), (x, y))\n a * b + a }", "x + y", "", 0.2,
     0.2},
};

}  // namespace spirograd::test
