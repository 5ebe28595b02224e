// Masks: what a select does not take adds exactly zero to every derivative, whatever stands there. Known values, in forward
// and in reverse mode, per family of operations; second and third order; what is not protected; what it costs.
#include <algorithm>
#include <set>

#include "ad/deriv_rules.h"
#include "spirograd/text.h"
#include "tests/grad/grad_support.h"

namespace spirograd::grad_test {
namespace masks_test {

using In = const std::vector<Expr>&;
constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

Program parsed(const std::string& source) {
  const auto module = text::parse(source, "masks.sg");
  return text::instantiate(module.value()).value();
}

// The gradient by parameter 0 of a program with one scalar result, one entry per direction. Reverse and forward.
Values reverse_of(const Program& p, const Inputs& at) { return run(grad(p, {p.params[0].name}).value(), at)[0]; }
Values forward_of(const Program& p, const Inputs& at) {
  const Program f = jvp(p, {p.params[0].name}).value();
  Values out;
  for (size_t k = 0; k < at[0].size(); ++k) {
    Values e(at[0].size(), 0.0);
    e[k] = 1;
    out.push_back(run(f, joined(at, {e}))[1][0]);
  }
  return out;
}
/// Row `k` of the matrix of second derivatives by parameter 0, which is all there is, in each of the four orders.
std::vector<Values> second_of(const Program& p, const Inputs& at, size_t k) {
  Values e(at[0].size(), 0.0);
  e[k] = 1;
  const Program gradient = grad(p).value(), forward = jvp(p).value();
  const std::string dot = forward.results[1].name, x = p.params[0].name;
  std::vector<Values> rows = {run(jvp(gradient).value(), joined(at, {e}))[1],
                              run(vjp(gradient).value(), joined(at, {e}))[1],
                              run(grad(forward, {x}, dot).value(), joined(at, {e}))[0],
                              {}};
  const Program twice = jvp(forward, {x}).value();
  for (size_t j = 0; j < e.size(); ++j) {
    Values f(e.size(), 0.0);
    f[j] = 1;
    rows[3].push_back(run(twice, joined(at, {e, f})).back()[0]);
  }
  return rows;
}

struct Pattern {
  const char* what;
  std::string program;
  Inputs at;
  Values want;  // by the first parameter
};

void check(const std::vector<Pattern>& patterns) {
  for (const Pattern& t : patterns) {
    SCOPED_TRACE(t.what);
    const Program p = parsed("def main" + t.program);
    expect_near(reverse_of(p, t.at), t.want, 1e-12, "reverse");
    expect_near(forward_of(p, t.at), t.want, 1e-12, "forward");
  }
}

const double e1 = std::exp(1.0);

TEST(Masks, ElementsThrownAway) {
  check({
      {"missing labels",
       "(x: f64[3], t: f64[3]) -> (y: f64) = sum(where(t == t, square(x - t), 0))",
       {{1, 1, 2}, {1, kNan, 3}},
       {0, 0, -2}},
      {"NaN times itself", "(x: f64[3]) -> (y: f64) = sum(where(x == x, x * x, 0))", {{1, kNan, 2}}, {2, 0, 4}},
      {"overflow", "(x: f64[2]) -> (y: f64) = sum(where(x < 1000, x * x * x * x, 0))", {{1, 1e200}}, {4, 0}},
      {"times infinity",
       "(x: f64[3], w: f64[3]) -> (y: f64) = sum(where(w < 9, x * w, 0))",
       {{1, 1, 2}, {1, kInf, 3}},
       {1, 0, 3}},
      {"by a divisor of 0", "(x: f64[2], w: f64[2]) -> (y: f64) = sum(where(w == 0, 0, x / w))", {{1, 1}, {2, 0}}, {0.5, 0}},
      {"of a divisor of 0",
       "(w: f64[2], x: f64[2]) -> (y: f64) = sum(where(w == 0, 0, x / w))",
       {{2, 0}, {1, 0}},
       {-0.25, 0}},
      {"remainder by 0", "(w: f64[2], x: f64[2]) -> (y: f64) = sum(where(w == 0, 0, rem(x, w)))", {{2, 0}, {5, 1}}, {-2, 0}},
      {"the mask is the value",
       "(x: f64[3]) -> (y: f64) { let s = sqrt(x)\n sum(where(s > 0, s, 0)) }",
       {{4, 0, -1}},
       {.25, 0, 0}},
      {"the mask is the value, twice",
       "(x: f64[3]) -> (y: f64) { let s = log(x)\n let r = sqrt(s)\n sum(where(r > 0, r, 0)) }",
       {{e1, 1, 0}},
       {0.5 / e1, 0, 0}},
      {"a product of many",
       "(x: f64[2,3]) -> (y: f64) = sum(where([true, false], prod(log(x), axis=1), 0))",
       {{e1, e1, e1 * e1, 0, -1, 1}},
       {2 / e1, 2 / e1, 1 / (e1 * e1), 0, 0, 0}},
      {"scalar if", "(x: f64[2]) -> (y: f64) = if x[0] > 0 then log(x[0]) else x[1]", {{-1, 3}}, {0, 1}},
      {"nested",
       "(x: f64[3]) -> (y: f64) = sum(where(x > 1, log(x - 1), where(x > 0, sqrt(x), exp(-x))))",
       {{3, .25, -1}},
       {.5, 1, -e1}},
      {"zero residual", "(x: f64[2]) -> (y: f64) = sum(where(x > 0, square(log(x)), 0))", {{1, 0}}, {0, 0}},
  });
}

TEST(Masks, ManyUses) {
  check({
      {"two masks, one value",
       "(x: f64[3]) -> (y: f64) { let l = log(x)\n sum(where(x > 0, l, 0)) + sum(where(x > 1, l, 0)) }",
       {{3, .5, -1}},
       {2. / 3, 2, 0}},
      {"complementary",
       "(x: f64[3]) -> (y: f64) { let l = log(abs(x))\n sum(where(x > 0, l, 0)) + sum(where(x < 0, 2 * l, 0)) }",
       {{3, 0, -1}},
       {1. / 3, 0, -2}},
      {"one use outside, in other lanes",
       "(x: f64[2]) -> (y: f64) { let q = sqrt(x)\n sum(where(x > 0, q, 0)) + q[0] }",
       {{4, 0}},
       {.5, 0}},
      {"one value in two branches",
       "(x: f64[3]) -> (y: f64) { let l = log(x)\n sum(where(x > 1, l, where(x > 0, l * l, 0))) }",
       {{e1, 1, 0}},
       {1 / e1, 0, 0}},
  });
}

TEST(Masks, ThroughLayoutsAndIndices) {
  check({
      {"stack",
       "(x: f64[3]) -> (y: f64) { let l = log(x)\n sum(where([x > 0, x > 0], [l, 2 * l], 0)) }",
       {{3, 0, -1}},
       {1, 0, 0}},
      {"concat",
       "(x: f64[3]) -> (y: f64) { let l = log(x)\n let m = x > 0\n sum(where(concat(m, m), concat(l, l), 0)) }",
       {{3, 0, -1}},
       {2. / 3, 0, 0}},
      {"transpose",
       "(x: f64[4]) -> (y: f64) { let m = reshape(x, [2,2])\n sum(where(m.T > 0, log(m).T, 0)) }",
       {{1, 2, 0, -1}},
       {1, .5, 0, 0}},
      {"reshape",
       "(x: f64[4]) -> (y: f64) { let l = log(x)\n sum(where(reshape(x, [2,2]) > 0, reshape(l, [2,2]), 0)) }",
       {{1, 2, 0, -1}},
       {1, .5, 0, 0}},
      {"slice",
       "(x: f64[4]) -> (y: f64) { let l = log(x)\n sum(where(x[1:4] > 0, l[1:4], 0)) }",
       {{0, 2, 0, -1}},
       {0, .5, 0, 0}},
      {"gather",
       "(x: f64[4], i: i32[4]) -> (y: f64) { let l = log(x)\n sum(where(x[i] > 0, l[i], 0)) }",
       {{1, 2, 0, -1}, {0, 1, 0, 3}},
       {2, .5, 0, 0}},
      {"scatter",
       "(x: f64[3], i: i32[3]) -> (y: f64) { let s = scatter([2], log(x), i)\n sum(where([true, false], s, 0)) }",
       {{2, 0, 4}, {0, 1, 0}},
       {.5, 0, .25}},
      {"comprehension",
       "(x: f64[4]) -> (y: f64) { let l = log(x)\n sum(for j: 4 => if x[3-j] > 0 then l[3-j] else 0.0) }",
       {{1, 2, 0, -1}},
       {1, .5, 0, 0}},
      {"pairs",
       "(x: f64[3]) -> (y: f64) = sum(for i: 3, j: 3 => if x[i] > x[j] then sqrt(x[i] - x[j]) else 0.0)",
       {{1, 2, 2}},
       {-1, .5, .5}},
      {"vector under a matrix mask",
       "(x: f64[3], m: bool[2,3]) -> (y: f64) = sum(where(m, log(x) * [[1.0],[2.0]], 0))",
       {{3, 0, -1}, {1, 0, 0, 1, 0, 0}},
       {1, 0, 0}},
      {"row of -inf",
       "(x: f64[4]) -> (y: f64) = sum(where([true, false], logsumexp(reshape(x, [2,2]), axis=1), 0))",
       {{1, 2, -kInf, -kInf}},
       {1 / (1 + e1), e1 / (1 + e1), 0, 0}},
      {"greatest",
       "(x: f64[2,2]) -> (y: f64) = sum(where([true, false], max(log(x), axis=1), 0))",
       {{1, 2, 0, 0}},
       {0, .5, 0, 0}},
  });
}

TEST(Masks, ThroughContractions) {
  check({
      {"rows of missing data",
       "(x: f64[2], d: f64[3,2], m: bool[3]) -> (y: f64) = sum(where(m, d @ x, 0))",
       {{1, 2}, {1, 2, kNan, kInf, 3, 4}, {1, 0, 1}},
       {4, 6}},
      {"rows of missing weights",
       "(d: f64[2,2], x: f64[2]) -> (y: f64) = sum(where([true, false], d @ x, 0))",
       {{1, 2, kNan, kInf}, {3, 0}},
       {3, 0, 0, 0}},
      {"missing pixels",
       "(x: f64[2], d: f64[5]) -> (y: f64) { let c = for i: 4 => d[i] * x[0] + d[i+1] * x[1]\n sum(where(c == c, c, 0)) }",
       {{1, 2}, {1, 2, 3, kNan, 5}},
       {3, 5}},
      {"two layers",
       "(x: f64[2], w: f64[2,2], d: f64[2,2]) -> (y: f64) { let h = tanh(d * x @ w)\n sum(where([[true, true], [false, "
       "false]], h, 0)) }",
       {{0, 0}, {1, 2, 3, 4}, {1, 1, kInf, kNan}},
       {3, 7}},
      {"attention",
       "(x: f64[3], v: f64[3]) -> (y: f64) = sum(softmax(where([true, true, false], x, -inf)) * v)",
       {{0, 0, kNan}, {1, 3, 5}},
       {-.5, .5, 0}},
  });
}

TEST(Masks, ThroughLoops) {
  const double l = std::log(2.0);
  check({
      {"masked afterwards",
       "(x: f64[3]) -> (y: f64) = sum(where(x > 0, fori(2, fn(i, s) => log(s) + 3, x), 0))",
       {{1, 2, -1}},
       {1. / 3, 1 / (2 * (l + 3)), 0}},
      {"masked at every step",
       "(x: f64[3]) -> (y: f64) = sum(fori(2, fn(i, s) => where(s > 0, log(s), 0), x))",
       {{3, .5, -1}},
       {1 / (3 * std::log(3.0)), 0, 0}},
      {"a mask in one step, its value used in the next",
       R"((x: f64[2]) -> (y: f64) {
         let (s, t) = fori(3, fn(i, (s, t)) => (where(t > 0, s, 0), sqrt(t)), (x, x))
         sum(s) })",
       {{4, 0}},
       {1, 0}},
      {"the mask reaches an accumulator through another",
       R"((x: f64[2]) -> (y: f64) {
         let (a, b, c) = fori(3, fn(i, (a, b, c)) => (log(x) + 0 * a, a, b), (x, x, x))
         sum(where(x > 0, c, 0)) })",
       {{4, 0}},
       {.25, 0}},
      {"stacked results",
       "(x: f64[3]) -> (y: f64) = sum(where([true, true, false, false], scan(fn(s, e) => s + log(e), 0, x), 0))",
       {{2, 0, -1}},
       {.5, 0, 0}},
      {"elements, backwards",
       R"((x: f64[3]) -> (y: f64) {
         let (s, r) = map_accum_r(fn(s, e) => (s + 1, sqrt(e) * s), 1, x)
         sum(where(x > 0, r, 0)) })",
       {{4, 0, 0}},
       {.75, 0, 0}},
      {"constants",
       "(x: f64[2], d: f64[2,2]) -> (y: f64) = sum(where([true, false], fold(fn(s, r) => s + r * log(x), zeros(2, "
       "dtype=f64), d), 0))",
       {{2, 0}, {1, kInf, 3, kNan}},
       {2, 0}},
      {"loops in loops",
       R"((x: f64[2]) -> (y: f64) {
         let f = fn(i, s) => where(x > 0, fori(2, fn(j, t) => sqrt(t), s), 0)
         sum(fori(2, f, x)) })",
       {{1, 0}},
       {1. / 16, 0}},
      {"a loop over tangents of a mask",
       R"((x: f64[2]) -> (y: f64) {
         let z = where(x > 0, x, 0)
         sum(where(x > 0, fori(2, fn(i, s) => sqrt(s), z), 0)) })",
       {{1, 0}},
       {.25, 0}},
      {"a state that nobody reads",
       R"((x: f64[2]) -> (y: f64) {
         let (a, b) = fori(2, fn(i, (a, b)) => (sqrt(a), b * b), (x, x))
         sum(b) })",
       {{1, 0}},
       {4, 0}},
  });
}

