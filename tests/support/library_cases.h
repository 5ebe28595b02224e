// Calls of the library with what they give: for the interpreter, and for every driver.
#pragma once

#include <cmath>
#include <string>
#include <vector>

namespace spirograd::test {

struct LibraryCase {
  const char* call;  // of x: f64[3] and labels k: i32[3]
  double value;      // known, at x = (0.5, -1.25, 2) and k = (2, 0, 1)
};

constexpr double kUnit = ((0x6b200159 >> 9) + 0.5) / (1 << 23);

// clang-format off
inline const LibraryCase kLibraryCases[] = {
    // losses: worked out by hand
    {"mse(x, [0, 1, 2])", (0.25 + 5.0625) / 3},
    {"huber(x, [0, 1, 2], 1)", (0.125 + (2.25 - 0.5)) / 3},
    {"cross_entropy_binary(x, [1, 0, 1])",
     (std::log1p(std::exp(-0.5)) + std::log1p(std::exp(-1.25)) + std::log1p(std::exp(-2.0))) / 3},
    {"cross_entropy([x, 2 * x, x], k)",
     (std::log(std::exp(0.5) + std::exp(-1.25) + std::exp(2.0)) * 2 - 2 + 1.25 +
      std::log(std::exp(1.0) + std::exp(-2.5) + std::exp(4.0)) - 1) / 3},
    {"hinge(x, [1, 1, -1])", (0.5 + 2.25 + 3) / 3},
    {"kl_divergence(softmax(x), [0.2, 0.3, 0.5])", 0.27314771860272674},
    // images
    {"sum(srgb_encode(srgb_decode([0.1, 0.5, 0.02])) * x)", 0.1 * 0.5 - 0.5 * 1.25 + 0.02 * 2},
    {"sum(srgb_decode((x + 2) / 5))", 0.8374751278538086},
    {"where(sum(unpack_rgba8([[4278190335u]])) == 2, x[0], 0)", 0.5},
    {"where(pack_rgba8([[[1, 0.5, -3, 0.25]]])[0, 0] == 1073774847u, x[0], 0)", 0.5},
    {"where(swap_red_and_blue([[287454020u]])[0, 0] == 289682210u, x[0], 0)", 0.5},
    // optimisers: first steps
    {"sum(sgd(x, [1, 2, 3], 0.1))", 1.25 - 0.6},
    {"sum(momentum(x, [1, 2, 3], [1, 1, 1], 0.1, 0.9)[0])", 1.25 - 0.1 * (1.9 + 2.9 + 3.9)},
    {"sum(nesterov(x, [1, 2, 3], [1, 1, 1], 0.1, 0.9)[0])", 1.25 - 0.1 * (6 + 0.9 * 8.7)},
    {"sum(rmsprop(x, [1, 2, 3], [0, 0, 0], 0.1, 0.75)[0])", 1.25 - 0.1 * 3 * 2},
    {"sum(adagrad(x, [3, 4, 2], [16, 9, 0], 0.1)[0])", 1.25 - 0.1 * (0.6 + 0.8 + 1)},
    {"sum(adam(x, [1, -2, 3], adam_start(x), 0.1)[0])", 1.25 - 0.1},
    {"adam(x, [1, -2, 3], AdamState(x, [4, 9, 16], 1), 0.1)[1].m[0]", 0.9 * 0.5 + 0.1},
    {"sum(adamw(x, [1, -2, 3], adam_start(x), 0.1, 0.5)[0])", 1.25 - 0.1 - 0.1 * 0.5 * 1.25},
    {"sum(lbfgs(fn(v) => dot(v, v) / 2, x, lbfgs_start(fn(v) => dot(v, v) / 2, x))[0])", 1.25 - 1.25 / std::sqrt(5.8125)},
    {"sum(clip_norm(x, 0.1))", 0.1 * 1.25 / std::sqrt(0.25 + 1.5625 + 4)},
    {"sum(clip_norm(x, 100))", 1.25},
    // distributions
    {"normal_lpdf(x[0], 1, 2)", -1.6433357137646178},
    {"lognormal_lpdf(x[2], 0.5, 1.5)", -2.025841007063506},
    {"student_lpdf(x[2], 3)", -2.695484570397917},
    {"cauchy_lpdf(x[1], 0.5, 2)", -2.4063818017620138},
    {"laplace_lpdf(x[0], 1, 2)", -0.25 - std::log(4.0)},
    {"exponential_lpdf(x[2], 3)", std::log(3.0) - 6},
    {"gamma_lpdf(x[2], 2.5, 1.5)", 2.5 * std::log(1.5) - std::lgamma(2.5) + 1.5 * std::log(2.0) - 3},
    {"beta_lpdf(x[0], 2, 3)", std::log(12 * 0.5 * 0.25)},
    {"times_log(x[2], exp(x[0]))", 1},
    {"poisson_lpmf(k[0], exp(x[0]))", 2 * 0.5 - std::exp(0.5) - std::log(2.0)},
    {"bernoulli_lpmf(k[2], x[0])", -std::log1p(std::exp(-0.5))},
    {"binomial_lpmf(k[0], 5, x[0])", std::log(10.0) + 1 - 5 * std::log1p(std::exp(0.5))},
    // sampling: what the published cipher of the key 0 and the counter 0 gives, 0x6b200159
    {"where(open_unit(random_bits(random_key(0), [1])) > 0.418457, x[2], x[1])[0]", 2},
    {"uniform_sample(random_key(0), [x[0]], [x[2]])[0]", 0.5 + 1.5 * kUnit},
    {"normal_sample(random_key(0), [x[0]], [x[2]])[0] - 2 * normal_sample(random_key(0), [0], [1])[0]", 0.5},
    {"log(lognormal_sample(random_key(0), [x[0]], [x[2]])[0]) - 2 * normal_sample(random_key(0), [0], [1])[0]", 0.5},
    {"exponential_sample(random_key(0), [x[2]])[0]", -std::log(kUnit) / 2},
    {"laplace_sample(random_key(0), [x[0]], [x[2]])[0]", 0.5 + 2 * std::log(2 * kUnit)},
    {"cauchy_sample(random_key(0), [x[0]], [x[2]])[0]", 0.5 - 2 / std::tan(M_PI * kUnit)},
    {"gumbel_sample(random_key(0), [x[0]], [x[2]])[0]", 0.5 - 2 * std::log(-std::log(kUnit))},
    {"if bernoulli_sample(random_key(0), [x[0]])[0] == 1 then x[2] else x[1]", 2},
    {"x[categorical_sample(random_key(0), [x])[0]]", 2},
    {"concrete_sample(random_key(0), [x], 2)[0, 1]", 0.10621075078652611},
    // linear algebra
    {"sum(conjugate_gradient(fn(v) => [[4, 1, 0], [1, 3, 1], [0, 1, 2]] @ v, x, 1e-14))", 31 / 36.0},
    {"power_iteration(fn(v) => diag3(x) @ v, [1, 1, 1], 1e-13)[0]", 2},
};
// clang-format on

inline const char* const kImports =
    "import losses\nimport optim\nimport distributions\nimport sampling\nimport linalg\nimport images\n";

/// A program of x and k whose value is that of the call. Of other floats than f64: `type`.
inline std::string source_of(const std::string& call, const std::string& type = "f64") {
  return std::string(kImports) + "def diag3(x: " + type + "[3]) = for i: 3, j: 3 => if i == j then x[i] else 0\n" +
         "def f(x: " + type + "[3], k: i32[3]) -> " + type + " = " + call;
}
inline std::string source_of_edge(const std::string& call, const std::string& type) {
  return std::string(kImports) + "def f(x: " + type + ") -> " + type + " = " + call;
}

inline const std::vector<std::vector<double>> kAt = {{0.5, -1.25, 2}, {2, 0, 1}};

// More calls, in which gradients and states are functions of x, too.
inline const char* const kCurvedCalls[] = {
    "sum(momentum(x, x * x, sin(x), 0.1, 0.9)[0])",
    "sum(nesterov(x, x * x, sin(x), 0.1, 0.9)[0])",
    "sum(rmsprop(x, x * x, exp(x), 0.1, 0.75)[0])",
    "sum(adagrad(x, x * x, exp(x), 0.1)[0])",
    "sum(adam(x, x * x, AdamState(x, exp(x), 1), 0.1)[0])",
    "sum(adamw(x, x * x, AdamState(x, exp(x), 1), 0.1, 0.5)[0])",
    "sum(clip_norm(x * x, 0.1) * x)",
    "huber(x, sin(x), exp(x[0]) / 4)",
    "gamma_lpdf(x[2], x[0], exp(x[1]))",
    "beta_lpdf(x[0], x[2], exp(x[1]))",
    "student_lpdf(x[1], x[2])",
    "sum(conjugate_gradient(fn(v) => x * x * v + sum(v), sin(x), 1e-14))",
    "sum(power_iteration(fn(v) => x * v + 0.1 * sum(v), [1, 1, 1], 1e-13)[1])",
};

struct LibraryEdge {
  const char* call;  // of one number x
  double x, value, slope;
};
/// The same number, or as near as `error`; infinities and what is no number are themselves.
inline bool near(double have, double want, double error) {
  if (std::isnan(want)) return std::isnan(have);
  return have == want || std::abs(have - want) <= error * (1 + std::abs(want));
}
constexpr double kInf = HUGE_VAL;

// Value and derivative where a formula could be 0 log(0), 0 / 0 or inf - inf, and where pieces meet.
// clang-format off
inline const LibraryEdge kLibraryEdges[] = {
    {"poisson_lpmf(0, x)", 0, 0, -1},
    {"poisson_lpmf(0, x)", 2, -2, -1},
    {"poisson_lpmf(1, x)", 0, -kInf, kInf},
    {"gamma_lpdf(x, 1, 3)", 0, std::log(3.0), -3},
    {"gamma_lpdf(x, 2, 3)", 0, -kInf, kInf},
    {"gamma_lpdf(x, 0.5, 3)", 0, kInf, -kInf},
    {"gamma_lpdf(1e-3, x, 1)", 1, -1e-3, std::log(1e-3) + 0.57721566490153286},
    {"beta_lpdf(x, 1, 1)", 0, 0, 0},
    {"beta_lpdf(x, 1, 1)", 1, 0, 0},
    {"beta_lpdf(x, 1, 3)", 0, std::log(3.0), -2},
    {"beta_lpdf(x, 3, 1)", 1, std::log(3.0), 2},
    {"beta_lpdf(x, 2, 2)", 1, -kInf, -kInf},
    {"times_log(x, 2)", 0, 0, std::log(2.0)},
    {"times_log(0, x)", 0, 0, 0},
    {"exponential_lpdf(x, 3)", 0, std::log(3.0), -3},
    {"exponential_lpdf(2, x)", 0, -kInf, kInf},
    {"lognormal_lpdf(x, 0, 1)", 0, -kInf, 0},
    {"normal_lpdf(x, 0, 1)", kInf, -kInf, -kInf},
    {"student_lpdf(x, 1)", 0, -std::log(M_PI), 0},
    {"cauchy_lpdf(x, 2, 1)", 2, -std::log(M_PI), 0},
    {"laplace_lpdf(x, 2, 0.5)", 2, 0, 0},
    {"bernoulli_lpmf(1, x)", kInf, 0, 0},
    {"bernoulli_lpmf(1, x)", -kInf, -kInf, 1},
    {"bernoulli_lpmf(0, x)", -kInf, 0, 0},
    {"binomial_lpmf(3, 3, x)", kInf, 0, 0},
    {"binomial_lpmf(0, 3, x)", -kInf, 0, 0},
    {"binomial_lpmf(0, 0, x)", kInf, 0, 0},
    {"binomial_lpmf(1, 3, x)", kInf, -kInf, -2},
    {"mse([x], [2])", 2, 0, 0},
    {"huber([x], [0], 1)", 1, 0.5, 1},
    {"huber([x], [0], 1)", kInf, kInf, 1},
    {"huber([x], [0], 0)", 3, 0, 0},
    {"huber([x], [0], 0)", 0, 0, 0},
    {"cross_entropy_binary([x], [0.25])", 0, std::log(2.0), 0.25},
    {"cross_entropy_binary([x], [1])", kInf, 0, 0},
    {"cross_entropy_binary([x], [1])", -kInf, kInf, -1},
    {"cross_entropy_binary([x], [0])", -kInf, 0, 0},
    {"cross_entropy_binary([-inf], [x])", 0, 0, kInf},
    {"cross_entropy([[x, 0]], [1])", -kInf, 0, 0},
    {"cross_entropy([[x, 0]], [1])", 1000, 1000, 1},
    {"hinge([x], [1])", 1, 0, 0},
    {"kl_divergence([x], [1])", 0, 0, 0},
    {"kl_divergence([x], [0])", 0, 0, 0},
    {"kl_divergence([0], [x])", 0, 0, 0},
    {"kl_divergence([1], [x])", 0, kInf, -kInf},
    {"sum(momentum([0], [x], [0], 1, 0)[0])", 0, 0, -1},
    {"sum(rmsprop([0], [x], [0], 1, 0)[0])", 0, 0, -1e8},
    {"sum(adagrad([0], [x], [0], 1)[0])", 0, 0, -1e8},
    {"sum(adam([0], [x], adam_start([0]), 1)[0])", 0, 0, -1e8},
    {"sum(clip_norm([x], 1))", 0, 0, 1},
    {"sum(clip_norm([x], 0))", 0, 0, 0},
    {"sum(conjugate_gradient(fn(v) => 2 * v, [x], 1e-6))", 0, 0, 0},
    {"sum(conjugate_gradient(fn(v) => 2 * v, [x], 1e-6))", 3, 1.5, 0.5},
    {"sum(conjugate_gradient(fn(v) => 0 * v, [0 * x], 1e-6))", 1, 0, 0},
    {"sum(conjugate_gradient(fn(v) => 0 * v, [1 + 0 * x], 1e-6))", 1, kInf, 0},
    {"power_iteration(fn(v) => 2 * v, [x], 1e-6)[0]", 0, 0, 0},
    {"sum(power_iteration(fn(v) => 2 * v, [x], 1e-6)[1])", 3, 1, 0},
};
// clang-format on

}  // namespace spirograd::test
