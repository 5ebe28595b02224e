// Structs of arrays on the C++ surface: parameters, states of loops, results, arguments of derivatives and batches.
#include "spirograd/bundle.h"

#include "spirograd/build.h"
#include "spirograd/derivatives.h"
#include "spirograd/grad.h"
#include "spirograd/ops.h"
#include "spirograd/ravel.h"
#include "support/dsl_run.h"

namespace spirograd {
namespace bundle_test {

using testing::Values;

struct Layer {
  Array w, b;
  static constexpr const char* fields[] = {"w", "b"};
};
struct Net {
  Layer hidden, out;
  static constexpr const char* fields[] = {"hidden", "out"};
};
struct Counted {
  Array w, n, on;
  static constexpr const char* fields[] = {"w", "n", "on"};
};
struct Deep {  // fields have no names
  std::vector<Layer> layers;
  std::array<Array, 2> two;
  std::tuple<Array, Layer> mixed;
};
template <class A>
struct Line {
  A slope, offset;
};

std::vector<Values> run(const Result<Program>& program, const std::vector<Values>& inputs) {
  std::vector<Values> out;
  for (const ir::Array& a : testing::run(program, inputs)) out.push_back(a.data);
  return out;
}
template <class List>
std::vector<std::string> names(const List& list) {
  std::vector<std::string> out;
  for (const auto& p : list) out.push_back(p.name);
  return out;
}
using Names = std::vector<std::string>;

template <class F>
Error error_of(const Params& params, F&& body) {
  const Result<Program> r = trace("test", params, body);
  if (!r) return r.error();
  ADD_FAILURE() << "no error";
  return {};
}

const Params kLine = {{"m", {f64({2}), f64()}}, {"x", f64({2})}};
Array predict(const Layer& m, Array x) { return sum(m.w * x) + m.b; }

TEST(Bundles, AreChosenAndBuilt) {
  const auto chosen = trace("f", {{"c", f64()}, {"x", f64({2})}}, [](Array c, Array x) {
    const Layer m = cond(c > 0, Layer{x, c}, Layer{2.0f * x, -c});
    return predict(m, x);
  });
  EXPECT_EQ(run(chosen, {{1}, {3, 4}}), (std::vector<Values>{{26}}));
  EXPECT_EQ(run(chosen, {{-1}, {3, 4}}), (std::vector<Values>{{51}}));
  const auto built = trace("f", {{"x", f64({3})}}, [](Array x) {
    return build({2, 3}, [&](Index i, Index j) { return Net{{x(j) * 2.0f, i + j}, {x, x(i)}}; });
  });
  EXPECT_EQ(run(built, {{1, 2, 3}}), (std::vector<Values>{{2, 4, 6, 2, 4, 6},
                                                          {0, 1, 2, 1, 2, 3},
                                                          {1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3},
                                                          {1, 1, 1, 2, 2, 2}}));
  EXPECT_EQ(names(built.value().results), (Names{"hidden.w", "hidden.b", "out.w", "out.b"}));
  const Error lists = error_of({{"x", f64({2})}}, [](Array x) {
    const std::vector<Array> one = {x}, two = {x, x};
    return cond(x(0) > 0, one, two);
  });
  EXPECT_EQ(lists.message, "cond: one side has 1 arrays, the other 2");
  const Error extents = error_of(
      {{"x", f64({2})}}, [](Array x) { return build(Shape{2}, [&](Index i, Index j) { return std::pair(x(i), x(j)); }); });
  EXPECT_EQ(extents.message, "build: the shape [2] has 1 extent, the body takes 2 indices");
}

// ---- structure

TEST(Bundle, FieldsAreCountedAndNamed) {
  EXPECT_EQ(detail::field_count<Layer>(), 2u);
  EXPECT_EQ(detail::field_count<Net>(), 2u);
  EXPECT_EQ(detail::field_count<Deep>(), 3u);
  struct Sixteen {
    Array a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p;
  };
  EXPECT_EQ(detail::field_count<Sixteen>(), 16u);
  EXPECT_EQ(detail::leaf_count<Sixteen>(), 16);
  EXPECT_EQ(detail::leaf_count<Net>(), 4);
  EXPECT_EQ((detail::leaf_count<std::tuple<Net, Array, std::pair<Layer, Array>>>()), 8);
  EXPECT_EQ(detail::leaf_count<Deep>(), -1);
  const Deep deep{{Layer{}, Layer{}}, {}, {}};
  Names paths;
  for (const Arg& a : detail::flattened(deep, {})) paths.push_back(a.field);
  EXPECT_EQ(paths, (Names{"0.0.w", "0.0.b", "0.1.w", "0.1.b", "1.0", "1.1", "2.0", "2.1.w", "2.1.b"}));
  EXPECT_EQ(detail::flattened(std::tuple(Array(), 1), {})[0].field, "") << "outside of structs";
}

TEST(Bundle, HostFormsKeepTemplatesAndListFieldsOfOthers) {
  EXPECT_TRUE((std::is_same_v<detail::state_of<Line<Array>, HostArray>, Line<HostArray>>));
  EXPECT_TRUE((std::is_same_v<detail::state_of<Line<HostArray>>, Line<Array>>));
  EXPECT_TRUE((std::is_same_v<detail::state_of<Layer, HostArray>, std::tuple<HostArray, HostArray>>));
  EXPECT_TRUE((std::is_same_v<detail::state_of<std::pair<Layer, double>>, std::pair<Layer, Array>>));
}

TEST(Bundle, EveryNumberOfFieldsGoesThere) {
  const auto both_ways = []<class T>(const T&, size_t n) {
    std::vector<double> at(n);
    for (size_t k = 0; k < n; ++k) at[k] = static_cast<double>(k);
    const Program p = trace("f", {{"x", f64({static_cast<int64_t>(n)})}}, [&](Array x) {
                        std::vector<Array> leaves;
                        for (size_t k = 0; k < n; ++k) leaves.push_back(x(static_cast<int>(k)));
                        std::span<const Array> next = leaves;
                        const T filled = detail::unflatten(T(), next);
                        std::vector<Array> back;
                        for (const Arg& a : detail::flattened(filled, {})) back.push_back(a.array);
                        return stack(back);
                      }).value();
    EXPECT_EQ(run(p, {at}), std::vector<Values>{at}) << n;
  };
  // clang-format off
  struct S1 { Array a; };  struct S3 { Array a, b, c; };  struct S4 { Array a, b, c, d; };
  struct S5 { Array a, b, c, d, e; };  struct S6 { Array a, b, c, d, e, f; };  struct S7 { Array a, b, c, d, e, f, g; };
  struct S8 { Array a, b, c, d, e, f, g, h; };  struct S9 { Array a, b, c, d, e, f, g, h, i; };
  struct S10 { Array a, b, c, d, e, f, g, h, i, j; };  struct S11 { Array a, b, c, d, e, f, g, h, i, j, k; };
  struct S12 { Array a, b, c, d, e, f, g, h, i, j, k, l; };  struct S13 { Array a, b, c, d, e, f, g, h, i, j, k, l, m; };
  struct S14 { Array a, b, c, d, e, f, g, h, i, j, k, l, m, n; };
  struct S15 { Array a, b, c, d, e, f, g, h, i, j, k, l, m, n, o; };
  struct S16 { Array a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p; };
  // clang-format on
  size_t n = 0;
  const auto next = [&](const auto& s) { both_ways(s, ++n); };
  next(S1());
  next(Layer());
  next(S3()), next(S4()), next(S5()), next(S6()), next(S7()), next(S8()), next(S9());
  next(S10()), next(S11()), next(S12()), next(S13()), next(S14()), next(S15()), next(S16());
}

// ---- parameters and results

TEST(Bundle, ParametersAndResultsAreNamedByTheirFields) {
  const Program p = trace("f", {{"net", {f64({2}), f64(), f64({2}), f64()}}, {"x", f64({2})}}, [](Net n, const Array& x) {
                      const Array y = predict(n.hidden, x);
                      return std::tuple(named("next", Net{n.out, n.hidden}), Named("y", y), n.out.b);
                    }).value();
  EXPECT_EQ(names(p.params), (Names{"net.hidden.w", "net.hidden.b", "net.out.w", "net.out.b", "x"}));
  EXPECT_EQ(names(p.results), (Names{"next.hidden.w", "next.hidden.b", "next.out.w", "next.out.b", "y", "out5"}));
  EXPECT_EQ(run(p, {{1, 2}, {3}, {4, 5}, {6}, {7, 8}}), (std::vector<Values>{{4, 5}, {6}, {1, 2}, {3}, {26}, {6}}));
  EXPECT_EQ(names(grad(p, {"net.hidden.b"}).value().results), (Names{"d_net.hidden.b"}));
  EXPECT_EQ(names(trace("f", {{"m", {f64(), f64()}}}, [](Layer m) { return m; }).value().results), (Names{"w", "b"}));
  const auto unnamed = trace("f", {{"m", {f64(), f64()}}}, [](Line<Array> m) { return m; }).value();
  EXPECT_EQ(names(unnamed.params), (Names{"m.0", "m.1"}));
  EXPECT_EQ(names(unnamed.results), (Names{"out0", "out1"}));
}

TEST(Bundle, MistakesOfDeclarationsNameBoth) {
  const auto predicted = [](Layer m, Array x) { return predict(m, x); };
  const auto says = [&](const Params& params, const char* what) {
    const Error e = error_of(params, predicted);
    EXPECT_EQ(e.code, "SG0402");
    EXPECT_NE(e.message.find(what), std::string::npos) << e.str();
    EXPECT_NE(e.loc.line, 0);
  };
  says({{"m", {f64({2}), f64(), f64()}}, {"x", f64({2})}}, "the struct 'm' has 2 arrays, 3 types are declared");
  says({{"m", f64({2})}, {"x", f64({2})}}, "'m' is a struct, declared is f64[2]");
  says({{"m", {f64({2}), f64()}}, {"x", {f64({2}), f64()}}}, "'x' is an array, declared is a list of types");
  says({{"m", {f64({2}), f64()}}}, "the lambda takes 2 arguments, 1 parameters are declared");
  says({{"m", {f64({2}), f64()}}, {"m.b", f64({2})}}, "two parameters are called 'm.b'");
  const Error two = error_of(kLine, [](Layer m, Array) { return std::tuple(m, m); });
  EXPECT_NE(two.message.find("two results are called 'w'"), std::string::npos) << two.str();
  const Error operand = error_of({{"m", {f64({2}), f64({3})}}}, [](Layer m) { return m.w + m.b; });
  EXPECT_NE(operand.str().find("is the parameter 'm.w'"), std::string::npos) << operand.str();
}

// ---- loops

TEST(Bundle, LoopsCarryStructs) {
  const auto body = [](Index, const Layer& s) { return Layer{s.w + s.b, s.b * 2.0}; };
  EXPECT_EQ(run(trace("f", kLine, [&](Layer m, Array) { return fori(3, body, m); }), {{1, 2}, {1}, {0, 0}}),
            (std::vector<Values>{{8, 9}, {8}}));
  EXPECT_EQ(run(trace("f", kLine,
                      [&](Layer m, Array x) {
                        const auto [last, rows] = map_accum_l(
                            [](Layer s, Array e) {
                              return std::pair(Layer{s.w, s.b + e}, Layer{s.b, e});
                            },
                            m, x);
                        return std::tuple(named("last", last), named("rows", rows));
                      }),
                {{1, 2}, {1}, {3, 4}}),
            (std::vector<Values>{{1, 2}, {8}, {1, 4}, {3, 4}}));
  EXPECT_EQ(run(trace("f", kLine,
                      [&](Layer m, Array) {
                        const auto [last, steps] = while_loop([](Layer s) { return s.b < 9.0; },
                                                              [](Layer s) {
                                                                return Layer{s.w, s.b * 2.0};
                                                              },
                                                              m, 9);
                        return std::tuple(last, Named("steps", steps));
                      }),
                {{1, 2}, {1}, {3, 4}}),
            (std::vector<Values>{{1, 2}, {16}, {4}}));
  EXPECT_EQ(run(trace("f", kLine, [&](Layer m, Array) { return fori(0, body, m); }), {{1, 2}, {1}, {0, 0}}),
            (std::vector<Values>{{1, 2}, {1}}))
      << "no step";
  const Error e = error_of({{"n", {f64({2}), f64(), f64({2}), f64()}}}, [](Net n) {
    return fori(
        2,
        [](Index, Net s) {
          return Net{s.hidden, Layer{s.out.b, s.out.b}};
        },
        n);
  });
  EXPECT_NE(e.message.find("the state is f64[2] in its field 'out.w', the step returns f64"), std::string::npos) << e.str();
}

// ---- derivatives

TEST(Bundle, GradientsHaveTheFormOfTheStruct) {
  const auto loss = [](const Layer& m, Array x) { return square(predict(m, x)); };
  const std::vector<Values> at = {{1, 2}, {3}, {4, 5}};
  EXPECT_EQ(run(trace("f", kLine,
                      [&](Layer m, Array x) {
                        const Layer d = grad(loss)(m, x);
                        return d;
                      }),
                at),
            (std::vector<Values>{{136, 170}, {34}}));
  EXPECT_EQ(run(trace("f", kLine,
                      [&](Layer m, Array x) {
                        const auto [value, d] = value_and_grad(loss, wrt<0, 1>)(m, x);
                        const auto& [dm, dx] = d;
                        return std::tuple(Named("value", value), named("dm", dm), Named("dx", dx));
                      }),
                at),
            (std::vector<Values>{{289}, {136, 170}, {34}, {34, 68}}));
  // A step down the gradient, in a loop.
  EXPECT_EQ(run(trace("f", kLine,
                      [&](Layer m, Array x) {
                        return fori(
                            2,
                            [&](Index, Layer s) {
                              const Layer d = grad(loss)(s, x);
                              return Layer{s.w - 0.01 * d.w, s.b - 0.01 * d.b};
                            },
                            m);
                      }),
                {{1, 0}, {0}, {0, 0}}),
            (std::vector<Values>{{1, 0}, {0}}));
}

TEST(Bundle, ModesAndDifferencesAgreeOnStructs) {
  const auto f = [](const Net& n, Array x) {
    return Layer{tanh(n.hidden.w * x + n.hidden.b) * n.out.w, sum(n.out.w * x) * sin(n.out.b)};
  };
  const Params params = {
      {"n", {f64({2}), f64(), f64({2}), f64()}}, {"x", f64({2})}, {"d", {f64({2}), f64(), f64({2}), f64()}}};
  const std::vector<Values> at = {{0.3, -0.7}, {0.2}, {1.1, 0.4}, {0.9}, {0.5, 2}, {1, -0.5}, {0.25}, {2, 1}, {-1}};
  const auto forward = run(trace("f", params,
                                 [&](Net n, Array x, Net d) {
                                   const auto along = [&](const Net& m) { return f(m, x); };
                                   return jvp(along, std::tuple(n), std::tuple(d)).second;
                                 }),
                           at);
  const auto linear = run(trace("f", params,
                                [&](Net n, Array x, Net d) {
                                  const auto [y, slope] = linearize([&](const Net& m) { return f(m, x); }, n);
                                  return Layer(slope(d));
                                }),
                          at);
  const double h = 1e-6;
  const auto moved = [&](double by) {
    std::vector<Values> p(at.begin(), at.begin() + 5);
    for (size_t j = 0; j < 4; ++j)
      for (size_t k = 0; k < p[j].size(); ++k) p[j][k] += by * at[5 + j][k];
    return run(trace("f", {params.list[0].name == "n" ? params.list[0] : params.list[2], params.list[1]}, f), p);
  };
  const auto up = moved(h), down = moved(-h);
  ASSERT_EQ(forward.size(), 2u);
  for (size_t j = 0; j < forward.size(); ++j)
    for (size_t k = 0; k < forward[j].size(); ++k) {
      EXPECT_NEAR(forward[j][k], (up[j][k] - down[j][k]) / (2 * h), 1e-8);
      EXPECT_NEAR(linear[j][k], forward[j][k], 1e-12);
    }
  // <ct, J d> = <J^T ct, d>
  const auto back = run(trace("f", params,
                              [&](Net n, Array x, Net d) {
                                const auto [y, pullback] = vjp([&](const Net& m) { return f(m, x); }, n);
                                const Net ct = pullback(Layer{ones({2}, DType::F64), constant(f64(), {2})});
                                return sum(ct.hidden.w * d.hidden.w) + ct.hidden.b * d.hidden.b + sum(ct.out.w * d.out.w) +
                                       ct.out.b * d.out.b;
                              }),
                        at);
  EXPECT_NEAR(back[0][0], forward[0][0] + forward[0][1] + 2 * forward[1][0], 1e-12);
}

TEST(Bundle, WhatIsNoFloatCarriesNoDerivative) {
  const auto loss = [](const Counted& c, Array x) { return sum(where(c.on, c.w * x * cast(c.n, DType::F64), 0)); };
  const Params params = {{"c", {f64({2}), i32(), boolean({2})}}, {"x", f64({2})}};
  const std::vector<Values> at = {{1, 2}, {3}, {1, 0}, {4, 5}};
  EXPECT_EQ(run(trace("f", params, [&](Counted c, Array x) { return grad(loss)(c, x); }), at),
            (std::vector<Values>{{12, 0}, {0}, {0, 0}}));
  EXPECT_EQ(run(trace("f", params,
                      [&](Counted c, Array x) {
                        const auto twice = [&](const Counted& v) { return Counted{v.w * x, v.n + 1, !v.on}; };
                        const auto [value, change] = jvp(twice, std::tuple(c), std::tuple(c));
                        const auto back = vjp(twice, c).second(c);
                        return std::tuple(named("value", value), named("change", change), named("back", back));
                      }),
                at),
            (std::vector<Values>{{4, 10}, {4}, {0, 1}, {4, 10}, {0}, {0, 0}, {4, 10}, {0}, {0, 0}}));
  EXPECT_EQ(error_of({{"n", i32()}}, [](Array n) { return grad([](Array k) { return k * 1; })(n); }).code, "SG0201")
      << "outside of structs it is a mistake";
  const Error none = error_of({{"c", {i32(), i32(), i32()}}},
                              [](Counted c) { return grad([](Counted k) { return cast(k.n, DType::F32); })(c); });
  EXPECT_EQ(none.code, "SG0201") << none.str();
  const Error shape = error_of(kLine, [](Layer m, Array x) {
    return jvp([&](Layer v) { return predict(v, x); }, std::tuple(m), std::tuple(Layer{m.b, m.b})).second;
  });
  EXPECT_NE(shape.message.find("the direction for the field 'w', f64[2], cannot be f64"), std::string::npos) << shape.str();
}

TEST(Bundle, RulesOfUsersTakeStructs) {
  const auto value = [](const Counted& c) { return sum(c.w) * cast(c.n, DType::F64); };
  auto by_tangent = custom_jvp(
      value, [&](Counted c, Counted d) { return std::pair(value(c), 10.0 * sum(d.w) * (1.0 + cast(d.n, DType::F64))); });
  auto by_cotangent = custom_vjp(value, [](Counted c, Array ct) { return Counted{c.w * ct * 7.0, c.n, c.on}; });
  const Params params = {{"c", {f64({2}), i32(), boolean()}}};
  const std::vector<Values> at = {{1, 2}, {3}, {1}};
  EXPECT_EQ(
      run(trace("f", params, [&](Counted c) { return std::tuple(Named("y", by_tangent(c)), grad(by_tangent)(c)); }), at),
      (std::vector<Values>{{9}, {10, 10}, {0}, {0}}));
  EXPECT_EQ(
      run(trace("f", params, [&](Counted c) { return std::tuple(Named("y", by_cotangent(c)), grad(by_cotangent)(c)); }), at),
      (std::vector<Values>{{9}, {7, 14}, {0}, {0}}));
}

// ---- second derivatives and batches

TEST(DerivativesByNumber, JacobianAndHessianOfTheChosenArgument) {
  const Params params = {{"x", f64({2})}, {"y", f64({2})}};
  const auto f = [](Array x, Array y) { return x * x * y; };
  EXPECT_EQ(run(trace("f", params, [&](Array x, Array y) { return jacobian(f, wrt<1>)(x, y); }), {{2, 3}, {5, 7}}),
            (std::vector<Values>{{4, 0, 0, 9}}));
  EXPECT_EQ(run(trace("f", params, [&](Array x, Array y) { return jacobian(f, wrt<0>)(x, y); }), {{2, 3}, {5, 7}}),
            (std::vector<Values>{{20, 0, 0, 42}}));
  const auto g = [](Array x, Array y) { return sum(x * x * y * y); };
  EXPECT_EQ(run(trace("f", params, [&](Array x, Array y) { return hessian(g, wrt<1>)(x, y); }), {{2, 3}, {5, 7}}),
            (std::vector<Values>{{8, 0, 0, 18}}));
  EXPECT_EQ(error_of(params, [&](Array x, Array y) { return jacobian(f, wrt<0, 1>)(x, y); }).code, "SG0404");
  EXPECT_EQ(error_of(params, [&](Array x, Array y) { return hessian(g, wrt<0, 1>)(x, y); }).code, "SG0404");
}

TEST(DerivativesByNumber, HvpTakesAllArgumentsThenADirection) {
  const Params params = {{"x", f64({2})}, {"y", f64({2})}};
  const std::vector<Values> at = {{2, 3}, {5, 7}};
  const auto g = [](Array x, Array y) { return sum(x * x * y * y); };
  EXPECT_EQ(run(trace("f", params,
                      [&](Array x, Array y) {
                        return hvp(g)(x, y, constant(f64({2}), {1, 10}));
                      }),
                at),
            (std::vector<Values>{{50, 980}}));
  EXPECT_EQ(run(trace("f", params,
                      [&](Array x, Array y) {
                        return hvp(g, wrt<1>)(x, y, constant(f64({2}), {1, 10}));
                      }),
                at),
            (std::vector<Values>{{8, 180}}));
  // By both: d2g/dx2 dx + d2g/dxdy dy, and the other way round.
  EXPECT_EQ(run(trace("f", params,
                      [&](Array x, Array y) {
                        return hvp(g, wrt<0, 1>)(x, y, std::tuple(constant(f64({2}), {1, 0}), constant(f64({2}), {1, 1})));
                      }),
                at),
            (std::vector<Values>{{90, 84}, {48, 18}}));
  EXPECT_EQ(run(trace("f", kLine,
                      [](Layer m, Array x) {
                        const auto loss = [](const Layer& l, Array v) { return square(predict(l, v)); };
                        const Layer product = hvp(loss)(m, x, Layer{x, m.b});
                        return product;
                      }),
                {{1, 2}, {3}, {4, 5}}),
            (std::vector<Values>{{352, 440}, {88}}));
}

TEST(Vmap, SplitsAlongAnAxisForEachArgument) {
  const Params params = {{"a", f64({2, 3})}, {"b", f64({3, 2})}};
  const std::vector<Values> at = {{1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6}};
  const auto inner = [](Array s, Array t) { return sum(s * t); };
  const auto get = [&](auto f) { return run(trace("f", params, f), at); };
  EXPECT_EQ(get([&](Array a, Array b) { return vmap(inner, {0, 1})(a, b); }), (std::vector<Values>{{22, 64}}));
  EXPECT_EQ(get([&](Array a, Array b) {
              return vmap(inner, {1, 0})(a, b);
            }),
            (std::vector<Values>{{9, 26, 51}}))
      << "columns";
  EXPECT_EQ(get([&](Array a, Array b) {
              return vmap([](Array s, Array w) { return s * sum(w); }, {0, whole})(a, b);
            }),
            (std::vector<Values>{{21, 42, 63, 84, 105, 126}}));
  EXPECT_EQ(get([&](Array a, Array) { return vmap([](Array s) { return s * 2.0; }, 0, 1)(a); }),
            (std::vector<Values>{{2, 8, 4, 10, 6, 12}}));
  EXPECT_EQ(get([&](Array a, Array) {
              return vmap([](Array s) { return std::tuple(s, s * s); }, 1, {1, 0})(a);
            }),
            (std::vector<Values>{{1, 2, 3, 4, 5, 6}, {1, 16, 4, 25, 9, 36}}));
  EXPECT_EQ(get([&](Array a, Array b) {
              return vmap([](Layer l, Array s) { return Layer{l.w * s, l.b}; }, {1, whole})(Layer{a, a}, b(0, 1));
            }),
            (std::vector<Values>{{2, 8, 4, 10, 6, 12}, {1, 4, 2, 5, 3, 6}}));
}

TEST(Vmap, MistakesOfAxesAreTold) {
  const Params params = {{"a", f64({2, 3})}, {"b", f64({3, 2})}};
  const auto product = [](Array s, Array t) { return s * t; };
  const auto says = [&](auto f, const char* code, const char* what) {
    const Error e = error_of(params, f);
    EXPECT_EQ(e.code, code) << e.str();
    EXPECT_NE(e.message.find(what), std::string::npos) << e.str();
    EXPECT_NE(e.loc.line, 0);
  };
  says([&](Array a, Array b) { return vmap(product, {0, 1, 0})(a, b); }, "SG0404", "axes for 3 of 2 arguments");
  says([&](Array a, Array b) { return vmap(product, {0, 0})(a, b); }, "SG0101", "split into 2 and into 3");
  says([&](Array a, Array b) { return vmap(product, {whole, whole})(a, b); }, "SG0404", "no argument is split");
  says([&](Array a, Array b) { return vmap(product, {2, 0})(a, b); }, "SG0101", "has no axis 2");
  says(
      [&](Array a, Array b) {
        return vmap(product, {0, 1}, 2)(a, b);
      },
      "SG0101", "like f64[3] cannot be stacked along an axis 2");
  says([&](Array a, Array b) { return vmap(product, {0, 1}, {whole})(a, b); }, "SG0101", "along no axis");
  says([&](Array a, Array b) { return vmap(product, {0, 1}, {0, 1})(a, b); }, "SG0404", "axes for 2 of 1 results");
}

// Field by field, in the form of the first: what a step of an optimiser does.
TEST(Bundle, FieldsAreMappedTogether) {
  const auto step = trace("step", kLine, [](Layer m, Array x) {
    return map_fields([](Array a, Array g) { return a - 0.5f * g; }, m, grad(predict)(m, x));
  });
  EXPECT_EQ(run(step, {{1, 2}, {3}, {10, 20}}), (std::vector<Values>{{-4, -8}, {2.5}}));
  const auto numbers = trace("numbers", kLine, [](Layer m, Array) {
    return map_fields([](Array a, Array b, Array c) { return sum(a) * b + c; }, m, std::pair(2.0, 3.0),
                      std::tuple(m.b, 1.0));
  });
  EXPECT_EQ(run(numbers, {{1, 2}, {3}, {0, 0}}), (std::vector<Values>{{9}, {10}})) << "other forms, and plain numbers";
  const Error e = error_of(
      kLine, [](Layer m, Array x) { return map_fields([](Array a, Array b) { return a + b; }, m, std::tuple(x, x, x)); });
  EXPECT_EQ(e.code, "SG0404");
  EXPECT_NE(e.message.find("bundles of 2 and of 3 arrays"), std::string::npos) << e.message;
}

TEST(Bundle, ASwitchGivesBundles) {
  const Params params = {{"k", i32()}, {"m", {f64({2}), f64()}}};
  const auto program = trace("chosen", params, [](Array k, Layer m) {
    const auto halved = [](Layer l) { return Layer{l.w / 2, l.b / 2}; };
    const auto turned = [](Layer l) { return Layer{-l.w, -l.b}; };
    return switch_(k, std::tuple([](Layer l) { return l; }, halved, turned), m);
  });
  const std::pair<double, std::vector<Values>> cases[] = {
      {-7, {{2, 4}, {6}}}, {0, {{2, 4}, {6}}}, {1, {{1, 2}, {3}}}, {2, {{-2, -4}, {-6}}}, {9, {{-2, -4}, {-6}}}};
  for (const auto& [k, want] : cases) EXPECT_EQ(run(program, {{k}, {2, 4}, {6}}), want) << k;
  const Error e = error_of(kLine, [](Layer m, Array x) {
    return switch_(x, std::tuple([](Layer l) { return l.b; }, [](Layer l) { return -l.b; }), m);
  });
  EXPECT_EQ(e.code, "SG0102");
  EXPECT_NE(e.message.find("switch: the number of the arm must be one i32, not f64[2]"), std::string::npos) << e.message;
}

}  // namespace bundle_test
}  // namespace spirograd