// The zero of a select meets the slope above it: forward mode must keep it.
TEST(Masks, ZerosPutInUnderInfiniteSlopes) {
  check({
      {"root", "(x: f64[3]) -> (y: f64) = sum(sqrt(where(x > 0, x, 0)))", {{4, 0, -1}}, {.25, 0, 0}},
      {"root of a maximum", "(x: f64[2]) -> (y: f64) = sum(sqrt(max(0, x)))", {{4, -1}}, {.25, 0}},
      {"in the next step",
       "(x: f64[2]) -> (y: f64) { let (a, b) = fori(3, fn(i, (a, b)) => (where(x > 0, x, 0), sqrt(a)), (x + 1, x + 1))\n "
       "sum(b) }",
       {{4, 0}},
       {.25, 0}},
      {"in later steps",
       R"((x: f64[2]) -> (y: f64) {
         let (a, b, c) = fori(4, fn(i, (a, b, c)) => (where(x > 0, x, 0), a, sqrt(b)), (x + 1, x + 1, x + 1))
         sum(c) })",
       {{4, 0}},
       {.25, 0}},
  });
}

TEST(Masks, ConstantsThatAreNoHarmlessFactors) {
  const auto thrown = [](const std::function<Expr(Maker&, Expr)>& f) {
    const Program p = make({f64({2})}, [&](Maker& m, In in) {
      return sum_all(select(constant(m.g(), boolean({2}), {1, 0}), f(m, in[0]), m.like(in[0], 0)));
    });
    return reverse_of(p, {{3, 5}});
  };
  EXPECT_EQ(thrown([](Maker& m, Expr x) { return x / m.reals({2, 0}); }), (Values{0.5, 0}));
  EXPECT_EQ(thrown([](Maker& m, Expr x) { return x / m.reals({2, kNan}); }), (Values{0.5, 0}));
  EXPECT_EQ(thrown([](Maker& m, Expr x) { return x * m.reals({2, kInf}); }), (Values{2, 0}));
  EXPECT_EQ(thrown([](Maker& m, Expr x) { return x * -reverse(m.reals({kNan, 2}), 0); }), (Values{-2, 0}));
}

