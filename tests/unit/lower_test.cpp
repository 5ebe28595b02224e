// Lowering against the reference interpreter: random programs, and the decisions that speed depends on (what is stored, how
// many dispatches there are), read off the plan.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "frontend/ir/algebra.h"
#include "frontend/ir/composite.h"
#include "frontend/rewrite/passes.h"
#include "spirograd/text.h"
#include "spirv/kernel/iterations.h"
#include "spirv/kernel/verify.h"
#include "spirv/lower/memory.h"
#include "support/lowered.h"
#include "support/random_program.h"

namespace spirograd {
namespace lower_test {

using ir::Expr;
using ir::Graph;
using ir::Op;

using test::cpu_target;
using test::gpu_target;

struct Builder {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  std::vector<Param> params;
  Expr param(Type t) {
    params.push_back({"p" + std::to_string(params.size()), t});
    return ir::param(*graph, static_cast<int64_t>(params.size()) - 1, t);
  }
  Program program(std::vector<Expr> results) {
    Program p;
    p.graph = graph;
    p.params = params;
    for (size_t j = 0; j < results.size(); ++j)
      p.results.push_back({"r" + std::to_string(j), results[j].id.v, results[j].type()});
    return p;
  }
};

// Programs cross discontinuities only at exactly representable values.
testing::AssertionResult agrees(const Program& p, const std::vector<std::vector<double>>& inputs, const Target& target,
                                double tolerance = 2e-4, lower::Plan* plan_out = nullptr) {
  try {
    const lower::Plan plan = lower::lower(p, target);
    for (const kernel::Kernel& k : plan.kernels)
      if (auto complaint = kernel::verify(k)) return testing::AssertionFailure() << complaint->str();
    if (const auto same = test::same_as_interpreter(p, plan, inputs, tolerance); !same) return same;
    if (plan_out) *plan_out = plan;
  } catch (const Error& e) {
    return testing::AssertionFailure() << e.str();
  }
  return testing::AssertionSuccess();
}

std::vector<double> ramp(int64_t n, double step = 0.01) {
  std::vector<double> out;
  for (int64_t i = 0; i < n; ++i)
    out.push_back(static_cast<double>(static_cast<float>(std::sin(static_cast<double>(i) * step * 7) + 0.3)));
  return out;
}

size_t dispatches(const lower::Plan& p) { return runs(p.steps, Step::Kind::Dispatch); }

TEST(Lower, RandomProgramsAgreeWithTheInterpreter) {
  test::RandomOptions options;
  options.allow_builds = false;
  for (uint64_t seed = 0; seed < 800; ++seed) {
    options.max_size = seed % 2 ? 20 : 60;
    const test::RandomProgram rp = test::random_program(seed, options);
    const Target target = seed % 3 ? cpu_target() : gpu_target();
    const auto result = agrees(rp.program, rp.inputs, target);
    if (result) continue;
    // A float that lands within rounding of an integer boundary may go either way; such a program says nothing.
    ADD_FAILURE() << "seed " << seed << ": " << result.message();
  }
}

TEST(Lower, ElementwiseChainIsOneDispatchWithoutScratch) {
  Builder b;
  const Expr x = b.param(f32({64, 33})), y = b.param(f32({33}));
  const Expr z = (x + ir::broadcast(y, x.shape(), {1})) * x - ir::broadcast(y, x.shape(), {1});
  lower::Plan plan;
  ASSERT_TRUE(agrees(b.program({z}), {ramp(64 * 33), ramp(33)}, cpu_target(), 1e-6, &plan));
  EXPECT_EQ(dispatches(plan), 1u);
  EXPECT_EQ(plan.scratch_bytes, 0u);
}

TEST(Lower, ProductInsideAMatrixProductIsNeverStored) {
  Builder b;
  const Expr x = b.param(f32({40, 60})), y = b.param(f32({60, 50}));
  const Shape all = {40, 50, 60};
  const Expr z = ir::sum(ir::broadcast(x, all, {0, 2}) * ir::broadcast(ir::transpose(y, {1, 0}), all, {1, 2}), 2);
  lower::Plan plan;
  ASSERT_TRUE(agrees(b.program({z}), {ramp(2400), ramp(3000)}, cpu_target(), 1e-5, &plan));
  EXPECT_EQ(dispatches(plan), 1u);
  EXPECT_EQ(plan.scratch_bytes, 0u);
}

TEST(Lower, LongSumsAreSplitAndAccurate) {
  for (const Target& target : {cpu_target(), gpu_target()}) {
    for (int64_t n : {1, 513, 2048, 10007, 300000}) {
      Builder b;
      const Expr x = b.param(f32({n}));
      lower::Plan plan;
      // Relative to the sum of magnitudes, which is about n.
      ASSERT_TRUE(agrees(b.program({ir::sum_all(x)}), {std::vector<double>(static_cast<size_t>(n), static_cast<float>(0.1))},
                         target, 1e-6, &plan))
          << n;
      EXPECT_LE(dispatches(plan), n > 2048 ? 2u : 1u + (n == 2048));
    }
  }
}

// An invocation sums several columns side by side, so that even 256 columns leave most of a processor idle.
TEST(Lower, SumsOfColumnsAreSplitForThoseThatComputeThem) {
  for (const Shape& rows : {Shape{8192, 256}, Shape{8192, 2, 128}}) {
    constexpr uint64_t kParts = 16;
    Builder b;
    const Expr x = b.param(f32(rows));
    lower::Plan plan;
    ASSERT_TRUE(agrees(b.program({ir::sum(x, 0)}), {ramp(rows.count())}, cpu_target(), 1e-5, &plan));
    EXPECT_EQ(dispatches(plan), 2u);
    EXPECT_EQ(plan.scratch_bytes, kParts * 256 * 4) << to_string(x.type());
  }
}

// So is a product of long matrices with few results, which one tile would hold.
TEST(Lower, ProductsOfFewResultsAreSplit) {
  const std::pair<std::array<int64_t, 3>, bool> cases[] = {
      {{16, 2500, 16}, true}, {{8, 2500, 8}, true}, {{64, 2500, 64}, false}, {{16, 1000, 16}, false}};
  for (const auto& [n, split] : cases) {
    Builder b;
    const Expr x = b.param(f32({n[1], n[0]})), y = b.param(f32({n[1], n[2]}));
    lower::Plan plan;
    ASSERT_TRUE(agrees(b.program({ir::matmul(ir::transpose(x, {1, 0}), y)}), {ramp(n[1] * n[0]), ramp(n[1] * n[2])},
                       cpu_target(), 1e-4, &plan));
    EXPECT_EQ(dispatches(plan), split ? 2u : 1u) << n[0] << " " << n[1] << " " << n[2];
  }
}

TEST(Lower, ExtremesOfLongArraysIgnorePaddingAndNaN) {
  for (Op op : {Op::ReduceMax, Op::ReduceMin, Op::Prod}) {
    Builder b;
    const Expr x = b.param(f32({4099, 2})), i = b.param(i32({4099})), u = b.param(u32({4099}));
    std::vector<double> v(4099 * 2, -2.5), k(4099, -7), w(4099, 3000000000.0);
    if (op == Op::Prod) v.assign(v.size(), -1.0), w.assign(w.size(), 3);
    v[12] = op == Op::Prod ? 1 : std::nan("");
    EXPECT_TRUE(agrees(b.program({ir::reduce(op, x, {0}), ir::reduce(op, i, {0}), ir::reduce(op, u, {0})}), {v, k, w},
                       cpu_target()));
  }
}

TEST(Lower, PlacesOfExtremesInRowsOfAnyLength) {
  for (const Op op : {Op::ArgMax, Op::ArgMin})
    for (const int64_t n : {1, 2, 3, 40}) {
      Builder b;
      const Expr x = b.param(f32({7, n})), i = b.param(i32({7, n}));
      std::vector<double> v = ramp(7 * n), k;
      for (int64_t j = 0; j < 7 * n; ++j) k.push_back(static_cast<double>(j * 5 % 9));
      v[0] = std::nan("");
      EXPECT_TRUE(agrees(b.program({ir::arg_reduce(op, x, 1), ir::arg_reduce(op, i, 1)}), {v, k}, cpu_target())) << n;
    }
}

TEST(Lower, RowStatisticsAreComputedOncePerRow) {
  Builder b;
  const Expr x = b.param(f32({300, 200}));
  const Expr m = ir::reduce(Op::ReduceMax, x, {1});
  const Expr d = x - ir::broadcast(m, x.shape(), {0});
  lower::Plan plan;
  ASSERT_TRUE(agrees(b.program({d * d}), {ramp(60000)}, cpu_target(), 1e-5, &plan));
  EXPECT_EQ(dispatches(plan), 2u);
  EXPECT_EQ(plan.scratch_bytes, 1280u);  // 300 floats, rounded up to 256 bytes
}

// What a loop reads by an index from an array of one element is computed in front of it.
TEST(Lower, ATableOfOneSumIsSummedOnce) {
  Builder b;
  const Expr x = b.param(f32({30})), y = b.param(f32({40, 50})), at = b.param(i32({40, 50}));
  const Expr table = ir::broadcast(ir::sum_all(x), {1}, {});
  const Expr terms = ir::gather(table, {&at, 1}) * y;
  std::vector<double> index(2000, 0.0);
  index[7] = 1, index[9] = -1, index[1999] = 2147483647;
  lower::Plan plan;
  ASSERT_TRUE(agrees(b.program({ir::sum(terms, 1)}), {ramp(30), ramp(2000), index}, cpu_target(), 1e-5, &plan));
  EXPECT_EQ(dispatches(plan), 1u);
  EXPECT_LT(kernel::loop_iterations(plan.kernels[0]), 100u) << "30 and 50, not their product";
}

// Pointwise users ask for the same points; others make it worth a dispatch and memory.
TEST(Lower, WhatIsDearIsStoredIfItIsReadAtSeveralPlaces) {
  Builder b;
  const Expr x = b.param(f32({100000})), dear = ir::unary(Op::Lgamma, ir::unary(Op::Lgamma, x));
  const lower::Plan here = lower::lower(b.program({(dear + dear * dear) * ir::unary(Op::Sin, dear)}), cpu_target()),
                    elsewhere = lower::lower(b.program({dear * ir::reverse(dear, 0)}), cpu_target());
  EXPECT_EQ(dispatches(here), 1u);
  EXPECT_EQ(here.scratch_bytes, 0u);
  EXPECT_EQ(dispatches(elsewhere), 2u);
  EXPECT_GE(elsewhere.scratch_bytes, 400000u);
}

TEST(Lower, ResultsThatAreReadElsewhereComeFirst) {
  for (const int axis : {0, 1}) {
    Builder b;
    const Expr x = b.param(f32({6, 4})), y = x * x;
    for (const Expr& moved : {ir::reverse(y, axis), ir::window(y, axis, 1, y.shape()[axis])}) {
      lower::Plan plan;
      ASSERT_TRUE(agrees(b.program({y, moved}), {ramp(24)}, cpu_target(), 1e-6, &plan));
      EXPECT_EQ(dispatches(plan), 2u) << axis;
    }
  }
}

TEST(Lower, PartsThatHaveABufferHaveItInTheWhole) {
  for (int64_t n : {1, 3, 8}) {
    Builder b;
    const Expr x = b.param(f32({n, 3})), i = b.param({DType::I32, {n}});
    const auto updates = [&](int64_t rows) { return ir::scatter(x * ir::full(*b.graph, x.type(), 2), {{i}}, {rows}); };
    const Expr parts[] = {x + x, updates(5), updates(2)}, whole = ir::concat(parts, 0), across[] = {updates(3), updates(3)};
    std::vector<double> at;
    for (int64_t j = 0; j < n; ++j) at.push_back(static_cast<double>(j * 5 % 7));
    lower::Plan plan;
    ASSERT_TRUE(agrees(b.program({whole}), {ramp(n * 3), at}, cpu_target(), 1e-6, &plan)) << n;
    EXPECT_EQ(plan.scratch_bytes, 0u);
    ASSERT_TRUE(agrees(b.program({whole + whole, updates(5)}), {ramp(n * 3), at}, cpu_target(), 1e-6)) << n;
    ASSERT_TRUE(agrees(b.program({ir::concat(across, 1)}), {ramp(n * 3), at}, cpu_target(), 1e-6, &plan)) << n;
    EXPECT_GT(plan.scratch_bytes, 0u) << "not in one piece";
  }
}

TEST(Lower, PartsOfAWholeThatAreTooLongTogetherAreComputedApart) {
  Builder b;
  const Expr x = b.param(f32({8, 300})), y = b.param(f32({8, 300}));
  const Expr parts[] = {ir::sum(x, 1), ir::reduce(Op::ReduceMax, y, {1})};
  const Program p = b.program({ir::concat(parts, 0)});
  for (const bool limited : {false, true}) {
    Target t = cpu_target();
    if (limited) t.max_loop_iterations = 400;
    lower::Plan plan;
    ASSERT_TRUE(agrees(p, {ramp(2400), ramp(2400)}, t, 1e-5, &plan));
    EXPECT_EQ(dispatches(plan), limited ? 2u : 1u);
  }
}

TEST(Lower, SmallIndependentResultsShareOneDispatch) {
  Builder b;
  const Expr x = b.param(f32({50, 20}));
  lower::Plan plan;
  ASSERT_TRUE(agrees(b.program({ir::sum(x, 0), ir::sum(x, 1), ir::reduce(Op::ReduceMax, x, {1})}), {ramp(1000)},
                     cpu_target(), 1e-5, &plan));
  EXPECT_EQ(dispatches(plan), 1u);
}

TEST(Lower, LoopOverPointwiseStateIsOneDispatch) {
  Builder b;
  const Expr x = b.param(f32({100})), es = b.param(f32({30, 100})), w = b.param(f32({100}));
  const Expr acc = ir::fresh_var(*b.graph, f32({100})), e = ir::fresh_var(*b.graph, f32({100})),
             c = ir::fresh_var(*b.graph, f32({100}));
  const Expr next = acc * c + e;
  const Expr vars[] = {acc, e, c}, results[] = {next, next};
  for (bool reverse : {false, true}) {
    const auto loop = ir::map_accum(*b.graph, {ir::close_function(*b.graph, vars, results), reverse, 30, {x}, {es}, {w}});
    lower::Plan plan;
    Builder with = b;
    ASSERT_TRUE(agrees(with.program({loop[0], loop[1]}), {ramp(100), ramp(3000), ramp(100)}, cpu_target(), 1e-4, &plan));
    EXPECT_EQ(dispatches(plan), 1u);
  }
}

TEST(Lower, LoopsMayRunAsLongAsTheDeviceHasProved) {
  Builder b;
  const Expr x = b.param(f32({100})), acc = ir::fresh_var(*b.graph, f32({100})), next = ir::unary(Op::Sin, acc);
  const Expr sines =
      ir::map_accum(*b.graph, {ir::close_function(*b.graph, {&acc, 1}, {&next, 1}), false, 30, {x}, {}, {}})[0];
  const Program p = b.program({sines});
  const uint64_t iterations = kernel::loop_iterations(lower::lower(p, cpu_target()).kernels[0]);
  for (const uint64_t less : {0, 1}) {
    Target t = cpu_target();
    t.max_loop_iterations = iterations - less;
    lower::Plan plan;
    ASSERT_TRUE(agrees(p, {ramp(100)}, t, 1e-4, &plan));
    EXPECT_EQ(dispatches(plan) > 1, less > 0);
  }
}

TEST(Lower, NumbersThatAreResultsAreNotReadFromThereByLoopBodies) {
  // Where the second loop is a sequence of dispatches, what comes after it, the store of the number, runs later than the
  // first loop.
  Builder b;
  const Expr x = b.param(f32({3})), half = ir::scalar(*b.graph, DType::F32, 0.5);
  const auto loop = [&](Expr start, auto&& body) {
    const Expr state = ir::fresh_var(*b.graph, f32({3})), next = body(state);
    return ir::map_accum(*b.graph, {ir::close_function(*b.graph, {&state, 1}, {&next, 1}), false, 2, {start}, {}, {}})[0];
  };
  const Expr first = loop(x, [&](Expr s) { return ir::unary(Op::Tanh, s) + ir::broadcast(half, {3}, {}); });
  const Expr second = loop(first, [&](Expr s) { return ir::broadcast(ir::sum_all(s), {3}, {}); });
  for (const Target& t : {cpu_target(), gpu_target(), test::with_cheap_dispatches(cpu_target())})
    EXPECT_TRUE(agrees(b.program({second, half}), {{1, 2, 3}}, t));
}

TEST(Lower, LoopOverMatrixStateIsASequenceOfDispatches) {
  Builder b;
  const Expr x = b.param(f32({12})), w = b.param(f32({12, 12}));
  const Expr acc = ir::fresh_var(*b.graph, f32({12})), m = ir::fresh_var(*b.graph, f32({12, 12}));
  const Expr next = ir::sum(m * ir::broadcast(acc, {12, 12}, {1}), 1) * ir::full(*b.graph, f32({12}), 0.1);
  const Expr vars[] = {acc, m}, results[] = {next, next};
  for (int64_t k : {0, 1, 2, 7}) {
    const auto loop = ir::map_accum(*b.graph, {ir::close_function(*b.graph, vars, results), false, k, {x}, {}, {w}});
    lower::Plan plan;
    Builder with = b;
    ASSERT_TRUE(agrees(with.program({loop[0], loop[1]}), {ramp(12), ramp(144)}, test::with_cheap_dispatches(cpu_target()),
                       1e-4, &plan))
        << k;
    EXPECT_EQ(dispatches(plan), static_cast<size_t>(k));
  }
}

// The inner loop has a number beside its array. Where the outer loop keeps numbers of its own, that is read without a point
// of the array, and the outer loop is a sequence of dispatches.
TEST(Lower, NumbersBesideArraysInInnerLoops) {
  const auto dispatches_of = [](const std::string& next) {
    const Program p = rewrite::optimise_for_lowering(
        text::instantiate(
            text::parse("def main(x: f32[5], c: f32) = fori(4, fn(i, (t, s)) => { let (a, b) = fori(3, fn(j, (u, v)) "
                        "=> (0.5 * u + v, sin(v) + 1), (x, s))\n" +
                            next + " }, (x, c))",
                        "loops")
                .value())
            .value(),
        {.verify = true});
    lower::Plan plan;
    EXPECT_TRUE(agrees(p, {ramp(5), {0.25}}, cpu_target(), 1e-4, &plan)) << next;
    EXPECT_EQ(dispatches(plan), 1u) << next;
    EXPECT_TRUE(agrees(p, {ramp(5), {0.25}}, test::with_cheap_dispatches(cpu_target()), 1e-4, &plan)) << next;
    return dispatches(plan);
  };
  EXPECT_GE(dispatches_of("(a, b)"), 4u);
  EXPECT_GE(dispatches_of("(t + a, s + b)"), 4u);
  EXPECT_GE(dispatches_of("(t * b, s)"), 1u);
}

// The inner loop moves more arrays than the outer one, whose state it reads at every step.
TEST(Lower, LoopsOfDispatchesInsideOfOthers) {
  const Program p = rewrite::optimise_for_lowering(
      text::instantiate(
          text::parse("def main(w: f32[5,5], x: f32[5], e: f32[3,5]) = fori(3, fn(k, t) => { let ((a, b), (c, d)) = "
                      "map_accum_l(fn((a, b), r) => { let u = tanh(w @ a + t)\n let v = tanh(w @ b + r)\n ((u, v), (v * t, "
                      "u)) }, (t, x), e)\n a + b * sum(c * d) }, x)",
                      "loops")
              .value())
          .value(),
      {.verify = true});
  lower::Plan plan;
  ASSERT_TRUE(agrees(p, {ramp(25), ramp(5), ramp(15)}, test::with_cheap_dispatches(cpu_target()), 1e-4, &plan));
  EXPECT_GE(dispatches(plan), 9u);
}

TEST(Lower, LongChainsAreCutIntoSmallKernels) {
  Builder b;
  const Expr x = b.param(f32({100}));
  Expr y = x;
  for (int i = 0; i < 3000; ++i) y = (y + y) * ir::full(*b.graph, f32({100}), 0.4999);
  lower::Plan plan;
  ASSERT_TRUE(agrees(b.program({y}), {ramp(100)}, cpu_target(), 1e-3, &plan));
  for (const kernel::Kernel& k : plan.kernels) EXPECT_LE(k.body.size(), 1200u);
  EXPECT_GT(dispatches(plan), 5u);
  EXPECT_LE(plan.kernels.size(), 3u) << "equal kernels are made once";
}

TEST(Lower, ScratchStaysNearTheLivenessBound) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    test::RandomOptions options;
    options.allow_builds = false;
    const test::RandomProgram rp = test::random_program(seed, options);
    const lower::Plan plan = lower::lower(rp.program, cpu_target());
    EXPECT_GE(plan.scratch_bytes, lower::scratch_lower_bound(plan));
    EXPECT_LE(plan.scratch_bytes, 2 * lower::scratch_lower_bound(plan)) << "seed " << seed;
  }
}

