// Derivatives that users give: custom_jvp and custom_vjp. More of their values stand in the conformance tables (E21 to E28).
#include "spirograd/check.h"
#include "spirograd/derivatives.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ad/measure.h"
#include "frontend/rewrite/simplify.h"
#include "frontend/rewrite/vectorise.h"
#include "spirograd/grad.h"
#include "spirograd/ops.h"
#include "spirograd/trace.h"
#include "support/same_nodes.h"
#include "support/text_programs.h"

namespace spirograd {
namespace custom_rules_test {

using test::count_lowered;
using test::program;
using test::run;
using test::Values;

// ---- tangents

TEST(CustomJvp, HoldsInBothModesAtAnyOrderAndFromOutside) {
  // The rule of a wave says the tangent is 2 cos; its own derivative is -2 sin.
  const std::string rule = "def wave(x: f64) -> f64 = sin(x)\ncustom_jvp wave(x, dx) = (wave(x), 2 * cos(x) * dx)\n";
  const Program p = program(rule + "def f(x: f64) = 3 * wave(x * x)");
  EXPECT_EQ(run(p, {{0.5}})[0], 3 * std::sin(0.25));
  EXPECT_NEAR(run(grad(p).value(), {{0.5}})[0], 6 * std::cos(0.25), 1e-15);
  EXPECT_NEAR(run(jvp(p).value(), {{0.5}, {2}})[1], 12 * std::cos(0.25), 1e-15);
  EXPECT_NEAR(run(grad(grad(p).value(), {}, "d_x").value(), {{0.5}})[0], 12 * std::cos(0.25) - 6 * std::sin(0.25), 1e-14);
  EXPECT_NEAR(run(rule + "def f(x: f64) = sum(for i: 3 => grad(wave)(x * f64(i)))", {{0.5}})[0],
              2 + 2 * std::cos(0.5) + 2 * std::cos(1.0), 1e-15);
  EXPECT_NEAR(run(rule + "def f(x: f64[2]) = fold(fn(s, v) => s + wave(v), 0.0, x)", {{0.5, 1}})[0],
              std::sin(0.5) + std::sin(1.0), 1e-15);
}

TEST(CustomJvp, KnowsOtherParametersStructsAndSeveralResults) {
  const std::string text =
      "struct Model { w: f32[N], b: f32 }\n"
      "def g(m: Model, n: i32, x: f32[N]) -> (y: f32[N], k: i32, s: f32) = (m.w * x + m.b, n + 1, sum(x) * f32(n))\n"
      "custom_jvp g(m, n, x, dm, dx) = {\n"
      "  let (y, k, s) = g(m, n, x)\n  ((y, k, s), (dm.w * x + 10 * m.w * dx, 0, f32(n) * sum(dm.w) + dm.b))\n}\n"
      "def f(w: f32[2], b: f32, n: i32, x: f32[2]) -> (y: f32[2], k: i32, s: f32) = g(Model(w, b), n, x)";
  const std::vector<Values> at = {{2, 3}, {1}, {4}, {5, 6}};
  EXPECT_EQ(run(text, at), (Values{11, 19, 5, 44}));
  EXPECT_EQ(run(vjp(program(text)).value(), {{2, 3}, {1}, {4}, {5, 6}, {1, 1}, {1}}),
            (Values{11, 19, 5, 44, 5 + 4, 6 + 4, 1, 20, 30}));
}

TEST(CustomJvp, IsThereInPrintedAndBulkProgramsAndGoneInCompiledOnes) {
  const Program p = program(
      "def wave(x: f32, n: f32[3]) -> f32 = sin(x) + sum(n)\n"
      "custom_jvp wave(x, n, dx, dn) = (x, prod(n) * dx + sum(dn) * exp(x))\n"
      "def f(x: f32[4], n: f32[3]) = for i: 4 => wave(x[i], n)");
  const Program bulk = rewrite::vectorise(p);
  for (const Program& q : {p, bulk, rewrite::simplify(bulk)}) {
    EXPECT_NE(text::print(q).find("with_jvp("), std::string::npos);
    const Program again = text::instantiate(text::parse(text::print(q), "printed.sg").value()).value();
    EXPECT_TRUE(test::same_nodes(q, again)) << text::print(q);
    EXPECT_EQ(run(vjp(q).value(), {{1, 2, 3, 4}, {2, 3, 5}, {1, 1, 1, 1}}),
              run(vjp(p).value(), {{1, 2, 3, 4}, {2, 3, 5}, {1, 1, 1, 1}}));
  }
  EXPECT_EQ(run(vjp(p).value(), {{1, 2, 3, 4}, {2, 3, 5}, {1, 0, 0, 0}})[4], 30);
  EXPECT_EQ(count_lowered(p, ir::Op::WithJvp), 0);
}

TEST(CustomJvp, TangentsThatAreNotLinearAreRefused) {
  const auto derived = [](const std::string& tangent) {
    return vjp(
        program("def g(x: f32[2]) -> f32[2] = x\ncustom_jvp g(x, dx) = (x, " + tangent + ")\ndef f(x: f32[2]) = g(x)"));
  };
  for (const char* tangent :
       {"dx * dx", "sin(dx)", "x / dx", "dx * sum(dx)", "where(dx > 0, dx, x)", "prod(dx) * x", "exp(x) * (dx * (dx + 1))"})
    EXPECT_TRUE(!derived(tangent) && derived(tangent).error().code == "SG0207") << tangent;
  for (const char* tangent :
       {"dx", "-2.0 * dx / x", "where(x > 0, dx, 0.0)", "[sum(dx), dx[1]]", "[[1.0, x[0]], [2.0, 3.0]] @ dx",
        "cumsum(x * dx)", "scatter([2], dx, i32(x))", "0.0 * x", "dx * prod(x)"})
    EXPECT_TRUE(derived(tangent)) << tangent;
}

TEST(CustomJvp, MistakesAreTold) {
  const std::string g = "def g(x: f32[2], n: i32) -> f32[2] = x\n";
  const std::pair<const char*, const char*> cases[] = {
      {"custom_jvp g(x, dx) = (x, dx)", "SG0404 takes 3 parameters"},
      {"custom_jvp h(x, dx) = (x, dx)", "SG0403 no definition of 'h' above"},
      {"custom_jvp g(x, n, x) = (x, x)", "SG0408 'x' stands twice"},
      {"custom_jvp g(x, n, dx) = (x, dx)\ncustom_jvp g(x, n, dx) = (x, dx)", "SG0408 has a derivative already"},
      {"custom_jvp g(x, n, dx) = dx", "SG0103 gives (value, tangent), not f32[2]"},
      {"custom_jvp g(x, n, dx) = (x, sum(dx))", "SG0103 a tangent of f32 for f32[2]"},
      {"custom_jvp g(x, n, dx) = (x, (dx, dx))", "SG0103 gives 2 tangents for 1 results"},
      {"custom_jvp g(x, n, dx) = (x, dy)", "SG0402 unknown name 'dy'"},
  };
  for (const auto& [rule, want] : cases) {
    const auto module = text::parse(g + rule + "\ndef f(x: f32[2]) = g(x, 3)", "test.sg");
    const auto p = module ? text::instantiate(*module) : module.error();
    ASSERT_FALSE(p) << rule;
    EXPECT_EQ(p.error().code, std::string(want).substr(0, 6)) << p.error().str();
    EXPECT_NE(p.error().str().find(std::string(want).substr(7)), std::string::npos) << p.error().str();
  }
  const auto wrong = trace("f", {{"x", f32({2})}}, [](Array x) {
    return custom_jvp([](Array t) { return t * t; }, [](Array t, Array dt) { return std::pair(t, sum(dt)); })(x);
  });
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, "SG0101") << wrong.error().str();
}

TEST(CustomJvp, HoldsForTheFunctionOfTheProgramItself) {
  const std::string text =
      "def wave(x: f64) -> (y: f64, z: f64) = (sin(x), x)\ncustom_jvp wave(x, dx) = (wave(x), (2 * dx, 3 * dx))";
  EXPECT_EQ(run(vjp(program(text)).value(), {{0}, {1}, {10}}), (Values{0, 0, 32}));
  EXPECT_EQ(run(jvp(program(text)).value(), {{0}, {1}}), (Values{0, 0, 2, 3}));
}

// ---- cotangents

TEST(CustomVjp, HoldsInBothModesAtAnyOrder) {
  // The rule of a wave says the slope is 2 cos; its own derivative is -2 sin. It is linear, so forward mode has it as well.
  const std::string rule = "def wave(x: f64) -> f64 = sin(x)\ncustom_vjp wave(x, ct) = 2 * cos(x) * ct\n";
  const Program p = program(rule + "def f(x: f64) = 3 * wave(x * x)");
  EXPECT_EQ(run(p, {{0.5}})[0], 3 * std::sin(0.25));
  EXPECT_NEAR(run(grad(p).value(), {{0.5}})[0], 6 * std::cos(0.25), 1e-15);
  EXPECT_NEAR(run(jvp(p).value(), {{0.5}, {2}})[1], 12 * std::cos(0.25), 1e-15);
  const double second = 12 * std::cos(0.25) - 6 * std::sin(0.25);
  EXPECT_NEAR(run(grad(grad(p).value(), {}, "d_x").value(), {{0.5}})[0], second, 1e-14);
  EXPECT_NEAR(run(jvp(grad(p).value()).value(), {{0.5}, {1}})[1], second, 1e-14);
  EXPECT_NEAR(run(grad(jvp(p).value(), {"x"}, "dot_out").value(), {{0.5}, {1}})[0], second, 1e-14);
  EXPECT_NEAR(run(rule + "def f(x: f64[2]) = fold(fn(s, v) => s + wave(v), 0.0, x)", {{0.5, 1}})[0],
              std::sin(0.5) + std::sin(1.0), 1e-15);
}

TEST(CustomVjp, KnowsOtherParametersStructsAndSeveralResults) {
  const std::string text =
      "struct Model { w: f32[N], k: i32, b: f64 }\n"
      "def g(m: Model, n: i32, x: f32[N]) -> (y: f32[N], k: i32, s: f64) = (m.w * x, n + 1, m.b * f64(sum(x)))\n"
      "custom_vjp g(m, n, x, ct) = {\n"
      "  let (cy, k, cs) = ct\n  (Model(cy * x, 0, cs * 10.0), cy * m.w + f32(cs * m.b * f64(n + k)))\n}\n"
      "def f(w: f32[2], b: f64, n: i32, x: f32[2]) -> (y: f32[2], k: i32, s: f64) = g(Model(w, 7, b), n, x)";
  EXPECT_EQ(run(text, {{2, 3}, {2}, {4}, {5, 6}}), (Values{10, 18, 5, 22}));
  EXPECT_EQ(run(vjp(program(text)).value(), {{2, 3}, {2}, {4}, {5, 6}, {1, 10}, {100}}),
            (Values{10, 18, 5, 22, /*w*/ 5, 60, /*b*/ 1000, /*x*/ 2 + 800, 30 + 800}));
  EXPECT_EQ(run(jvp(program(text)).value(), {{2, 3}, {2}, {4}, {5, 6}, {1, 0}, {1}, {0, 1}}),
            (Values{10, 18, 5, 22, /*y*/ 5, 3, /*s*/ 10 + 8}));
}

// What is cut off depends on the cotangent: there is no forward derivative, and reverse mode has any order.
TEST(CustomVjp, NeedNotBeLinear) {
  const std::string rule = "def cut(x: f64[N]) -> f64[N] = x\ncustom_vjp cut(x, ct) = min(max(ct, -1.0), 1.0) * x\n";
  const Program p = program(rule + "def f(x: f64[3]) = sum(square(cut(x)) * [0.1, 2.0, -3.0])");
  EXPECT_EQ(run(grad(p).value(), {{1, 2, 3}}), (Values{0.2, 2, -3}));
  const Program twice = program(rule + "def f(x: f64[3]) = sum(grad(fn(v) => sum(square(cut(v)) * [0.1, 2.0, -3.0]))(x))");
  EXPECT_NEAR(run(twice, {{1, 2, 3}})[0], 0.2 + 2 - 3, 1e-15);
  // d_x of min(max(0.2 c, ..)) x with c = cut(x), whose own cotangent 0.2 x passes, times x; then the factor x itself.
  EXPECT_EQ(run(grad(twice).value(), {{1, 2, 3}}), (Values{0.2 + 0.2, 1, -1}));
  const auto forward = jvp(p);
  ASSERT_FALSE(forward);
  EXPECT_EQ(forward.error().code, "SG0208") << forward.error().str();
}

TEST(CustomVjp, SeesLinearityThroughLoopsAndRefusesWhatOnlyLooksLikeIt) {
  const auto forward = [](const std::string& cotangent) {
    return jvp(program("def g(x: f32[2]) -> f32[2] = x\ncustom_vjp g(x, ct) = " + cotangent + "\ndef f(x: f32[2]) = g(x)"));
  };
  for (const char* linear :
       {"ct", "cumsum(ct) * x", "fold(fn(s, i) => s * x + ct, zeros(2), iota(3))", "reverse(ct)",
        "fori(3, fn(i, s) => [s[1], s[0]] / x, ct)", "where(x > 0, ct, 0.0)", "0.0 * x", "concat(ct[0:1], [0.0])"}) {
    const auto p = forward(linear);
    ASSERT_TRUE(p) << linear << p.error().str();
    // jvp = transpose of vjp.
    const Program back = vjp(program("def g(x: f32[2]) -> f32[2] = x\ncustom_vjp g(x, ct) = " + std::string(linear) +
                                     "\ndef f(x: f32[2]) = g(x)"))
                             .value();
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j) {
        const double ij = run(*p, {{2, 4}, {j == 0 ? 1.0 : 0.0, j == 1 ? 1.0 : 0.0}})[static_cast<size_t>(2 + i)];
        EXPECT_EQ(ij, run(back, {{2, 4}, {i == 0 ? 1.0 : 0.0, i == 1 ? 1.0 : 0.0}})[static_cast<size_t>(2 + j)]) << linear;
      }
  }
  for (const char* other :
       {"ct + 1", "ct * ct", "abs(ct)", "x + ct", "fold(fn(s, i) => s * x + ct, ones(2), iota(3))",
        "fori(3, fn(i, s) => s * s, ct)", "where(ct > 0, ct, 0.0)", "concat(ct[0:1], [1.0])", "stop_gradient(ct)"}) {
    const auto p = forward(other);
    EXPECT_TRUE(!p && p.error().code == "SG0208") << other;
  }
}

