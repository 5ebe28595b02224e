// Gradients with known values: scalar functions, reductions, indexing, layout, ties, guards, higher order, sharing, errors.
#include "ad/delta.h"
#include "tests/grad/grad_support.h"

namespace spirograd::grad_test {
namespace grad_test {

using In = const std::vector<Expr>&;

Expr foo(Expr x, Expr y, Expr z) {
  const Expr w = x * fn(Op::Sin, y);
  return fn(Op::Atan2, z, w) + z * w;
}
Expr bar(Expr x, Expr y) {
  const Expr w = foo(x, y, x) * fn(Op::Sin, y);
  return fn(Op::Atan2, x, w) + y * w;
}
Expr bar3(Expr x, Expr y, Expr z) {
  const Expr w = foo(x, y, z) * fn(Op::Sin, y);
  return fn(Op::Atan2, z, w) + z * w;
}
Expr relu(Expr x) {
  const Expr zero = zeros(*x.graph, x.type());
  return select(fn(Op::Gt, x, zero), x, zero);
}
// The derivative of a function of one scalar as a function.
Program derivative(const Program& p) { return grad(p).value(); }

const std::vector<Type> kOne = {f64()}, kTwo = {f64(), f64()}, kThree = {f64(), f64(), f64()};

/// hvp by forward over reverse; checked against reverse over reverse.
Inputs hvp(const Program& p, const Inputs& at, const Inputs& v) {
  const Program forward = jvp(grad(p).value()).value();
  const Inputs all = run(forward, joined(at, v));
  const Inputs result(all.begin() + static_cast<std::ptrdiff_t>(at.size()), all.end());
  const Inputs both = run(vjp(grad(p).value()).value(), joined(at, v));
  expect_near(Inputs(both.begin() + static_cast<std::ptrdiff_t>(at.size()), both.end()), result, 1e-9,
              "reverse over reverse");
  return result;
}

TEST(Grad, FooAndBarAtKnownPoints) {
  const Program foo_program = make(kThree, [](Maker&, In in) { return foo(in[0], in[1], in[2]); });
  const Inputs out = run(value_and_grad(foo_program).value(), {{1.1}, {2.2}, {3.3}});
  expect_near(out, {{4.242393641025528}, {2.4396285219055063}, {-1.953374825727421}, {0.9654825811012627}});
  const Program bar_program = make(kTwo, [](Maker&, In in) { return bar(in[0], in[1]); });
  expect_near(gradient(bar_program, {{1.1}, {2.2}}), {{3.1435239435581166}, {-1.1053869545195814}});
  expect_near(run(jvp(bar_program).value(), {{1.1}, {2.2}, {0.1}, {0.2}})[1], {0.09327500345189534});
  const Program same = make(kOne, [](Maker&, In in) { return bar(in[0], in[0]); });
  expect_near(gradient(same, {{1}}), {{3.6174114266850617}});
  expect_near(run(jvp(same).value(), {{1}, {1.1}})[1], {3.9791525693535674});
}

TEST(Grad, WhatIsDoneToNoTangentIsNoTangent) {
  ad::Deltas d;
  const ad::DeltaId x = d.input(f64({3}), 0);
  EXPECT_EQ(d.neg(ad::kZeroDelta), ad::kZeroDelta);
  EXPECT_EQ(d.add(ad::kZeroDelta, x), x);
  EXPECT_EQ(d.add(x, ad::kZeroDelta), x);
  EXPECT_EQ(d.neg(d.neg(x)), x);
}

TEST(Grad, FooOfMatricesActsElementwise) {
  const Program p = make(std::vector<Type>(3, f64({2, 2})), [](Maker&, In in) { return foo(in[0], in[1], in[2]); });
  const Inputs grads = gradient(p, {Values(4, 1.1), Values(4, 2.2), Values(4, 3.3)});
  expect_near(grads, {Values(4, 2.4396285219055063), Values(4, -1.953374825727421), Values(4, 0.9654825811012627)});
}

TEST(Grad, ConstantSubtermsAndRepeatedRunsDoNotDisturbEachOther) {
  Maker m;
  const Expr x = m.param("x", f64()), y = m.param("y", f64()), z = m.param("z", f64());
  const Expr w = foo(m.number(7), m.number(8), m.number(9)) * bar3(y, y, z) * fn(Op::Sin, y);
  const Expr r = fn(Op::Atan2, z, w) + z * w;
  (void)x;
  const Program p = m.result("r", r).done();
  for (int repeat = 0; repeat < 2; ++repeat)
    expect_near(gradient(p, {{1.1}, {2.2}, {3.3}}), {{0}, {-5219.20995030263}, {2782.276274462047}}, 1e-10);
  const Program plus = Maker(m).result("s", r + z).done();
  expect_near(run(grad(plus, {}, "s").value(), {{1.1}, {2.2}, {3.3}}), {{0}, {-5219.20995030263}, {2783.276274462047}},
              1e-10);
}

TEST(Grad, ConstantFactorsWhoseFirstElementIsZeroOrOneAreNoNumbers) {
  for (const Values& factor : {Values{1, 2, 3}, Values{0, 2, 3}}) {
    const Program p = make({f64({3})}, [&](Maker& m, In in) { return in[0] * m.reals(factor); });
    expect_near(gradient(p, {{5, 6, 7}}), {factor});
    expect_near(run(jvp(p).value(), {{5, 6, 7}, {1, 1, 1}})[1], factor);
  }
}

TEST(Grad, ConditionalsFollowTheTakenBranch) {
  const Program branches = make(kOne, [](Maker& m, In in) {
    return select(fn(Op::Gt, in[0], m.number(0)), m.number(2) * in[0], m.number(5) * in[0]);
  });
  expect_near(gradient(branches, {{42}}), {{2}});
  const Program factor =
      make(kOne, [](Maker& m, In in) { return select(fn(Op::Gt, in[0], m.number(0)), m.number(2), m.number(5)) * in[0]; });
  expect_near(gradient(factor, {{-10}}), {{5}});
}

TEST(Grad, Relu) {
  const Program p = make({f64({3, 4})}, [](Maker&, In in) { return relu(in[0]); });
  expect_near(gradient(p, {{1.1, -2.2, 0, 4.4, 5.5, 6.6, 7.7, 8.8, -9.9, -10, 11, 12}}),
              {{1, 0, 0, 1, 1, 1, 1, 1, 0, 0, 1, 1}});
  const Program q = make(kOne, [](Maker&, In in) { return relu(bar(in[0], relu(in[0]))); });
  expect_near(gradient(q, {{1.1}}), {{4.5309153191767395}});
  expect_near(run(vjp(q).value(), {{1.1}, {42.2}})[1], {191.20462646925841});
}

TEST(Grad, RangesTimesAScalar) {
  const auto ramp = [](Maker& m, Expr x, int64_t n) {
    return sum_all(replicate(x, 0, n) * cast(iota(m.g(), {n}, 0), DType::F64));
  };
  expect_near(gradient(make(kOne, [&](Maker& m, In in) { return ramp(m, in[0], 10); }), {{1.1}}), {{45}});
  const Program p = make(kOne, [&](Maker& m, In in) {
    return ramp(m, in[0], 10) + ramp(m, in[0], 20) + ramp(m, in[0], 10) + ramp(m, in[0] + m.number(1), 20);
  });
  expect_near(gradient(p, {{1.1}}), {{470}});
  expect_near(run(jvp(p).value(), {{1.1}, {0.1}})[1], {47});
}

TEST(Grad, ArraysOutOfScalars) {
  const Program literal = make(kOne, [](Maker& m, In in) {
    const Expr a = stack(std::vector<Expr>{in[0], m.number(1), m.number(2)}, 0);
    return gather(a, std::vector<Expr>{m.ints({0, 1, 0, -1, 5, 0})});
  });
  expect_near(gradient(literal, {{3.4}}), {{3}});
  const Program outside = make(kOne, [](Maker& m, In in) {
    return gather(replicate(in[0], 0, 1), std::vector<Expr>{scalar(m.g(), DType::I32, -1)});
  });
  expect_near(gradient(outside, {{3.4}}), {{0}});
  const Program empty = make(kOne, [](Maker&, In in) { return window(replicate(in[0], 0, 2), 0, 0, 0); });
  expect_near(gradient(empty, {{3.4}}), {{0}});
  const Program twice = make(kOne, [](Maker& m, In in) {
    // position 4 - i: 1 quot 0 is 1, which lies outside of one element
    const Expr four = full(m.g(), i32({5}), 4), one = full(m.g(), i32({5}), 1);
    const Expr a = gather(replicate(in[0], 0, 1), std::vector<Expr>{fn(Op::Quot, one, four + one - iota(m.g(), {5}, 0))});
    return concat(std::vector<Expr>{a, a}, 0);
  });
  expect_near(gradient(twice, {{3.4}}), {{8}});
}

// y := 0.499999985 * ((y + y) - i), k times: exponential without sharing.
Program sharing_chain(int k, double shift) {
  return make(kTwo, [&](Maker& m, In in) {
    Expr y = in[0] / in[1];
    for (int j = 0; j < k; ++j) y = m.number(0.499999985) * ((y + y) - m.number(shift));
    return y - m.number(shift);
  });
}

TEST(Grad, SharedValuesStayShared) {
  const double scale = std::pow(0.99999997, 7);
  expect_near(gradient(sharing_chain(7, 0), {{2}, {3}}), {{scale / 3}, {-2.0 / 9 * scale}});
  expect_near(gradient(sharing_chain(200, 1), {{2}, {3}}), {{0.33333133333930065}, {-0.2222208888928671}}, 1e-7);
}

TEST(Grad, LongChainsAreDifferentiatedInLinearTime) {
  expect_near(gradient(sharing_chain(7000, 0), {{2}, {3}}), {{0.3332633406816766}, {-0.22217556045445108}});
  const auto size = [](int k) {
    const Program p = value_and_grad(sharing_chain(k, 0)).value();
    std::vector<NodeId> roots;
    for (const ProgramResult& r : p.results) roots.push_back({r.node});
    return postorder(*p.graph, roots).size();
  };
  EXPECT_LT(static_cast<double>(size(7000)), 10.5 * static_cast<double>(size(700)));
  EXPECT_LT(size(7000), size_t{7 * 7000});
}

TEST(Grad, HigherDerivativesOfSine) {
  const Program sine = make(kOne, [](Maker&, In in) { return fn(Op::Sin, in[0]); });
  Program d = sine;
  for (double want : {0.4535961214255773, -0.8912073600614354, -0.4535961214255773}) {
    d = derivative(d);
    expect_near(run(d, {{1.1}})[0], {want});
  }
  // In direction 1.1, the tangent of (x -> tangent of sin at x in direction 1).
  const Program inner = jvp(sine).value(), outer = jvp(inner, {"a"}).value();
  expect_near(run(outer, {{1.1}, {1}, {1.1}})[3], {-0.9803280960675791});
}

TEST(Grad, DerivativeInsideAnExpressionIsAnOrdinaryTerm) {
  // x -> sin'(sin'(x)): the inner derivative program is spliced in twice.
  const Program sine = make(kOne, [](Maker&, In in) { return fn(Op::Sin, in[0]); });
  Program d = derivative(sine);
  Graph& g = *make_graph_private(d);
  const Expr x = param(g, 0, f64()), first = {&g, {d.results[0].node}};
  Program twice = d;
  twice.results = {{"y", substitute(g, first.id, {{x.id.v, first.id}}).v, f64()}};
  const Inputs out = run(value_and_grad(twice).value(), {{1.1}});
  expect_near(out, {{0.8988770945225438}, {0.39052780643689855}});
}

TEST(Grad, ReadsOfOneArrayTwice) {
  const Program p = make({f64({4})}, [](Maker&, In in) { return sum_all(in[0] * reverse(in[0], 0)); });
  expect_near(run(value_and_grad(p).value(), {{1, 2, 3, 4}}), {{20}, {8, 6, 4, 2}});
  expect_near(hvp(p, {{1, 2, 3, 4}}, {{1, 0, 0, 0}}), {{0, 0, 0, 2}});
}

Expr log_sum_exp(Expr v) { return fn(Op::Log, sum_all(fn(Op::Exp, v))); }

TEST(Grad, LogSumExp) {
  const Program p = make({f64({3})}, [](Maker&, In in) { return log_sum_exp(in[0]); });
  expect_near(run(value_and_grad(p).value(), {{1, 2, 3}}),
              {{3.40760596444438}, {0.09003057317038046, 0.2447284710547977, 0.665240955774822}});
  expect_near(run(jvp(p).value(), {{1, 2, 3}, {1, -1, .5}})[1], {0.17792258000299377});
  expect_near(hvp(p, {{1, 2, 3}}, {{1, -1, .5}}), {{0.07401210131275807, -0.2882711920250553, 0.2142590907122972}});
  const Program loss = make({f64({3})}, [](Maker& m, In in) {
    return log_sum_exp(in[0]) - gather(in[0], std::vector<Expr>{scalar(m.g(), DType::I32, 1)});
  });
  expect_near(run(value_and_grad(loss).value(), {{.5, -1, 2}}),
              {{3.241311296657157}, {0.1752903921400367, -0.9608874267293126, 0.7855970345892759}});
  expect_near(hvp(loss, {{.5, -1, 2}}, {{1, 1, 0}}), {{0.13770761225720413, 0.03072672157660784, -0.16843433383381198}});
}

TEST(Grad, MatrixProduct) {
  const Program p = make({f64({2, 3}), f64({3, 2})}, [](Maker&, In in) {
    return sum(broadcast(in[0], {2, 2, 3}, {0, 2}) * broadcast(transpose(in[1], {1, 0}), {2, 2, 3}, {1, 2}), 2);
  });
  const Inputs at = {{1, 2, 3, 4, 5, 6}, {7, 8, 9, 10, 11, 12}};
  expect_near(run(p, at)[0], {58, 64, 139, 154});
  expect_near(gradient(p, at), {{15, 19, 23, 15, 19, 23}, {5, 5, 7, 7, 9, 9}});
  const Inputs out = run(vjp(p).value(), joined(at, {{1, 0, 0, 2}}));
  expect_near(out, {{58, 64, 139, 154}, {7, 9, 11, 16, 20, 24}, {1, 8, 2, 10, 3, 12}});
}

TEST(Grad, GathersAndScatters) {
  const Program repeated = make({f64({3})}, [](Maker& m, In in) {
    return sum_all(gather(in[0], std::vector<Expr>{m.ints({0, 0, 1, 1})}) * m.reals({1, 10, 100, 1000}));
  });
  expect_near(run(value_and_grad(repeated).value(), {{3, 4, 5}}), {{4433}, {11, 1100, 0}});
  const auto shifted = [](Op op) {
    return make({f64({3})}, [op](Maker& m, In in) {
      const Expr v = op == Op::Cos ? fn(Op::Cos, in[0]) : in[0];
      return sum_all(gather(v, std::vector<Expr>{m.ints({-1, 0, 1, 2})}) * m.reals({1, 2, 3, 4}));
    });
  };
  expect_near(run(value_and_grad(shifted(Op::Neg)).value(), {{2, 3, 5}}), {{33}, {2, 3, 4}});
  expect_near(run(value_and_grad(shifted(Op::Cos)).value(), {{2, 3, 5}}),
              {{-2.667622421042716}, {-1.8185948536513634, -0.4233600241796016, 3.835697098652554}});
  const Program drops = make({f64({5})}, [](Maker& m, In in) {
    return scatter(in[0], std::vector<Expr>{m.ints({-1, 0, 1, 2, 3})}, {3});
  });
  expect_near(run(vjp(drops).value(), {{2, 3, 5, 7, 11}, {1, 10, 100}}), {{3, 5, 7}, {0, 1, 10, 100, 0}});
  const Program pairs = make({f64({6})}, [](Maker& m, In in) {
    return scatter(in[0], std::vector<Expr>{m.ints({0, 0, 1, 1, 2, 2})}, {5});
  });
  expect_near(run(vjp(pairs).value(), {{1, 2, 3, 4, 5, 9}, {1, 10, 100, 1000, 10000}}),
              {{3, 7, 14, 0, 0}, {1, 1, 10, 10, 100, 100}});
  const Program through_floor = make({f64({3})}, [](Maker& m, In in) {
    const Expr index = cast(fn(Op::Floor, in[0]), DType::I32);
    return sum_all(gather(in[0], std::vector<Expr>{index}) * m.reals({1, 2, 3}));
  });
  expect_near(run(value_and_grad(through_floor).value(), {{2.2, .5, 1.9}}), {{7.8}, {2, 3, 1}});
}

TEST(Grad, RosenbrockToSecondOrder) {
  const Program p = make(kTwo, [](Maker& m, In in) {
    const Expr u = m.number(1) - in[0], v = in[1] - in[0] * in[0];
    return u * u + m.number(100) * v * v;
  });
  expect_near(run(value_and_grad(p).value(), {{-1.2}, {1}}), {{24.2}, {-215.6}, {-88}});
  expect_near(hvp(p, {{-1.2}, {1}}, {{1}, {0}}), {{1330}, {480}});
  expect_near(hvp(p, {{-1.2}, {1}}, {{1}, {2}}), {{2290}, {880}});
}

TEST(Grad, CommonFunctionsToSecondOrder) {
  const Program angle = make(kTwo, [](Maker&, In in) { return fn(Op::Atan2, in[0], in[1]); });
  expect_near(run(value_and_grad(angle).value(), {{3}, {-4}}), {{2.498091544796509}, {-0.16}, {-0.12}});
  expect_near(run(jvp(angle).value(), {{3}, {-4}, {1}, {1}})[1], {-0.28});
  expect_near(hvp(angle, {{3}, {-4}}, {{1}, {1}}), {{0.0272}, {-0.0496}});
  const Program power = make(kTwo, [](Maker&, In in) { return fn(Op::Exp, in[1] * fn(Op::Log, in[0])); });
  expect_near(run(value_and_grad(power).value(), {{2}, {3}}), {{8}, {12}, {5.545177444479561}});
  expect_near(hvp(power, {{2}, {3}}, {{1}, {0}}), {{12}, {12.317766166719341}});
  const Program direct = make(kTwo, [](Maker&, In in) { return fn(Op::Pow, in[0], in[1]); });
  expect_near(hvp(direct, {{2}, {3}}, {{1}, {0}}), {{12}, {12.317766166719341}});
}

TEST(Grad, JacobianRowsOfSeveralResultsShareOnePass) {
  Maker m;
  const Expr x = m.param("x", f64({2}));
  const auto at = [&](double j) { return gather(x, std::vector<Expr>{scalar(m.g(), DType::I32, j)}); };
  const Program p = m.result("product", at(0) * at(1))
                        .result("sine", fn(Op::Sin, at(0)))
                        .result("square", at(1) * at(1))
                        .result("count", iota(m.g(), {2}, 0))
                        .done();
  const Program v = vjp(p).value();
  ASSERT_EQ(v.params.size(), 4u);  // no cotangent for the integer result
  EXPECT_EQ(v.params[2].name, "ct_sine");
  const Inputs rows = {{3, 2}, {std::cos(2.0), 0}, {0, 6}};
  for (size_t r = 0; r < 3; ++r) {
    Inputs in = {{2, 3}, {0}, {0}, {0}};
    in[r + 1] = {1};
    const Inputs out = run(v, in);
    ASSERT_EQ(out.size(), 5u);
    expect_near(out[3], {0, 1});
    expect_near(out[4], rows[r]);
  }
  const Inputs together = run(v, {{2, 3}, {1}, {2}, {3}});
  expect_near(together[4], {3 + 2 * std::cos(2.0), 2 + 18});
}

TEST(Grad, KMeansCost) {
  const Program p = make({f64({4, 2}), f64({2, 2})}, [](Maker&, In in) {
    const Expr d = broadcast(in[0], {4, 2, 2}, {0, 2}) - broadcast(in[1], {4, 2, 2}, {1, 2});
    return sum_all(reduce(Op::ReduceMin, sum(d * d, 2), {1}));
  });
  const Inputs at = {{0, 0, 1, .5, 5, 5, 6, 5.5}, {.5, 0, 5, 4}};
  const Inputs out = run(value_and_grad(p, {"b"}).value(), at);
  expect_near(out, {{5}, {0, -1, -2, -5}});
  const Program h = jvp(grad(p, {"b"}).value(), {"b"}).value();
  expect_near(run(h, joined(at, {{1, 1, 1, 1}}))[1], {4, 4, 4, 4});
}

TEST(Grad, Convolutions) {
  const auto convolution = [](int64_t n, int64_t taps, int64_t shift) {
    return make({f64({5}), f64({taps})}, [=](Maker& m, In in) {
      const Shape s = {n, taps};
      const Expr index = iota(m.g(), s, 0) + iota(m.g(), s, 1) + full(m.g(), i32(s), static_cast<double>(shift));
      return sum(gather(in[0], std::vector<Expr>{index}) * broadcast(in[1], s, {1}), 1);
    });
  };
  const Inputs valid = run(vjp(convolution(4, 2, 0)).value(), {{1, 2, 3, 4, 5}, {10, -1}, {1, 2, 3, 4}});
  expect_near(valid, {{8, 17, 26, 35}, {10, 19, 28, 37, -4}, {30, 40}});
  const Inputs same = run(vjp(convolution(5, 3, -1)).value(), {{1, 2, 3, 4, 5}, {1, 2, 4}, {1, 1, 1, 1, 1}});
  expect_near(same, {{10, 17, 24, 31, 14}, {3, 7, 7, 7, 6}, {10, 15, 14}});
}

TEST(Grad, ReshapesAndTransposes) {
  const Program p = make({f64({6})}, [](Maker& m, In in) {
    const Expr y = reshape(transpose(reshape(in[0], {2, 3}), {1, 0}), {3, 2});
    return sum_all(y * reshape(m.reals({1, 2, 4, 8, 16, 32}), {3, 2}));
  });
  expect_near(run(value_and_grad(p).value(), {{1, 2, 3, 4, 5, 6}}), {{297}, {1, 4, 16, 2, 8, 32}});
}

TEST(Grad, TiesGoToTheFirst) {
  const Program least = make({f64({4})}, [](Maker&, In in) { return reduce(Op::ReduceMin, in[0], {0}); });
  expect_near(gradient(least, {{3, 1, 1, 2}}), {{0, 1, 0, 0}});
  const Program square = make({f64({2, 2})}, [](Maker&, In in) { return reduce(Op::ReduceMax, in[0], {0, 1}); });
  expect_near(gradient(square, {{1, 5, 5, 5}}), {{0, 1, 0, 0}});
  const auto at_zero = [](const std::function<Expr(Maker&, Expr)>& f) {
    return gradient(make(kOne, [&](Maker& m, In in) { return f(m, in[0]); }), {{0}})[0][0];
  };
  EXPECT_EQ(at_zero([](Maker& m, Expr x) { return fn(Op::Max, m.number(0), x); }), 0);
  EXPECT_EQ(at_zero([](Maker& m, Expr x) { return fn(Op::Max, x, m.number(0)); }), 1);
  EXPECT_EQ(at_zero([](Maker& m, Expr x) { return fn(Op::Min, m.number(0), x); }), 0);
  EXPECT_EQ(at_zero([](Maker& m, Expr x) { return fn(Op::Min, x, m.number(0)); }), 1);
  EXPECT_EQ(at_zero([](Maker&, Expr x) { return fn(Op::Abs, x); }), 0);
  EXPECT_EQ(at_zero([](Maker&, Expr x) { return relu(x); }), 0);
}

TEST(Grad, ReductionsOfNothingHaveNoSlope) {
  for (Op op : {Op::Sum, Op::Prod, Op::ReduceMax, Op::ReduceMin}) {
    const Program p = make({f64({2, 0}), f64({2})}, [&](Maker&, In in) { return reduce(op, in[0], {1}) + in[1]; });
    expect_near(gradient(p, {{}, {1, 2}}), {{}, {1, 1}});
    const Program q = make({f64({0, 2})}, [&](Maker&, In in) { return reduce(op, in[0], {1}); });
    expect_near(gradient(q, {{}}), {{}});
  }
}

TEST(Grad, ProductsAreExactAtZerosInEveryOrder) {
  const Program p = make({f64({4})}, [](Maker&, In in) { return reduce(Op::Prod, in[0], {0}); });
  expect_near(gradient(p, {{2, 0, 3, 5}}), {{0, 30, 0, 0}});
  expect_near(gradient(p, {{0, 0, 3, 5}}), {{0, 0, 0, 0}});
  expect_near(hvp(p, {{0, 0, 3, 5}}, {{1, 0, 0, 0}}), {{0, 15, 0, 0}});
}

TEST(Grad, PowersWithoutSlopeInTheExponentTakeNegativeBases) {
  const auto power = [](double exponent) {
    return make(kOne, [=](Maker& m, In in) { return fn(Op::Pow, in[0], m.number(exponent)); });
  };
  expect_near(gradient(power(3), {{-2}}), {{12}});
  expect_near(gradient(power(2), {{0}}), {{0}});
  expect_near(gradient(power(1), {{0}}), {{1}});
  expect_near(gradient(power(0), {{0}}), {{0}});
  expect_near(hvp(power(3), {{-2}}, {{1}}), {{-12}});
  Maker m;
  const Expr x = m.param("x", f64()), n = m.param("n", i32());
  const Program by_integer = m.result("y", fn(Op::Pow, x, cast(n, DType::F64))).done();
  expect_near(run(grad(by_integer).value(), {{-2}, {3}}), {{12}});
  expect_near(run(grad(by_integer).value(), {{0}, {0}}), {{0}});
  const Program both = make(kTwo, [](Maker&, In in) { return fn(Op::Pow, in[0], in[1]); });
  expect_near(gradient(both, {{0}, {2}}), {{0}, {0}});
}

// ---- names and errors ----------------------------------------------------------------------------------------------------

TEST(GradNames, NewNamesAreFree) {
  const Program p = make(kOne, [](Maker&, In in) { return in[0] * in[0] * in[0]; });
  const Program twice = value_and_grad(value_and_grad(p).value(), {}, "d_a").value();
  ASSERT_EQ(twice.results.size(), 3u);
  EXPECT_EQ(twice.results[1].name, "d_a");
  EXPECT_EQ(twice.results[2].name, "d_d_a");
  expect_near(run(twice, {{2}}), {{8}, {12}, {12}});
  const Program j = jvp(jvp(p).value()).value();
  ASSERT_EQ(j.params.size(), 4u);
  EXPECT_EQ(j.params[1].name, "dot_a");
  EXPECT_EQ(j.params[2].name, "dot_dot_a");
  EXPECT_EQ(j.params[3].name, "dot_dot_dot_a");
  expect_near(run(j, {{2}, {1}, {1}, {0}}), {{8}, {12}, {12}, {12}});
}

TEST(GradNames, ResultsAndParametersAreChosenByName) {
  Maker m;
  const Expr x = m.param("x", f64()), n = m.param("n", i32()), y = m.param("y", f64({2}));
  m.result("counts", n).result("vector", y).result("loss", x * x).result("other", sum_all(y) * x);
  const Program p = m.done();
  const Program g = grad(p).value();
  ASSERT_EQ(g.results.size(), 2u);
  EXPECT_EQ(g.results[0].name, "d_x");
  EXPECT_EQ(g.results[1].name, "d_y");
  expect_near(run(g, {{3}, {1}, {1, 2}}), {{6}, {0, 0}});
  expect_near(run(grad(p, {"y"}, "other").value(), {{3}, {1}, {1, 2}}), {{3, 3}});
}

TEST(GradErrors, NameWhatIsWrong) {
  Maker m;
  const Expr x = m.param("x", f32({3})), n = m.param("n", i32({3}));
  const Program p = m.result("y", x * x).result("m", n).done();
  EXPECT_EQ(grad(p, {"n"}).error().code, "SG0201");
  EXPECT_NE(grad(p, {"n"}).error().message.find("'n' is i32[3]"), std::string::npos);
  EXPECT_EQ(grad(p, {"n"}).error().help.find("differentiate with respect to float parameters ('x')"), 0u)
      << grad(p, {"n"}).error().help;
  EXPECT_EQ(vjp(p, {"z"}).error().code, "SG0202");
  EXPECT_EQ(vjp(p, {"z"}).error().notes, std::vector<std::string>{"parameters: 'x', 'n'"});
  EXPECT_EQ(grad(p, {"x"}, "loss").error().code, "SG0203");
  EXPECT_EQ(grad(p, {"x"}, "loss").error().notes, std::vector<std::string>{"results: 'y', 'm'"});
  const Program longer = Maker(m).result("weights", x).done();
  EXPECT_NE(grad(longer, {"x"}, "wieghts").error().help.find("'weights'"), std::string::npos);
  EXPECT_EQ(jvp(make({i32()}, [](Maker&, In in) { return in[0]; })).error().code, "SG0201");
  EXPECT_EQ(grad(p).error().code, "SG0204");
  EXPECT_NE(grad(p).error().message.find("'y' is f32[3]"), std::string::npos);
  Maker other;
  const Expr v = other.param("v", f32({3}));
  const Program wholes_first = other.result("whole", cast(v, DType::I32)).result("real", v * v).done();
  EXPECT_NE(grad(wholes_first).error().message.find("'real' is f32[3]"), std::string::npos) << "what can be meant";
  EXPECT_EQ(grad(p, {}, "m").error().code, "SG0205");
  EXPECT_EQ(jvp(p, {"x", "x"}).error().code, "SG0206");
}

}  // namespace grad_test
}  // namespace spirograd::grad_test
