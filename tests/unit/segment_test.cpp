// Segments, greatest elements, positions, running logsumexp and erfinv against plain C++ in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "frontend/rewrite/passes.h"
#include "spirograd/check.h"
#include "spirograd/grad.h"
#include "support/lowered.h"
#include "support/text_programs.h"

namespace spirograd {
namespace segment_test {

using test::program;
using test::run;
using test::Values;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

Values uniform(size_t n, uint64_t seed, double lo = -1, double hi = 1) {
  std::mt19937_64 rng(seed);
  Values out(n);
  for (double& x : out) x = static_cast<float>(std::uniform_real_distribution<double>(lo, hi)(rng));
  return out;
}

// As numbers, NaN equal to NaN.
void expect_same(const Values& have, const Values& want, const std::string& what) {
  ASSERT_EQ(have.size(), want.size()) << what;
  for (size_t j = 0; j < have.size(); ++j)
    EXPECT_TRUE(have[j] == want[j] || (std::isnan(have[j]) && std::isnan(want[j])))
        << what << ", element " << j << ": " << have[j] << ", not " << want[j];
}

// Both modes and differences, to second order, of the sum of `body` of x: f64[n] times sin(1), sin(2), ..
void expect_derivatives(const std::string& body, const Values& x) {
  const Program p = program(
      "def f(x: f64[N]) = { let y = " + body + "\n sum(y * reshape(sin(f64(iota(len(reshape(y, [-1]))))), y.shape)) }",
      {{"N", static_cast<int64_t>(x.size())}});
  const HostArray at[] = {HostArray(f64({static_cast<int64_t>(x.size())}), x)};
  for (const DerivativeCheck& check : check_derivatives(p, at).value()) {
    EXPECT_TRUE(check.ok) << body << ": " << check.what << " " << check.detail << " " << check.note;
    EXPECT_NE(check.detail, "not comparable") << body << ": " << check.what;
  }
}

struct Kind {
  const char* name;
  double of_nothing;
  double (*join)(double, double);
};
const Kind kKinds[] = {
    {"segment_max", -kInf, [](double a, double b) { return std::isnan(a) || b > a ? b : a; }},
    {"segment_min", kInf, [](double a, double b) { return std::isnan(a) || b < a ? b : a; }},
    {"segment_prod", 1, [](double a, double b) { return a * b; }},
};

TEST(Segments, AreJoinedWhateverTheirNumbersAndLengths) {
  for (const size_t rows : {0, 1, 2, 7, 33, 100})
    for (const int64_t n : {0, 1, 3, 60}) {
      std::mt19937_64 rng(rows);
      Values s(rows), x(2 * rows);
      for (double& v : s) v = static_cast<double>(static_cast<int>(rng() % 64)) - 2;
      if (rows > 2) s[1] = -2147483648.0, s[2] = 2147483647;
      for (double& v : x) v = static_cast<double>(rng() % 5) - 2;  // exact in any order; ties, zeros
      for (const Kind& kind : kKinds) {
        Values want(static_cast<size_t>(2 * n), kind.of_nothing);
        std::vector<bool> seen(want.size());
        for (size_t i = 0; i < rows; ++i)
          for (size_t c = 0; c < 2; ++c) {
            if (s[i] < 0 || s[i] >= static_cast<double>(n)) continue;
            const size_t at = static_cast<size_t>(s[i]) * 2 + c;
            want[at] = seen[at] ? kind.join(want[at], x[2 * i + c]) : x[2 * i + c];
            seen[at] = true;
          }
        const std::string what = std::string(kind.name) + "(x, s, " + std::to_string(n) + ")";
        expect_same(run(program("def f(x: f64[R,2], s: i32[R]) = " + what, {{"R", static_cast<int64_t>(rows)}}), {x, s}),
                    want, what);
      }
    }
}

TEST(Segments, NaNCountsOnlyAlone) {
  const Values x = {kNaN, 2, kNaN, kNaN, -kInf, 3, kNaN}, s = {0, 0, 0, 1, 2, 3, 3};
  const std::string types = "def f(x: f32[7], s: i32[7]) = ";
  expect_same(run(types + "segment_max(x, s, 5)", {x, s}), {2, kNaN, -kInf, 3, -kInf}, "max");
  expect_same(run(types + "segment_min(x, s, 5)", {x, s}), {2, kNaN, -kInf, 3, kInf}, "min");
  expect_same(run("def f(x: i32[2], s: i32[2]) = (segment_max(x, s, 2), segment_min(x, s, 2))", {{-5, 4}, {0, 0}}),
              {4, -2147483648.0, -5, 2147483647}, "integers");
}

TEST(Segments, DerivativesAreOfTheFirstExtremeAndOfAllFactors) {
  const Program most = program("def f(x: f64[5]) = sum(segment_max(x, [0, 1, 0, 1, 0], 3) * [2.0, 3.0, 0.0])");
  EXPECT_EQ(run(grad(most).value(), {{4, 1, 4, 2, 3}}), (Values{2, 0, 0, 3, 0}));
  const Program least = program("def f(x: f64[3]) = sum(segment_min(x, [0, 0, 0], 1))");
  EXPECT_EQ(run(grad(least).value(), {{1, 1, 1}}), (Values{1, 0, 0}));
  const Program factors = program("def f(x: f64[5]) = sum(segment_prod(x, [1, 0, 1, 1, 7], 2))");
  EXPECT_EQ(run(grad(factors).value(), {{0, 5, 2, 3, 9}}), (Values{6, 1, 0, 0, 0}));
  for (const Kind& kind : kKinds)
    expect_derivatives(std::string(kind.name) + "(reshape(x, [6, 2]), [1, 0, 1, 9, 0, 1], 2)", uniform(12, 5));
}

// Of 32 bits they are found by their bits, of 64 by their order: ties, infinities, zeros of both signs, NaN, the ends of the
// range of integers, segments without a row.
TEST(Segments, ExtremesOfAnyTypeAreTheSame) {
  const Values s = {3, 0, 0, 1, 1, 1, 3, 4, 4, 5, 5, -1, 9, 0};
  const Values floats = {kNaN, 2, -0.0, 0, -0.0, -3, -kInf, kNaN, 7, kInf, -kInf, 50, 60, 2};
  const Values whole = {-2147483648.0, 2, 2, 0, 5, -3, -2147483648.0, 2147483647, 7, 1, -1, 50, 60, 2};
  for (const std::string kind : {"segment_max", "segment_min"}) {
    const auto of = [&](const char* type, const Values& x) {
      return run("def f(x: " + std::string(type) + "[14], s: i32[14]) = " + kind + "(x, s, 7)", {x, s});
    };
    expect_same(of("f32", floats), of("f64", floats), kind.c_str());
    const Values have = of("i32", whole), want = of("f64", whole);
    for (size_t j = 0; j < want.size(); ++j)
      EXPECT_EQ(have[j], std::isinf(want[j]) ? (want[j] < 0 ? -2147483648.0 : 2147483647.0) : want[j]) << kind << j;
    const auto slope = [&](const char* type) {
      return run(vjp(program("def f(x: " + std::string(type) + "[14], s: i32[14]) = " + kind + "(x, s, 7)")).value(),
                 {floats, s, {1, 2, 3, 4, 5, 6, 7}});
    };
    expect_same(slope("f32"), slope("f64"), kind.c_str());
  }
}

TEST(Segments, KernelsTakeTheBitsOfNumbersAsTheyAre) {
  const Program p = program("def f(x: f32[7]) = (bits(x), from_bits(bits(x)))");
  const Program simple = rewrite::optimise_for_lowering(p, {.verify = true});
  for (const Target& t : {test::cpu_target(), Target{}})
    EXPECT_TRUE(test::same_as_interpreter(simple, lower::lower(simple, t), {{0, -0.0, 1, -2.5, kInf, -kInf, 1e-3f}}, 0));
}

TEST(Segments, KernelsJoinAsTheInterpreterDoes) {
  for (const int64_t n : {1, 40, 300}) {
    Values s = uniform(static_cast<size_t>(n), 8, -1, 12);
    for (double& v : s) v = std::floor(v);
    const Program p = program("def f(x: f32[N,3], s: i32[N]) = (segment_max(x, s, 10), segment_prod(x, s, 10))", {{"N", n}});
    for (const Program& q : {p, vjp(p).value()}) {
      std::vector<Values> inputs = {uniform(static_cast<size_t>(3 * n), 9, 0.5, 1.5), s};
      if (q.params.size() > 2) inputs.insert(inputs.end(), {uniform(30, 10), uniform(30, 11)});
      for (const Target& t : {test::cpu_target(), Target{}})
        EXPECT_TRUE(test::same_as_interpreter(rewrite::optimise_for_lowering(q, {.verify = true}),
                                              lower::lower(rewrite::optimise_for_lowering(q, {.verify = true}), t), inputs));
    }
  }
}

TEST(Top, AreTheGreatestByPlace) {
  const Program p = program("def f(x: f32[2,5]) = top_k(x, 3)");
  expect_same(run(p, {{1, 3, kNaN, 3, 2, kNaN, kNaN, -kInf, kNaN, 0}}), {3, 3, 2, 0, -kInf, kNaN, 1, 3, 4, 4, 2, 0}, "rows");
  EXPECT_EQ(run("def f(x: i32[4]) = top_k(x, 4)", {{5, -1, 7, 5}}), (Values{7, 5, 5, -1, 2, 0, 3, 1}));
  EXPECT_EQ(run("def f(x: f32[3]) = top_k(x, 0)", {{1, 2, 3}}), Values{});
  EXPECT_EQ(run("def f(x: f32[0]) = top_k(x, 0)", {{}}), Values{});
  expect_derivatives("{ let (v, p) = top_k(reshape(x, [2, 5]), 3)\n v * v * f64(p + 1) }", uniform(10, 6));
}

// Few of many are found one after another, without an order of all: they are those of the order, hostile values included.
// In one range and in several, one by one, and by putting all into order.
TEST(Top, OfLongRowsAreThoseOfTheirOrder) {
  for (const auto& [n, k] :
       {std::pair{40, 1}, {40, 5}, {40, 16}, {40, 17}, {40, 32}, {40, 33}, {300, 1}, {300, 16}, {521, 7}}) {
    const std::string text =
        "(x: T[4," + std::to_string(n) + "], k: i32) { let order = argsort(x, descending=true)[:, :" + std::to_string(k) +
        "]\n let (v, p) = top_k(x, " + std::to_string(k) + ")\n (v, p, take_along_axis(x, order, axis=1), order) }";
    for (const std::string type : {"f32", "i32"}) {
      Values x;
      for (int j = 0; j < 4 * n; ++j) x.push_back(std::floor(5 * std::sin(1.7 * j)));  // many are equal
      if (type == "i32") {
        for (int j = 0; j < n; ++j) x[static_cast<size_t>(2 * n + j)] = -2147483648.0;
      } else {
        for (int j = 0; j < n; ++j) x[static_cast<size_t>(j)] = j % 3 == 0 ? kNaN : j % 5 == 0 ? kInf : -kInf;
        for (int j = n; j < 2 * n; ++j) x[static_cast<size_t>(j)] = kNaN;
      }
      const std::string typed = std::string(text).replace(text.find('T'), 1, type);
      const Values out = run("def f" + typed, {x, {0}});
      const size_t half = out.size() / 2;
      expect_same(Values(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(half)),
                  Values(out.begin() + static_cast<std::ptrdiff_t>(half), out.end()), type.c_str());
      const Program p = program("def f" + typed);
      const Program simple = rewrite::optimise_for_lowering(p, {.verify = true});
      for (const Target& t : {test::cpu_target(), Target{}})
        EXPECT_TRUE(test::same_as_interpreter(simple, lower::lower(simple, t), {x, {0}})) << type << " " << n << " " << k;
    }
  }
  expect_derivatives("{ let (v, p) = top_k(reshape(x, [2, 40]), 3)\n v * v * f64(p + 1) }", uniform(80, 6));
}

// One dispatch goes through a row once, whatever k, and positions carry no derivative through the search.
TEST(Top, OfRowsIsOneLoop) {
  const Program p = program("def f(x: f32[50,200]) = sum(square(top_k(x, 8)[0]))");
  for (const Target& t : {test::cpu_target(), Target{}}) {
    EXPECT_LE(runs(lower::lower(rewrite::optimise_for_lowering(p), t).steps, Step::Kind::Dispatch), 3u);
    const Program both = rewrite::optimise_for_lowering(value_and_grad(p, {"x"}).value());
    EXPECT_LE(runs(lower::lower(both, t).steps, Step::Kind::Dispatch), 4u);
  }
}

TEST(Positions, OfWhatIsNotZero) {
  const Program p = program("def f(x: f32[2,3]) = nonzero(x, size=4)");
  EXPECT_EQ(run(p, {{0, -1, -0.0, kNaN, 0, 2}}), (Values{1, 3, 5, 6}));
  EXPECT_EQ(run(p, {{1, 1, 1, 1, 1, 1}}), (Values{0, 1, 2, 3}));
  EXPECT_EQ(run("def f(m: bool[0]) = nonzero(m, size=2)", {{}}), (Values{0, 0}));
  EXPECT_EQ(run("def f(m: bool) = nonzero(m, size=2)", {{1}}), (Values{0, 1}));
  EXPECT_EQ(run("def f(x: f32[4]) = x[nonzero(x > 1, size=3)]", {{5, 0, 2, 1}}), (Values{5, 2, 0}));
}

TEST(RunningLogSumExp, NeitherOverflowsNorForgets) {
  const Values x = {-1000, 1000, 999, -kInf, 1001};
  const Values have = run("def f(x: f64[5]) = logcumsumexp(x)", {x});
  EXPECT_EQ(have[0], -1000);
  EXPECT_EQ(have[1], 1000);
  EXPECT_NEAR(have[2], 1000 + std::log1p(std::exp(-1)), 1e-12);
  EXPECT_EQ(have[3], have[2]);
  EXPECT_NEAR(have[4], 1001 + std::log(1 + std::exp(-1) + std::exp(-2)), 1e-12);
  expect_same(run("def f(x: f32[4]) = logcumsumexp(x)", {{-kInf, -kInf, 0, kNaN}}), {-kInf, -kInf, 0, kNaN}, "infinities");
  EXPECT_EQ(run("def f(x: f32[2,0]) = logcumsumexp(x, axis=1)", {{}}), Values{});
  EXPECT_EQ(run(grad(program("def f(x: f64[3]) = logcumsumexp(x)[2]")).value(), {{-kInf, -kInf, 4}}), (Values{0, 0, 1}));
  expect_derivatives("logcumsumexp(reshape(x, [3, 4]), axis=1)", uniform(12, 7, -3, 3));
}

TEST(InverseErf, InvertsToTheEndsOfTheType) {
  Values x = {0, 1e-300, 1e-9, 0.01, 0.3, 0.4999, 0.5, 0.9, 0.99331, 0.9999, 1 - 1e-7, 1 - 1e-10, 1 - 0x1p-53, -0.7};
  const Program p = program("def f(x: f64[14]) = erfinv(x)");
  const Values y = run(p, {x});
  EXPECT_EQ(y[0], 0);
  for (size_t j = 1; j < x.size(); ++j) {
    if (std::abs(x[j]) < 0.5)
      EXPECT_NEAR(std::erf(y[j]) / x[j], 1, 1e-15) << x[j];
    else  // of 1 - |x|, as a change of y
      EXPECT_NEAR(std::erfc(std::abs(y[j])) / (1 - std::abs(x[j])), 1, 2e-15 * (1 + y[j] * y[j])) << x[j];
  }
  EXPECT_LT(y.back(), 0);
  expect_same(run("def f(x: f32[5]) = erfinv(x)", {{1, -1, 1.5, -kInf, kNaN}}), {kInf, -kInf, kNaN, kNaN, kNaN}, "ends");
  expect_same(run(vjp(program("def f(x: f32[2]) = erfinv(x)")).value(), {{1, -1}, {1, 1}}), {kInf, -kInf, kInf, kInf},
              "slopes");
  expect_derivatives("erfinv(x)", {-0.95, -0.6, -1e-3, 0, 0.2, 0.55, 0.99});
}

}  // namespace segment_test
}  // namespace spirograd