// Each mode has its own rule, though one of them is not the other's transpose.
TEST(CustomVjp, OfAValueWithATangentLeavesForwardModeToThat) {
  const std::string rules =
      "def inner(x: f64[2]) -> f64[2] = sin(x)\ncustom_jvp inner(x, dx) = (inner(x), 3.0 * dx)\n"
      "def both(x: f64[2]) -> f64[2] = inner(x)\ncustom_vjp both(x, ct) = min(max(ct, -1.0), 1.0) * 5.0\n";
  const Program p = program(rules + "def f(x: f64[2]) = sum(both(x) * [0.2, 7.0])");
  EXPECT_EQ(run(grad(p).value(), {{1, 2}}), (Values{1, 5}));
  EXPECT_NEAR(run(jvp(p).value(), {{1, 2}, {1, 1}})[1], 3 * 7.2, 1e-14);
  const Program printed = program(text::print(p));
  EXPECT_EQ(run(grad(printed).value(), {{1, 2}}), (Values{1, 5}));
  EXPECT_NEAR(run(jvp(printed).value(), {{1, 2}, {0, 0}})[1], 0, 1e-300);
  const Program rows = program(rules + "def f(x: f64[3,2]) = sum(for i: 3 => both(x[i]) * [0.2, 7.0])");
  EXPECT_EQ(run(grad(rows).value(), {{1, 2, 3, 4, 5, 6}}), (Values{1, 5, 1, 5, 1, 5}));
  EXPECT_NEAR(run(jvp(rows).value(), {{1, 2, 3, 4, 5, 6}, {1, 0, 0, 0, 0, 1}})[1], 3 * 7.2, 1e-14);
}

