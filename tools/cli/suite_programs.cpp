#include "tools/cli/suite_programs.h"

namespace spirograd::cli {

const char* const kCheckedPrograms = R"sg(
def elementwise(x: f32[10007], y: f32[10007]) =
  exp(-x) * sin(3.0 * y) + log1p(x) / (1.0 + sqrt(y + 0.1)) + tanh(x - y) ** 3.0
def sums(x: f32[70001]) = (sum(x), mean(square(x)), logsumexp(x))
def extremes(x: f32[300,7]) = (max(x, axis=0), min(x, axis=1), prod(x + 0.5, axis=1), argmax(x, axis=1))
def softmax(x: f32[37,129]) = log_softmax(x, axis=1)
def product(a: f32[65,67], b: f32[67,33], c: f32[33]) = relu(a @ b + c - 17.0)
def einsums(a: f32[3,17,5], b: f32[3,5,19]) = einsum("bij,bjk->kbi", a, b)
def convolution(x: f32[2,3,17,19], w: f32[4,3,3,3]) = conv(x, w, padding=1)
def transposed(x: f32[7,33,65]) = transpose(x, [2, 0, 1])
def running(x: f32[5000]) = (cumsum(x), cummax(sin(20.0 * x)))
def reads(x: f32[1000]) = for i: 5000 => x[(i * i + 7) % 1000] * x[i % 3]
def histogram(u: f32[5000]) = scatter([17], u, for i: 5000 => (i * 31) % 19)
def sorted(x: f32[777]) = sort(x)
def masked(x: f32[4001]) = where(x > 0.5, log(x), where(x > 2.0, sqrt(x - 2.0), x * x))
def no_numbers(x: f32[99]) = {
  let y = sqrt(x - 2.0)
  (where(y == y, 3.0 * x, x), min(where(x > 0.5, y, x)))
}
def steps(x: f32[33], w: f32[33,33]) = fori(40, fn(i, s) => tanh(w @ s / 16.0 + 0.01 * f32(i)), x)
def states(x: f32[200]) = scan(fn(s, v) => 0.9 * s + sin(v), 0.0, x)
def until(x: f32[100]) = for i: 100 =>
  while(fn(r) => abs(r * r - x[i] - 1.0) > 0.00001, fn(r) => (r + (x[i] + 1.0) / r) / 2.0, 1.0, at_most=30)[0]
def inner_gradient(p: f32[50]) = for i: 50 =>
  fori(6, fn(k, x) => x - (x * x * x + x - p[i]) / grad(fn(y) => y * y * y * y / 4.0 + y * y / 2.0)(x), 1.0)
def integers(n: i32[100]) =
  (for i: 100 => quot(n[i] + i - 50, 7) * 1000003 + (i * 65537) % 251, random_bits(random_key(3), [64]))
def solved(a: f32[9,9], b: f32[9]) = solve(a @ transpose(a) + eye(9), b)
def fourier(x: f32[90]) = fft(x)
def nothing(x: f32[0,5], y: f32[5]) = (sum(x, axis=0) + y, x * y)
def doubles(x: f64[1001], w: f64[1001]) = (sum(exp(-x) * sin(w)), cumsum(x * w))
)sg";

const char* const kMeasuredPrograms = R"sg(
def scaled(x: f32[16777216]) = 2.0 * x
def total(x: f32[16777216]) = sum(x)
def softmax(x: f32[1024,1024]) = log_softmax(x, axis=1)
def product(a: f32[512,512], b: f32[512,512]) = a @ b
def histogram(u: f32[4194304]) = scatter([1024], u, for i: 4194304 => (i * 7919) % 1024)
)sg";

}  // namespace spirograd::cli
