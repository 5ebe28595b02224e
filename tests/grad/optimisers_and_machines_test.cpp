// Two programs that are longer than those of programs_test.cpp: an optimiser of second order with Kronecker factors,
// and a machine whose programs are data. Each is compared with what it has to come to, written out in C++.
#include <algorithm>
#include <string>

#include "spirograd/text.h"
#include "tests/grad/grad_support.h"

namespace spirograd::grad_test {
namespace optimisers_and_machines_test {

Program program(const std::string& text) { return text::instantiate(text::parse(text, "test.sg").value()).value(); }
Inputs values(const std::string& text, const Inputs& inputs) { return run(program(text), inputs); }

Values ramp(int n, double step) {
  Values v;
  for (int i = 0; i < n; ++i) v.push_back(std::sin(1.0 + i * step));
  return v;
}

// ---- Kronecker factors (Martens and Grosse, Optimizing Neural Networks with Kronecker-factored Approximate Curvature)

// Of each layer two factors: the second moment of what goes in, and that of cotangents of what comes out before tanh.
// These are derivatives by an array of zeros that is added there. The Fisher matrix takes the mean over targets as the
// model expects them, here normal ones around its outputs: that is the sum of what the cotangents of each output give.
const std::string kFactors =
    "def moments(r: f64[N,M]) -> f64[M,M] = r.T @ r / N\n"
    "def curvature(f: fn, s: f64[N,M]) -> f64[M,M] =\n"
    "  sum(for k: len(f(s)[0]) => moments(grad(fn(s) => sum(f(s)[:, k]))(s)), axis=0)\n"
    "def natural(d: f64[K,M], a: f64[M,M], g: f64[K,K], damping: f64) -> f64[K,M] =\n"
    "  solve(g + damping * eye(K), solve(a + damping * eye(M), d.T).T)\n"
    "def loss(z: f64[N,K], y: f64[N,K]) -> f64 = sum(square(z - y)) / (2 * N)\n";

// A hidden layer of tanh and a linear one; a column of ones stands for the offsets of both.
const std::string kNet =
    "struct Net[H] { w: f64[H,3], v: f64[2,H+1] }\n"
    "def hidden(n: Net[H], x: f64[N,3], s: f64[N,H]) -> f64[N,H+1] =\n"
    "  concat(tanh(x @ n.w.T + s), ones([N, 1]), axis=1)\n"
    "def outputs(n: Net[H], x: f64[N,3], s: f64[N,H], t: f64[N,2]) -> f64[N,2] = hidden(n, x, s) @ n.v.T + t\n"
    "def error(n: Net[H], x: f64[N,3], y: f64[N,2]) -> f64 = loss(outputs(n, x, zeros([N, H]), zeros([N, 2])), y)\n"
    "def factors(n: Net[H], x: f64[N,3]) {\n"
    "  let (s, t) = (zeros([N, H], dtype=f64), zeros([N, 2], dtype=f64))\n"
    "  (moments(x), curvature(fn(s) => outputs(n, x, s, t), s),\n"
    "   moments(hidden(n, x, s)), curvature(fn(t) => outputs(n, x, s, t), t))\n"
    "}\n";

TEST(Programs, AKroneckerFactoredOptimiserLeavesGradientDescentBehind) {
  const std::string training =
      "def main(w: f64[8,3], v: f64[2,9], x: f64[30,3], y: f64[30,2], rates: f64[7]) ->\n"
      "    (g0: f64[8,8], a1: f64[9,9], g1: f64[2,2], before: f64, after: f64, plain: f64[7]) {\n"
      "  let start = Net(w, v)\n"
      "  let step = fn(i, n) => {\n"
      "    let d = grad(error)(n, x, y)\n"
      "    let (a0, g0, a1, g1) = factors(n, x)\n"
      "    n - 0.5 * Net(natural(d.w, a0, g0, 0.03), natural(d.v, a1, g1, 0.03))\n"
      "  }\n"
      "  let plain = for r: 7 => error(fori(20, fn(i, n) => n - rates[r] * grad(error)(n, x, y), start), x, y)\n"
      "  let (a0, g0, a1, g1) = factors(start, x)\n"
      "  (g0, a1, g1, error(start, x, y), error(fori(20, step, start), x, y), plain)\n}\n";
  const Values w = ramp(24, 2.3), v = ramp(18, 1.1);
  Values x, y;
  for (int i = 0; i < 30; ++i) {
    const double a = std::sin(1.7 * i), b = std::cos(0.9 * i);  // inputs differ in width, as they mostly do
    x.insert(x.end(), {2 * a, b / 2, 1}), y.insert(y.end(), {a * b, std::sin(2 * a)});
  }
  const Inputs out = values(kFactors + kNet + training, {w, v, x, y, {0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7}});
  const Values& plain = out[5];
  EXPECT_GT(plain.back(), out[3][0]) << "a rate at which gradient descent does not converge any more";
  EXPECT_LT(out[4][0], 0.1 * *std::min_element(plain.begin(), plain.end()));

  // The factors before the first step. The last layer is linear, so its cotangents are ones; those of the hidden layer
  // are the weights behind it times the slope of tanh.
  Values g0(64, 0.0), a1(81, 0.0);
  for (size_t n = 0; n < 30; ++n) {
    Values h(9, 1.0);
    for (size_t i = 0; i < 8; ++i)
      h[i] = std::tanh(w[3 * i] * x[3 * n] + w[3 * i + 1] * x[3 * n + 1] + w[3 * i + 2] * x[3 * n + 2]);
    for (size_t i = 0; i < 9; ++i)
      for (size_t j = 0; j < 9; ++j) a1[9 * i + j] += h[i] * h[j] / 30;
    for (size_t i = 0; i < 8; ++i)
      for (size_t j = 0; j < 8; ++j)
        for (size_t k = 0; k < 2; ++k)
          g0[8 * i + j] += v[9 * k + i] * (1 - h[i] * h[i]) * v[9 * k + j] * (1 - h[j] * h[j]) / 30;
  }
  expect_near(out[0], g0, 1e-12, "cotangents of the hidden layer");
  expect_near(out[1], a1, 1e-12, "inputs of the last layer");
  expect_near(out[2], {1, 0, 0, 1}, 1e-12, "cotangents of the last layer");

  // Of one linear layer the factors are all of the curvature, so one whole step is Newton's and leads to least squares.
  const std::string linear =
      "def main(w: f64[2,3], x: f64[30,3], y: f64[30,2]) -> f64[2,3] {\n"
      "  let g = curvature(fn(s) => x @ w.T + s, zeros([30, 2], dtype=f64))\n"
      "  w - natural(grad(fn(w) => loss(x @ w.T, y))(w), moments(x), g, 1e-12)\n}\n";
  const Values fitted = values(kFactors + linear, {ramp(6, 2.3), x, y})[0];
  for (size_t k = 0; k < 2; ++k)
    for (size_t d = 0; d < 3; ++d) {
      double slope = 0;
      for (size_t n = 0; n < 30; ++n) {
        double rest = -y[2 * n + k];
        for (size_t e = 0; e < 3; ++e) rest += fitted[3 * k + e] * x[3 * n + e];
        slope += rest * x[3 * n + d] / 30;
      }
      EXPECT_NEAR(slope, 0, 1e-9) << k << " " << d;
    }
}

// ---- a machine (Bosnjak and others, Programming with a Differentiable Forth Interpreter)

// A stack of five numbers, and where its top is. A program is a row of seven weights for each word: those of x, c, dup,
// swap, add, subtract, multiply. What a word leaves behind is the weighted mean of what these would leave.
const std::string kMachine =
    "struct Machine { stack: f64[5], top: f64[5] }\n"
    "def moved(t: f64[5], n: i32) -> f64[5] = for i: 5 => t[(i - n + 5) % 5]\n"
    "def put(m: Machine, at: f64[5], v: f64, top: f64[5]) -> Machine = Machine(m.stack * (1 - at) + v * at, top)\n"
    "def step(m: Machine, p: f64[7], x: f64, c: f64) -> Machine {\n"
    "  let (up, down) = (moved(m.top, 1), moved(m.top, -1))\n"
    "  let (a, b) = (dot(m.top, m.stack), dot(down, m.stack))\n"
    "  let binary = fn(v) => put(m, down, v, down)\n"
    "  p[0] * put(m, up, x, up) + p[1] * put(m, up, c, up) + p[2] * put(m, up, a, up) +\n"
    "    p[3] * put(put(m, down, a, down), m.top, b, m.top) +\n"
    "    p[4] * binary(b + a) + p[5] * binary(b - a) + p[6] * binary(b * a)\n"
    "}\n"
    "def result(p: f64[T,7], x: f64, c: f64) -> f64 {\n"
    "  let m = fold(fn(m, w) => step(m, w, x, c), Machine(zeros(5), one_hot(0, 5)), p)\n"
    "  dot(m.top, m.stack)\n"
    "}\n";
const std::string kWords = "xcds+-*";

/// The program of words that are certain; of another character, all weights are 0.
Values weights(const std::string& words) {
  Values p;
  for (const char word : words)
    for (const char known : kWords) p.push_back(word == known);
  return p;
}

double interpreted(const std::string& words, double x, double c) {
  Values stack;
  for (const char word : words) {
    if (word == 'x' || word == 'c') {
      stack.push_back(word == 'x' ? x : c);
      continue;
    }
    const double a = stack.back();
    if (word == 'd') {
      stack.push_back(a);
      continue;
    }
    stack.pop_back();
    const double b = stack.back();
    stack.back() = word == 's' ? a : word == '+' ? b + a : word == '-' ? b - a : b * a;
    if (word == 's') stack.push_back(b);
  }
  return stack.back();
}

TEST(Programs, AMachineWhoseProgramsAreDataIsDifferentiatedAndLearnsWords) {
  struct Case {
    std::string words;
    double by_x, by_c;
  };
  const double x = 0.7, c = -1.3;
  for (const Case& k :
       {Case{"xd*c+", 2 * x, 1}, Case{"xd*c*x+", 2 * x * c + 1, x * x}, Case{"cxs-d*", 2 * (x - c), -2 * (x - c)},
        Case{"xcsd-+", 0, 1}, Case{"xcxcx-*+*", c + 2 * x * c - 3 * x * x, x + x * x}}) {
    const Inputs out = values(kMachine + "def main(p: f64[" + std::to_string(k.words.size()) +
                                  ",7], x: f64, c: f64) -> (y: f64, by_x: f64, by_c: f64) {\n"
                                  "  let (y, (by_x, by_c)) = value_and_grad(result, wrt=(x, c))(p, x, c)\n"
                                  "  (y, by_x, by_c)\n}\n",
                              {weights(k.words), {x}, {c}});
    EXPECT_DOUBLE_EQ(out[0][0], interpreted(k.words, x, c)) << k.words;
    EXPECT_NEAR(out[1][0], k.by_x, 1e-12) << k.words;
    EXPECT_NEAR(out[2][0], k.by_c, 1e-12) << k.words;
  }

  // By the program itself: where its words are certain, and where every word is a bit of all.
  const Program any = program(kMachine + "def main(p: f64[5,7], x: f64, c: f64) = result(p, x, c)\n");
  std::mt19937 rng(9);
  check_derivatives(any, {weights("xd*c+"), {x}, {c}}, rng, 2);
  check_derivatives(any, {ramp(35, 0.8), {x}, {c}}, rng, 2);

  // Sketches: words that are not given are found by descent, from what the whole program makes of six numbers.
  const std::string learn =
      kMachine +
      "def main(given: f64[5,7], x: f64[6], y: f64[6], c: f64) -> (found: i32[5], before: f64, after: f64) {\n"
      "  let filled = fn(w) => where(sum(given, axis=1)[:, None] == 0, w, given)\n"
      "  let loss = fn(p) => mean(for i: 6 => square(result(p, x[i], c) - y[i]))\n"
      "  let descend = fn(i, l) => {\n"
      "    let g = grad(fn(l) => loss(filled(softmax(l))))(l)\n"
      "    l - 2.0 * g / (0.1 + norm(g))\n"
      "  }\n"
      "  let start = zeros([5, 7], dtype=f64)\n"
      "  let p = filled(one_hot(argmax(fori(100, descend, start), axis=1), 7))\n"
      "  (argmax(p, axis=1), loss(filled(softmax(start))), loss(p))\n}\n";
  const Program learning = program(learn);
  struct Sketch {
    std::string known, whole;
  };
  for (const Sketch& s :
       {Sketch{"xd?c+", "xd*c+"}, Sketch{"xd?c?", "xd*c+"}, Sketch{"xd?c?", "xd*c-"}, Sketch{"xc?x?", "xc+x*"}}) {
    const Values at = {-1.5, -1, -0.5, 0.5, 1, 1.5};
    Values wanted, have;
    for (const double u : at) wanted.push_back(interpreted(s.whole, u, 0.5));
    const Inputs out = run(learning, {weights(s.known), at, wanted, {0.5}});
    EXPECT_GT(out[1][0], 0.5) << s.known;
    EXPECT_LT(out[2][0], 1e-20) << s.known;
    std::string found;
    for (const double word : out[0]) found += kWords[static_cast<size_t>(word)];
    for (const double u : at) have.push_back(interpreted(found, u, 0.5));
    expect_near(have, wanted, 1e-12, found.c_str());
  }
}

}  // namespace optimisers_and_machines_test
}  // namespace spirograd::grad_test