// 1 / x at 0 is infinite: what the mask left out stays zero on the way through a linear rule, in both modes.
TEST(CustomVjp, MasksHoldThroughIt) {
  const Program p = program(
      "def g(x: f64[N]) -> f64[N] = log(x)\ncustom_vjp g(x, ct) = ct / x\n"
      "def f(x: f64[3]) = sum(for i: 3 => if x[i] > 0 then g(x)[i] else 0.0)");
  EXPECT_EQ(run(grad(p).value(), {{0, 2, 4}}), (Values{0, 0.5, 0.25}));
  EXPECT_EQ(run(jvp(p).value(), {{0, 2, 4}, {1, 1, 1}}), (Values{std::log(2.0) + std::log(4.0), 0.75}));
}

TEST(CustomJvp, ZerosOfAnyFormAreLinear) {
  for (const char* zeros :
       {"zeros(2)", "concat(zeros(1), zeros(1))", "window(zeros(9), lo=3, n=2)", "scan(fn(a, e) => 0.0, 0.0, x)[1:3]"}) {
    const std::string rule = "def g(x: f64[2]) = 2 * x\ncustom_jvp g(x, dx) = (g(x), " + std::string(zeros) + ")\n";
    EXPECT_EQ(run(grad(program(rule + "def f(x: f64[2]) = sum(g(x))")).value(), {{1, 2}}), (Values{0, 0})) << zeros;
  }
}

