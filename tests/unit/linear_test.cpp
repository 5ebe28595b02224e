// Order, rounding and linear algebra against plain C++ in double: sizes beside every threshold, ties, NaN, singular
// matrices.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "frontend/rewrite/passes.h"
#include "spirograd/grad.h"
#include "support/lowered.h"
#include "support/text_programs.h"

namespace spirograd {
namespace linear_test {

using test::program;
using test::run;
using test::Values;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

std::string message(const std::string& text) {
  const auto p = text::instantiate(text::parse(text, "test.sg").value());
  return p ? "" : p.error().code + " " + p.error().message;
}

Values uniform(size_t n, uint64_t seed, double lo = -1, double hi = 1) {
  std::mt19937_64 rng(seed);
  Values out(n);
  for (double& x : out) x = static_cast<float>(std::uniform_real_distribution<double>(lo, hi)(rng));
  return out;
}

// ---- rounding

TEST(Rounding, IsThatOfC) {
  const Values x = {-2.5, -1.5, -0.5, 0.49999997, 0.5, 1.5, 2.5, 3.2, -3.7, 8388609, -1e30, kInf, -kInf, 0};
  const Program p = program("def f(x: f32[14]) = (round_(x), ceil_(x), trunc_(x))");
  const Values have = run(p, {x});
  for (size_t j = 0; j < x.size(); ++j) {
    EXPECT_EQ(have[j], std::nearbyint(x[j])) << x[j];
    EXPECT_EQ(have[x.size() + j], std::ceil(x[j])) << x[j];
    EXPECT_EQ(have[2 * x.size() + j], std::trunc(x[j])) << x[j];
  }
  for (double y : run(program("def f(x: f32) = (round_(x), ceil_(x), trunc_(x))"), {{kNaN}})) EXPECT_TRUE(std::isnan(y));
  EXPECT_EQ(run(program("def f(x: f32[4]) = (round(x), ceil(x))"), {{2.5, -0.2, 1e20, kNaN}}),
            (Values{2, 0, 2147483647, 0, 3, 0, 2147483647, 0}));
  EXPECT_EQ(run(grad(program("def f(x: f32[2]) = sum(round_(x) * x)")).value(), {{2.7, -1.2}}), (Values{3, -1}));
}

TEST(Roots, AreAsExactAsTheTypeAllows) {
  const Values x = {8, -27, 1e-30, -1e30, 3e38, 1e-45, 0, kInf, -kInf, 2};
  const Values have = run(program("def f(x: f64[10]) = cbrt(x)"), {x});
  for (size_t j = 0; j < x.size(); ++j) {
    if (std::isfinite(x[j]) && x[j] != 0)
      EXPECT_NEAR(have[j] / std::cbrt(x[j]), 1, 4e-16) << x[j];
    else
      EXPECT_EQ(have[j], std::cbrt(x[j]));
  }
  const Program h = program("def f(x: f64[6], y: f64[6]) = hypot(x, y)");
  EXPECT_EQ(run(h, {{3, 0, 3e300, -kInf, 5, 1e-300}, {4, 0, 4e300, 1, -12, 0}}), (Values{5, 0, 5e300, kInf, 13, 1e-300}));
  EXPECT_EQ(run(grad(program("def f(x: f64, y: f64) = hypot(x, y)")).value(), {{0}, {0}}), (Values{0, 0}));
  EXPECT_EQ(run(grad(program("def f(x: f64[2]) = norm(x)")).value(), {{0, 0}}), (Values{0, 0}));
  EXPECT_EQ(run(grad(program("def f(x: f64[2]) = norm(x)")).value(), {{3, 4}}), (Values{0.6, 0.8}));
}

// ---- order

// What argsort promises: stable, NaN last.
Values positions(const Values& x, bool descending) {
  Values order(x.size());
  std::iota(order.begin(), order.end(), 0.0);
  std::stable_sort(order.begin(), order.end(), [&](double a, double b) {
    const double u = x[static_cast<size_t>(a)], v = x[static_cast<size_t>(b)];
    if (std::isnan(u) || std::isnan(v)) return !std::isnan(u) && std::isnan(v);
    return descending ? u > v : u < v;
  });
  return order;
}

TEST(Order, IsStableAtEveryLength) {
  for (const int n : {0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 96, 97, 127, 128, 129, 300, 1000}) {
    Values x = uniform(static_cast<size_t>(n), 7);
    for (double& v : x) v = std::round(v * 20) / 4;  // many are equal
    for (size_t j = 3; j < x.size(); j += 7) x[j] = j % 2 ? kNaN : j % 3 ? kInf : -0.0;
    for (const char* descending : {"false", "true"}) {
      const std::string order = "argsort(x, descending=" + std::string(descending) + ")";
      EXPECT_EQ(run(program("def f(x: f32[N]) = " + order, {{"N", n}}), {x}), positions(x, *descending == 't')) << n;
    }
    Values whole = x;
    for (double& v : whole) v = std::isfinite(v) ? std::trunc(v) : v > 0 ? 2147483647.0 : -2147483648.0;
    EXPECT_EQ(run(program("def f(x: i32[N]) = argsort(x)", {{"N", n}}), {whole}), positions(whole, false)) << n;
  }
}

TEST(Order, RunsAlongAnyAxisAndMovesDerivatives) {
  const Values x = uniform(5 * 40 * 3, 11), w = uniform(5 * 40 * 3, 12);
  const Program p = program("def f(x: f64[5,40,3], w: f64[5,40,3]) = sum(sort(x, axis=1) * w)");
  const Values g = run(grad(p, {"x"}).value(), {x, w});
  for (size_t a = 0; a < 5; ++a)
    for (size_t c = 0; c < 3; ++c) {
      Values line;
      for (size_t b = 0; b < 40; ++b) line.push_back(x[(a * 40 + b) * 3 + c]);
      const Values order = positions(line, false);
      for (size_t b = 0; b < 40; ++b)
        EXPECT_EQ(g[(a * 40 + static_cast<size_t>(order[b])) * 3 + c], w[(a * 40 + b) * 3 + c]);
    }
}

TEST(Order, KernelsSortAsTheInterpreterDoes) {
  for (const int64_t n : {1, 33, 100, 700}) {
    const Program p = rewrite::optimise_for_lowering(
        program("def f(x: f32[N], y: f32[3,N]) = (sort(x), argsort(y, descending=true), searchsorted(sort(x), y))",
                {{"N", n}}),
        {.verify = true});
    for (const Target& t : {test::cpu_target(), Target{}})
      EXPECT_TRUE(test::same_as_interpreter(p, lower::lower(p, t),
                                            {uniform(static_cast<size_t>(n), 3), uniform(static_cast<size_t>(3 * n), 4)}));
  }
}

TEST(Order, PositionsInSortedVectors) {
  const Values table = {-1, 0, 0, 0, 2, 5}, v = {-2, -1, -0.5, 0, 1, 2, 5, 6, -kInf, kInf, kNaN};
  const Program p = program("def f(t: f32[6], v: f32[11]) = (searchsorted(t, v), searchsorted(t, v, right=true))");
  EXPECT_EQ(run(p, {table, v}), (Values{0, 0, 1, 1, 4, 4, 5, 6, 0, 6, 6, 0, 1, 1, 4, 4, 5, 6, 6, 0, 6, 6}));
  EXPECT_EQ(run(program("def f(t: i32[0], v: i32[2]) = searchsorted(t, v)"), {{}, {3, 4}}), (Values{0, 0}));
}

TEST(Order, RunningExtremesAndSegments) {
  EXPECT_EQ(run(program("def f(x: f32[5]) = (cummax(x), cummin(x))"), {{2, 1, 3, -1, 0}}),
            (Values{2, 2, 3, 3, 3, 2, 1, 1, -1, -1}));
  EXPECT_EQ(run(program("def f(x: u32[2,2]) = cummax(x, axis=1)"), {{2, 1, 3, 4294967295.0}}),
            (Values{2, 2, 3, 4294967295.0}));
  EXPECT_EQ(run(grad(program("def f(x: f32[4]) = sum(cummax(x))")).value(), {{1, 3, 2, 5}}), (Values{1, 2, 0, 1}));
  EXPECT_EQ(run(program("def f(x: f32[4,2], s: i32[4]) = segment_sum(x, s, 2)"), {{1, 2, 3, 4, 5, 6, 7, 8}, {1, 0, 1, 9}}),
            (Values{3, 4, 6, 8}));
}

// ---- linear algebra

TEST(Linear, MasksAndDiagonals) {
  EXPECT_EQ(
      run(program("def f(x: f32[2,3]) = (triu(x), tril(x), triu(x, 1), tril(x, k=-1), diagonal(x))"), {{1, 2, 3, 4, 5, 6}}),
      (Values{1, 2, 3, 0, 5, 6, 1, 0, 0, 4, 5, 0, 0, 2, 3, 0, 0, 6, 0, 0, 0, 4, 0, 0, 1, 5}));
  EXPECT_EQ(run(program("def f(x: f32[2,2,2]) = diagonal(x)"), {{1, 2, 3, 4, 5, 6, 7, 8}}), (Values{1, 4, 5, 8}));
  EXPECT_EQ(run(program("def f(x: f64[2]) = x @ eye(2)"), {{3, 4}}), (Values{3, 4})) << "takes the type that it meets";
  EXPECT_EQ(run(program("def f(a: f32[3], b: f32[2,3]) = cross(a, b)"), {{1, 0, 0}, {0, 1, 0, 0, 0, 2}}),
            (Values{0, 0, 1, 0, -2, 0}));
  EXPECT_EQ(run(program("def f(x: f64[2,2]) = variance(x, axis=0)"), {{1, 2, 3, 6}}), (Values{1, 4}));
}

const std::string kSystem = "(a: f64[N,N], b: f64[N,2])";

// The largest number of what this gives for a random system.
double largest(const std::string& body, int64_t n) {
  const auto count = static_cast<size_t>(n);
  double most = 0;
  for (double r :
       run(program("def f" + kSystem + " = " + body, {{"N", n}}), {uniform(count * count, 21), uniform(2 * count, 22)}))
    most = std::max(most, std::abs(r));
  return most;
}

TEST(Linear, SolvesInvertsAndFactors) {
  for (const int n : {1, 2, 3, 7, 20}) {
    const auto residual = [&](const std::string& body) { return largest(body, n); };
    EXPECT_LT(residual("a @ solve(a, b) - b"), 1e-12) << n;
    EXPECT_LT(residual("a @ solve(a, b[:, 1]) - b[:, 1]"), 1e-12) << n;
    EXPECT_LT(residual("a @ inv(a) - eye(N)"), 1e-12) << n;
    EXPECT_LT(residual("tril(a + 3.0 * eye(N)) @ solve_triangular(a + 3.0 * eye(N), b) - b"), 1e-12) << n;
    EXPECT_LT(residual("triu(a + 3.0 * eye(N)) @ solve_triangular(a + 3.0 * eye(N), b, lower=false) - b"), 1e-12) << n;
    EXPECT_LT(residual("{ let s = a @ a.T + 0.1 * eye(N)\n let l = cholesky(s)\n l @ l.T - s }"), 1e-12) << n;
    EXPECT_LT(residual("triu(cholesky(a @ a.T + 0.1 * eye(N)), 1)"), 1e-300) << n;
    EXPECT_LT(residual("det(a) * det(inv(a)) - 1.0"), 1e-10) << n;
    EXPECT_LT(residual("det(a @ a) / det(a) / det(a) - 1.0"), 1e-10) << n;
  }
}

// Triangular systems and factors of more than 64 rows go by blocks of 32: whole ones, and such as do not fit.
TEST(Linear, LargeMatricesGoByBlocks) {
  for (const int n : {65, 96, 101}) {
    const auto count = static_cast<size_t>(n);
    Values a = uniform(count * count, 51);
    const Values b = uniform(3 * count, 52);
    for (size_t i = 0; i < count; ++i) a[i * count + i] += 9;
    const auto with = [&](bool upper, double other) {  // the half that is not read
      Values out = a;
      for (size_t i = 0; i < count; ++i)
        for (size_t j = 0; j < count; ++j)
          if (upper ? j < i : j > i) out[i * count + j] = other;
      return out;
    };
    for (const bool upper : {false, true}) {
      const std::string how = upper ? ", lower=false" : "";
      const Program p = program("def f(t: f64[N,N], b: f64[N,3]) = solve_triangular(t, b" + how + ")", {{"N", n}});
      const Program times = program("def f(t: f64[N,N], x: f64[N,3]) = t @ x", {{"N", n}});
      const Values x = run(p, {with(upper, std::nan("")), b}), back = run(times, {with(upper, 0), x});
      for (size_t j = 0; j < b.size(); ++j) EXPECT_NEAR(back[j], b[j], 1e-12) << n << how;
      const Program simple = rewrite::optimise_for_lowering(p, {.verify = true});
      EXPECT_TRUE(test::same_as_interpreter(simple, lower::lower(simple, test::cpu_target()), {with(upper, 0), b})) << n;
    }
    const Program factor = program("def f(a: f64[N,N]) = cholesky(a)", {{"N", n}});
    const Program square = program("def f(l: f64[N,N]) = l @ l.T", {{"N", n}});
    const Values definite = run(square, {a}), l = run(factor, {definite}), back = run(square, {l});
    for (size_t j = 0; j < back.size(); ++j) EXPECT_NEAR(back[j], definite[j], 1e-10) << n;
    const Program simple = rewrite::optimise_for_lowering(factor, {.verify = true});
    EXPECT_TRUE(test::same_as_interpreter(simple, lower::lower(simple, test::cpu_target()), {definite})) << n;
    for (const size_t last : {size_t{0}, size_t{40}, size_t{64}}) {  // the row that makes it not positive definite
      Values spoiled = definite;
      spoiled[last * count + last] = -1;
      const Values known = run(factor, {spoiled});
      for (size_t i = 0; i < count; ++i) {
        EXPECT_EQ(std::isnan(known[i * count + i]), i >= last) << n << ", row " << i << " of " << last;
        for (size_t j = 0; j < count && i < last; ++j) EXPECT_NEAR(known[i * count + j], l[i * count + j], 1e-12) << n;
      }
    }
  }
}

// Elimination, too, whose pivots come from any of the rows that are left.
TEST(Linear, LargeSystemsAreEliminatedByBlocks) {
  for (const int64_t n : {65, 98}) {
    const auto count = static_cast<size_t>(n);
    const Values a = uniform(count * count, 61), b = uniform(2 * count, 62);
    const auto residual = [&](const std::string& body) { return largest(body, n); };
    EXPECT_LT(residual("a @ solve(a, b) - b"), 1e-10) << n;
    EXPECT_LT(residual("a @ inv(a) - eye(N)"), 1e-9) << n;
    EXPECT_LT(residual("det(a) * det(inv(a)) - 1.0"), 1e-9) << n;
    EXPECT_LT(residual("det(a.T) / det(a) - 1.0"), 1e-9) << n;
    // No pivot stands where it is used: rows from the last to the first.
    const Program turned =
        program("def f(b: f64[N,2]) = (solve(reverse(eye(N)), b) - reverse(b), det(reverse(eye(N))))", {{"N", n}});
    const Values out = run(turned, {b});
    for (size_t j = 0; j + 1 < out.size(); ++j) EXPECT_EQ(out[j], 0) << n;
    EXPECT_EQ(out.back(), n * (n - 1) / 2 % 2 == 0 ? 1 : -1) << n;
    const Program p = program("def f" + kSystem + " = (solve(a, b), det(0.3 * a))", {{"N", n}});
    const Program simple = rewrite::optimise_for_lowering(p, {.verify = true});
    EXPECT_TRUE(test::same_as_interpreter(simple, lower::lower(simple, test::cpu_target()), {a, b})) << n;
  }
  const Program p = program("def f(a: f64[70,70], b: f64[70]) = sum(square(solve(a, b))) + log(abs(det(a)))");
  Values a = uniform(4900, 63);
  for (size_t j = 0; j < 70; ++j) a[71 * j] += 12;
  const Values b = uniform(70, 64), da = uniform(4900, 65), db = uniform(70, 66);
  const auto at = [&](double h) {
    Values ah = a, bh = b;
    for (size_t j = 0; j < ah.size(); ++j) ah[j] += h * da[j];
    for (size_t j = 0; j < bh.size(); ++j) bh[j] += h * db[j];
    return run(p, {ah, bh})[0];
  };
  const double slope = run(jvp(p).value(), {a, b, da, db}).back(), difference = (at(1e-5) - at(-1e-5)) / 2e-5;
  EXPECT_NEAR(slope, difference, 1e-7 * (1 + std::abs(difference)));
  const Values g = run(grad(p).value(), {a, b});
  double along = 0;
  for (size_t j = 0; j < da.size(); ++j) along += g[j] * da[j];
  for (size_t j = 0; j < db.size(); ++j) along += g[da.size() + j] * db[j];
  EXPECT_NEAR(along, slope, 1e-9 * (1 + std::abs(slope)));
}

// Cotangents of a solution need no more than the factors that were found for it.
TEST(Linear, GradientsOfLargeSystemsEliminateOnce) {
  const Program p = program("def f(a: f32[96,96], b: f32[96]) = sum(square(solve(a, b)))");
  const auto panels = [](const Program& q) {
    int64_t n = 0;
    for (const Step& s : lower::lower(rewrite::optimise_for_lowering(q, {}), test::gpu()).steps)
      n += s.label.find("over [96,16]") != std::string::npos;
    return n;
  };
  EXPECT_GT(panels(p), 0);
  EXPECT_EQ(panels(grad(p).value()), panels(p));
}

// Where the cotangent is 0 it still has a derivative.
TEST(Linear, SecondDerivativesHoldWhereTheFirstAreZero) {
  for (const int64_t n : {3, 70}) {
    const auto count = static_cast<size_t>(n);
    Values a = uniform(count * count, 71);
    for (size_t j = 0; j < count; ++j) a[(count + 1) * j] += 12;
    const Values v = uniform(count, 72), zero(count, 0), none(count * count, 0);
    const Program p = program("def f(a: f64[N,N], b: f64[N]) = sum(square(solve(a, b)))", {{"N", n}});
    const Values along = run(jvp(grad(p, {"b"}).value()).value(), {a, zero, none, v});
    const Program formula = program("def f(a: f64[N,N], v: f64[N]) = 2.0 * (inv(a).T @ (inv(a) @ v))", {{"N", n}});
    const Values want = run(formula, {a, v});
    for (size_t j = 0; j < count; ++j) EXPECT_NEAR(along[count + j], want[j], 1e-12) << n;
  }
}

// What a condition left out, or nobody asks for, counts as nothing, however singular.
TEST(Linear, NothingArrivesThroughSystemsWithoutASolution) {
  for (const int64_t n : {2, 70}) {
    const auto count = static_cast<size_t>(n);
    const Values singular(count * count, 0), b(2 * count, 1);
    for (const char* solution : {"solve(a, b)", "solve_triangular(a, b)"}) {
      const Program left_out = program("def f" + kSystem + " = sum(where(b > 2.0, " + solution + ", 0.0))", {{"N", n}});
      for (double d : run(grad(left_out).value(), {singular, b})) EXPECT_EQ(d, 0) << solution << n;
      Values regular = singular, half = b;
      for (size_t j = 0; j < count; ++j) regular[(count + 1) * j] = 2, half[2 * j + 1] = kNaN;
      const Program first = program("def f" + kSystem + " = sum((" + solution + ").T[0])", {{"N", n}});
      const Values d = run(grad(first).value(), {regular, half});
      for (size_t j = 0; j < count; ++j) {
        EXPECT_EQ(d[(count + 1) * j], -0.25) << solution << n;
        EXPECT_EQ(d[count * count + 2 * j], 0.5) << solution << n;
        EXPECT_EQ(d[count * count + 2 * j + 1], 0) << solution << n;
      }
    }
  }
}

TEST(Linear, SingularMatricesGiveNoNumbers) {
  EXPECT_EQ(run(program("def f(a: f64[2,2]) = det(a)"), {{1, 2, 3, 4}}), (Values{-2}));
  for (double x : run(program("def f(a: f64[2,2], b: f64[2]) = solve(a, b)"), {{0, 0, 0, 0}, {1, 1}}))
    EXPECT_FALSE(std::isfinite(x));
  const Values l = run(program("def f(a: f64[2,2]) = cholesky(a)"), {{4, 2, 2, -5}});
  EXPECT_EQ(l[0], 2);
  EXPECT_TRUE(std::isnan(l[3]));
}

TEST(Linear, TheDiagonalOfCholeskyTellsWhatIsPositiveDefinite) {
  constexpr int64_t n = 4;
  const auto at = [](int64_t i, int64_t j) { return static_cast<size_t>(i * n + j); };
  const Program p = program("def f(a: f64[N,N]) = cholesky(a)", {{"N", n}});
  std::array<int, n + 1> failed{};  // by the row where it did
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Values a = uniform(n * n, 100 + seed);
    for (int64_t j = 0; j < n; ++j) a[at(j, j)] += 0.7;
    if (seed == 0) a = {1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};             // a pivot of 0
    if (seed == 1) a = {0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};             // and of an infinite row below
    if (seed == 2) a = {1, 0, 0, 0, 0, std::nan(""), 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};  // and none
    Values want(a.size(), 0.0);
    int64_t row = 0;
    for (; row < n; ++row) {
      for (int64_t j = 0; j <= row; ++j) {
        double left = (a[at(row, j)] + a[at(j, row)]) / 2;
        for (int64_t k = 0; k < j; ++k) left -= want[at(row, k)] * want[at(j, k)];
        want[at(row, j)] = j < row ? left / want[at(j, j)] : left > 0 ? std::sqrt(left) : 0;
      }
      if (want[at(row, row)] == 0) break;
    }
    ++failed[static_cast<size_t>(row)];
    const Values l = run(p, {a});
    EXPECT_EQ(l[at(n - 1, n - 1)] > 0, row == n) << seed;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        if (i < row || j > i) {
          EXPECT_NEAR(l[at(i, j)], j > i ? 0 : want[at(i, j)], 1e-12) << seed;
        } else if (i == j) {
          EXPECT_TRUE(std::isnan(l[at(i, i)])) << seed << ", row " << i;
        }
      }
  }
  for (int times : failed) EXPECT_GT(times, 2) << "every row is one where it ends";
}

