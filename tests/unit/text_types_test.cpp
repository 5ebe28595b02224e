// Element types in the text language: what is made of literals takes the type that it meets, with every digit; definitions
// may leave the element type open.
#include <gtest/gtest.h>

#include <cmath>

#include "frontend/ir/eval.h"
#include "spirograd/text.h"
#include "support/same_nodes.h"

namespace spirograd {
namespace text_types_test {

struct Outcome {
  std::vector<Type> types;
  std::vector<double> values;  // of all results, one after the other
  std::string error;
};

using Inputs = std::vector<std::pair<text::NamedType, std::vector<double>>>;

Outcome run(const std::string& source, const Inputs& inputs = {}, std::optional<DType> element = {}) {
  const auto module = text::parse(source, "test.sg");
  if (!module) return {{}, {}, module.error().str()};
  std::vector<text::NamedType> types;
  std::vector<std::vector<double>> values;
  for (const auto& [type, data] : inputs) {
    types.push_back(type);
    values.push_back(data);
  }
  const auto p = text::instantiate(*module, "", types, {}, nullptr, element);
  if (!p) return {{}, {}, p.error().str()};
  // What is printed is the same program.
  const auto again = text::parse(text::print(*p), "printed.sg");
  const auto same = again ? text::instantiate(*again) : again.error();
  if (!same) return {{}, {}, text::print(*p) + same.error().str()};
  if (!test::same_nodes(*p, *same)) return {{}, {}, "other nodes after printing:\n" + text::print(*p)};
  Outcome out;
  for (const ProgramResult& r : p->results) out.types.push_back(r.type);
  for (const ir::Array& r : ir::evaluate(*p, values)) out.values.insert(out.values.end(), r.data.begin(), r.data.end());
  return out;
}

struct Case {
  const char* expression;
  double value;  // of every element
};

// Over x: one, three times, and s: one. Each holds 0.1 or another double that no f32 holds.
const Case kMade[] = {
    {"full([3], 0.1) * x", 0.1},
    {"x * full([3], 0.1)", 0.1},
    {"zeros(3) + 0.1 * x", 0.1},
    {"(ones(3) * 0.1) * x", 0.1},
    {"(for i: 3 => 0.1) * x", 0.1},
    {"(for i: 3, j: 3 => 0.1) * x", 0.1},
    {"{ let (a, i) = for i: 3 => (0.1, i)\n a * x }", 0.1},
    {"[0.1, 0.1, 0.1] * x", 0.1},
    {"[0.1, s * 0.1, 0.1] * x", 0.1},
    {"(if m[0] then 0.1 else 0.2) * x", 0.1},
    {"if m[0] then 0.1 else s", 0.1},
    {"where(m, 0.1, x)", 0.1},
    {"where(m, 0.1, 0.2) * x", 0.1},
    {"where(m, x * 0.1, 0)", 0.1},
    {"sum([0.1, 0.0]) * x", 0.1},
    {"mean([0.1, 0.1]) * x", 0.1},
    {"max([0.1, 0.05]) * x", 0.1},
    {"[[0.1, 0.2], [0.3, 0.4]].T[0, 0] * x", 0.1},
    {"[0.5, 0.1][k[0]] * x", 0.1},
    {"[0.5, 0.1][1] * x", 0.1},
    {"reshape(full([1, 3], 0.1), [3]) * x", 0.1},
    {"concat([0.1], [0.1, 0.1]) * x", 0.1},
    {"stack(0.1, 0.1, 0.1) * x", 0.1},
    {"replicate(0.1, 3) * x", 0.1},
    {"broadcast(0.1, [3]) * x", 0.1},
    {"-(-full([3], 0.1)) * x", 0.1},
    {"scatter([3], 0.1, [0, 1, 2]) * x", 0.1},
    {"sum(one_hot(k, 3) * 0.1, axis=1) * x", 0.1},
    {"dot([0.1, 0.0], [1.0, 1.0]) * x", 0.1},
    {"([[0.1, 0.0], [0.0, 0.1]] @ [1.0, 1.0])[0] * x", 0.1},
    {"exp(0.1) * x", std::exp(0.1)},
    {"exp(1) * x", std::exp(1.0)},
    {"2.0 ** 0.5 * x", std::pow(2.0, 0.5)},
    {"minimum(0.1, 0.2) * x", 0.1},
    {"add(0.1, 0.0) * x", 0.1},
    {"{ let a = 0.1\n let b = [a, a, a]\n b * x }", 0.1},
    {"constant() * x", 0.1},
    {"halved(0.2) * x", 0.1},
    {"halves(full([3], 0.2)) * x", 0.1},
    {"wide()", 0.1},
    {"fori(2, fn(i, s) => s, 0.1) * x", 0.1},
    {"fori(2, fn(i, s) => s * 1.0, 0.1) * x", 0.1},
    {"fori(1, fn(i, s) => s + x[i] * 0.1, 0.0)", 0.1},
    {"fold(fn(s, v) => s + v * 0.1, 0.0, x[:1])", 0.1},
    {"fold(fn(s, v) => s + v * 0.1, 0, x[:1])", 0.1},
    {"fold(fn(s, v) => if s > 0 then s else s + v * 0.1, 0.0, x)", 0.1},
    {"fold(fn(s, v) => v, 0.1, [0.1, 0.1]) * x", 0.1},
    {"scan(fn(s, v) => s * v, 0.1, x)", 0.1},
    {"scan(fn(s, v) => s * v, 0.1, [1.0, 1.0])[1] * x", 0.1},
    {"{ let (s, rows) = map_accum_l(fn(s, v) => (s + v, 0.1), 0.0, x)\n rows * x }", 0.1},
    {"{ let (s, rows) = map_accum_r(fn(s, v) => (s, s * v), 0.1, x)\n rows }", 0.1},
    {"{ let (a, (b, c)) = fori(3, fn(i, (a, (b, c))) => (b, (c, s * 0.1)), (0, (0.0, 0)))\n [a, b, c] }", 0.1},
    {"fori(2, fn(i, s) => fori(2, fn(j, t) => t * x[0], s), 0.1)", 0.1},
    {"fori(2, fn(i, s) => fori(2, fn(j, t) => t, s), 0.1) * x", 0.1},
    {"{ let (n, v) = fori(2, fn(i, (n, v)) => (n + 1, v * 1.0), (0, 0.1))\n v * x + f64(n - 2) }", 0.1},
    {"{ let (n, v) = fori(1, fn(i, (n, v)) => (n + 1, v + n), (0, 0.1))\n v * x * n }", 0.1},
    {"sum(for i: 3 => fold(fn(t, v) => t + v, 0.0, [0.1])) / 3 * x", (0.1 + 0.1 + 0.1) / 3},
};

const std::string kDefs =
    "def constant() = 0.1\n"
    "def halved(x: T) -> T = x / 2.0\n"
    "def halves(x: T[N]) = x / 2.0\n"
    "def wide() -> f64 = 0.1\n";

TEST(TextTypes, WhatIsMadeOfLiteralsKeepsEveryDigitInF64) {
  for (const Case& c : kMade) {
    const std::string source = kDefs + "def main(x: f64[3], s: f64, m: bool[3], k: i32[3]) = " + c.expression;
    const Outcome o = run(
        source,
        {{{"x", f64({3})}, {1, 1, 1}}, {{"s", f64()}, {1}}, {{"m", boolean({3})}, {1, 1, 1}}, {{"k", i32({3})}, {1, 1, 1}}});
    ASSERT_EQ(o.error, "") << c.expression;
    EXPECT_EQ(o.types[0].dtype, DType::F64) << c.expression;
    for (double v : o.values) EXPECT_EQ(v, c.value) << c.expression;
  }
}

TEST(TextTypes, WhatIsMadeOfLiteralsIsF32WhereItMeetsNothing) {
  for (const Case& c : kMade) {
    const std::string e = c.expression;
    if (e.find("wide") != e.npos || e.find("f64") != e.npos) continue;
    const Outcome o = run(
        kDefs + "def main(x: f32[3], s: f32, m: bool[3], k: i32[3]) = " + e,
        {{{"x", f32({3})}, {1, 1, 1}}, {{"s", f32()}, {1}}, {{"m", boolean({3})}, {1, 1, 1}}, {{"k", i32({3})}, {1, 1, 1}}});
    ASSERT_EQ(o.error, "") << e;
    EXPECT_EQ(o.types[0].dtype, DType::F32) << e;
    for (double v : o.values) EXPECT_NEAR(v, c.value, 1e-6) << e;
  }
}

TEST(TextTypes, ValuesThatMeetNothingHaveTheUsualTypes) {
  const Outcome p =
      run("def main() = { let (n, s) = fori(2, fn(i, (n, s)) => (n + 1, s * 0.5), (0, 1.0))\n"
          "  (full([2], 7.0), full([2], 7), [1, 2] * 3, (for i: 2 => 1), fori(2, fn(i, s) => s + 1, 0), n, s,\n"
          "   scan(fn(p, x) => p * x, 1, [2, 3]), exp(1), sum([1, 2])) }");
  ASSERT_EQ(p.error, "");
  EXPECT_EQ(p.types,
            (std::vector<Type>{f32({2}), i32({2}), i32({2}), i32({2}), i32(), i32(), f32(), i32({3}), f32(), i32()}));
  EXPECT_EQ(p.values, (std::vector<double>{7, 7, 7, 7, 3, 6, 1, 1, 2, 2, 0.25, 1, 2, 6, std::exp(1.0), 3}));
}

TEST(TextTypes, WholeNumbersBecomeAnyNumbers) {
  const char* expressions[] = {"full([2], 3) * x", "[3, 3] * x", "(for i: 2 => 3) * x", "fori(2, fn(i, s) => s + 1, 1) * x",
                               "where(x == x, 3, 4) * x"};
  for (Type t : {i32({2}), u32({2}), f32({2}), f64({2})})
    for (const char* e : expressions) {
      const Outcome o = run("def main(x: " + to_string(t) + ") = " + e, {{{"x", t}, {1, 2}}});
      ASSERT_EQ(o.error, "") << e << " with " << to_string(t);
      EXPECT_EQ(o.types[0], t) << e;
      EXPECT_EQ(o.values, (std::vector<double>{3, 6})) << e;
    }
  // More than an i32 holds, where it meets a u32.
  const Outcome o = run("def main(x: u32[2]) = full([2], 3000000000) + x", {{{"x", u32({2})}, {1, 2}}});
  ASSERT_EQ(o.error, "");
  EXPECT_EQ(o.values, (std::vector<double>{3000000001, 3000000002}));
}

TEST(TextTypes, ConversionsOfNumbersKeepTheirDigits) {
  const Outcome o =
      run("def main() = (f64(0.1), cast(0.1, f64), f64(full([1], 0.1)), f64(f32(0.1)), f64([0.1][0]), 1e300d)");
  ASSERT_EQ(o.error, "");
  const double rounded = static_cast<double>(0.1f);
  EXPECT_EQ(o.values, (std::vector<double>{0.1, 0.1, 0.1, rounded, 0.1, 1e300}));
}

TEST(TextTypes, PartsOfALoopFollowDifferentTypes) {
  // The state stays i32, the row follows what it meets.
  const Outcome o =
      run("def main(x: f64) = { let (n, rows) = map_accum_l(fn(n, v) => (n + 1, v * 0.1), 0, [1.0, 1.0])\n (n, rows * x) }",
          {{{"x", f64()}, {1}}});
  ASSERT_EQ(o.error, "");
  EXPECT_EQ(o.types, (std::vector<Type>{i32(), f64({2})}));
  EXPECT_EQ(o.values, (std::vector<double>{2, 0.1, 0.1}));
}

TEST(TextTypes, LongChainsOfLiteralsDoNotRecurse) {
  std::string source = "def main(x: f64) = {\n  let t = [0.1, 0.1]\n";
  for (int j = 0; j < 20000; ++j) source += "  let t = t + 1.0\n";
  const Outcome o = run(source + "  t[0] * x\n}", {{{"x", f64()}, {1}}});
  ASSERT_EQ(o.error.substr(0, 200), "");
  EXPECT_EQ(o.types[0], f64());
  EXPECT_NEAR(o.values[0], 20000.1, 1e-6);
}

TEST(TextTypes, LoopsWithinLoopsFindTheirTypesOrGiveUp) {
  const auto nested = [](int depth) {
    std::string e = "s";
    for (int j = 0; j < depth; ++j) e = "fori(1, fn(i, s) => if s > 0 then s else " + e + " + x, 0.0)";
    return run("def main(x: f64) = " + e, {{{"x", f64()}, {1}}});
  };
  const Outcome o = nested(6);
  ASSERT_EQ(o.error, "");
  EXPECT_EQ(o.types[0], f64());
  EXPECT_EQ(o.values[0], 6);
  EXPECT_NE(nested(30).error.find("SG0406"), std::string::npos);
}

// ---- type parameters

constexpr const char* kDistance = "def distance(x: T[N], y: T[N]) -> T = { let d = x - y\n sqrt(sum(d * d) + 0.1) }\n";

TEST(TextTypes, ADefinitionServesEveryElementType) {
  for (DType t : {DType::F32, DType::F64}) {
    const std::string type(name(t));
    const Outcome o = run(std::string(kDistance) + "def main(a: " + type + "[2], b: " + type + "[2]) = distance(a, b)",
                          {{{"a", {t, {2}}}, {3, 0}}, {{"b", {t, {2}}}, {0, 4}}});
    ASSERT_EQ(o.error, "");
    EXPECT_EQ(o.types[0].dtype, t);
    EXPECT_NEAR(o.values[0], std::sqrt(25.1), t == DType::F32 ? 1e-6 : 1e-15);
  }
  // Both in one program, and of integers and truth values too.
  const Outcome o =
      run("def pick(m: bool[N], a: T[N], b: T[N]) -> T[N] = where(m, a, b)\n"
          "def main(m: bool[2], x: f64[2], n: u32[2]) = (pick(m, x, [0.1, 0.1]), pick(m, n, [5, 5]), pick(m, m, not m))",
          {{{"m", boolean({2})}, {0, 1}}, {{"x", f64({2})}, {2, 3}}, {{"n", u32({2})}, {7, 8}}});
  ASSERT_EQ(o.error, "");
  EXPECT_EQ(o.types, (std::vector<Type>{f64({2}), u32({2}), boolean({2})}));
  EXPECT_EQ(o.values, (std::vector<double>{0.1, 3, 5, 8, 1, 1}));
}

TEST(TextTypes, ATypeParameterIsATypeInTheBody) {
  const Outcome o =
      run("def mean_of(k: i32[N], x: T) -> T = sum(T(k)) / T(len(k)) + x * 0 + sum(zeros(2, dtype=T)) + const(T, [0.1])\n"
          "def main(k: i32[3], x: T) -> (mean: T, z: T[1]) = (mean_of(k, x), cast(k[:1], T))",
          {{{"k", i32({3})}, {1, 2, 4}}, {{"x", f64()}, {5}}});
  ASSERT_EQ(o.error, "");
  EXPECT_EQ(o.types, (std::vector<Type>{f64(), f64({1})}));
  EXPECT_EQ(o.values, (std::vector<double>{7.0 / 3 + 0.1, 1}));
}

TEST(TextTypes, GenericDefinitionsCallEachOther) {
  const Outcome o =
      run("def scaled(x: T[N], by: T) -> T[N] = x * by\n"
          "def twice(x: U[N], y: V[N]) -> (a: U[N], b: V[N]) = (scaled(scaled(x, 2), 1.5), scaled(y, 3))\n"
          "def through(f: T[N]) -> T[N] = fold(fn(s, v) => scaled(s, v), ones(N) * 0.1, f)\n"
          "def main(x: f32[2], y: f64[2]) = { let (a, b) = twice(x, y)\n (a, b, through(y), scaled([0.1, 0.2], 3) * y) }",
          {{{"x", f32({2})}, {1, 2}}, {{"y", f64({2})}, {1, 1}}});
  ASSERT_EQ(o.error, "");
  EXPECT_EQ(o.types, (std::vector<Type>{f32({2}), f64({2}), f64({2}), f64({2})}));
  EXPECT_EQ(o.values, (std::vector<double>{3, 6, 3, 3, 0.1, 0.1, 0.1 * 3, 0.2 * 3}));
}

TEST(TextTypes, TheProgramTakesItsElementTypeFromInputsOrFromOutside) {
  const std::string source = std::string(kDistance) + "def main(a: T[N], b: T[N]) -> T = distance(a, b)";
  const auto m = text::parse(source, "test.sg");
  ASSERT_TRUE(m);
  EXPECT_FALSE(text::has_fixed_types(*m));
  EXPECT_EQ(m->functions()[1].type_parameters, std::vector<std::string>{"T"});
  EXPECT_EQ(m->functions()[1].params[0].type_parameter, "T");
  const auto p = text::instantiate(*m, "", {{"N", 3}}, nullptr, DType::F64);
  ASSERT_TRUE(p) << p.error().str();
  EXPECT_EQ(p->params[0].type, f64({3}));
  const auto open = text::instantiate(*m, "", {{"N", 3}});
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().code, "SG0106");
  EXPECT_NE(open.error().str().find("--dtype f64"), std::string::npos);
  const Outcome both = run(source, {{{"a", f32({1})}, {1}}, {{"b", f64({1})}, {1}}});
  EXPECT_NE(both.error.find("'T' is f32 ('a') and f64 ('b')"), std::string::npos) << both.error;
  const Outcome other = run(source, {{{"a", f32({1})}, {1}}, {{"b", f32({1})}, {1}}}, DType::F64);
  EXPECT_NE(other.error.find("'T' is f64 (the call) and f32 ('a')"), std::string::npos) << other.error;
}

// A size that no argument shows holds in the functions that are called, too; what an argument shows comes first.
TEST(ShapeVariables, GivenFromOutsideReachCalledFunctions) {
  const auto value = [](const std::string& source, const text::ShapeVariables& shapes) -> std::string {
    const auto p = text::instantiate(text::parse(source, "test.sg").value(), "", shapes);
    if (!p) return p.error().code;
    const std::vector<std::vector<double>> ones = {
        std::vector<double>(static_cast<size_t>(p->params[0].type.shape.count()), 1)};
    return std::to_string(static_cast<int>(ir::evaluate(*p, ones)[0].data[0]));
  };
  const std::string f = "def f(x: f32[M]) -> f32 = sum(x) * N\n", g = "def g(x: f32[M]) -> f32 = f(x) + f(x[0:1])\n";
  EXPECT_EQ(value(f + g, {{"M", 2}, {"N", 3}}), "9");
  EXPECT_EQ(value(f + g, {{"M", 2}}), "SG0402") << "unknown without";
  EXPECT_EQ(value("def f(x: f32[L*L]) -> f32 = sum(x) + L\ndef g(x: f32[L*L]) -> f32 = f(x)", {{"L", 2}}), "6");
  EXPECT_EQ(value("def f(x: f32[N]) -> f32 = sum(x) * N\ndef g(x: f32[N], y: f32[2]) -> f32 = 0.0\n"
                  "def h(x: f32[N]) -> f32 = f(x[0:2])",
                  {{"N", 5}}),
            "4")
      << "f's own N is that of its argument";
}

TEST(TextTypes, ExtentsAreExpressionsOfNumbers) {
  const auto extent = [](const std::string& type, const text::ShapeVariables& shapes) {
    const auto p = text::instantiate(text::parse("def f(x: f32[" + type + "]) = x", "test.sg").value(), "", shapes);
    return p ? p->params[0].type.shape[0] : -1;
  };
  EXPECT_EQ(extent("2 ** L", {{"L", 5}}), 32);
  EXPECT_EQ(extent("2 ** L", {{"L", 0}}), 1);
  EXPECT_EQ(extent("2 ** L", {{"L", 54}}), -1) << "no double tells it from its neighbours";
  EXPECT_EQ(extent("min(L, 3) + max(L, 3)", {{"L", 5}}), 8);
  EXPECT_EQ(extent("if L > 3 and L % 2 == 1 then L // 2 else 0", {{"L", 5}}), 2);
  EXPECT_EQ(extent("if L > 3 and L % 2 == 1 then L // 2 else 0", {{"L", 6}}), 0);
  EXPECT_TRUE(text::has_fixed_types(text::parse("def f(x: f32[min(2, 3)]) = x", "test.sg").value()));
  EXPECT_FALSE(text::has_fixed_types(text::parse("def f(x: f32[min(L, 3)]) = x", "test.sg").value()));
}

}  // namespace text_types_test
}  // namespace spirograd
