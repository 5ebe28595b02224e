// Programs that work on derivatives is about, written out: closures, models, structured losses, simulators, second order.
// Each is compared with finite differences in both modes, or with what it has to come to. docs/coverage.md names them.
#include "frontend/rewrite/passes.h"
#include "spirograd/text.h"
#include "spirv/lower/plan.h"
#include "support/lowered.h"
#include "support/same_nodes.h"
#include "tests/grad/grad_support.h"

namespace spirograd::grad_test {
namespace programs_test {

Program program(const std::string& text) { return text::instantiate(text::parse(text, "test.sg").value()).value(); }
Inputs values(const std::string& text, const Inputs& inputs) { return run(program(text), inputs); }

Program optimised(const Program& p) { return rewrite::optimise_for_lowering(p, {.verify = true}); }
size_t operations(const Program& p) { return rewrite::operations(optimised(p)); }
size_t count(const Program& p, Op op) {
  size_t n = 0;
  (void)reaches(optimised(p), [&](const Node& node) { return n += node.op == op, false; });
  return n;
}

Values ramp(int n, double step) {
  Values v;
  for (int i = 0; i < n; ++i) v.push_back(std::sin(1.0 + i * step));
  return v;
}

// ---- functions as values

TEST(Programs, CurriedFunctionsAreThoseWrittenOut) {
  const std::string f = "def f(x: f64[2], y: f64) -> f64 = sum(sin(x) * y) + y * y\n";
  const std::string curry = "  let curry = fn(g) => fn(u) => fn(v) => g(u, v)\n";
  const std::string uncurry = "  let uncurry = fn(g) => fn(u, v) => g(u)(v)\n";
  const Program direct = program(f + "def main(x: f64[2], y: f64) { f(x, y) * f(x, 2 * y) }");
  // Applying what was curried, currying what was uncurried, partial application and composition change no node.
  for (const char* body :
       {"let h = curry(f)(x)\n h(y) * h(2 * y)", "uncurry(curry(f))(x, y) * uncurry(curry(f))(x, 2 * y)",
        "curry(uncurry(curry(f)))(x)(y) * f(x, 2 * y)", "let h = fn(v) => f(x, v)\n h(y) * h(2 * y)",
        "let after = fn(g, h) => fn(v) => g(h(v))\n f(x, y) * after(fn(v) => f(x, v), fn(v) => 2 * v)(y)"}) {
    const Program p = program(f + "def main(x: f64[2], y: f64) {\n" + curry + uncurry + body + " }");
    EXPECT_TRUE(test::same_nodes(p, direct)) << body;
    EXPECT_TRUE(test::same_nodes(grad(p).value(), grad(direct).value())) << body;
    EXPECT_TRUE(test::same_nodes(jvp(p).value(), jvp(direct).value())) << body;
  }
}

TEST(Programs, WhatAFunctionCapturesHasItsGradient) {
  // Of x alone: were what the inner function captures taken for a constant, all of these would be 0.
  const std::string map = "vmap(fn(y) => x * y * y)(ys)";
  EXPECT_EQ(values("def f(x: f64, ys: f64[3]) = grad(fn(x) => sum(" + map + "))(x)", {{2}, {1, 2, 3}})[0][0], 14);
  EXPECT_EQ(values("def f(x: f64, ys: f64[3]) { let (s, d) = jvp(fn(x) => sum(" + map + "), x, 1.0)\n d }",
                   {{2}, {1, 2, 3}})[0][0],
            14);
  EXPECT_EQ(
      values("def f(x: f64, y: f64) = grad(fn(x) => { let g = fn(v) => x * v\n g(y) + g(g(y)) })(x)", {{2}, {3}})[0][0],
      3 + 2 * 2 * 3);
}

TEST(Programs, DerivativesOfDerivativesInEveryOrderOfModes) {
  const Inputs out = values(
      "def cube(x: f64) -> f64 = x * x * x\n"
      "def main(x: f64) {\n"
      "  let forward = fn(g) => fn(x) => { let (y, d) = jvp(g, x, 1.0)\n d }\n"
      "  let backward = fn(g) => fn(x) => { let (y, pull) = vjp(g, x)\n pull(1.0) }\n"
      "  [forward(forward(cube))(x), forward(backward(cube))(x), backward(forward(cube))(x), backward(backward(cube))(x),\n"
      "   grad(forward(backward(cube)))(x)]\n}",
      {{2}});
  EXPECT_EQ(out[0], (Values{12, 12, 12, 12, 6}));
}

TEST(Programs, DerivativesOfHighOrderStaySmallAndVanish) {
  const auto of_order = [](int order, const std::string& f) {
    std::string d = "fn(x) => " + f;
    for (int k = 0; k < order; ++k) d = "grad(" + d + ")";
    return program("def main(x: f64) = " + d + "(x)");
  };
  EXPECT_EQ(operations(of_order(3, "x * x + 3 * x")), 1u) << "the constant 0";
  EXPECT_LE(operations(of_order(5, "sin(x)")), 2u);
  EXPECT_LE(operations(of_order(5, "exp(2 * x)")), 10u);
  EXPECT_LE(operations(of_order(5, "exp(2 * sin(x))")), 100u);
  EXPECT_NEAR(run(of_order(5, "exp(2 * sin(x))"), {{1}})[0][0], 225.41289, 1e-4);
}

TEST(Programs, ManyDirectionsShareTheValue) {
  const Program p = program(
      "def f(x: f64[4]) -> f64[4] = exp(x) * x[0]\n"
      "def main(x: f64[4]) { let (y, slope) = linearize(f, x)\n vmap(slope)(eye(4, dtype=f64)[0:3]) }");
  EXPECT_EQ(count(p, Op::Exp), 1u);
  expect_near(run(p, {{0, 1, 2, 3}})[0],
              {1, std::exp(1.0), std::exp(2.0), std::exp(3.0), 0, 0, 0, 0, 0, 0, 0, 0});  // rows: by x[0], x[1], x[2]
}

TEST(Programs, GradientsOfEachExample) {
  expect_near(values("def loss(w: f64[2], x: f64[2], y: f64) -> f64 = square(dot(w, x) - y)\n"
                     "def main(w: f64[2], x: f64[3,2], y: f64[3]) = vmap(grad(loss), in_axes=(None, 0, 0))(w, x, y)",
                     {{1, 2}, {1, 0, 0, 1, 1, 1}, {0, 0, 0}})[0],
              {2, 0, 0, 4, 6, 6});
}

// ---- what derivatives cost

TEST(Programs, DerivativesDoNotGrowWithArrays) {
  const auto size = [](const std::string& n) {
    return operations(grad(program("def f(x: f64[" + n + "]) = sum(for i: " + n + " => sin(x[i]) * x[i - 1])")).value());
  };
  EXPECT_EQ(size("10"), size("100000"));
}

TEST(Programs, ForwardModeStoresNothingOfLoops) {
  const auto scratch = [](const Program& p) { return lower::lower(optimised(p), test::cpu_target()).scratch_bytes; };
  const Program p = program("def f(x: f32[64]) = sum(fori(10000, fn(i, s) => sin(s) * 0.9 + s * 0.05, x))");
  EXPECT_LE(scratch(jvp(p).value()), 16u * 64 * 4);
  EXPECT_GE(scratch(grad(p).value()), 10000u * 64 * 4);
}

TEST(Programs, OneHotArraysAreNeverStored) {
  const auto scratch = [](const std::string& text) {
    return lower::lower(optimised(value_and_grad(program(text), {"x"}).value()), test::cpu_target()).scratch_bytes;
  };
  EXPECT_EQ(scratch("def f(x: f32[1000], k: i32) -> f32 = sum(square(x) * one_hot(k, 1000))"), 0u);
  EXPECT_EQ(scratch("def f(x: f32[1000], k: i32) -> f32 = square(x[k])"), 0u);
  EXPECT_LE(scratch("def f(x: f32[1000], k: i32[50]) -> f32 = sum(square(one_hot(k, 1000) @ x))"), 1024u) << "of 200,000";
}

TEST(Programs, FieldsOfLargeStructsHaveDerivativesOfTheirOwn) {
  const auto size = [](int n) {
    std::string fields, sum = "0.0";
    for (int i = 0; i < n; ++i)
      fields += "  a" + std::to_string(i) + ": f64\n", sum += " + square(s.a" + std::to_string(i) + ")";
    return operations(
        program("struct S {\n" + fields + "}\ndef g(s: S) -> f64 = " + sum + "\ndef f(s: S) -> S = grad(g)(s)"));
  };
  EXPECT_EQ(size(1000), 2001u) << "a product by 2 for each parameter, and the number";
}

// ---- models and losses

TEST(Programs, ANetworkLearnsFromMinibatches) {
  // Two layers, softmax cross-entropy, 40 rounds over 6 minibatches of 8 points in three classes.
  const std::string text =
      "struct Model { w: f64[8,2], b: f64[8], v: f64[3,8] }\n"
      "def logits(m: Model, x: f64[2]) -> f64[3] = m.v @ tanh(m.w @ x + m.b)\n"
      "def loss(m: Model, x: f64[B,2], y: i32[B]) -> f64 = mean(for i: B => -log_softmax(logits(m, x[i]))[y[i]])\n"
      "def main(w: f64[8,2], v: f64[3,8], x: f64[48,2], y: i32[48]) -> (before: f64, after: f64) {\n"
      "  let start = Model(w, zeros(8), v)\n"
      "  let m = fori(240, fn(t, m) => {\n"
      "    let at = for j: 8 => (8 * t + j) % 48\n"
      "    let g = grad(loss)(m, x[at], y[at])\n"
      "    Model(m.w - 0.5 * g.w, m.b - 0.5 * g.b, m.v - 0.5 * g.v)\n"
      "  }, start)\n"
      "  (loss(start, x, y), loss(m, x, y))\n}\n";
  Values x, y;
  for (int i = 0; i < 48; ++i) {
    const double angle = 2.1 * (i % 3) + 0.5 * std::sin(i * 1.7);
    x.push_back(std::cos(angle)), x.push_back(std::sin(angle)), y.push_back(i % 3);
  }
  const Inputs out = values(text, {ramp(16, 2.3), ramp(24, 1.1), x, y});
  EXPECT_GT(out[0][0], 0.8);
  EXPECT_LT(out[1][0], 0.1);
}

TEST(Programs, NewtonStepsByConjugateGradientsFitALogisticRegression) {
  // Hessians are never formed: each step solves for itself by three products of the Hessian with a vector.
  const std::string text =
      "def loss(w: f64[3], x: f64[20,3], y: f64[20]) -> f64 = mean(softplus(x @ w) - y * (x @ w)) + 0.01 * sum(w * w)\n"
      "def main(x: f64[20,3], y: f64[20]) {\n"
      "  let step = fn(i, w) => {\n"
      "    let g = grad(loss)(w, x, y)\n"
      "    let conjugate = fn(k, (p, r, d)) => {\n"
      "      let hd = hvp(loss)(w, x, y, d)\n"
      "      let a = dot(r, r) / (dot(d, hd) + 1e-30)\n"
      "      let next = r - a * hd\n"
      "      (p + a * d, next, next + dot(next, next) / (dot(r, r) + 1e-30) * d)\n"
      "    }\n"
      "    let (p, r, d) = fori(3, conjugate, (zeros(3), -g, -g))\n"
      "    w + p\n"
      "  }\n"
      "  let w = fori(8, step, zeros(3))\n"
      "  norm(grad(loss)(w, x, y))\n}\n";
  Values y;
  for (int i = 0; i < 20; ++i) y.push_back(i % 3 == 0);
  EXPECT_LT(values(text, {ramp(60, 1.9), y})[0][0], 1e-10);
}

TEST(Programs, GradientsOfAChainAreItsMarginals) {
  // A conditional random field: the gradient of log Z by the potentials is how probable each label is, here by counting.
  const std::string text =
      "def log_z(u: f64[4,2], t: f64[2,2]) -> f64 =\n"
      "  logsumexp(fold(fn(a, e) => e + logsumexp(a[:, None] + t, axis=0), u[0], u[1:4]))\n"
      "def main(u: f64[4,2], t: f64[2,2]) = grad(log_z)(u, t)\n";
  const Values u = ramp(8, 1.3), t = ramp(4, 0.7);
  Values marginals(8, 0.0);
  double z = 0;
  for (int path = 0; path < 16; ++path) {
    double score = 0;
    for (int i = 0; i < 4; ++i) score += u[static_cast<size_t>(2 * i + (path >> i & 1))];
    for (int i = 1; i < 4; ++i) score += t[static_cast<size_t>(2 * (path >> (i - 1) & 1) + (path >> i & 1))];
    z += std::exp(score);
    for (int i = 0; i < 4; ++i) marginals[static_cast<size_t>(2 * i + (path >> i & 1))] += std::exp(score);
  }
  for (double& m : marginals) m /= z;
  expect_near(run(program(text), {u, t})[0], marginals);
}

TEST(Programs, AlignmentsOfTwoSequencesAreDifferentiable) {
  // Edit distance with a soft minimum: a table filled row by row, each row a scan over the row before.
  const Program p = program(
      "def f(cost: f64[4,5]) -> f64 {\n"
      "  let soft_min = fn(a, b) => -logaddexp(-a, -b)\n"
      "  let last = fold(fn(row, costs) => scan(fn(s, (diagonal, up, c)) =>\n"
      "    soft_min(soft_min(s + 1.0, up + 1.0), diagonal + c), row[0] + 1.0, (row[0:5], row[1:6], costs)), f64(iota(6)), "
      "cost)\n"
      "  last[5]\n}\n");
  std::mt19937 rng(7);
  check_derivatives(p, {ramp(20, 0.9)}, rng, 2);
}

TEST(Programs, MemoriesThatAreAddressedSoftlyLearnToCopy) {
  const std::string text =
      "def moved(w: f64[4], k: f64[4]) -> f64[4] = for i: 4 => sum(for j: 4 => w[j] * softmax(k)[(i - j + 4) % 4])\n"
      "def loss(k: f64[4], x: f64[4,2]) -> f64 {\n"
      "  let first = f64([1, 0, 0, 0])\n"
      "  let (m, w) = fold(fn((m, w), e) => (m + outer(w, e), moved(w, k)), (zeros([4, 2]), first), x)\n"
      "  let (v, y) = map_accum_l(fn(w, e) => (moved(w, k), w @ m), first, x)\n"
      "  mean(square(y - x))\n}\n"
      "def main(k: f64[4], x: f64[4,2]) -> (before: f64, after: f64) =\n"
      "  (loss(k, x), loss(fori(300, fn(i, k) => k - 2.0 * grad(loss)(k, x), k), x))\n";
  const Inputs out = values(text, {{0.1, 0.3, 0, 0}, ramp(8, 1.7)});
  EXPECT_GT(out[0][0], 0.05);
  EXPECT_LT(out[1][0], 0.01);
}

TEST(Programs, MessagesAlongTheEdgesOfAGraph) {
  const Program p = program(  // edges are inputs; some stand twice, one leads out of the graph
      "def f(w: f64[2,2], h: f64[5,2], from: i32[7], to: i32[7]) -> f64 =\n"
      "  sum(square(h + segment_sum(tanh(h[from] @ w), to, 5)))\n");
  std::mt19937 rng(8);
  check_derivatives(p, {ramp(4, 1.1), ramp(10, 0.6), {0, 1, 1, 2, 3, 4, 4}, {1, 1, 1, 0, 0, 2, 9}}, rng, 2);
}

TEST(Programs, AControllerLearnsThroughASimulator) {
  // A pole on a cart, 150 steps, of which reverse mode keeps about 24; the controller is found by descent.
  const std::string text =
      "def cost(k: f64[2], start: f64[2]) -> f64 {\n"
      "  let step = fn(i, (s, c)) => {\n"
      "    let force = dot(k, s)\n"
      "    let next = [s[0] + 0.02 * s[1], s[1] + 0.02 * (10.0 * sin(s[0]) - force * cos(s[0]))]\n"
      "    (next, c + dot(next, next) + 0.001 * force * force)\n"
      "  }\n"
      "  let (s, c) = fori(150, step, (start, 0.0), keep=sqrt)\n"
      "  c / 150\n}\n"
      "def main(k: f64[2], start: f64[2]) -> (before: f64, after: f64) {\n"
      "  let descend = fn(i, k) => { let g = grad(cost)(k, start)\n k - g / (0.1 + norm(g)) }\n"
      "  (cost(k, start), cost(fori(60, descend, k), start))\n}\n";
  const Inputs out = values(text, {{5, 1}, {0.1, 0}});
  EXPECT_GT(out[0][0], 10);
  EXPECT_LT(out[1][0], 0.02);
}

}  // namespace programs_test
}  // namespace spirograd::grad_test