TEST(Lower, Float64IsRefusedByNameWhereTheDeviceLacksIt) {
  Builder b;
  const Expr x = b.param(f64({3}));
  Target t = cpu_target();
  t.float64 = false;
  try {
    lower::lower(b.program({x + x}), t);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code, "SG0303");
    EXPECT_NE(e.message.find("f64[3]"), std::string::npos);
  }
}

TEST(Lower, IndicesBeyond32BitsAreRefused) {
  Builder b;
  const Expr i = ir::cast(ir::iota(*b.graph, {int64_t{1} << 33}, 0), DType::F32);
  EXPECT_THROW(lower::lower(b.program({ir::sum_all(i)}), cpu_target()), Error);
  // Along each axis they fit; only a reshape counts through all of them.
  const Expr wide = ir::iota(*b.graph, {int64_t{1} << 17, int64_t{1} << 17}, 0);
  const auto sum = [](Expr e) { return ir::sum_all(ir::cast(e, DType::F32)); };
  EXPECT_NO_THROW(lower::lower(b.program({sum(wide)}), cpu_target()));
  EXPECT_THROW(lower::lower(b.program({sum(ir::reshape(wide, {int64_t{1} << 16, int64_t{1} << 18}))}), cpu_target()), Error);
}

TEST(Lower, Float64ScatterNeedsNoAtomics) {
  Builder b;
  const Expr x = b.param(f64({5, 3})), i = b.param(i32({5}));
  EXPECT_TRUE(agrees(b.program({ir::scatter(x, {{i}}, {4})}), {ramp(15), {0, 3, 3, -1, 9}}, cpu_target(), 1e-12));
}