TEST(Masks, UsersMayGuardArgumentsThemselves) {
  check({
      {"double where",
       "(x: f64[3]) -> (y: f64) = sum(where(x > 0, sqrt(where(x > 0, x, 1)), 0))",
       {{4, 0, -1}},
       {.25, 0, 0}},
      {"a constant under the root", "(x: f64[3]) -> (y: f64) = sum(sqrt(where(x > 0, x, 1)))", {{4, 0, -1}}, {.25, 0, 0}},
  });
}

TEST(Masks, WhatIsTakenKeepsItsInfinitiesAndNaN) {
  const auto one = [](const std::string& f, double x) {
    const Program p = parsed("def main(x: f64[2]) -> (y: f64) = sum(where(x > -1, " + f + ", 0))");
    const Values r = reverse_of(p, {{x, -2}}), d = forward_of(p, {{x, -2}});
    EXPECT_EQ(r[1], 0) << f;
    EXPECT_TRUE(r[0] == d[0] || (std::isnan(r[0]) && std::isnan(d[0]))) << f << ": " << r[0] << ", " << d[0];
    return r[0];
  };
  EXPECT_EQ(one("sqrt(x)", 0), kInf);
  EXPECT_EQ(one("log(x)", 0), kInf);
  EXPECT_EQ(one("exp(x)", 1000), kInf);
  EXPECT_TRUE(std::isnan(one("sqrt(x * x)", 0)));
  EXPECT_TRUE(std::isnan(one("sin(x)", kInf)));
  EXPECT_TRUE(std::isnan(one("x * (0.0 / x)", 0)));
}