// Along random directions, and the same one order higher: forward = differences of values, reverse = forward.
TEST(Linear, DerivativesAreThoseOfTheFormulas) {
  for (const char* body :
       {"sum(square(solve(a, b)))", "det(a) * sum(b)", "sum(square(inv(a)) * a)", "sum(cholesky(a @ a.T + eye(3)) * a)",
        "sum(sin(solve_triangular(a, b)))", "sum(sin(solve_triangular(a, b, lower=false)))",
        "sum(cbrt(a)) + sum(hypot(a, b)) + norm(a @ b) + variance(a)", "sum(cross(a, b) * a)"}) {
    const Program p = program("def f(a: f64[3,3], b: f64[3]) = " + std::string(body));
    const Values a = {2, 0.3, -0.4, 0.5, 1.7, 0.2, -0.6, 0.1, 1.4}, b = {0.3, -0.8, 0.6}, da = uniform(9, 31),
                 db = uniform(3, 32);
    const auto moved = [&](double h) {
      std::vector<Values> at = {a, b};
      for (size_t j = 0; j < 9; ++j) at[0][j] += h * da[j];
      for (size_t j = 0; j < 3; ++j) at[1][j] += h * db[j];
      return at;
    };
    const auto along = [&](const Program& q, double h) { return run(q, moved(h))[0]; };
    const double difference = (along(p, 1e-5) - along(p, -1e-5)) / 2e-5;
    std::vector<Values> with = {a, b, da, db};
    EXPECT_NEAR(run(jvp(p).value(), with)[1], difference, 1e-8) << body;
    const Program g = grad(p).value();
    const auto slope = [&](double h) {
      const Values d = run(g, moved(h));
      return std::inner_product(d.begin(), d.begin() + 9, da.begin(), 0.0) +
             std::inner_product(d.begin() + 9, d.end(), db.begin(), 0.0);
    };
    EXPECT_NEAR(slope(0), difference, 1e-8) << body;
    const double curvature = (slope(1e-5) - slope(-1e-5)) / 2e-5;
    const Values second = run(jvp(g).value(), with);
    EXPECT_NEAR(std::inner_product(second.begin() + 12, second.begin() + 21, da.begin(), 0.0) +
                    std::inner_product(second.begin() + 21, second.end(), db.begin(), 0.0),
                curvature, 1e-7 * (1 + std::abs(curvature)))
        << body;
  }
}

