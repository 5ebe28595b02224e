// Programs that read, write and keep f16, with a C++ twin in none of them: they are text for every layer.
#pragma once

#include <string>

namespace spirograd::test {

struct F16Program {
  const char* name;
  const char* text;
  bool rounds;  // within: values differ from those of the interpreter, which rounds to no type
};

// clang-format off
inline constexpr F16Program kF16Programs[] = {
    {"elementwise", "def main(x: f16[37], y: f32[37]) -> f16[37] = sin(x) * y", true},
    {"one number", "def main(x: f16) -> f16 = x * 2.0", false},
    {"as it is", "def main(x: f16[7]) = x", false},
    {"turned", "def main(x: f16[5, 9]) -> f16[9, 5] = x.T", false},
    {"read backwards", "def main(x: f16[31]) -> f16[31] = reverse(x)", false},
    {"gathered", "def main(x: f16[20]) -> (a: f16[3], b: f32) { let i = const(i32[3], [19, 0, 7])\n  (x[i], sum(x[i] * x[i])) }", false},
    {"scattered", "def main(x: f16[40]) -> f32[4] = scatter([4], x, quot(iota(40), 10))", false},
    {"written out", "def main(x: f16[33]) -> f16[33] = for i: 33 => x[i] * 0.5 + x[32 - i]", true},
    {"sums", "def main(x: f16[65, 33]) -> (a: f32, b: f32[33], c: f32[65], d: i32) = (sum(x), sum(x, axis=0), max(x[:, :3], axis=1), argmax(x[3]))", false},
    {"product", "def main(x: f16[40, 30], y: f16[30, 20]) -> f32[40, 20] = x @ y", false},
    {"loop", "def main(x: f16[8, 8], y: f32[8]) -> f32[8] = fori(5, fn(i, s) => tanh(x @ s), y)", false},
    {"kept", "def main(x: f32[50, 40], y: f32[40, 60]) -> (a: f32, b: f32[50], c: f32[60]) {\n  let h = f16(tanh(x @ y))\n  (sum(h * h), sum(h, axis=1), sum(h, axis=0)) }", true},
    {"joined", "def main(x: f16[9], y: f32[4]) -> f16[13] = concat(x, y)", true},
    {"of whole numbers", "def main(x: i32[9]) -> (a: f16[9], b: i32[9]) = (f16(x), i32(f16(x) * 2.0))", false},
    {"chosen", "def main(x: f16[12], y: f16[12]) -> f16[12] = where(x < y, x, y)", false},
    {"nothing of it", "def main(x: f16[6]) -> (a: f16[0], b: f16[3]) = (x[0:0], for i: 3 => x[i + 6])", false},
    {"called", "def half(a: f16[n]) -> f16[n] = a * a\ndef main(x: f32[11]) = sum(half(x) - half(x * 0.5))", true},
};
// clang-format on

}  // namespace spirograd::test