// Every operation with a derivative, on numbers at which value or slope may be infinite or undefined, in all operands.
TEST(Masks, EveryOperationInEveryBranch) {
  const Values hostile = {kNan, kInf, -kInf, 0, -0.0, 1, -1, 1e300, -1e300, 1000, 0.5};
  int hazards = 0;
  for (const ad::DerivRule& r : ad::rules()) {
    if (!is_pointwise(r.op) || r.kind != ad::RuleKind::Partials || r.op == Op::Select) continue;
    const bool two = info(r.op).arity == 2;
    Values a, b;
    for (double u : hostile)
      for (double v : two ? hostile : Values{0}) a.push_back(u), b.push_back(v);
    const size_t n = a.size();
    const Inputs good = {Values(n, (r.domain[0].lo + r.domain[0].hi) / 2 + 0.1), Values(n, r.domain[1].hi * 0.9)};
    const Type t = f64({static_cast<int64_t>(n)});
    const auto apply = [&](Expr x, Expr y) { return two ? fn(r.op, x, y) : fn(r.op, x); };
    const Inputs bare = gradient(make({t, t}, [&](Maker&, In in) { return apply(in[0], in[1]); }), {a, b});
    for (const Values& d : bare)
      hazards += static_cast<int>(std::ranges::count_if(d, [](double x) { return !std::isfinite(x); }));
    for (bool in_then : {true, false}) {
      const Program p = make({t, t, boolean(t.shape)}, [&](Maker& m, In in) {
        const Expr bent = apply(fn(Op::Sin, in[0]) * in[0], fn(Op::Log, in[1]) * in[1]), none = m.like(bent, 3);
        const Expr y = fn(Op::Sqrt, bent) + bent;
        return in_then ? select(in[2], y, none) : select(in[2], none, y);
      });
      const Values off(n, in_then ? 0.0 : 1.0);
      const Inputs zero = {Values(n, 0.0), Values(n, 0.0)}, at = {a, b, off}, ones = {Values(n, 1.0), Values(n, 1.0)};
      EXPECT_EQ(gradient(p, at), zero) << name(r.op) << ", reverse";
      EXPECT_EQ(run(jvp(p).value(), joined(at, ones))[1], zero[0]) << name(r.op) << ", forward";
      const Program g = grad(summed(p)).value();
      const Inputs over = run(jvp(g).value(), joined(at, ones)), back = run(vjp(g).value(), joined(at, ones));
      EXPECT_EQ((Inputs{over[2], over[3]}), zero) << name(r.op) << ", forward over reverse";
      EXPECT_EQ((Inputs{back[2], back[3]}), zero) << name(r.op) << ", reverse over reverse";
    }
    // In lanes that are taken the derivative is what it is without a mask.
    const Program whole = make({t, t}, [&](Maker&, In in) { return apply(in[0], in[1]); });
    const Program all = make({t, t}, [&](Maker& m, In in) {
      const Expr on = constant(m.g(), boolean(t.shape), Values(n, 1.0));
      return select(on, apply(in[0], in[1]), m.like(in[0], 0));
    });
    expect_near(gradient(all, good), gradient(whole, good), 1e-12, std::string(name(r.op)).c_str());
  }
  EXPECT_GT(hazards, 300);
}