TEST(Lower, UpdatesBeyondAnyAxisAreDropped) {
  for (const DType dtype : {DType::F32, DType::F64}) {
    Builder b;
    const Expr x = b.param({dtype, {6, 2}}), i = b.param(i32({6})), j = b.param(i32({6}));
    EXPECT_TRUE(agrees(b.program({ir::scatter(x, {{i, j}}, {3, 7})}), {ramp(12), {0, 2, 3, 1, -1, 2}, {6, 7, 0, 3, 1, 5}},
                       cpu_target(), 1e-6));
  }
}

// The evaluator refuses quotients beyond the type; where all divisors are negative -1 is the greatest of them.
TEST(Lower, NothingIsFilledOrCopiedWhereThereIsNothing) {
  Builder b;
  const Expr u = b.param(f32({3})), i = b.param(i32({3})), x = b.param(f32({0}));
  lower::Plan plan;
  EXPECT_TRUE(agrees(b.program({ir::scatter(u, {{i}}, {0}), x, x}), {{1, 2, 3}, {0, 1, 2}, {}}, cpu_target(), 0, &plan));
  for (const Step& s : plan.steps)
    for (const BufferUse& use : s.uses) EXPECT_TRUE(s.kind == Step::Kind::Dispatch || use.bytes > 0) << s.label;
}