TEST(CustomVjp, ThatGivesNothingGivesNoTangentEither) {
  const std::string still = "def g(x: f64[2]) = x * x\ncustom_vjp g(x, ct) = zeros(2)\n";
  const auto slope = [&](const std::string& body) {
    return run(jvp(program(still + "def f(x: f64[2]) = " + body)).value(), {{0, 3}, {1, 1}}).back();
  };
  EXPECT_EQ(slope("sum(g(x))"), 0);
  EXPECT_EQ(slope("sqrt(g(x)[0])"), 0) << "nothing meets an infinite slope";
  EXPECT_EQ(slope("sum(x - 2 * g(x))"), 2);
  EXPECT_EQ(slope("sum(g(x) - g(2 * x))"), 0);
  EXPECT_EQ(slope("sum(g(g(x)))"), 0);
  EXPECT_EQ(slope("fori(3, fn(i, s) => s + sum(g(x)) + x[1], 0.0)"), 3);
}

TEST(CustomVjp, IsThereInPrintedAndBulkProgramsAndGoneInCompiledOnes) {
  const Program p = program(
      "def wave(x: f32, n: f32[3]) -> f32 = sin(x) + sum(n)\n"
      "custom_vjp wave(x, n, ct) = (prod(n) * ct, ct * [exp(x), 0.0, x])\n"
      "def f(x: f32[4], n: f32[3]) = for i: 4 => wave(x[i], n)");
  const Program bulk = rewrite::vectorise(p);
  for (const Program& q : {p, bulk, rewrite::simplify(bulk)}) {
    EXPECT_NE(text::print(q).find("with_vjp("), std::string::npos);
    const Program again = text::instantiate(text::parse(text::print(q), "printed.sg").value()).value();
    EXPECT_TRUE(test::same_nodes(q, again)) << text::print(q);
    EXPECT_EQ(run(vjp(q).value(), {{1, 2, 3, 4}, {2, 3, 5}, {1, 1, 1, 1}}),
              run(vjp(p).value(), {{1, 2, 3, 4}, {2, 3, 5}, {1, 1, 1, 1}}));
  }
  const Values at = run(vjp(p).value(), {{1, 2, 3, 4}, {2, 3, 5}, {1, 0, 0, 2}});
  EXPECT_EQ(Values(at.begin() + 4, at.begin() + 8), (Values{30, 0, 0, 60}));
  EXPECT_EQ(at.back(), 1 + 2 * 4);
  EXPECT_EQ(count_lowered(p, ir::Op::WithVjp), 0);
}

