// Syntax, binding of shape variables and inputs, and what the surface adds to the source.
#include <gtest/gtest.h>

#include "frontend/base/near_name.h"
#include "frontend/ir/graph.h"
#include "spirograd/text.h"

namespace spirograd {
namespace text_parse_test {

text::Module module_of(const std::string& source) {
  auto m = text::parse(source, "test.sg");
  if (!m) throw m.error();
  return *m;
}

// The printed body of `def main(...) = expression`: the lets, without the frame.
std::string lets(const std::string& source) {
  auto p = text::instantiate(module_of(source));
  if (!p) throw p.error();
  std::string s = text::print(*p);
  s = s.substr(s.rfind("{\n", s.find("\n")) + 2);
  return s.substr(0, s.rfind("\n}"));
}

TEST(TextParse, SignaturesShowNamesAndDeclaredTypes) {
  const auto m = module_of(
      "def a(x: f32) = x\n\ndef gmm(alpha: f32[K], l: f32[K, D*(D-1)/2]) -> (loss: f32, y: f32[K]) = (sum(l), alpha)\n");
  const auto f = m.functions();
  ASSERT_EQ(f.size(), 2u);
  EXPECT_EQ(f[1].str(), "gmm(alpha: f32[K], l: f32[K, D*(D-1)/2]) -> (loss: f32, y: f32[K])");
  EXPECT_TRUE(text::has_fixed_types(m, "a"));
  EXPECT_FALSE(text::has_fixed_types(m, "gmm"));
}

TEST(TextParse, ShapeVariablesBindFromInputsInAnyOrder) {
  const auto m = module_of("def f(l: f32[K, D*(D-1)/2], mu: f32[K,D]) -> (out: f32[D], n: i32) = (zeros(D), K + D)");
  const std::vector<text::NamedType> inputs = {{"mu", f32({2, 5})}, {"l", f32({2, 10})}};
  const auto p = text::instantiate(m, "f", inputs);
  ASSERT_TRUE(p) << p.error().str();
  EXPECT_EQ(p->params[0].type, f32({2, 10}));
  EXPECT_EQ(p->results[0].type, f32({5}));
  EXPECT_EQ(p->results[0].name, "out");
  const auto q = text::instantiate(m, "f", text::ShapeVariables{{"K", 2}, {"D", 5}});
  ASSERT_TRUE(q) << q.error().str();
  EXPECT_EQ(text::print(*q), text::print(*p));
}

TEST(TextParse, StatementsEndAtLineEndsOutsideBracketsAndOperators) {
  EXPECT_EQ(
      lets("def f(x: f32[2]) = {\n  # a comment\n  let a = x +\n    x\n  let b = (a\n   * a); let c = a\n\n  b + c\n}"),
      "  let t0 = x + x\n  let t1 = t0 * t0\n  let t2 = t1 + t0\n  t2");
  EXPECT_EQ(lets("def f(c: bool, x: f32)\n  -> f32 = if c\n  then x\n  else -x"),
            "  let t0 = -x\n  let t1 = where(c, x, t0)\n  t1");
}

TEST(TextParse, PrecedenceIsThatOfPython) {
  EXPECT_EQ(lets("def f(x: f32, y: f32) = -x ** 2 * y + x"),
            "  let t0 = x ** 2.0\n  let t1 = -t0\n  let t2 = t1 * y\n  let t3 = t2 + x\n  t3");
  EXPECT_EQ(lets("def f(x: f32, y: f32) = x ** y ** -x"), "  let t0 = -x\n  let t1 = y ** t0\n  let t2 = x ** t1\n  t2");
  EXPECT_EQ(lets("def f(x: f32, y: bool) = not x < 1 and y or y"),
            "  let t0 = x < 1.0\n  let t1 = not t0\n  let t2 = t1 and y\n  let t3 = t2 or y\n  t3");
  EXPECT_EQ(lets("def f(x: f32) = x - x - x / x / x"),
            "  let t0 = x - x\n  let t1 = x / x\n  let t2 = t1 / x\n  let t3 = t0 - t2\n  t3");
}

TEST(TextParse, LiteralsTakeTheElementTypeOfTheOtherOperand) {
  EXPECT_EQ(lets("def f(x: f64) = 2 * x + 0.5"), "  let t0 = 2.0d * x\n  let t1 = t0 + 0.5d\n  t1");
  EXPECT_EQ(lets("def f(x: u32) = 2 * x"), "  let t0 = 2u * x\n  t0");
  EXPECT_EQ(lets("def f(x: f64[3]) = sum(x) / len(x) * (1.0 / 3)"),
            "  let t0 = sum(x, axis=[0])\n  let t1 = t0 / 3.0d\n  let t2 = t1 * 0.3333333333333333d\n  t2");
  EXPECT_EQ(lets("def f() = (2, 2.0, 2u, 2.0d, true, -1, 1e-3)"), "  (2, 2.0, 2u, 2.0d, true, -1, 0.001)");
  EXPECT_EQ(lets("def f(x: f64[3]) = dot(x, [1, 2, 4])"),
            "  let t0 = const(f64[3], [1.0, 2.0, 4.0])\n  let t1 = x * t0\n  let t2 = sum(t1, axis=[0])\n  t2");
}

TEST(TextParse, NothingIsSimplified) {
  EXPECT_EQ(lets("def f(x: f32) = x * 1 + 0"), "  let t0 = x * 1.0\n  let t1 = t0 + 0.0\n  t1");
  EXPECT_EQ(lets("def f(x: i32) = add(2, 3) * x"), "  let t0 = add(2, 3)\n  let t1 = t0 * x\n  t1");
}

TEST(TextParse, CallsAreInlinedOncePerArguments) {
  // Without sharing of calls this would take 2^60 steps.
  std::string source = "def f0(x: f32[N]) = exp(x)\n";
  for (int k = 1; k <= 60; ++k) {
    const std::string before = "f" + std::to_string(k - 1);
    source += "def f" + std::to_string(k) + "(x: f32[N]) = " + before + "(x) + " + before + "(x)\n";
  }
  const auto p = text::instantiate(module_of(source), "", std::vector<text::NamedType>{{"x", f32({3})}});
  ASSERT_TRUE(p) << p.error().str();
}

TEST(TextParse, ADefinitionMayHideAnOperationAndStillUseIt) {
  EXPECT_EQ(lets("def exp(x: f32) = exp(x) * 2\ndef main(y: f32) = exp(y)"), "  let t0 = exp(y)\n  let t1 = t0 * 2.0\n  t1");
}

TEST(TextParse, FunctionLiteralsSeeTheNamesOfTheirPlace) {
  EXPECT_EQ(lets("def f(a: f32, b: f32) = { let g = fn(x) => x + a\n let a = b\n g(b) * a }"),
            "  let t0 = b + a\n  let t1 = t0 * b\n  t1");
}

TEST(TextParse, LongSumsAreNotDeep) {
  std::string source = "def f(x: f32) = x";
  for (int k = 0; k < 20000; ++k) source += " + x";
  EXPECT_TRUE(text::instantiate(module_of(source)));
}

TEST(TextParse, NestingIsBoundedWithoutOverflowingTheStack) {
  const auto nested = [](int n, const std::string& open, const std::string& close) {
    std::string s = "def f(x: f32) = ";
    for (int k = 0; k < n; ++k) s += open;
    s += "x";
    for (int k = 0; k < n; ++k) s += close;
    return s;
  };
  EXPECT_TRUE(text::instantiate(module_of(nested(400, "exp(", ")"))));
  for (const auto& [open, close] : std::vector<std::pair<std::string, std::string>>{{"(", ")"},
                                                                                    {"exp(", ")"},
                                                                                    {"-", ""},
                                                                                    {"[", "]"},
                                                                                    {"{", "}"},
                                                                                    {"if true then ", " else x"},
                                                                                    {"", "[None]"},
                                                                                    {"x ** ", ""},
                                                                                    {"x @ (", ")"}}) {
    const auto m = text::parse(nested(100000, open, close), "deep.sg");
    ASSERT_FALSE(m) << open;
    EXPECT_EQ(m.error().code, "SG0406") << open;
  }
  std::string calls = "def f0(x: f32) = x\n";
  for (int k = 1; k < 3000; ++k)
    calls += "def f" + std::to_string(k) + "(x: f32) = f" + std::to_string(k - 1) + "(exp(x))\n";
  const auto p = text::instantiate(module_of(calls));
  ASSERT_FALSE(p);
  EXPECT_EQ(p.error().code, "SG0406");
}

TEST(TextParse, EveryNodeKnowsItsPlace) {
  const auto p = text::instantiate(module_of("def f(x: f32[3]) = {\n  let a = exp(x)\n  sum(a) *\n    2 + 1\n}"));
  ASSERT_TRUE(p);
  const ir::Graph& g = *p->graph;
  for (uint32_t id = 1; id < g.size(); ++id) EXPECT_GT(g.loc({id}).line, 0) << ir::name(g[{id}].op);
  const Loc add = g.loc({p->results[0].node});
  EXPECT_EQ(add.line, 4);
  EXPECT_EQ(add.column, 7);
  EXPECT_EQ(add.file, "test.sg");
}

TEST(TextParse, NearNamesAreFoundByEditDistance) {
  EXPECT_EQ(edit_distance("sofmax", "softmax"), 1);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(near_name("sofmax", {"exp", "softmax", "max"}), "softmax");
  EXPECT_EQ(near_name("Exp", {"exp", "erf"}), "exp");
  EXPECT_EQ(near_name("quaternion", {"exp", "softmax"}), "");
  EXPECT_EQ(near_name("n", {"N", "x"}), "N");
  EXPECT_EQ(near_name("y", {"N", "x"}), "");
}

}  // namespace text_parse_test
}  // namespace spirograd
