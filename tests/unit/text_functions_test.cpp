// Functions as arguments of definitions: what they may be, that they keep their surroundings and their own derivatives.
#include <gtest/gtest.h>

#include <cmath>

#include "spirograd/check.h"
#include "support/text_programs.h"

namespace spirograd {
namespace text_functions_test {

using test::run;
using test::Values;

const std::string kTwice = "def twice(f: fn, x: T[N]) -> T[N] = f(f(x))\n";

TEST(FunctionParameters, TakeDefinitionsOperationsAndLiterals) {
  EXPECT_EQ(run("def add_one(x: f32[N]) -> f32[N] = x + 1\n" + kTwice + "def f(x: f32[2]) = twice(add_one, x)", {{1, 5}}),
            (Values{3, 7}));
  EXPECT_EQ(run(kTwice + "def f(x: f32[2]) = twice(square, x)", {{1, 3}}), (Values{1, 81}));
  EXPECT_EQ(run(kTwice + "def f(x: f32[2], c: f32) = twice(fn(y) => c * y, x)", {{1, 3}, {2}}), (Values{4, 12}))
      << "which reads what is around it";
  EXPECT_EQ(run(kTwice + "def f(x: f64[2]) = twice(x=x, f=grad(fn(x) => sum(x * x * x) / 6))", {{1, 2}}), (Values{0.125, 2}))
      << "by name, and made by an operation";
  EXPECT_EQ(run(kTwice + "def f(x: f32[0]) = len(twice(exp, x))", {{}}), (Values{0}));
  EXPECT_TRUE(std::isnan(run(kTwice + "def f(x: f32[1]) = twice(sqrt, x)", {{-1}})[0]));
}

TEST(Switch, RunsTheArmOfThatNumberOrTheNearest) {
  const std::string of = "def f(k: i32, x: f32[2]) = switch(k, (fn(a) => a + 1, square, fn(a) => (-a)), x)";
  const std::pair<double, Values> cases[] = {{-2147483648.0, {3, 6}}, {-1, {3, 6}},  {0, {3, 6}},           {1, {4, 25}},
                                             {2, {-2, -5}},           {3, {-2, -5}}, {2147483647, {-2, -5}}};
  for (const auto& [k, want] : cases) EXPECT_EQ(run(of, {{k}, {2, 5}}), want) << k;
  EXPECT_EQ(run("def f(x: f32[3]) = switch(1, (fn(a) => a[7:9], fn(a) => a[0:2]), x)", {{1, 2, 3}}), (Values{1, 2}))
      << "a number that is known: the other arms are not looked at";
  EXPECT_EQ(run("def f(k: i32, x: f32) = switch(k, (fn() => (x, 1), fn() => (2 * x, 2)))", {{1}, {3}}), (Values{6, 2}))
      << "tuples, and what is around";
  EXPECT_EQ(run("def f(k: i32, x: f32) = grad(fn(x) => switch(k, (sin, fn(x) => x * x * x, sqrt), x))(x)", {{1}, {2}}),
            (Values{12}));
  EXPECT_EQ(run("def f(k: i32, x: f32) = grad(fn(x) => switch(k, (sqrt, log, fn(x) => 3 * x), x))(x)", {{2}, {0}}),
            (Values{3}))
      << "arms that are not taken add nothing, however steep";
  EXPECT_EQ(run("def f(k: i32[3], x: f32[3]) = for i: 3 => switch(k[i], (neg, square), x[i])", {{0, 1, 5}, {2, 3, 4}}),
            (Values{-2, 9, 16}));
}

TEST(Switch, MistakesAreTold) {
  const std::pair<const char*, const char*> cases[] = {
      {"switch(x, (sin, cos), x)", "SG0102 switch: the number of the arm must be one i32, not f32"},
      {"switch(k, sin, x)", "SG0404 'switch' needs a tuple of functions as argument 2, not a function"},
      {"switch(k, (sin, 2.0), x)", "SG0404 'switch' arm 1 is no function, but a number"},
      {"switch(k, (fn(x) => x, fn(x) => (x, x)), x)", "SG0102 if: the branches are f32 and a tuple of 2"},
  };
  for (const auto& [source, want] : cases) {
    const auto module = text::parse("def f(k: i32, x: f32) = " + std::string(source), "test.sg");
    const auto made = module ? text::instantiate(*module) : Result<Program>(module.error());
    ASSERT_FALSE(made) << source;
    EXPECT_EQ(made.error().code + " " + made.error().message, want);
  }
}

TEST(FunctionParameters, ArePassedOn) {
  EXPECT_EQ(run(kTwice + "def often(f: fn, x: f32[N]) = twice(fn(y) => twice(f, y), x)\n"
                         "def f(x: f32[1]) = often(fn(y) => y * 2, x)",
                {{3}}),
            (Values{48}));
  EXPECT_EQ(run("def sum_of(step: fn, start: fn, x: f32[N]) = fold(step, start(x), x)\n"
                "def f(x: f32[3]) = sum_of(fn(s, e) => s + e * e, fn(x) => x[0], x)",
                {{1, 2, 3}}),
            (Values{15}));
  EXPECT_EQ(run("def search(go: fn, step: fn, x: f32) = while(go, step, x, at_most=50)[0]\n"
                "def below(x: f32) -> bool = x < 100\ndef f(x: f32) = search(below, fn(s) => s * 3, x)",
                {{1}}),
            (Values{243}));
  EXPECT_EQ(run("def over(f: fn, x: f32[N]) = for i: N => f(x[i])\ndef f(x: f32[3]) = over(fn(e) => e * e, x)", {{1, 2, 3}}),
            (Values{1, 4, 9}));
  EXPECT_EQ(run(kTwice + "def f(x: f32[2,3]) = vmap(twice, in_axes=(None, 0))(square, x)", {{1, 2, 3, 0, 1, 2}}),
            (Values{1, 16, 81, 0, 1, 16}));
}

TEST(FunctionParameters, OfOneNameAndOneArrayAreDifferentCalls) {
  EXPECT_EQ(run(kTwice + "def f(x: f32[1]) = (twice(fn(y) => y + 1, x), twice(fn(y) => y * 3, x), twice(square, x))", {{2}}),
            (Values{4, 18, 16}));
}

// Forty levels of two calls each end only if equal calls are made once.
TEST(FunctionParameters, EqualCallsAreMadeOnce) {
  std::string text = "def g0(f: fn, x: f32) -> f32 = f(x)\n";
  for (int j = 1; j <= 40; ++j)
    text += "def g" + std::to_string(j) + "(f: fn, x: f32) -> f32 = 0.5 * (g" + std::to_string(j - 1) + "(f, x) + g" +
            std::to_string(j - 1) + "(f, x))\n";
  EXPECT_EQ(run(text + "def main(x: f32) = g40(fn(y) => y + 1, x)", {{2}}), (Values{3}));
}

TEST(FunctionParameters, AreDifferentiatedThrough) {
  const std::string source =
      "def descend(f: fn, start: f64[N], rate: f64) -> f64[N] = fori(3, fn(i, x) => x - rate * grad(f)(x), start)\n"
      "def valley(x: f64[N]) -> f64 = sum(square(x) * square(x)) + x[0] * x[1]\n"
      "def f(x: f64[2], c: f64, r: f64) -> f64 = sum(descend(valley, x, r) * descend(fn(y) => c * sum(sin(y)), x, 0.1))";
  const Program p = test::program(source);
  const std::vector<HostArray> at = {HostArray(f64({2}), {0.3, -0.2}), HostArray(f64(), {1.5}), HostArray(f64(), {0.05})};
  for (const DerivativeCheck& c : check_derivatives(p, at).value()) EXPECT_TRUE(c.ok) << c.what << " " << c.error;
  EXPECT_EQ(run("def at(f: fn, x: f32) = f(x)\ndef f(x: f32) = grad(at, wrt=x)(square, x)", {{3}}), (Values{6}));
  EXPECT_EQ(run("def at(f: fn, x: f32, y: f32) = f(x, y)\n"
                "def f(x: f32) { let (v, back) = vjp(at, mul, x, 5.0)\n back(1.0) }",
                {{3}}),
            (Values{5, 3}));
}

TEST(FunctionParameters, KeepTheDerivativesThatTheirDefinitionsHave) {
  const std::string g = "def g(x: f32) -> f32 = x * x\n";
  const std::string at = "def at(f: fn, x: f32) = f(x) * f(x)\n";
  EXPECT_EQ(run(g + "custom_jvp g(x, dx) = (g(x), 10 * dx)\n" + at + "def f(x: f32) = grad(fn(x) => at(g, x))(x)", {{3}}),
            (Values{180}));
  EXPECT_EQ(run(g + "custom_vjp g(x, ct) = 7 * ct\n" + at + "def f(x: f32) = jvp(fn(x) => at(g, x), x, 1)[1]", {{3}}),
            (Values{126}));
}

// The root of f(x) = p and its derivative by the implicit function theorem.
const std::string kRoot =
    "def root(f: fn, p: f64) -> f64 = fori(30, fn(i, x) => x - (f(x) - p) / grad(f)(x), 1.0)\n"
    "custom_vjp root(f, p, ct) = ct / grad(f)(root(f, p))\n"
    "def cubic(x: f64) -> f64 = x * x * x\n";

TEST(FunctionParameters, HaveTheirPlaceInRules) {
  const Values got = run(kRoot + "def f(p: f64) = (root(cubic, p), grad(fn(p) => root(cubic, p))(p))", {{8}});
  EXPECT_NEAR(got[0], 2, 1e-12);
  EXPECT_NEAR(got[1], 1.0 / 12, 1e-12);
  EXPECT_NEAR(run(kRoot + "def f(p: f64) = grad(fn(p) => root(fn(x) => x * x * x + x, p))(p)", {{10}})[0], 1.0 / 13, 1e-12)
      << "a literal that reads nothing";
}

TEST(NamesOfOperations, AreTheDefinitionsOfUsersBelowThem) {
  const std::string norm = "def norm(x: f32[N]) -> f32 = 10 * norm(x)\n";
  EXPECT_EQ(run(norm + "def f(x: f32[2]) = norm(x)", {{3, 4}}), (Values{50})) << "in its own body it is the operation";
  EXPECT_EQ(run("def f(x: f32[2]) = norm(x)\n" + norm + "def g(x: f32[2]) = (f(x), norm(x))", {{3, 4}}), (Values{5, 50}))
      << "and above it";
  EXPECT_EQ(run(norm + kTwice + "def f(x: f32[2]) = (fn(g) => g(x))(norm)", {{3, 4}}), (Values{50})) << "passed by name";
  EXPECT_EQ(run(norm + "def f(x: f32[2]) = vmap(norm)(x[None, :])", {{3, 4}}), (Values{50}));
  EXPECT_EQ(run("def grad(f: fn, x: f32) -> f32 = grad(f)(x) + 100\ndef f(x: f32) = grad(square, x)", {{3}}), (Values{106}));
  EXPECT_EQ(run("def fold(x: f32[N]) -> f32 = fold(add, 0.0, x)\ndef f(x: f32[3]) = fold(x)", {{1, 2, 3}}), (Values{6}));
  EXPECT_EQ(
      run("def while(x: f32) -> f32 = x + 1\ndef max(x: f32[N]) -> f32 = x[0]\ndef f(x: f32[2]) = while(max(x))", {{1, 2}}),
      (Values{2}));
  EXPECT_EQ(run("def f32(x: f32[N]) -> f32 = x[1]\ndef f(x: f32[2]) = f32(x) + zeros(1, dtype=f32)", {{3, 4}}), (Values{4}))
      << "element types are hidden where they are called";
  EXPECT_EQ(run(norm + "def f(x: f32[2]) { let norm = fn(y) => y[0]\n norm(x) }", {{3, 4}}), (Values{3}))
      << "the nearest name wins";
}

struct Mistake {
  const char* source;
  const char* code;
  int line, column;
  const char* fragment;
};

// clang-format off
const Mistake kMistakes[] = {
    {"def f(g: fn, x: f32) = g(x)",                                        "SG0404", 1, 7,  "'f' takes the function 'g', which no input is"},
    {"def g(h: fn, x: f32) = h(x)\ndef f(x: f32) = g(x, x)",               "SG0103", 2, 17, "'h' of 'g' is declared as a function, given f32"},
    {"def g(h: fn, x: f32) = h(x)\ndef f(x: f32) = g(2, x)",               "SG0103", 2, 17, "the name of a def or of an operation"},
    {"def g(h: fn, x: f32) = h(x)\ndef f(x: f32) = g(exp, sin)",           "SG0103", 2, 17, "is declared x: fn"},
    {"struct P { a: f32 }\ndef g(p: P) = p.a\ndef f(x: f32) = g(exp)",     "SG0103", 3, 17, "'p' of 'g' is declared as a P, given a function"},
    {"def g(h: fn, x: f32) = h(x)\ndef f(x: f32) = g(exp)",                "SG0404", 2, 17, "'g' takes 2 arguments, it is given 1"},
    {"def g(h: fn, x: f32) = h(x, x)\ndef f(x: f32) = g(fn(y) => y, x)",   "SG0404", 2, 19, "takes 1 arguments, it is given 2"},
    {"def g(h: fn, x: f32) = h\ndef f(x: f32) = g(exp, x)",                "SG0103", 1, 5,  "'g' returns a function, results are arrays"},
    {"def g(h: fn, x: f32) = h + x\ndef f(x: f32) = g(exp, x)",            "SG0102", 1, 26, "expected an array, found a function"},
    {"def g(h: fn, x: f32) = h(h, x)\ndef f(x: f32) = g(g, x)",            "SG0406", 1, 26, "nested more than 420 deep"},
    {"def g(h: fn, x: f32) = h(x)\ndef f(x: f32) = grad(g)(exp, x)",       "SG0102", 2, 17, "argument 1: expected an array, found a function"},
    {"def g(h: fn, h: f32) = h",                                           "SG0408", 1, 14, "parameter 'h' stands twice"},
    {"def g(T: fn, x: T) = x",                                             "SG0408", 1, 7,  "'T' is an element type and a parameter"},
    {"struct P { a: fn }",                                                 "SG0401", 1, 15, "a field holds an array or a struct, not a function"},
    {"def g(h: fn, s: f32) = s\ndef f(x: f32) = map_accum(g, length=2, acc=(x,))", "SG0404", 2, 17, "the body of a loop takes arrays"},
};
// clang-format on

Error error_of(const std::string& source) {
  const auto module = text::parse(source, "bad.sg");
  if (!module) return module.error();
  const auto p = text::instantiate(*module);
  return p ? Error() : p.error();
}

TEST(FunctionParameters, MistakesAreTold) {
  for (const Mistake& m : kMistakes) {
    const Error e = error_of(m.source);
    EXPECT_EQ(e.code, m.code) << m.source << "\n" << e.str();
    EXPECT_EQ(e.loc.line, m.line) << e.str();
    EXPECT_EQ(e.loc.column, m.column) << e.str();
    EXPECT_NE(e.str().find(m.fragment), std::string::npos) << e.str();
  }
}

TEST(FunctionParameters, ARuleLosesNoDerivativeInSilence) {
  Error e = error_of(kRoot + "def f(p: f64) = grad(fn(p) => root(fn(x) => x * x * p, p))(p)");
  EXPECT_EQ(e.code, "SG0404") << e.str();
  EXPECT_NE(e.str().find("is given a function that reads 'p' from around"), std::string::npos) << e.str();
  e = error_of(kRoot + "def f(p: f64) = { let h = fn(x) => x * p\n root(fn(x) => h(x), p) }");
  EXPECT_NE(e.str().find("reads 'h' from around"), std::string::npos) << e.str();
  EXPECT_EQ(error_of(kRoot + "def f(p: f64) = { let k = 2\n root(fn(x) => k * x, p) }").code, "") << "a number has none";
}

TEST(FunctionParameters, AreInTheSignature) {
  const auto module = text::parse(kTwice, "test.sg").value();
  EXPECT_EQ(module.functions()[0].str(), "twice(f: fn, x: T[N]) -> T[N]");
  EXPECT_FALSE(text::has_fixed_types(text::parse("def g(f: fn, x: f32) = f(x)", "test.sg").value()));
}

}  // namespace text_functions_test
}  // namespace spirograd