TEST(CustomVjp, MistakesAreTold) {
  const std::string g = "def g(x: f32[2], n: i32, s: f32) -> f32[2] = x\n";
  const std::pair<const char*, const char*> cases[] = {
      {"custom_vjp g(x, n, ct) = ct", "SG0404 takes 4 parameters: those of 'g', then the cotangent of what it gives"},
      {"custom_vjp g(x, n, s, ct) = ct", "SG0404 a cotangent for 2 arrays, it is given 1"},
      {"custom_vjp g(x, n, s, ct) = (ct, ct)", "SG0101 a cotangent for f32 cannot be f32[2]"},
      {"custom_vjp g(x, n, s, ct) = (i32(ct), 0)", "SG0102 a cotangent for f32[2] cannot be i32[2]"},
      {"custom_vjp g(x, n, s, ct) = (ct, 0)\ncustom_jvp g(x, n, s, dx, ds) = (x, dx)", "SG0408 has a derivative already"},
  };
  for (const auto& [rule, want] : cases) {
    const auto module = text::parse(g + rule + "\ndef f(x: f32[2]) = g(x, 3, 1.0)", "test.sg");
    const auto p = module ? text::instantiate(*module) : module.error();
    ASSERT_FALSE(p) << rule;
    EXPECT_EQ(p.error().code, std::string(want).substr(0, 6)) << p.error().str();
    EXPECT_NE(p.error().str().find(std::string(want).substr(7)), std::string::npos) << p.error().str();
  }
  const auto wrong = trace("f", {{"x", f32({2})}}, [](Array x) {
    return custom_vjp([](Array t) { return t * t; }, [](Array, Array ct) { return sum(ct); })(x);
  });
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, "SG0101") << wrong.error().str();
}

