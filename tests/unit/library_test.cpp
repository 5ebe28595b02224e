// The library written in the language: values against known numbers, derivatives against differences, its page and its
// sample.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <set>

#include "frontend/text/library.h"
#include "spirograd/check.h"
#include "spirograd/grad.h"
#include "support/text_programs.h"

namespace spirograd {
namespace {

using test::program;
using test::run;
using test::Values;

struct Case {
  const char* call;  // of x: f64[3] and labels k: i32[3]
  double value;      // known, at x = (0.5, -1.25, 2) and k = (2, 0, 1)
};

// clang-format off
const Case kCases[] = {
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
    // optimisers: first steps
    {"sum(sgd(x, [1, 2, 3], 0.1))", 1.25 - 0.6},
    {"sum(momentum(x, [1, 2, 3], [1, 1, 1], 0.1, 0.9)[0])", 1.25 - 0.1 * (1.9 + 2.9 + 3.9)},
    {"sum(nesterov(x, [1, 2, 3], [1, 1, 1], 0.1, 0.9)[0])", 1.25 - 0.1 * (6 + 0.9 * 8.7)},
    {"sum(rmsprop(x, [1, 2, 3], [0, 0, 0], 0.1, 0.75)[0])", 1.25 - 0.1 * 3 * 2},
    {"sum(adagrad(x, [3, 4, 2], [16, 9, 0], 0.1)[0])", 1.25 - 0.1 * (0.6 + 0.8 + 1)},
    {"sum(adam(x, [1, -2, 3], adam_start(x), 0.1)[0])", 1.25 - 0.1},
    {"adam(x, [1, -2, 3], AdamState(x, [4, 9, 16], 1), 0.1)[1].m[0]", 0.9 * 0.5 + 0.1},
    {"sum(adamw(x, [1, -2, 3], adam_start(x), 0.1, 0.5)[0])", 1.25 - 0.1 - 0.1 * 0.5 * 1.25},
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
    // linear algebra
    {"sum(conjugate_gradient(fn(v) => [[4, 1, 0], [1, 3, 1], [0, 1, 2]] @ v, x, 1e-14))", 31 / 36.0},
    {"power_iteration(fn(v) => diag3(x) @ v, [1, 1, 1], 1e-13)[0]", 2},
};
// clang-format on

const char* const kImports = "import losses\nimport optim\nimport distributions\nimport linalg\n";

std::string source_of(const std::string& call) {
  return std::string(kImports) +
         "def diag3(x: f64[3]) -> f64[3,3] = for i: 3, j: 3 => if i == j then x[i] else 0\n"
         "def f(x: f64[3], k: i32[3]) -> f64 = " +
         call;
}

const std::vector<Values> kAt = {{0.5, -1.25, 2}, {2, 0, 1}};

TEST(Library, HasKnownValues) {
  for (const Case& c : kCases) {
    try {
      // The optimisers keep 1e-8 away from a division by 0.
      EXPECT_NEAR(run(source_of(c.call), kAt).at(0), c.value, 2e-8) << c.call;
    } catch (const Error& e) {
      ADD_FAILURE() << c.call << "\n" << e.str();
    }
  }
}

// More calls, in which gradients and states are functions of x, too.
const char* const kCurved[] = {
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

// Differences of our own: those of check_derivatives leave out what is shifted by a maximum, as log_softmax is.
TEST(Library, HasDerivativesThatAreThoseOfDifferences) {
  const std::vector<HostArray> at = {HostArray::of<double>({0.5, -1.25, 2}), HostArray::of<int32_t>({2, 0, 1})};
  std::vector<std::string> calls(std::begin(kCurved), std::end(kCurved));
  for (const Case& c : kCases) calls.emplace_back(c.call);
  for (const std::string& call : calls) {
    const Program p = program(source_of(call));
    for (const DerivativeCheck& check : check_derivatives(p, at).value())
      EXPECT_TRUE(check.ok) << call << ": " << check.what << " " << check.error << " " << check.note;
    const Values gradient = run(grad(p).value(), kAt);
    for (size_t j = 0; j < 3; ++j) {
      const double h = 1e-5;
      std::vector<Values> above = kAt, below = kAt;
      above[0][j] += h;
      below[0][j] -= h;
      const double difference = (run(p, above)[0] - run(p, below)[0]) / (2 * h);
      EXPECT_NEAR(gradient[j], difference, 1e-7 * (1 + std::abs(difference))) << call << " by x[" << j << "]";
    }
  }
}

TEST(Library, EachFunctionHasACase) {
  for (const text::LibraryFile& file : text::library())
    for (const text::Signature& s : text::parse(std::string(file.text), std::string(file.name)).value().functions())
      EXPECT_TRUE(std::any_of(std::begin(kCases), std::end(kCases), [&](const Case& c) {
        return std::string(c.call).find(s.name + "(") != std::string::npos;
      })) << s.name;
}

TEST(Library, IsMinusInfinityOutsideOfSupportsAndFlatThere) {
  for (const char* call :
       {"lognormal_lpdf(x, 0, 1)", "exponential_lpdf(x, 1)", "gamma_lpdf(x, 2, 1)", "beta_lpdf(x, 2, 2)"}) {
    const Program p = program("import distributions\ndef f(x: f64) -> f64 = " + std::string(call));
    EXPECT_EQ(run(p, {{-1}})[0], -HUGE_VAL) << call;
    EXPECT_EQ(run(grad(p).value(), {{-1}})[0], 0) << call;
    EXPECT_TRUE(std::isnan(run(p, {{std::nan("")}})[0]) || run(p, {{std::nan("")}})[0] == -HUGE_VAL) << call;
  }
  for (const char* call : {"poisson_lpmf(k, 2.0)", "bernoulli_lpmf(k, 0.5)", "binomial_lpmf(k, 3, 0.5)"})
    EXPECT_EQ(run("import distributions\ndef f(k: i32) -> f64 = " + std::string(call), {{-1}})[0], -HUGE_VAL) << call;
  EXPECT_EQ(run("import distributions\ndef f(k: i32) -> f64 = binomial_lpmf(k, 3, 0.5)", {{4}})[0], -HUGE_VAL);
}

// Value and derivatives where a formula could be 0 log(0), 0 / 0 or inf - inf, and where pieces meet.
TEST(Library, IsRightAtEdges) {
  struct Edge {
    const char* call;
    double x, value, slope;
  };
  const double inf = HUGE_VAL, nan = std::nan("");
  const Edge edges[] = {{"poisson_lpmf(0, x)", 0, 0, -1},
                        {"poisson_lpmf(0, x)", 2, -2, -1},
                        {"poisson_lpmf(1, x)", 0, -inf, inf},
                        {"gamma_lpdf(x, 1, 3)", 0, std::log(3.0), -3},
                        {"gamma_lpdf(x, 2, 3)", 0, -inf, inf},
                        {"gamma_lpdf(x, 0.5, 3)", 0, inf, -inf},
                        {"gamma_lpdf(1e-3, x, 1)", 1, -1e-3, std::log(1e-3) + 0.57721566490153286},
                        {"beta_lpdf(x, 1, 1)", 0, 0, 0},
                        {"beta_lpdf(x, 1, 1)", 1, 0, 0},
                        {"beta_lpdf(x, 1, 3)", 0, std::log(3.0), -2},
                        {"beta_lpdf(x, 3, 1)", 1, std::log(3.0), 2},
                        {"beta_lpdf(x, 2, 2)", 1, -inf, -inf},
                        {"times_log(x, 2)", 0, 0, std::log(2.0)},
                        {"times_log(0, x)", 0, 0, 0},
                        {"exponential_lpdf(x, 3)", 0, std::log(3.0), -3},
                        {"exponential_lpdf(2, x)", 0, -inf, inf},
                        {"lognormal_lpdf(x, 0, 1)", 0, -inf, 0},
                        {"normal_lpdf(x, 0, 1)", inf, -inf, -inf},
                        {"student_lpdf(x, 1)", 0, -std::log(M_PI), 0},
                        {"cauchy_lpdf(x, 2, 1)", 2, -std::log(M_PI), 0},
                        {"laplace_lpdf(x, 2, 0.5)", 2, 0, 0},
                        {"bernoulli_lpmf(1, x)", inf, 0, 0},
                        {"bernoulli_lpmf(1, x)", -inf, -inf, 1},
                        {"bernoulli_lpmf(0, x)", -inf, 0, 0},
                        {"binomial_lpmf(3, 3, x)", inf, 0, 0},
                        {"binomial_lpmf(0, 3, x)", -inf, 0, 0},
                        {"binomial_lpmf(0, 0, x)", inf, 0, 0},
                        {"binomial_lpmf(1, 3, x)", inf, -inf, -2},
                        {"mse([x], [2])", 2, 0, 0},
                        {"huber([x], [0], 1)", 1, 0.5, 1},
                        {"huber([x], [0], 1)", inf, inf, 1},
                        {"huber([x], [0], 0)", 3, 0, 0},
                        {"huber([x], [0], 0)", 0, 0, 0},
                        {"cross_entropy_binary([x], [0.25])", 0, std::log(2.0), 0.25},
                        {"cross_entropy_binary([x], [1])", inf, 0, 0},
                        {"cross_entropy_binary([x], [1])", -inf, inf, -1},
                        {"cross_entropy_binary([x], [0])", -inf, 0, 0},
                        {"cross_entropy_binary([-inf], [x])", 0, 0, inf},
                        {"cross_entropy([[x, 0]], [1])", -inf, 0, 0},
                        {"cross_entropy([[x, 0]], [1])", 1000, 1000, 1},
                        {"hinge([x], [1])", 1, 0, 0},
                        {"kl_divergence([x], [1])", 0, 0, 0},
                        {"kl_divergence([x], [0])", 0, 0, 0},
                        {"kl_divergence([0], [x])", 0, 0, 0},
                        {"kl_divergence([1], [x])", 0, inf, -inf},
                        {"sum(momentum([0], [x], [0], 1, 0)[0])", 0, 0, -1},
                        {"sum(rmsprop([0], [x], [0], 1, 0)[0])", 0, 0, -1e8},
                        {"sum(adagrad([0], [x], [0], 1)[0])", 0, 0, -1e8},
                        {"sum(adam([0], [x], adam_start([0]), 1)[0])", 0, 0, -1e8},
                        {"sum(clip_norm([x], 1))", 0, 0, 1},
                        {"sum(clip_norm([x], 0))", 0, 0, 0},
                        {"sum(conjugate_gradient(fn(v) => 2 * v, [x], 1e-6))", 0, 0, 0},
                        {"sum(conjugate_gradient(fn(v) => 2 * v, [x], 1e-6))", 3, 1.5, 0.5},
                        {"sum(conjugate_gradient(fn(v) => 0 * v, [0 * x], 1e-6))", 1, 0, 0},
                        {"sum(conjugate_gradient(fn(v) => 0 * v, [1 + 0 * x], 1e-6))", 1, inf, nan},
                        {"power_iteration(fn(v) => 2 * v, [x], 1e-6)[0]", 0, 0, 0},
                        {"sum(power_iteration(fn(v) => 2 * v, [x], 1e-6)[1])", 3, 1, 0}};
  const auto is = [](double have, double want, double error) {
    return have == want || std::isnan(want) || std::abs(have - want) <= error * (1 + std::abs(want));
  };
  for (const auto& [type, error] : {std::pair{"f64", 1e-14}, std::pair{"f32", 1e-6}})
    for (const Edge& e : edges) {
      const std::string t = type;
      const Program p = program(std::string(kImports) + "def f(x: " + t + ") -> " + t + " = " + e.call);
      const double value = run(p, {{e.x}})[0], slope = run(grad(p).value(), {{e.x}})[0],
                   along = run(jvp(p).value(), {{e.x}, {1}}).back();
      EXPECT_TRUE(is(value, e.value, error)) << e.call << " at " << e.x << ": " << value;
      EXPECT_TRUE(is(slope, e.slope, error)) << e.call << " at " << e.x << ", derivative: " << slope;
      EXPECT_TRUE(is(along, e.slope, error)) << e.call << " at " << e.x << ", forward: " << along;
    }
}

TEST(Library, DensitiesAreMinusInfinityAtInfinities) {
  for (const char* call : {"normal_lpdf(x, 1, 2)", "lognormal_lpdf(x, 1, 2)", "student_lpdf(x, 3)", "cauchy_lpdf(x, 1, 2)",
                           "laplace_lpdf(x, 1, 2)", "exponential_lpdf(x, 2)", "gamma_lpdf(x, 3, 2)", "gamma_lpdf(x, 0.5, 2)",
                           "beta_lpdf(x, 2, 3)"})
    for (const double x : {HUGE_VAL, -HUGE_VAL})
      EXPECT_EQ(run("import distributions\ndef f(x: f32) -> f32 = " + std::string(call), {{x}})[0], -HUGE_VAL) << call;
}

TEST(Library, IsSafeWhereInputsAreHostile) {
  for (const double limit : {0.0, 1.0}) {
    const Program clip = program("import optim\ndef f(g: f32[2], l: f32) = clip_norm(g, l)");
    EXPECT_EQ(run(clip, {{0, 0}, {limit}}), (Values{0, 0}));
    EXPECT_EQ(run(vjp(clip).value(), {{0, 0}, {limit}, {1, 2}}), (Values{0, 0, limit, 2 * limit, 0}))
        << "the value, then the gradient";
  }
  EXPECT_EQ(run("import optim\ndef f(g: f32[2]) = clip_norm(g, 0)", {{3, 4}}), (Values{0, 0}));
  EXPECT_EQ(run("import losses\ndef f(l: f32[2], y: f32[2]) = cross_entropy_binary(l, y)", {{1e30, -1e30}, {1, 0}})[0], 0);
  EXPECT_EQ(run("import losses\ndef f(l: f32[1,2], y: i32[1]) = cross_entropy(l, y)", {{1, 2}, {5}})[0], 0);
  EXPECT_NEAR(run("import losses\ndef f(p: f32[2]) = kl_divergence(p, [0.5, 0.5])", {{0, 1}})[0], std::log(2.0), 1e-7);
  EXPECT_EQ(run("import optim\ndef f(g: f32[2]) = clip_norm(g, 1)", {{0, 0}}), (Values{0, 0}));
  EXPECT_EQ(run("import optim\ndef f(g: f32[0]) = sgd(g, g, 1)", {{}}), (Values{}));
  EXPECT_EQ(run("import linalg\ndef f(b: f32[2]) = conjugate_gradient(fn(v) => 2 * v, b, 1e-6)", {{0, 0}}), (Values{0, 0}));
  EXPECT_EQ(run("import linalg\ndef f(b: f32[2]) = power_iteration(fn(v) => 0 * v, b, 1e-6)", {{1, 2}}), (Values{0, 0, 0}));
  EXPECT_TRUE(std::isnan(run("import losses\ndef f(x: f32[0]) = mse(x, x)", {{}})[0])) << "the mean of nothing";
}

// Of steps from the fresh state. What Adam does is g / (|g| + 1e-8) there, times the rate: its derivative at 0 is 1e8.
TEST(Library, StepsHaveDerivativesWhereGradientsAreZero) {
  const char* const steps[] = {"adam(w, g, adam_start(w), 0.1)[0]", "adamw(w, g, adam_start(w), 0.1, 0.01)[0]",
                               "rmsprop(w, g, 0 * w, 0.1, 0.9)[0]", "adagrad(w, g, 0 * w, 0.1)[0]"};
  for (const std::string step : steps) {
    const Program p = program("import optim\ndef f(w: f64[2], g: f64[2]) -> f64 = sum(" + step + ")");
    const Values gradient = run(grad(p).value(), {{1, 2}, {0, 0.5}});
    for (const double x : gradient) EXPECT_TRUE(std::isfinite(x)) << step;
    EXPECT_NEAR(gradient[2], -0.1 / 1e-8, 1) << step;
    const double nan = std::nan("");
    EXPECT_TRUE(std::isnan(run(p, {{1, 2}, {nan, 0}})[0])) << step << ": what is no number is not hidden";
  }
}

// ---- documents

std::string read(const std::string& path) {
  std::ifstream file(SPIROGRAD_SOURCE_DIR "/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(LibraryPage, HasARowForEachFunctionWithTheCommentThatStandsAboveIt) {
  const std::string page = read("docs/library.md");
  std::set<std::string> rows;
  for (size_t at = page.find("\n| `"); at != std::string::npos; at = page.find("\n| `", at + 1))
    rows.insert(page.substr(at + 1, page.find('\n', at + 1) - at - 1));
  for (const text::LibraryFile& file : text::library()) {
    EXPECT_NE(page.find("## `import " + std::string(file.name) + "`"), std::string::npos) << file.name;
    const std::string source(file.text);
    for (const text::Signature& s : text::parse(source, std::string(file.name)).value().functions()) {
      const size_t def = source.find("\ndef " + s.name + "(");
      const size_t begin = source.rfind("\n\n", def) + 2;
      std::string comment = source.substr(begin, def - begin), call = s.name + "(";
      for (size_t j = 0; (j = comment.find("\n# ", j)) != std::string::npos;) comment.replace(j, 3, " ");
      for (size_t j = 0; j < s.params.size(); ++j)
        if (const std::string& name = s.params[j].name; name.find('.') == std::string::npos)
          call += (call.back() == '(' ? "" : ", ") + name;
        else if (const std::string whole = name.substr(0, name.find('.')); call.find(", " + whole) == std::string::npos)
          call += ", " + whole;
      const std::string row = "| `" + call + ")` | " + comment.substr(2) + " |";
      EXPECT_EQ(rows.erase(row), 1u) << "docs/library.md lacks the row\n" << row;
    }
  }
  EXPECT_TRUE(rows.empty()) << "a row of no function: " << *rows.begin();
}

TEST(Samples, LogisticRegressionByAdamIsShortAndSeparatesWhatCanBe) {
  const std::string source = read("samples/logistic.sg");
  EXPECT_LE(std::count(source.begin(), source.end(), '\n'), 15);
  const Program p = text::instantiate(text::parse(source, "logistic.sg").value(), "",
                                      std::vector<text::NamedType>{{"x", f32({4, 2})}, {"y", f32({4})}})
                        .value();
  const Values out = run(p, {{0, 0, 0, 1, 1, 0, 1, 1}, {0, 1, 1, 1}});  // "or"
  ASSERT_EQ(out.size(), 2 + 1 + 300u);
  EXPECT_NEAR(out[3], std::log(2.0), 1e-6) << "the loss of knowing nothing";
  EXPECT_LT(out.back(), 0.1);
  EXPECT_GT(out[0], 1);
  EXPECT_LT(out[2], 0);
  EXPECT_EQ(text::print(program(text::print(p))), text::print(p)) << "what is printed imports nothing";
}

}  // namespace
}  // namespace spirograd