// Products under a mask are products: second derivatives don't stop where the first derivative is zero.
TEST(Masks, SecondDerivativesAtAZeroResidualAndBesideIt) {
  struct Row {
    const char* program;
    Values at;
    size_t k;
    Values want;
  };
  const Row rows[] = {
      {"square(log(x))", {1, 0}, 0, {2, 0}},                 // the first derivative at 1 is 0
      {"square(log(x))", {1, 0}, 1, {0, 0}},                 // thrown away
      {"square(square(x) - 4) * 0.5", {2, -3}, 0, {16, 0}},  // zero residual: 4 x^2
      {"x ** 1.5", {4, 0}, 0, {0.375, 0}},                   // slope 0 at 0, infinite second slope
      {"x ** 1.5", {4, 0}, 1, {0, 0}},
      {"x ** 2.5 / x", {4, 0}, 1, {0, 0}},
      {"sin(x) * sqrt(x)", {4, 0}, 1, {0, 0}},
      {"log(sqrt(x))", {2, 0}, 0, {-0.125, 0}},
      {"log(sqrt(x))", {2, 0}, 1, {0, 0}},
      {"x ** 4 * x ** 4 * x ** 4", {1, -1e120}, 1, {0, 0}},  // slopes overflow in the second derivative only
      {"x * x * x * x * x", {1, -1e110}, 1, {0, 0}},
      {"x[0] / x", {4, 0}, 1, {0, 0}},
      {"fori(2, fn(i, s) => s * sqrt(s), x)", {1, 0}, 0, {2.25 * 1.25, 0}},
      {"fori(2, fn(i, s) => s * sqrt(s), x)", {1, 0}, 1, {0, 0}},
      {"where(x > -9, x ** 1.5, sqrt(x - 9))", {4, 0}, 1, {0, 0}},
  };
  for (const Row& row : rows) {
    const Program p = parsed("def main(x: f64[2]) -> (y: f64) = sum(where(x > 0, " + std::string(row.program) + ", 0))");
    for (const Values& have : second_of(p, {row.at}, row.k)) expect_near(have, row.want, 1e-10, row.program);
  }
}