// ---- check_derivatives

std::vector<bool> verdicts(const std::string& text, const Values& x) {
  const Program p = program(text);
  std::vector<bool> out;
  for (const DerivativeCheck& c : check_derivatives(p, std::vector{HostArray(p.params[0].type, x)}).value())
    out.push_back(c.ok);
  return out;
}

TEST(CheckDerivatives, TellsRightRulesFromWrongOnes) {
  const std::string f = "def f(x: f64[3]) = sum(g(x) * x)", g = "def g(x: f64[3]) -> f64[3] = sin(x)\n";
  const auto with = [&](const std::string& rule) { return verdicts(g + rule + "\n" + f, {0.3, 0.7, -1.2}); };
  EXPECT_EQ(with(""), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(with("custom_jvp g(x, dx) = (g(x), cos(x) * dx)"), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(with("custom_vjp g(x, ct) = cos(x) * ct"), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(with("custom_vjp g(x, ct) = 1.01 * cos(x) * ct"), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(with("custom_jvp g(x, dx) = (g(x), stop_gradient(cos(x)) * dx)"), (std::vector<bool>{true, true, true}))
      << "told not to be comparable";
  EXPECT_EQ(with("custom_vjp g(x, ct) = cos(x) * max(ct, 0.0)"), (std::vector<bool>{true, true})) << "reverse mode alone";
}

TEST(CheckDerivatives, SaysWhatItCouldNotCompare) {
  const Program kinks = program("def f(x: f64[2]) = sum(abs(x) * x[1])");
  const auto at = std::vector{HostArray(f64({2}), {0, 1})};
  const auto lines = check_derivatives(kinks, at).value();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_NE(lines[0].note.find("a kink at out"), std::string::npos) << lines[0].note;
  const Program mixed = program("def f(x: f64[2]) -> (n: i32[3], y: f64[2]) = (iota(3), abs(x))");
  const std::string note = check_derivatives(mixed, at).value()[0].note;
  EXPECT_NE(note.find("a kink at y[0]"), std::string::npos) << note << ": results that are no floats are not counted";
  EXPECT_EQ(lines[1].detail, "10 of 10 directions");
  EXPECT_EQ(check_derivatives(kinks, at, {.seed = 5, .directions = 3}).value()[1].detail, "3 of 3 directions");
  EXPECT_EQ(check_derivatives(kinks, {}).error().code, "SG0501");
  EXPECT_EQ(check_derivatives(kinks, std::vector{HostArray(f32({2}))}).error().code, "SG0501");
  EXPECT_EQ(check_derivatives(program("def f(k: i32) = k"), std::vector{HostArray(i32())}).error().code, "SG0201");
}

// At 1e-6 the differences of abs over 1e-5 meet the corner at 0; over 1e-6 they do not.
TEST(CheckDerivatives, ShorterStepsAvoidACornerNearby) {
  const auto near_corner = [](double step) { return ad::Values{{std::abs(1e-6 + step)}}; };
  const std::vector<ProgramResult> results = {{"y", 0, f64()}};
  const ad::Slope right = ad::best_slope(near_corner, results, {{1}}), wrong = ad::best_slope(near_corner, results, {{-1}});
  EXPECT_EQ(right.kinks, 0);
  EXPECT_LT(right.error, 1e-7);
  EXPECT_EQ(wrong.kinks, 0);
  EXPECT_GT(wrong.error, 1);
  const auto at_corner = [](double step) { return ad::Values{{1 + step, std::abs(step)}}; };
  const ad::Slope corner = ad::best_slope(at_corner, {{"y", 0, f64({2})}}, {{1, 0}});
  EXPECT_EQ(corner.kinks, 1);
  EXPECT_EQ(corner.kink, "y[1]");
}

}  // namespace custom_rules_test
}  // namespace spirograd
