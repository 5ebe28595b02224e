// Programs with an array that is larger than what they are given and give back: which of them compute its rows in turns.
#pragma once

#include <cstdint>

namespace spirograd::test {

struct TurnsProgram {
  const char* name;
  const char* text;
  int64_t parts;  // with caches of 4 KiB; 1: all rows at once
};

// Of all pairs of x and y; what is multiplied with a matrix is stored first.
#define ARGS "x: f32[96], y: f32[40], w: f32[40, 8]"
#define PAIRS "let z = for i: 96, j: 40 => exp(sin(x[i] * y[j]))\n"

inline constexpr TurnsProgram kTurnsPrograms[] = {
    {"rows_are_summed", "def main(" ARGS ") { " PAIRS " (sum(exp(z @ w), axis=0), sum(z)) }", 4},
    {"results_have_rows", "def main(" ARGS ") { " PAIRS " z @ w }", 3},
    {"rows_lie_behind", "def main(" ARGS ") { " PAIRS " transpose(z @ w, [1, 0]) }", 3},
    {"a_row_is_left",
     "def main(x: f32[97], y: f32[40], w: f32[40, 8]) { let z = for i: 97, j: 40 => exp(sin(x[i] * y[j]))\n"
     "(z @ w, sum(z), for i: 97 => x[i] * f32(i) + sum(z[i])) }",
     2},
    {"positions",
     "def main(" ARGS
     ") { let z = for i: 96, j: 40 => exp(sin(x[i] * f32(i) * 0.01 + y[j]))\n for i: 96 => 0.01 * f32(i) * (z[i] @ w) }",
     3},
    {"given_along_another_axis",
     "def main(x: f32[4, 96], y: f32[40], w: f32[40, 8]) {\n"
     "let z = for i: 96, j: 40 => exp(sin(sum(for a: 4 => x[a, i]) * y[j]))\n z @ w }",
     3},
    {"scattered", "def main(" ARGS ", k: i32[96]) { " PAIRS " scatter([9], sum(exp(z @ w), axis=1), k) }", 4},
    {"looked_up",
     "def main(t: f32[9], k: i32[96], y: f32[40], w: f32[40, 8]) { let z = for i: 96, j: 40 => exp(sin(t[k[i]] * y[j]))\n z "
     "@ w }",
     3},
    {"reshaped", "def main(" ARGS ") { " PAIRS " reshape(z @ w, [96, 2, 4]) }", 3},
    {"six_axes_leave_the_other_axis", "def main(" ARGS ") { " PAIRS " reshape(z @ w, [96, 2, 2, 2, 1, 1]) }", 3},
    {"split_rows", "def main(" ARGS ") { " PAIRS " reshape(z @ w, [48, 16]) }", 1},
    {"neighbours", "def main(" ARGS ") { " PAIRS " let a = z @ w\n for i: 95 => a[i] - a[i + 1] }", 1},
    {"sum_is_needed", "def main(" ARGS ") { " PAIRS " let a = z @ w\n a / sum(a) }", 1},
    {"reversed", "def main(" ARGS ") { " PAIRS " z @ w + reverse(z @ w, 0) }", 1},
    {"loops", "def main(" ARGS ") { " PAIRS " fold(fn(s, r) => sin(s) + r, w[0], z @ w) }", 1},
    {"small",
     "def main(x: f32[24], y: f32[40], w: f32[40, 8]) { let z = for i: 24, j: 40 => exp(sin(x[i] * y[j]))\n z @ w }", 1},
    {"given_is_as_large",
     "def main(x: f32[96, 40], y: f32[40], w: f32[40, 8]) { let z = for i: 96, j: 40 => exp(sin(x[i, j] * y[j]))\n z @ w }",
     1},
    {"large_sums", "def main(" ARGS ", k: i32[96]) { " PAIRS " scatter([900], sum(exp(z @ w), axis=1), k) }", 1},
};

#undef ARGS
#undef PAIRS

}  // namespace spirograd::test
