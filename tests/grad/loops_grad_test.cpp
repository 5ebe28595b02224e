// Derivatives of loops: folds and scans with known values, both directions, constants, integer state, nesting, no steps.
#include "tests/grad/grad_support.h"

namespace spirograd::grad_test {
namespace loops_grad_test {

using In = const std::vector<Expr>&;
using Exprs = std::vector<Expr>;
/// (acc.., e.., consts..) -> (acc'.., b..)
using Step = std::function<Exprs(const Exprs& acc, const Exprs& e, const Exprs& consts)>;

Exprs loop(Graph& g, int64_t k, const Exprs& acc, const Exprs& es, const Exprs& consts, const Step& step,
           bool reverse = false) {
  Exprs vars;
  const auto bind = [&](const Exprs& list, bool stacked) {
    Exprs out;
    for (Expr e : list) {
      Type t = e.type();
      if (stacked) t.shape = t.shape.erased(0);
      vars.push_back(fresh_var(g, t));
      out.push_back(vars.back());
    }
    return out;
  };
  const Exprs a = bind(acc, false), e = bind(es, true), c = bind(consts, false);
  return map_accum(g, {.function = close_function(g, vars, step(a, e, c)),
                       .reverse = reverse,
                       .length = k,
                       .acc = acc,
                       .es = es,
                       .consts = consts});
}

Expr at(Expr a, double j) { return gather(a, Exprs{scalar(*a.graph, DType::I32, j)}); }
Expr sine(Expr x) { return fn(Op::Sin, x); }

TEST(LoopGrad, FoldsOfSine) {
  const auto folded = [](int64_t k) {
    return make({f64()}, [=](Maker& m, In in) {
      return loop(m.g(), k, {in[0]}, {}, {}, [](In acc, In, In) { return Exprs{sine(acc[0])}; })[0];
    });
  };
  expect_near(gradient(folded(0), {{1.1}}), {{1}});
  expect_near(gradient(folded(1), {{1.1}}), {{0.4535961214255773}});
  expect_near(gradient(folded(5), {{1.1}}), {{0.12389721944941383}});
  const Program overwrites = make({f64()}, [](Maker& m, In in) {
    return loop(m.g(), 3, {m.number(84)}, {replicate(in[0], 0, 3)}, {}, [](In, In e, In) { return Exprs{sine(e[0])}; })[0];
  });
  expect_near(gradient(overwrites, {{1.1}}), {{0.4535961214255773}});
}

TEST(LoopGrad, ScansOfSine) {
  const auto scanned = [](int64_t k) {
    return make({f64()}, [=](Maker& m, In in) {
      const Exprs out = loop(m.g(), k, {in[0]}, {}, {}, [](In acc, In, In) { return Exprs{sine(acc[0]), sine(acc[0])}; });
      return concat(Exprs{replicate(in[0], 0, 1), out[1]}, 0);
    });
  };
  expect_near(gradient(scanned(0), {{1.1}}), {{1}});
  expect_near(gradient(scanned(1), {{1.1}}), {{1.4535961214255773}});
  expect_near(gradient(scanned(5), {{1.1}}), {{2.2207726343670955}});
  const Program map_like = make({f64()}, [](Maker& m, In in) {
    const Exprs out = loop(m.g(), 3, {m.number(84)}, {replicate(in[0], 0, 3)}, {}, [](In, In e, In) {
      return Exprs{sine(e[0]), sine(e[0])};
    });
    return sum_all(out[1]) + m.number(84);
  });
  expect_near(gradient(map_like, {{1.1}}), {{1.360788364276732}});
  const Program with_elements = make({f64()}, [](Maker& m, In in) {
    const Exprs out = loop(m.g(), 2, {in[0]}, {m.reals({5, 7})}, {}, [](In acc, In e, In) {
      const Expr next = sine(acc[0]) - e[0];
      return Exprs{next, next};
    });
    return in[0] + sum_all(out[1]);
  });
  expect_near(gradient(with_elements, {{1.1}}), {{1.1961317861865948}});
}

TEST(LoopGrad, CumulativeProduct) {
  const Program p = make({f64(), f64({3})}, [](Maker& m, In in) {
    const Exprs out = loop(m.g(), 3, {in[0]}, {in[1]}, {}, [](In acc, In e, In) { return Exprs{acc[0] * e[0], acc[0]}; });
    return concat(Exprs{out[1], replicate(out[0], 0, 1)}, 0);
  });
  expect_near(run(p, {{2}, {3, 5, 7}})[0], {2, 6, 30, 210});
  expect_near(gradient(p, {{2}, {3, 5, 7}}), {{124}, {82, 48, 30}});
  expect_near(run(jvp(p).value(), {{2}, {3, 5, 7}, {1}, {1, 0, 0}})[1], {1, 5, 25, 175});
}

Program recurrent(bool reverse = false) {
  return make({f64({2, 2}), f64({2}), f64({3, 2})}, [=](Maker& m, In in) {
    return loop(
        m.g(), 3, {in[1]}, {in[2]}, {in[0]},
        [](In acc, In e, In consts) { return Exprs{sine(sum(consts[0] * replicate(acc[0], 0, 2), 1) + e[0])}; }, reverse)[0];
  });
}
const Inputs kRecurrent = {{.3, -.2, .5, .7}, {1, 2}, {.1, .2, .3, .4, .5, .6}};

TEST(LoopGrad, InvariantMatrixCollectsItsCotangentsInTheLoop) {
  const Inputs grads = gradient(recurrent(), kRecurrent);
  expect_near(grads[0], {0.2564733492495669, 1.435758678208848, 0.07719606913339377, 0.35260691599741256});
  // the same with the matrix as a stack of equal elements
  const Program stacked = make({f64({2, 2}), f64({2}), f64({3, 2})}, [](Maker& m, In in) {
    return loop(m.g(), 3, {in[1]}, {in[2], replicate(in[0], 0, 3)}, {},
                [](In acc, In e, In) { return Exprs{sine(sum(e[1] * replicate(acc[0], 0, 2), 1) + e[0])}; })[0];
  });
  expect_near(gradient(stacked, kRecurrent), grads);
}

TEST(LoopGrad, BothDirectionsAgreeWithDifferencesToSecondOrder) {
  std::mt19937 rng(5);
  check_derivatives(recurrent(), kRecurrent, rng, 2);
  check_derivatives(recurrent(true), kRecurrent, rng, 2);
  check_derivatives(jvp(recurrent()).value(), joined(kRecurrent, kRecurrent), rng, 1);
  const Program h = jvp(grad(summed(recurrent())).value()).value();
  const Program r = vjp(grad(summed(recurrent())).value()).value();
  const Inputs v = {{.1, .2, .3, .4}, {1, -1}, {.5, .4, .3, .2, .1, 0}};
  const Inputs a = run(h, joined(kRecurrent, v)), b = run(r, joined(kRecurrent, v));
  for (size_t j = 3; j < 6; ++j) expect_near(a[j], b[j], 1e-10);
}

TEST(LoopGrad, NoStepsPassTheCotangentThrough) {
  const Program p = make({f64({2}), f64({0, 2}), f64({2})}, [](Maker& m, In in) {
    const Exprs out = loop(m.g(), 0, {in[0]}, {in[1]}, {in[2]}, [](In acc, In e, In consts) {
      return Exprs{acc[0] * e[0] * consts[0], acc[0] * acc[0]};
    });
    return out[0] + sum(out[1], 0);
  });
  expect_near(gradient(p, {{3, 4}, {}, {5, 6}}), {{1, 1}, {}, {0, 0}});
  std::mt19937 rng(1);
  check_derivatives(p, {{3, 4}, {}, {5, 6}}, rng, 2);
}

// x -> counter-dependent steps: the integer state has no cotangent and is replayed.
Program counted() {
  return make({f64(), f64({3})}, [](Maker& m, In in) {
    const Exprs out =
        loop(m.g(), 5, {scalar(m.g(), DType::I32, 0), in[0], scalar(m.g(), DType::Bool, 0)}, {}, {in[1]},
             [&](In acc, In, In consts) {
               const Expr picked = gather(consts[0], Exprs{fn(Op::Rem, acc[0], scalar(m.g(), DType::I32, 3))});
               const Expr next = select(acc[2], acc[1] * picked, sine(acc[1]) + picked);
               return Exprs{acc[0] + scalar(m.g(), DType::I32, 1), next, unary(Op::Not, acc[2]), next * picked, acc[0]};
             });
    return sum_all(out[3]) + out[1] * cast(out[0], DType::F64) + cast(sum_all(out[4]), DType::F64);
  });
}

TEST(LoopGrad, IntegerAndBoolStateIsReplayed) {
  std::mt19937 rng(2);
  check_derivatives(counted(), {{0.7}, {0.3, -0.8, 1.2}}, rng, 2);
}

TEST(LoopGrad, NestedLoopsToSecondOrder) {
  const Program p = make({f64(), f64({2, 3}), f64()}, [](Maker& m, In in) {
    return loop(m.g(), 2, {in[0]}, {in[1]}, {in[2]}, [&](In acc, In e, In consts) {
      const Exprs inner = loop(
          m.g(), 3, {acc[0]}, {e[0]}, {consts[0], acc[0]},
          [](In a, In x, In c) {
            return Exprs{sine(a[0] * x[0]) + c[0] * c[1], a[0] * c[0]};
          },
          true);
      return Exprs{inner[0] + sum_all(inner[1]) * consts[0]};
    })[0];
  });
  std::mt19937 rng(3);
  check_derivatives(p, {{0.4}, {.1, .5, -.3, .7, .2, .9}, {0.6}}, rng, 2);
}

TEST(LoopGrad, LoopsFeedEachOther) {
  const Program p = make({f64(), f64({4})}, [](Maker& m, In in) {
    const Exprs first = loop(m.g(), 4, {in[0]}, {in[1]}, {}, [](In acc, In e, In) {
      return Exprs{sine(acc[0]) + e[0], acc[0] * e[0]};
    });
    const Exprs second = loop(
        m.g(), 4, {first[0]}, {first[1], in[1]}, {first[0]},
        [](In acc, In e, In c) {
          return Exprs{sine(acc[0] * e[0]) + e[1] * c[0], sine(acc[0])};
        },
        true);
    return second[0] + sum_all(second[1] * first[1]);
  });
  std::mt19937 rng(4);
  check_derivatives(p, {{0.4}, {.1, .5, -.3, .7}}, rng, 2);
}

TEST(LoopGrad, SeveralAccumulatorsOfWhichOneBecomesActiveLate) {
  // Only the constant carries a tangent; it reaches the first accumulator, one step later the second, then the third.
  const Program p = make({f64()}, [](Maker& m, In in) {
    const Exprs out = loop(m.g(), 4, {m.number(1), m.number(2), m.number(3)}, {}, {in[0]}, [](In acc, In, In c) {
      return Exprs{acc[0] * c[0], acc[1] + sine(acc[0]), acc[2] * acc[1], acc[2]};
    });
    return out[2] + at(out[3], 3);
  });
  std::mt19937 rng(6);
  check_derivatives(p, {{0.7}}, rng, 2);
}

TEST(LoopGrad, GuardsWorkInsideBodies) {
  const Program p = make({f64({3})}, [](Maker& m, In in) {
    return loop(m.g(), 3, {m.number(0)}, {in[0]}, {}, [&](In acc, In e, In) {
      return Exprs{acc[0] + select(fn(Op::Gt, e[0], m.number(0)), fn(Op::Sqrt, e[0]), m.number(0))};
    })[0];
  });
  expect_near(gradient(p, {{4, 0, -1}}), {{0.25, 0, 0}});
}

// ---- what the derivative stores ------------------------------------------------------------------------------------------

std::vector<const Node*> loops_of(const Program& p) {
  std::vector<NodeId> roots;
  for (const ProgramResult& r : p.results) roots.push_back({r.node});
  std::vector<const Node*> loops;
  for (NodeId id : postorder(*p.graph, roots))
    if ((*p.graph)[id].op == Op::MapAccum) loops.push_back(&(*p.graph)[id]);
  return loops;
}

TEST(LoopGrad, OneForwardAndOneTransposedLoop) {
  const Program p = value_and_grad(summed(counted())).value();
  const auto loops = loops_of(p);
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loop_parts(*p.graph, *loops[0]).reverse, false);
  EXPECT_EQ(loop_parts(*p.graph, *loops[1]).reverse, true);
  EXPECT_EQ(loops_of(jvp(counted()).value()).size(), 1u);
}

TEST(LoopGrad, LinearStepsStoreNothing) {
  const Program p = make({f64({2})}, [](Maker& m, In in) {
    return loop(m.g(), 6, {in[0]}, {}, {}, [&](In acc, In, In) { return Exprs{acc[0] + acc[0]}; })[0];
  });
  const Program v = vjp(p).value();
  for (const Node* n : loops_of(v)) EXPECT_EQ(loop_parts(*v.graph, *n).n_bs, 0);
  expect_near(run(v, {{1, 2}, {1, 3}})[1], {64, 192});
}

TEST(LoopGrad, LoopsWithoutTangentStayAsTheyAre) {
  const Program p = make({f64()}, [](Maker& m, In in) {
    const Expr n = loop(m.g(), 3, {scalar(m.g(), DType::I32, 0)}, {}, {in[0]},
                        [&](In acc, In, In c) { return Exprs{acc[0] + cast(fn(Op::Floor, c[0]), DType::I32)}; })[0];
    return cast(n, DType::F64) * in[0];
  });
  const Program g = value_and_grad(p).value();
  EXPECT_EQ(loops_of(g).size(), 1u);
  expect_near(run(g, {{2.5}}), {{15}, {6}});
}

TEST(LoopGrad, NestedBodiesGrowLinearly) {
  const auto nested = [](int depth) {
    return make({f64()}, [=](Maker& m, In in) {
      std::function<Expr(Expr, int)> level = [&](Expr x, int d) -> Expr {
        if (d == 0) return sine(x);
        return loop(m.g(), 1, {x}, {}, {}, [&](In acc, In, In) { return Exprs{level(acc[0], d - 1)}; })[0];
      };
      return level(in[0], depth);
    });
  };
  const auto made = [&](int depth) {
    const Program p = nested(depth), g = grad(p).value();
    expect_near(run(g, {{1.1}})[0], {std::cos(1.1)});
    return g.graph->size();
  };
  EXPECT_LT(made(8), 4 * made(4));
}

}  // namespace loops_grad_test
}  // namespace spirograd::grad_test
