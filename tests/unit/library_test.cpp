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
#include "support/library_cases.h"
#include "support/text_programs.h"

namespace spirograd {
namespace library_test {

using test::kAt;
using test::kCurvedCalls;
using test::kLibraryCases;
using test::kLibraryEdges;
using test::LibraryCase;
using test::LibraryEdge;
using test::near;
using test::program;
using test::run;
using test::source_of;
using test::source_of_edge;
using test::Values;

TEST(Library, HasKnownValues) {
  for (const LibraryCase& c : kLibraryCases) {
    try {
      // The optimisers keep 1e-8 away from a division by 0.
      EXPECT_NEAR(run(source_of(c.call), kAt).at(0), c.value, 2e-8) << c.call;
    } catch (const Error& e) {
      ADD_FAILURE() << c.call << "\n" << e.str();
    }
  }
}

// Differences of our own: those of check_derivatives leave out what is shifted by a maximum, as log_softmax is.
TEST(Library, HasDerivativesThatAreThoseOfDifferences) {
  const std::vector<HostArray> at = {HostArray::of<double>({0.5, -1.25, 2}), HostArray::of<int32_t>({2, 0, 1})};
  std::vector<std::string> calls(std::begin(kCurvedCalls), std::end(kCurvedCalls));
  for (const LibraryCase& c : kLibraryCases) calls.emplace_back(c.call);
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
      EXPECT_TRUE(std::any_of(std::begin(kLibraryCases), std::end(kLibraryCases), [&](const LibraryCase& c) {
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
  for (const auto& [type, error] : {std::pair{"f64", 1e-14}, std::pair{"f32", 1e-6}})
    for (const LibraryEdge& e : kLibraryEdges) {
      const Program p = program(source_of_edge(e.call, type));
      const double value = run(p, {{e.x}})[0], slope = run(grad(p).value(), {{e.x}})[0],
                   along = run(jvp(p).value(), {{e.x}, {1}}).back();
      EXPECT_TRUE(near(value, e.value, error)) << e.call << " at " << e.x << ": " << value;
      EXPECT_TRUE(near(slope, e.slope, error)) << e.call << " at " << e.x << ", derivative: " << slope;
      EXPECT_TRUE(near(along, e.slope, error)) << e.call << " at " << e.x << ", forward: " << along;
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
  for (const double large : {1e-30, 1.0, 5e37}) {
    const Values clipped = run("import optim\ndef f(g: f32[2]) = clip_norm(g, 1e-35)", {{3 * large, -4 * large}});
    EXPECT_NEAR(clipped[0], 6e-36, 1e-41) << large;
    EXPECT_NEAR(clipped[1], -8e-36, 1e-41) << large;
  }
  EXPECT_EQ(run("import optim\ndef f(g: f32[2]) = clip_norm(g, 3e38)", {{1e38, -2e38}}), (Values{1e38, -2e38}));
  EXPECT_EQ(run("import losses\ndef f(l: f32[2], y: f32[2]) = cross_entropy_binary(l, y)", {{1e30, -1e30}, {1, 0}})[0], 0);
  EXPECT_EQ(run("import losses\ndef f(l: f32[1,2], y: i32[1]) = cross_entropy(l, y)", {{1, 2}, {5}})[0], 0);
  EXPECT_NEAR(run("import losses\ndef f(p: f32[2]) = kl_divergence(p, [0.5, 0.5])", {{0, 1}})[0], std::log(2.0), 1e-7);
  EXPECT_EQ(run("import optim\ndef f(g: f32[2]) = clip_norm(g, 1)", {{0, 0}}), (Values{0, 0}));
  EXPECT_EQ(run("import optim\ndef f(g: f32[0]) = sgd(g, g, 1)", {{}}), (Values{}));
  EXPECT_EQ(run("import linalg\ndef f(b: f32[2]) = conjugate_gradient(fn(v) => 2 * v, b, 1e-6)", {{0, 0}}), (Values{0, 0}));
  EXPECT_EQ(run("import linalg\ndef f(b: f32[2]) = power_iteration(fn(v) => 0 * v, b, 1e-6)", {{1, 2}}), (Values{0, 0, 0}));
  EXPECT_TRUE(std::isnan(run("import losses\ndef f(x: f32[0]) = mse(x, x)", {{}})[0])) << "the mean of nothing";
}

const char* const kDescend =
    "import optim\n"
    "def rosenbrock(w: f64[2]) -> f64 = square(1 - w[0]) + 100 * square(w[1] - w[0] * w[0])\n"
    "def edge(w: f64[2]) -> f64 = w[0] + w[1] - log(w[0]) - log(w[1] - 1)\n"
    "def steps(f: fn, w: f64[2], n: f64[S]) = fold(fn((w, s), i) => lbfgs(f, w, s), (w, lbfgs_start(f, w)), n)[0]\n";

TEST(Library, LbfgsFindsTheBottomOfTheBentValley) {
  const std::string found = std::string(kDescend) + "def f(w: f64[2]) = steps(rosenbrock, w, zeros(60))";
  for (const Values& start : {Values{-1.2, 1}, Values{0, 0}, Values{1, 1}}) {
    const Values w = run(found, {start});
    EXPECT_NEAR(w[0], 1, 1e-9);
    EXPECT_NEAR(w[1], 1, 1e-9);
  }
}

// From close to where the function ends: steps beyond it give NaN, and are halved.
TEST(Library, LbfgsStaysWhereTheFunctionIsDefined) {
  const Values w = run(std::string(kDescend) + "def f(w: f64[2]) = steps(edge, w, zeros(40))", {{1e-3, 1.001}});
  EXPECT_NEAR(w[0], 1, 1e-6);
  EXPECT_NEAR(w[1], 2, 1e-6);
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

}  // namespace library_test
}  // namespace spirograd
