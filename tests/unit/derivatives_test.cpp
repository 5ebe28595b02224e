// Derivatives and batches as expressions: element types, names, what is shared, loops without a known end, and mistakes.
// Their values stand in the conformance tables (E01 to E20).
#include "spirograd/derivatives.h"

#include <gtest/gtest.h>

#include <cmath>

#include "frontend/rewrite/simplify.h"
#include "frontend/rewrite/vectorise.h"
#include "spirograd/grad.h"
#include "spirograd/ops.h"
#include "spirograd/trace.h"
#include "support/same_nodes.h"
#include "support/text_programs.h"

namespace spirograd {
namespace derivatives_test {

using test::count_lowered;
using test::program;
using test::run;
using test::Values;

// ---- element types

TEST(Derivatives, NumbersTakeTheTypeThatTheyMeet) {
  const double tenth = 0.1;
  EXPECT_EQ(run("def f(x: f64) = x * grad(fn(t) => t * t)(0.1)", {{1}})[0], 2 * tenth);
  EXPECT_EQ(run("def f(x: f64) = grad(fn(t) => t * x)(0.1)", {{tenth}})[0], tenth);
  EXPECT_EQ(run("def g(t: f64) = t * t\ndef f() = grad(g)(0.1)")[0], 2 * tenth);
  EXPECT_EQ(run("def g(t: T) = t * t\ndef f(x: f64) = x * grad(g)(0.1)", {{1}})[0], 2 * tenth);
  EXPECT_EQ(run("def f() = grad(fn(t) => t * t)(3)")[0], 6);
  EXPECT_EQ(program("def f() = grad(fn(t) => t * t)(0.1)").results[0].type, f32());
  EXPECT_EQ(run("def f(x: f64) = { let (y, back) = vjp(fn(t) => t * x, 0.1); back(0.1) }", {{tenth}})[0], tenth * tenth);
  EXPECT_EQ(run("def f(x: f64) = { let (y, d) = jvp(fn(t) => t * x, 0.1, 0.1); d }", {{tenth}})[0], tenth * tenth);
  EXPECT_EQ(run("def f(x: f64[2]) = jacobian(fn(t) => t * x)([0.1, 0.2])", {{tenth, 3}}), (Values{tenth, 0, 0, 3}));
}

// Both modes: 5 directions forward into 7 elements, 4 backward from 2. Chunks that divide them, do not, and are more than
// there are.
TEST(Derivatives, JacobiansInChunksAreThoseOfAllDirectionsAtOnce) {
  const std::string functions =
      "def wide(x: f64[5]) -> f64[7] = for i: 7 => sum(sin(x * f64(i + 1))) * x[i - quot(i, 5) * 5]\n"
      "def narrow(x: f64[2,3]) -> f64[4] = for i: 4 => exp(x[0, i - quot(i, 3) * 3]) * sum(x[1] * f64(i))\n";
  const auto jacobian = [&](const std::string& f, const std::string& type, const std::string& chunk) {
    return program(functions + "def f(x: " + type + ") = jacobian(" + f + chunk + ")(x)");
  };
  const struct {
    const char *name, *type;
    Values at;
  } cases[] = {{"wide", "f64[5]", {0.1, -0.2, 0.3, 0.4, -0.5}}, {"narrow", "f64[2,3]", {0.1, -0.2, 0.3, 0.4, -0.5, 0.6}}};
  for (const auto& c : cases) {
    const Values all = run(jacobian(c.name, c.type, ""), {c.at});
    for (int chunk : {1, 2, 3, 4, 5, 6, 100}) {
      const Program p = jacobian(c.name, c.type, ", chunk=" + std::to_string(chunk));
      EXPECT_EQ(run(p, {c.at}), all) << c.name << " " << chunk;
      EXPECT_EQ(p.results[0].type, jacobian(c.name, c.type, "").results[0].type);
    }
  }
  EXPECT_EQ(test::count_lowered(jacobian("wide", "f64[5]", ", chunk=2"), ir::Op::MapAccum), 1)
      << "not all at once after all";
  EXPECT_EQ(run("def f(x: f64[3]) = hessian(fn(v) => sum(v * v * v), chunk=2)(x)", {{1, 2, 3}}),
            (Values{6, 0, 0, 0, 12, 0, 0, 0, 18}));
  EXPECT_EQ(
      run("def f(x: f64[2]) = sum(jacobian(grad(fn(v) => sum(jacobian(sin, chunk=1)(v) ** 2)), chunk=1)(x))", {{0, 0}}),
      (Values{-4}))
      << "nested";
}

TEST(Derivatives, ArgumentsThatAreNoFloatsStayAsTheyAre) {
  EXPECT_EQ(run("def f(x: f32[3], k: i32) = grad(fn(v, k) => v[k] * v[k])(x, k)", {{1, 2, 3}, {1}}), (Values{0, 4, 0}));
  EXPECT_EQ(run("def f(x: f32) = grad(fn(v, n) => sum(v * ones(n)))(x, 3)", {{1}}), (Values{3})) << "a size";
  EXPECT_EQ(run("def f(x: f32) = grad(fn(v, g) => g(v))(x, fn(v) => v * v)", {{3}}), (Values{6})) << "a function";
  EXPECT_EQ(run("def f(x: f32[2], k: i32) = { let (y, back) = vjp(fn(v, k) => v[k], x, k); back(2.0) }", {{1, 2}, {1}}),
            (Values{0, 2}));
}

TEST(Derivatives, HaveTheFormOfTheArguments) {
  EXPECT_EQ(run("def f(a: f32, b: f32[2]) = { let (da, db) = grad(fn((s, t)) => s * sum(t))((a, b)); [da, db[0], db[1]] }",
                {{2}, {3, 4}}),
            (Values{7, 2, 2}));
  EXPECT_EQ(run("def f(a: f32, b: f32) = { let (d,) = grad(fn(s, t) => s * t, wrt=(1,))(a, b); d }", {{2}, {3}}),
            (Values{2}));
}

TEST(Derivatives, ParametersAreNamedWhereTheyHaveNames) {
  const std::string g = "def g(w: f32, b: f32, x: f32) = w * x + b * b\n";
  EXPECT_EQ(run(g + "def f(x: f32) = grad(g, wrt=b)(2.0, 3.0, x)", {{5}}), (Values{6}));
  EXPECT_EQ(run(g + "def f(x: f32) = grad(g, wrt=x)(2.0, x=x, b=3.0)", {{5}}), (Values{2}));
  EXPECT_EQ(run(g + "def f(x: f32) = grad(grad(g, wrt=b), wrt=b)(2.0, 3.0, x)", {{5}}), (Values{2})) << "names live on";
  EXPECT_EQ(run("def f(x: f32) = grad(sin)(x)", {{0}}), (Values{1})) << "operations have none";
  EXPECT_EQ(run("def f(x: f32) = fold(fn(s, v) => s + grad(sin)(v), 0.0, [x, x])", {{0}}), (Values{2}));
}

// ---- what is shared

TEST(Derivatives, TheValueIsComputedOnceHoweverOftenThePullbackIsCalled) {
  const std::string f = "let (y, back) = vjp(fn(v) => exp(v), x)\n";
  EXPECT_EQ(count_lowered(program("def f(x: f32[3]) { " + f + " y + back(x) + back(x * x) }"), ir::Op::Exp), 1);
  const Program loop = program(
      "def f(x: f32[3]) { let (y, back) = vjp(fn(v) => fori(5, fn(i, s) => sin(s), v), x)\n y + back(x) + back(x * x) }");
  EXPECT_EQ(count_lowered(loop, ir::Op::MapAccum), 3) << "one forward, one backward for each cotangent";
}

TEST(Derivatives, ValuesAndTangentsShareTheirLoops) {
  EXPECT_EQ(
      count_lowered(program("def f(x: f32[9]) = jvp(fn(t) => fori(100, fn(i, s) => sin(s) + 0.1 * s * s, t), x, ones(9))"),
                    ir::Op::MapAccum),
      1);
  const auto loop = [](Array t) {
    return fori(
        100, [](Index, Array s) { return sin(s) + 0.1f * s * s; }, t);
  };
  const Program both =
      trace("f", {{"x", f32({9})}}, [&](Array x) { return jvp(loop, std::tuple(x), std::tuple(x)); }).value();
  EXPECT_EQ(count_lowered(both, ir::Op::MapAccum), 1);
}

TEST(Derivatives, ValuesOfLoopsKnowNoDirection) {
  const std::string loop = "fn(t) => map_accum_l(fn(a, e) => { let q = sin(0.5) * e; (q, q) }, t, w)[1]";
  const std::string main = "def f(v: f64[2], w: f64[2], s: f64) = ";
  const Values in[] = {{1, 2}, {3, 5}, {0.5}};
  const double r = std::sin(0.5);
  EXPECT_EQ(run(main + "jvp(" + loop + ", s, 1.0)[0]", {in, in + 3}), (Values{3 * r, 5 * r}));
  EXPECT_EQ(run(main + "linearize(" + loop + ", s)[0]", {in, in + 3}), (Values{3 * r, 5 * r}));
  EXPECT_EQ(run(main + "{ let (y, push) = linearize(" + loop + ", s); y + push(2.0) + push(3.0) }", {in, in + 3}),
            (Values{3 * r, 5 * r}));
}

TEST(Derivatives, OfInnerFunctionsSeeWhatIsAroundAsConstant) {
  // d/dx of (d/dy of x y at 2) = 1, and not 0 or 2: the inner derivative is x.
  EXPECT_EQ(run("def f(x: f32) = grad(fn(x) => grad(fn(y) => x * y)(2.0))(x)", {{5}}), (Values{1}));
  EXPECT_EQ(run("def f(x: f32) = grad(fn(x) => x * grad(fn(x) => x * x)(x))(x)", {{3}}), (Values{12}));
  EXPECT_EQ(run("def f(x: f32[2]) = for i: 2 => grad(fn(t) => sum(for j: 2 => x[i] * t * x[j]))(1.0)", {{2, 3}}),
            (Values{10, 15}));
}

TEST(Derivatives, OfLoopsInsideOfLoops) {
  // Newton's minimum of cosh(s - x), by steps with first and second derivatives; by x the answer moves as x does.
  const Program p = program(
      "def f(x: f64) { let loss = fn(s) => cosh(s - x)\n"
      " fori(8, fn(i, s) => s - grad(loss)(s) / grad(grad(loss))(s), 0.0d) }");
  EXPECT_NEAR(run(p, {{0.5}})[0], 0.5, 1e-12);
  EXPECT_NEAR(run(grad(p).value(), {{0.5}})[0], 1, 1e-12);
}

// ---- batches

TEST(Vmap, SplitsTheNamedAxes) {
  EXPECT_EQ(run("def f(a: f32[2,3], b: f32[3,2]) = vmap(fn(s, t) => dot(s, t), in_axes=(0, 1))(a, b)",
                {{1, 2, 3, 4, 5, 6}, {1, 0, 1, 1, 0, 1}}),
            (Values{3, 11}));
  EXPECT_EQ(run("def f(a: f32[2], b: f32) = vmap(fn(s, t) => s * t, in_axes=(0, None))(a, b)", {{2, 3}, {5}}),
            (Values{10, 15}));
  EXPECT_EQ(run("def f(a: f32[2,3]) = vmap(vmap(fn(v) => v * v), in_axes=1)(a)", {{1, 2, 3, 4, 5, 6}}),
            (Values{1, 16, 4, 25, 9, 36}));
  EXPECT_EQ(run("def f(a: f32[2]) { let (s, t) = vmap(fn((u, v)) => (u + v, u))((a, a))\n s - t }", {{2, 3}}),
            (Values{2, 3}));
  EXPECT_EQ(run("def f(a: f32[2,3]) = vmap(fn(v) => 2 * v, out_axes=1)(a)", {{1, 2, 3, 4, 5, 6}}),
            (Values{2, 8, 4, 10, 6, 12}));
  EXPECT_EQ(run("def f(a: f32[2,3]) = vmap(fn(v) => (v, v * v), in_axes=1, out_axes=(1, 0))(a)", {{1, 2, 3, 4, 5, 6}}),
            (Values{1, 2, 3, 4, 5, 6, 1, 16, 4, 25, 9, 36}));
  EXPECT_EQ(program("def f(a: f32[0]) = vmap(fn(v) => v * v)(a)").results[0].type, f32({0}));
}

// ---- loops without a known end

TEST(While, CountsItsStepsAndTellsWhenTheBoundCutsItOff) {
  const auto steps = [](double x, int most) {
    return run("def f(x: f32) = while(fn(s) => s < 100.0, fn(s) => s * 2.0, x, at_most=" + std::to_string(most) + ")",
               {{x}});
  };
  EXPECT_EQ(steps(3, 50), (Values{192, 6}));
  EXPECT_EQ(steps(3, 6), (Values{192, 6}));
  EXPECT_EQ(steps(3, 5), (Values{96, 6})) << "one more than the bound: the condition still held";
  EXPECT_EQ(steps(200, 50), (Values{200, 0}));
  EXPECT_EQ(steps(200, 0), (Values{200, 0}));
  EXPECT_EQ(steps(3, 0), (Values{3, 1}));
  EXPECT_EQ(steps(NAN, 4)[1], 0);
}

TEST(While, WhatComesBehindTheLastStepCountsForNothing) {
  // 1 / (2 - s) is infinite at the end, where no step is taken any more.
  const Program p =
      program("def f(x: f64) { let (s, n) = while(fn(s) => s < 2.0, fn(s) => s + 1 / (2 - s), x, at_most=9)\n s }");
  EXPECT_EQ(run(p, {{1}}), (Values{2}));
  EXPECT_EQ(run(grad(p).value(), {{1}}), (Values{2}));
  EXPECT_EQ(run("def f(x: f32) { let ((a, b), n) = while(fn((a, b)) => a < b, fn((a, b)) => (a * 2, b + 1), (x, 10.0), "
                "at_most=20)\n"
                " [a, b] }",
                {{1}}),
            (Values{16, 14}));
}

// ---- C++

template <class F>
Error error_of(std::vector<Param> params, F&& body) {
  const Result<Program> r = trace("test", std::move(params), body);
  if (!r) return r.error();
  ADD_FAILURE() << "no error";
  return {};
}

TEST(DerivativesCpp, FollowTheStructureOfArgumentsAndResults) {
  const Program p =
      trace("f", {{"a", f64()}, {"b", f64({2})}}, [](Array a, Array b) {
        const auto loss = [](const std::pair<Array, Array>& m, Array x) { return m.first * sum(m.second * x); };
        const auto [da, db] = grad(loss)(std::pair(a, b), b);
        const auto [value, back] = vjp([](Array x) { return std::tuple(x * x, sum(x)); }, b);
        return std::tuple(da, db, std::get<1>(value), back(std::tuple(b, 1.0)));
      }).value();
  EXPECT_EQ(run(p, {{2}, {3, 4}}), (Values{25, 6, 8, 7, 19, 33}));
}

TEST(DerivativesCpp, ProgramsAreCalledInsideOfOthers) {
  const Program line = program("def line(w: f64[2], x: f64[3]) -> (y: f64[3], first: f64) = (w[0] + w[1] * x, w[0])");
  const Program slope = jvp(line, {"w"}).value();
  const Program p = trace("f", {{"x", f64({3})}}, [&](Array x) {
                      const Array w = constant(f64({2}), {1, 2});
                      return call(slope, {w, x, constant(f64({2}), {0, 1})});
                    }).value();
  EXPECT_EQ(run(p, {{1, 2, 3}}), (Values{3, 5, 7, 1, 1, 2, 3, 0}));
}

TEST(DerivativesCpp, MistakesAreToldWhereTheyAre) {
  int line = 0;
  const Error no_scalar = error_of({{"x", f32({3})}}, [&](Array x) {
    line = __LINE__ + 1;
    return grad([](Array v) { return v * v; })(x);
  });
  EXPECT_EQ(no_scalar.code, "SG0204") << no_scalar.str();
  EXPECT_EQ(no_scalar.loc.line, line) << no_scalar.str();
  EXPECT_EQ(error_of({{"k", i32()}}, [](Array k) { return grad([](Array v) { return v * v; })(k); }).code, "SG0201");
  EXPECT_EQ(error_of({{"x", f32()}}, [](Array x) { return grad([](Array) { return constant(i32(), {1}); })(x); }).code,
            "SG0205");
  EXPECT_EQ(error_of({{"x", f32({3})}}, [](Array x) { return vjp([](Array v) { return v * v; }, x).second(1.0f); }).code,
            "SG0101");
  EXPECT_EQ(error_of({{"x", f32({3})}, {"y", f32({2})}},
                     [](Array x, Array y) { return vmap([](Array a, Array b) { return a * b; })(x, y); })
                .code,
            "SG0101");
  EXPECT_EQ(
      error_of({{"x", f32()}},
               [](Array x) { return while_loop([](Array s) { return s; }, [](Array s) { return s * 2; }, x, 5).first; })
          .code,
      "SG0102");
  const Error inside = error_of({{"x", f32({3})}, {"y", f32({2})}}, [&](Array x, Array y) {
    return grad([&](Array v) {
      line = __LINE__ + 1;
      return sum(v * y);
    })(x);
  });
  EXPECT_EQ(inside.loc.line, line) << inside.str();
  const Program one = program("def one(x: f64) = x");
  EXPECT_EQ(error_of({{"x", f32()}}, [&](Array x) { return call(one, {x}); }).code, "SG0102");
  EXPECT_EQ(error_of({{"x", f32()}}, [&](Array x) { return call(one, {x, x}); }).code, "SG0404");
  EXPECT_EQ(error_of({{"x", f32()}}, [&](Array x) { return call(Program{}, {x}); }).code, "SG0404");
}

}  // namespace derivatives_test
}  // namespace spirograd