TEST(Masks, ThirdDerivatives) {
  const Program p = parsed("def main(x: f64[3]) -> (y: f64) = sum(where(x > 0, square(x - 1) * x + x ** 2.5, 0))");
  // (x - 1)^2 x + x^2.5: third derivative 6 + 2.5 * 1.5 * 0.5 / sqrt x. First and second are zero at 0 or infinite there.
  const Inputs at = {{1, 4, 0}};
  const Values want = {6 + 1.875, 6 + 0.9375, 0}, ones = {1, 1, 1};
  const Program first = grad(p).value();
  for (const Program& second : {jvp(first).value(), vjp(first).value()}) {
    Program only = second;  // H v
    only.results = {second.results[1]};
    expect_near(run(jvp(only, {"x"}).value(), joined(at, {ones, ones}))[1], want, 1e-10, "forward");
    expect_near(run(vjp(only, {"x"}).value(), joined(at, {ones, ones}))[1], want, 1e-10, "reverse");
  }
}

TEST(Masks, SecondDerivativesAgreeWithDifferences) {
  // Away from the hazards everything is smooth; thrown-away lanes are far outside of the domain.
  const Program p = parsed(R"(def main(x: f64[4], w: f64[4,4]) -> (y: f64) {
    let l = where(x > 0, log(x) * sqrt(x), 0)
    let h = where(l == l, w @ l, 0)
    sum(where(h > 0, sqrt(h) * h, sin(h)) + where(x > 0, x ** 2.5, 0)) })");
  std::mt19937 rng(3);
  const Inputs at = {{1.5, -2, 0.7, -1}, random_values(rng, 16, 0.2, 1)};
  check_derivatives(p, at, rng, 3, 1e-5);
}