TEST(Lower, LanesOfAnySubgroupShareAReduction) {
  for (const uint32_t lanes : {2u, 4u, 8u, 32u, 64u}) {
    Target t = gpu_target();
    t.subgroup_size = lanes;
    t.subgroup_operations = kSubgroupBasic | kSubgroupShuffle;
    lower::Plan plan;
    Builder b;
    const Expr x = b.param(f32({100'000}));
    EXPECT_TRUE(agrees(b.program({ir::sum_all(x)}), {ramp(100'000)}, t, 1e-4, &plan)) << lanes;
    const bool shares =
        std::any_of(plan.kernels.begin(), plan.kernels.end(), [&](const kernel::Kernel& k) { return k.subgroup == lanes; });
    EXPECT_TRUE(shares) << lanes;
  }
}

TEST(Lower, QuotientsThatOverflowWrap) {
  Builder b;
  const Expr x = b.param(i32({3})), y = b.param(i32({3}));
  const Expr negative = ir::binary(Op::Min, y, ir::full(*b.graph, i32({3}), -1));
  EXPECT_TRUE(agrees(b.program({ir::binary(Op::Quot, x, negative), ir::binary(Op::Rem, x, negative)}),
                     {{-2147483648.0, -2147483648.0, 7}, {5, -2, -3}}, cpu_target(), 0));
}

TEST(LowerPlan, CopiesReadTheirSourceAndWriteTheirTarget) {
  Builder b;
  const Expr x = b.param(f32({10}));
  const lower::Plan plan = lower::lower(b.program({x}), cpu_target());
  ASSERT_EQ(plan.steps.size(), 1u);
  EXPECT_EQ(plan.steps[0].kind, Step::Kind::Copy);
  const std::vector<BufferUse>& uses = plan.steps[0].uses;
  ASSERT_EQ(uses.size(), 2u);
  for (const size_t j : {0u, 1u}) {
    EXPECT_EQ(plan.buffers[uses[j].buffer].role, j == 0 ? Role::Input : Role::Output);
    EXPECT_EQ(uses[j].bytes, 40u);
    EXPECT_EQ(uses[j].read, j == 0);
    EXPECT_EQ(uses[j].written, j == 1);
  }
}

TEST(LowerPlan, WorkgroupsAreAsLargeAsTheTargetLikesThem) {
  for (const uint32_t wish : {64u, 128u, 256u})
    for (const int64_t n : {100, 100'000}) {
      Builder b;
      const Expr x = b.param(f32({n}));
      Target t = gpu_target();
      t.price.workgroup = wish;
      t.max_invocations = 192;
      lower::Plan plan;
      EXPECT_TRUE(agrees(b.program({x + x}), {ramp(static_cast<size_t>(n))}, t, 0, &plan));
      EXPECT_EQ(plan.kernels[0].workgroup, n == 100 ? std::min(t.price.lanes, wish) : std::min(192u, wish));
    }
}

TEST(LowerPlan, SurplusInvocationsAreGuardedWhereThereAreAny) {
  const auto guarded = [](int64_t n, uint32_t max_groups) {
    Builder b;
    const Expr x = b.param(f32({n}));
    Target t = gpu_target();
    t.max_groups = max_groups;
    const Program p = b.program({x + x});
    lower::Plan plan;
    EXPECT_TRUE(agrees(p, {ramp(n)}, t, 0, &plan));
    const std::vector<kernel::Inst>& body = plan.kernels[0].body;
    return std::any_of(body.begin(), body.end(), [](const kernel::Inst& i) { return i.op == kernel::KOp::If; });
  };
  EXPECT_TRUE(guarded(1000, 65535));
  EXPECT_FALSE(guarded(1024, 65535));
  EXPECT_FALSE(guarded(1024, 16));
  EXPECT_TRUE(guarded(1024, 15));  // the runtime folds the grid, and has workgroups too many
}

}  // namespace lower_test
}  // namespace spirograd