TEST(Linear, MistakesAreTold) {
  const std::pair<const char*, const char*> cases[] = {
      {"solve(x, x[0])", "SG0101 solve: needs a square matrix of floats, not f32[2,3]"},
      {"inv(x[0])", "SG0101 inv: needs a square matrix of floats, not f32[3]"},
      {"solve(x @ x.T, x[0])", "SG0101 solve: a matrix of f32[2,2] has no right side f32[3]"},
      {"cross(x, x[:, :2])", "SG0101 cross: shapes [2,3] and [2,2]"},
      {"sort(x > 0)", "SG0101 sort: not defined for bool[2,3]"},
      {"searchsorted(x, 1.0)", "SG0101 searchsorted: needs an increasing vector"},
      {"take_along_axis(x, x, 1)", "SG0101 take_along_axis: the positions are f32[2,3]"},
      {"segment_sum(x, iota(3), 2)", "SG0101 segment_sum: needs one i32 for each row, not i32[3] for f32[2,3]"},
      {"triu(x[0])", "SG0101 triu: needs a matrix"},
      {"norm(i32(x))", "SG0101 norm: not defined for i32[2,3]"},
      {"eye(-1)", "SG0101 eye: negative extent -1"},
      {"argsort(x, axis=2)", "SG0101 argsort: axis 2"},
  };
  for (const auto& [body, want] : cases)
    EXPECT_EQ(message("def f(x: f32[2,3]) = " + std::string(body)).substr(0, std::string(want).size()), want) << body;
}

}  // namespace linear_test
}  // namespace spirograd