// A gradient program is a program: masks may be put on it, and it may be differentiated again.
TEST(Masks, MaskOverADerivative) {
  Program g =
      grad(parsed(
               "def main(x: f64[3]) -> (y: f64) = sum(where(x >= 0, sqrt(x) * x, 0)) + sum(where(x > 0, log(sqrt(x)), 0))"))
          .value();
  Graph& graph = *make_graph_private(g);
  const Expr d = {&graph, {g.results[0].node}}, x = param(graph, 0, d.type());
  const Expr penalty = select(fn(Op::Gt, x, full(graph, d.type(), 0.5)), d * d, zeros(graph, d.type()));
  g.results = {{"penalty", sum_all(penalty).id.v, f64()}};
  // d = 1.5 sqrt x + 0.5 / x; d (d^2)/dx = 2 d (0.75 / sqrt x - 0.5 / x^2)
  const Values want = {2 * 3.125 * (0.375 - 0.03125), 0, 0};
  expect_near(reverse_of(g, {{4, 0, -1}}), want);
  expect_near(forward_of(g, {{4, 0, -1}}), want);
}

// ---- what is and is not protected
// -----------------------------------------------------------------------------------------

std::set<Op> operations(const Program& p) {
  std::set<Op> ops;
  std::vector<NodeId> roots;
  for (const ProgramResult& r : p.results) roots.push_back({r.node});
  for (NodeId id : postorder(*p.graph, roots)) {
    ops.insert(p.graph->operator[](id).op);
    if ((*p.graph)[id].op != Op::MapAccum) continue;
    const Function& f = p.graph->function((*p.graph)[id].attr[0]);
    for (NodeId inner : postorder(*p.graph, f.results)) ops.insert((*p.graph)[inner].op);
  }
  return ops;
}
bool keeps_zeros(const Program& p) {
  const std::set<Op> ops = operations(p);
  return ops.contains(Op::MaskedMul) || ops.contains(Op::MaskedDiv) || ops.contains(Op::StrongMul);
}

TEST(Masks, ProgramsWithoutMasksPayNothing) {
  for (const char* body :
       {"sum(tanh(w @ log(x)) / exp(x))", "sum(fori(3, fn(i, s) => tanh(w @ s), x))", "sum(relu(w @ relu(w @ x)))",
        "sum(leaky_relu(w @ x) * x)", "max(w @ min(w @ x, x))", "sum(for i: 3 => x[i + 1] * x[i])", "logsumexp(w @ x)"}) {
    const Program p = parsed("def main(x: f64[3], w: f64[3,3]) -> (y: f64) = " + std::string(body));
    EXPECT_FALSE(keeps_zeros(grad(p).value())) << body;
    EXPECT_FALSE(keeps_zeros(jvp(p).value())) << body;
  }
  const Program smooth = parsed("def main(x: f64[3], w: f64[3,3]) -> (y: f64) = sum(tanh(w @ log(x)) / exp(x))");
  EXPECT_FALSE(keeps_zeros(jvp(grad(smooth).value()).value()));
  // Nor do products above a mask, and below it those with finite constants.
  EXPECT_FALSE(keeps_zeros(grad(parsed("def main(x: f64[3]) -> (y: f64) = sum(exp(where(x > 0, 2 * x / 3, 0)))")).value()));
}

