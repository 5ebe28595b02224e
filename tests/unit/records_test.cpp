// Structs of the text language: values with named fields, through calls, loops, choices, batches and derivatives, and as the
// inputs and results of programs.
#include <gtest/gtest.h>

#include "frontend/ir/eval.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "support/same_nodes.h"

namespace spirograd {
namespace records_test {

using Values = std::vector<double>;

const std::string kModel =
    "struct Model { w: f32[D], b: f32 }\ndef predict(m: Model, x: f32[D]) -> f32 = sum(m.w * x) + m.b\n";

Program program(const std::string& text) { return text::instantiate(text::parse(text, "test.sg").value()).value(); }

Values run(const std::string& text, const std::vector<Values>& inputs = {}) {
  const Program p = program(text);
  const Program printed = program(text::print(p));
  EXPECT_TRUE(test::same_nodes(p, printed)) << text::print(p);
  Values out;
  for (const ir::Array& r : ir::evaluate(p, inputs)) out.insert(out.end(), r.data.begin(), r.data.end());
  return out;
}

std::vector<std::string> names(const auto& list) {
  std::vector<std::string> out;
  for (const auto& item : list) out.push_back(item.name);
  return out;
}

TEST(Records, FieldsAreReadByName) {
  EXPECT_EQ(run(kModel + "def f() = predict(Model(w=[1, 2], b=0.5), [3, 4])"), (Values{11.5}));
  EXPECT_EQ(run(kModel + "def f() = predict(Model([1, 2], 0.5), [3, 4])"), (Values{11.5})) << "in order";
  EXPECT_EQ(run(kModel + "def f() = predict(x=[3, 4], m=Model(b=0.5, w=[1, 2]))"), (Values{11.5}));
  EXPECT_EQ(
      run("struct Pair { a: f32; b: f32 }\ndef f(x: f32) { let p = Pair(x, 2 * x)\n let (s, t) = p\n p.b - s + t }", {{3}}),
      (Values{9}))
      << "and taken apart as tuples are";
}

// As vectors: what a step of an optimiser writes.
TEST(Records, AreAddedAndScaledFieldByField) {
  const std::string net =
      "struct Layer { w: f32[2], b: f32 }\nstruct Net { first: Layer, rest: f32[1] }\n"
      "def a() = Net(Layer([1, 2], 3), [4])\ndef b() = Net(Layer([10, 20], 30), [40])\n";
  EXPECT_EQ(run(net + "def f() = a() + b()"), (Values{11, 22, 33, 44}));
  EXPECT_EQ(run(net + "def f() = b() - 2 * a() / 0.5"), (Values{6, 12, 18, 24}));
  EXPECT_EQ(run(net + "def f() = -a() * 3"), (Values{-3, -6, -9, -12}));
  EXPECT_EQ(run(net + "def f(s: f32) = a() * s", {{2}}), (Values{2, 4, 6, 8}));
  EXPECT_EQ(run(net + "def f() = a() - 0.1 * grad(fn(n) => sum(square(n.first.w)) + n.rest[0])(a())").size(), 4u);
  EXPECT_EQ(run("def f(x: f32[2]) = (x, 1.0) + (x, 2) * 2", {{1, 2}}), (Values{3, 6, 5})) << "tuples too";
  EXPECT_EQ(run(net + "def f() = fori(3, fn(_, n) => n + b(), a())"), (Values{31, 62, 93, 124}));
  EXPECT_EQ(run(net + "def f() = map_fields(fn(x, y) => x * y - sum(x), a(), b())"), (Values{7, 37, 87, 156}));
  EXPECT_EQ(run(net + "def f() = map_fields(sum, a())"), (Values{3, 3, 4})) << "fields may change their shape";
}

TEST(Records, ArithmeticOfUnlikeStructsIsRefused) {
  const std::string net =
      "struct P { w: f32[2], b: f32 }\nstruct Q { w: f32[2], b: f32 }\nstruct S { p: P }\n"
      "def p() = P([1, 2], 3)\ndef q() = Q([1, 2], 3)\n";
  const std::pair<const char*, const char*> cases[] = {
      {"p() + q()", "SG0404 +: a P and a Q do not have the same fields"},
      {"p() - 1", "SG0102 -: not defined for a P and a number"},
      {"p() * p()", "SG0102 *: not defined for a P and a P"},
      {"2 / p()", "SG0102 /: not defined for a number and a P"},
      {"p() * [1.0, 2.0]", "SG0102 *: not defined for a P and numbers of shape [2]"},
      {"p() == p()", "SG0102 ==: not defined for a P and a P"},
      {"(1.0, 2.0) + (1.0, 2.0, 3.0)", "SG0404 +: a tuple of 2 and a tuple of 3 do not have the same fields"},
      {"map_fields(sin, p(), q())", "SG0404 map_fields: a P and a Q do not have the same fields"},
      {"map_fields(p(), p())", "SG0404 'map_fields' needs a function as argument 1, not a P"},
      {"S(p()) * true", "SG0102"},
  };
  for (const auto& [source, want] : cases) {
    const auto module = text::parse(net + "def f() = " + source, "test.sg");
    const auto made = module ? text::instantiate(*module) : Result<Program>(module.error());
    ASSERT_FALSE(made) << source;
    EXPECT_EQ((made.error().code + " " + made.error().message).substr(0, std::string(want).size()), want);
    EXPECT_EQ(made.error().loc.line, 6) << source;
  }
}

TEST(Records, AreRavelledForOptimisersAndBack) {
  const std::string net =
      "struct Layer { w: f32[N,2], k: i32, b: f32 }\nstruct Net { first: Layer, rest: f32[0] }\n"
      "def made() = Net(Layer([[1, 2], [3, 4]], 7, 5), zeros(0))\n";
  EXPECT_EQ(run(net + "def f() = ravel(made())"), (Values{1, 2, 3, 4, 5}));
  EXPECT_EQ(run(net + "def f() = unravel(made(), 2 * ravel(made()))"), (Values{2, 4, 6, 8, 7, 10})) << "k stays";
  EXPECT_EQ(run(net + "def f() = ravel(grad(fn(n) => sum(square(n.first.w)) * n.first.b)(made()))"),
            (Values{10, 20, 30, 40, 30}));
  EXPECT_EQ(
      run(net +
          "def f() = grad(fn(v) => { let n = unravel(made(), v)\n sum(square(n.first.w)) * n.first.b })([1, 2, 3, 4, 5])"),
      (Values{10, 20, 30, 40, 30}));
  EXPECT_EQ(run("def f(x: f64[2]) = ravel((x, 3, (x[0], true)))", {{1, 2}}), (Values{1, 2, 3, 1}));
  EXPECT_EQ(run("def f(x: f32) = unravel(x, [2])", {{1}}), (Values{2}));
  EXPECT_EQ(run("def f(x: f32[2,0]) = ravel(x)", {{}}), Values{});
}

TEST(Records, DerivativesByAStructAreByAllOfItsFloats) {
  const Program p = program(
      "struct Layer { w: f32[2], k: i32 }\nstruct Net { first: Layer, b: f32 }\nstruct Keys { k: i32 }\n"
      "def f(n: Net, x: f32, o: Keys) = sum(n.first.w) * n.b * x + f32(n.first.k + o.k)");
  EXPECT_EQ(differentiated(p, {"n"}).value(), (std::vector<size_t>{0, 2}));
  EXPECT_EQ(names(grad(p, {"x", "n"}).value().results), (std::vector<std::string>{"d_x", "d_n.first.w", "d_n.b"}));
  EXPECT_EQ(names(jvp(p, {"n.first"}).value().params).back(), "dot_n.first.w");
  const auto refused = [&](const char* name) { return differentiated(p, {"n.b", name}).error(); };
  EXPECT_EQ(refused("n").code, "SG0206");
  EXPECT_EQ(refused("o").message, "derivative: 'o' is a struct without floats");
  EXPECT_EQ(refused("n.").code, "SG0202");
}

TEST(Records, WhatCannotBeRavelledIsTold) {
  const std::pair<const char*, const char*> cases[] = {
      {"def f(x: f32, y: f64) = ravel((x, y))", "ravel: there are arrays of f32 and of f64"},
      {"def f(k: i32[3]) = ravel(k)", "ravel: there are no floats"},
      {"def f(x: f32[3]) = ravel((x, sin))", "ravel: expected an array, found a function"},
      {"def f(x: f32[3]) = unravel((x, x), x)", "unravel: the floats are f32[6], given f32[3]"},
      {"def f(x: f32[3], y: f64[3]) = unravel(x, y)", "unravel: the floats are f32[3], given f64[3]"},
      {"def f(x: f32[3], y: f32[3,1]) = unravel(x, y)", "unravel: the floats are f32[3], given f32[3,1]"},
  };
  for (const auto& [source, words] : cases) {
    const auto p = text::instantiate(text::parse(source, "test.sg").value());
    ASSERT_FALSE(p) << source;
    EXPECT_NE(p.error().message.find(words), std::string::npos) << p.error().message;
  }
}

TEST(Records, HoldOthers) {
  const std::string two =
      "struct Layer[N, M] {\n  w: f32[N,M]\n  b: f32[N]\n}\nstruct Net { first: Layer[H,I], last: Layer[O,H] }\n"
      "def at(l: Layer, x: f32[M]) = tanh(l.w @ x + l.b)\n"
      "def f(n: Net, x: f32[2]) -> f32[1] = at(n.last, at(n.first, x))\n";
  const auto module = text::parse(two, "test.sg").value();
  const Program p = text::instantiate(module, "f",
                                      std::vector<text::NamedType>{{"n.first.w", f32({3, 2})},
                                                                   {"n.first.b", f32({3})},
                                                                   {"n.last.w", f32({1, 3})},
                                                                   {"n.last.b", f32({1})},
                                                                   {"x", f32({2})}})
                        .value();
  EXPECT_EQ(names(p.params), (std::vector<std::string>{"n.first.w", "n.first.b", "n.last.w", "n.last.b", "x"}));
  EXPECT_EQ(module.functions().back().params[0].name, "n.first.w");
  EXPECT_EQ(run("struct Row[N] { a: f32[N] }\ndef g(x: Row[K], y: Row[2 * K]) = sum(y.a) * x.a\n"
                "def f(x: f32[1]) = g(Row(x), Row([1, 2]))",
                {{3}}),
            (Values{9}));
}

TEST(Records, AreInputsAndResultsByTheirFields) {
  const Program p = program(
      "struct Model { w: f32[2], b: f32 }\n"
      "def f(m: Model, rate: f32) -> (next: Model, size: f32) =\n"
      "  (Model(m.w - rate, m.b * rate), sum(m.w))");
  EXPECT_EQ(names(p.params), (std::vector<std::string>{"m.w", "m.b", "rate"}));
  EXPECT_EQ(names(p.results), (std::vector<std::string>{"next.w", "next.b", "size"}));
  EXPECT_EQ(names(grad(p, {"m.w"}).value().results), (std::vector<std::string>{"d_m.w"}));
  const std::string same = "struct Model { w: f32[2], b: f32 }\ndef f(m: Model) -> Model = m";
  EXPECT_EQ(names(program(same).results), (std::vector<std::string>{"w", "b"}));
  EXPECT_EQ(run(same, {{1, 2}, {3}}), (Values{1, 2, 3}));
  EXPECT_EQ(run("struct Model { w: f32[2], b: f32 }\ndef f(m: Model) = m", {{1, 2}, {3}}), (Values{1, 2, 3}));
}

TEST(Records, TakeTheTypesThatTheirFieldsDeclare) {
  EXPECT_EQ(program("struct Point { x: f64, n: u32 }\ndef f() { let p = Point(0.1, 3)\n (p.x, p.n) }").results[0].type,
            f64());
  EXPECT_EQ(run("struct Point { x: f64 }\ndef f() = Point(0.1).x"), (Values{0.1}));
  EXPECT_EQ(run("struct Both { x: T[N], y: T[N] }\ndef f(x: f64[2]) { let b = Both(x, [0.1, 0.2])\n b.x + b.y }", {{1, 2}}),
            (Values{1.1, 2.2}));
}

TEST(Records, GoThroughLoopsChoicesAndBatches) {
  const std::string s = "struct State { x: f32, v: f32 }\n";
  EXPECT_EQ(
      run(s + "def f(x: f32) { let e = fori(3, fn(i, s) => State(s.x + s.v, s.v * 2), State(x, 1.0))\n [e.x, e.v] }", {{5}}),
      (Values{12, 8}));
  EXPECT_EQ(run(s + "def f(x: f32) = (if x > 0 then State(x, 1) else State(-x, 2)).v", {{-3}}), (Values{2}));
  EXPECT_EQ(run(s + "def f(x: f32[2]) { let e = for i: 2 => State(x[i], 1)\n e.x + e.v }", {{5, 6}}), (Values{6, 7}));
  EXPECT_EQ(run(s + "def f(x: f32[2]) = vmap(fn(s) => s.x * s.v)(for i: 2 => State(x[i], x[i]))", {{5, 6}}),
            (Values{25, 36}));
  EXPECT_EQ(run(s + "def f(x: f32) { let (e, n) = while(fn(s) => s.x < 9.0, fn(s) => State(s.x + s.v, s.v), State(x, 2), "
                    "at_most=9)\n"
                    " e.x }",
                {{4}}),
            (Values{10}));
}

TEST(Records, HaveDerivativesOfTheSameForm) {
  EXPECT_EQ(run(kModel + "def f(x: f32[2]) { let g = grad(predict)(Model([1, 2], 0.5), x)\n (g.w, g.b) }", {{3, 4}}),
            (Values{3, 4, 1}));
  EXPECT_EQ(run(kModel + "def f(x: f32[2]) { let (m, dx) = grad(predict, wrt=(m, x))(Model([1, 2], 0.5), x)\n (m.b, dx) }",
                {{3, 4}}),
            (Values{1, 1, 2}));
  EXPECT_EQ(
      run(kModel + "def f(x: f32[2]) { let (y, d) = jvp(fn(m) => predict(m, x), Model([1, 2], 0.5), Model([1, 0], 2))\n d }",
          {{3, 4}}),
      (Values{5}));
  const std::string counted =
      "struct Counted { w: f32[2], n: i32 }\n"
      "def g(c: Counted, x: f32[2]) -> f32 = sum(c.w * x) * f32(c.n)\n";
  EXPECT_EQ(run(counted + "def f(x: f32[2]) { let d = grad(g)(Counted([1, 2], 3), x)\n (d.w, d.n) }", {{3, 4}}),
            (Values{9, 12, 0}))
      << "whole numbers carry none";
  EXPECT_EQ(
      run(counted + "def f(x: f32[2]) { let (y, d) = jvp(fn(c) => g(c, x), Counted([1, 2], 3), Counted([1, 0], 7))\n d }",
          {{3, 4}}),
      (Values{9}));
  // A step down the gradient, field by field.
  EXPECT_EQ(run(kModel + "def f(x: f32[2]) { let g = grad(fn(m) => square(predict(m, x)))(Model([1, 0], 1.0))\n"
                         " let m = Model(w=[1, 0] - 0.5 * g.w, b=1 - 0.5 * g.b)\n (m.w, m.b) }",
                {{1, 2}}),
            (Values{-1, -4, -1}));
}

TEST(Records, MistakesAreToldInTheirNames) {
  struct Case {
    const char *source, *code, *says;
  };
  const Case cases[] = {
      {"def f(x: f32[2]) = Model([1, 2, 3], 0.5).c", "SG0402", "a Model has no field 'c'"},
      {"def f(x: f32[2]) = Model(w=[1, 2])", "SG0404", "'Model' needs the field 'b'"},
      {"def f(x: f32[2]) = Model([1, 2], 3.0, 4.0)", "SG0404", "'Model' has 2 fields, it is given 3"},
      {"def f(x: f32[2]) = Model(v=[1, 2], b=1)", "SG0404", "'Model' has no field 'v'"},
      {"def f(x: f32[2]) = Model([1, 2], w=x, b=1)", "SG0404", "field 'w' is given twice"},
      {"def f(x: f32[2]) = Model(x, x)", "SG0103", "'b' of 'Model' is declared f32, given f32[2]"},
      {"def f(x: f32[2]) = predict(x, x)", "SG0103", "'m' of 'predict' is declared Model, given f32[2]"},
      {"def f(x: f32[2]) = predict(Model(x, 1), Model(x, 1))", "SG0103",
       "'x' of 'predict' is declared as an array, given a Model"},
      {"def f(x: f32[2]) = predict(Model([1, 2, 3], 1), x)", "SG0104", "the shape variable 'D' is 3"},
      {"def f(x: f32[2]) = Model(x, 1) + 1", "SG0102", "not defined for a Model and a number"},
      {"def f(x: f32[2]) = if x[0] > 0 then Model(x, 1) else (x, 1)", "SG0102", "a Model and a tuple of 2"},
      {"def f(x: Model[2]) = x", "SG0401", "there are no arrays of structs"},
      {"struct Row[N] { a: f32[N] }\ndef f(x: Row[2, 3]) = x", "SG0401", "'Row' has 1 sizes, it is given 2"},
      {"struct Row[N] { a: f32[N] }\ndef g(x: Row[2], y: Row[2 * N]) = x.a\ndef f(x: f32[2]) = g(Row(x), Row(x))", "SG0105",
       "'N'"},
      {"def f(x: f32[2]) = Modle(x, 1)", "SG0403", "did you mean 'Model'?"},
      {"struct Model { a: f32 }\ndef f(x: f32) = x", "SG0408", "struct 'Model' is defined twice"},
      {"struct Two { a: f32, a: f32 }\ndef f(x: f32) = x", "SG0408", "field 'a' stands twice"},
      {"struct None { }\ndef f(x: f32) = x", "SG0401", "a struct has fields"},
      {"struct lower { a: f32 }\ndef f(x: f32) = x", "SG0401", "begins with a capital"},
      {"def f(m: Model) -> (Model, Model) = (m, m)", "SG0408", "result 'w' stands twice"},
      {"def f(m: Model, m: f32) = m", "SG0408", "parameter 'm' stands twice"},
  };
  for (const Case& c : cases) {
    const auto module = text::parse(kModel + c.source, "test.sg");
    const auto p = module ? text::instantiate(*module) : module.error();
    ASSERT_FALSE(p) << c.source;
    EXPECT_EQ(p.error().code, c.code) << p.error().str();
    EXPECT_NE(p.error().str().find(c.says), std::string::npos) << p.error().str();
    EXPECT_GT(p.error().loc.line, 1) << p.error().str();
  }
}

}  // namespace records_test
}  // namespace spirograd