TEST(Masks, MinAndMaxKeepZerosInAllButPlainProducts) {
  check({
      {"clamped logarithm", "(x: f64[2]) -> (y: f64) = sum(max(log(x), -5))", {{2, 0}}, {.5, 0}},
      {"the lesser root", "(x: f64[2]) -> (y: f64) = sum(min(1, sqrt(x) ** -1))", {{4, 0}}, {-1. / 16, 0}},
      {"greatest of a row", "(x: f64[2]) -> (y: f64) = max(log(x))", {{2, 0}}, {.5, 0}},
      {"relu", "(x: f64[2]) -> (y: f64) = sum(relu(log(x)))", {{2, 0}}, {.5, 0}},
  });
  const Program p = parsed("def main(x: f64[1], w: f64[1]) -> (y: f64) = sum(max(x * w, 0))");
  EXPECT_TRUE(std::isnan(reverse_of(p, {{-1}, {kInf}})[0]));
  EXPECT_EQ(
      reverse_of(parsed("def main(x: f64[1], w: f64[1]) -> (y: f64) = sum(where(x * w > 0, x * w, 0))"), {{-1}, {kInf}})[0],
      0);
}

TEST(Masks, ValuesUsedElsewhereKeepTheirSlope) {
  const Program p = make({f64({2})}, [](Maker& m, In in) {
    const Expr root = fn(Op::Sqrt, in[0]);
    return select(fn(Op::Gt, in[0], m.like(root, 0)), root, m.like(root, 0)) + root;
  });
  const Inputs out = run(value_and_grad(summed(p)).value(), {{4, 0}});
  expect_near(out[0], {4});
  EXPECT_EQ(out[1][0], 0.5);
  EXPECT_FALSE(std::isfinite(out[1][1]));
}

TEST(Masks, OtherResultsDoNotTakeTheZeroAway) {
  Maker m;
  const Expr x = m.param("x", f64()), root = fn(Op::Sqrt, x);
  m.result("loss", select(fn(Op::Gt, x, m.number(0)), root, m.number(0))).result("root", root);
  const Inputs out = run(value_and_grad(m.done()).value(), {{0}});
  expect_near(out, {{0}, {0}, {0}});
}

TEST(Masks, DeepNestsCostLinearTime) {
  const auto nest = [](int depth) {
    return make({f64({2})}, [=](Maker& m, In in) {
      Expr y = fn(Op::Sqrt, in[0]);
      for (int j = 0; j < depth; ++j) {
        const Expr bound = m.like(in[0], static_cast<double>(j) / depth);
        y = select(fn(Op::Gt, in[0], bound), fn(Op::Sqrt, in[0] - bound) + y, bound);
      }
      return y;
    });
  };
  const auto size = [&](int depth) {
    const Program p = grad(summed(nest(depth))).value();
    const NodeId root = {p.results[0].node};
    return static_cast<double>(postorder(*p.graph, {&root, 1}).size());
  };
  EXPECT_LT(size(4000), 10.5 * size(400));
  const Values d = gradient(nest(300), {{2, 0}})[0];
  EXPECT_TRUE(std::isfinite(d[0]) && d[0] > 0);
  EXPECT_EQ(d[1], 0);
}

TEST(Masks, OutOfRangeReadsOfInfiniteSlopesAreDropped) {
  // sqrt of a table read outside: the read gives 0, its slope is infinite, the scatter drops it, the mask selects zero.
  const Program p = make({f64({2})}, [](Maker& m, In in) {
    const Expr index = m.ints({0, 1, 2}), inside = fn(Op::Lt, index, full(m.g(), i32({3}), 2));
    const Expr root = fn(Op::Sqrt, gather(in[0], std::vector<Expr>{index}));
    return select(inside, root, zeros(m.g(), root.type()));
  });
  expect_near(gradient(p, {{4, 1}}), {{0.25, 0.5}});
}

}  // namespace masks_test
}  // namespace spirograd::grad_test
