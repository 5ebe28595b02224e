// The C++ surface: what is written with Arrays computes what NumPy would, through the reference interpreter.
#include <cmath>
#include <limits>

#include "samples/gmm_objective.h"
#include "spirograd/build.h"
#include "spirograd/ops.h"
#include "tests/support/dsl_run.h"

namespace spirograd {
namespace dsl_test {

using testing::eval;
using testing::Values;

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNaN = std::nan("");

TEST(Dsl, OperandsBroadcastAsInNumPy) {
  const auto out = eval({f32({2, 1}), f32({3})}, {{10, 20}, {1, 2, 3}}, [](Array a, Array b) { return a + b; });
  EXPECT_EQ(out.type, f32({2, 3}));
  EXPECT_EQ(out.data, (Values{11, 12, 13, 21, 22, 23}));
}

TEST(Dsl, PlainNumbersTakeTheTypeOfTheArray) {
  const auto out = eval({f32({2}), i32({2})}, {{1, 2}, {3, 4}},
                        [](Array x, Array k) { return 1 - 2 * x + 0.5 + cast(k * 2 - 1, DType::F32); });
  EXPECT_EQ(out.type, f32({2}));
  EXPECT_EQ(out.data, (Values{4.5, 4.5}));
}

TEST(Dsl, NumbersAreRoundedToF32) {
  const auto out = eval({}, {}, [] { return constant(DType::F32, 0.1); });
  EXPECT_EQ(out.data, (Values{static_cast<double>(0.1f)}));
}

TEST(Dsl, ComparisonsAndLogicGiveBool) {
  const auto out = eval({f32({4})}, {{-1, 0, 1, 2}}, [](Array x) { return (x > 0 && x <= 1.0f) || !(x != -1); });
  EXPECT_EQ(out.type, boolean({4}));
  EXPECT_EQ(out.data, (Values{1, 0, 1, 0}));
}

TEST(Dsl, CompoundAssignmentMakesANewValue) {
  const auto out = eval({f32()}, {{3}}, [](Array x) {
    Array y = x;
    y += 1;
    y *= x;
    y -= 2;
    y /= 5;
    return y;
  });
  EXPECT_EQ(out.data, (Values{2}));
}

TEST(Dsl, ReadsOutOfRangeAreZero) {
  const auto out = eval({f32({3}), i32({4})}, {{5, 6, 7}, {-1, 0, 2, 3}}, [](Array x, Array k) { return x(k); });
  EXPECT_EQ(out.data, (Values{0, 5, 7, 0}));
  EXPECT_EQ(eval({f32({3})}, {{5, 6, 7}}, [](Array x) { return x(3); }).data, (Values{0}));
}

TEST(Dsl, IndexArraysBroadcastTogether) {
  const auto out = eval({f32({2, 3}), i32({2, 1}), i32({2})}, {{1, 2, 3, 4, 5, 6}, {0, 1}, {0, 2}},
                        [](Array x, Array r, Array c) { return x(r, c); });
  EXPECT_EQ(out.type, f32({2, 2}));
  EXPECT_EQ(out.data, (Values{1, 3, 4, 6}));
}

TEST(Dsl, FewerIndicesThanAxesSelectASubarray) {
  const auto out = eval({f32({2, 3})}, {{1, 2, 3, 4, 5, 6}}, [](Array x) { return x(1); });
  EXPECT_EQ(out.data, (Values{4, 5, 6}));
}

TEST(Dsl, BuildRunsOverSeveralAxesInOrder) {
  const auto out = eval({}, {}, [] { return build({2, 3}, [](Index i, Index j) { return 10 * i + j; }); });
  EXPECT_EQ(out.type, i32({2, 3}));
  EXPECT_EQ(out.data, (Values{0, 1, 2, 10, 11, 12}));
}

TEST(Dsl, BuildOfSixAxes) {
  const auto out = eval({}, {}, [] {
    return build({1, 2, 1, 2, 1, 2},
                 [](Index a, Index b, Index c, Index d, Index e, Index f) { return a + 4 * b + c + 2 * d + e + f; });
  });
  EXPECT_EQ(out.data, (Values{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(Dsl, NestedBuildsSeeBothIndices) {
  const auto out = eval({f32({3})}, {{1, 2, 3}}, [](Array x) {
    return build(3, [&](Index i) { return sum(build(3, [&](Index j) { return x(i) * x(j) * cast(i <= j, DType::F32); })); });
  });
  EXPECT_EQ(out.data, (Values{6, 10, 9}));
}

TEST(Dsl, EmptyBuildIsAnEmptyArray) {
  const auto out = eval({f32({0, 2})}, {{}}, [](Array x) { return build(0, [&](Index i) { return x(i); }); });
  EXPECT_EQ(out.type, f32({0, 2}));
}

TEST(Dsl, IndexArithmeticTruncates) {
  const auto out = eval(
      {}, {}, [] { return build(5, [](Index i) { return quot(i - 3, 2) * 100 + rem(i - 3, 2) * 10 + quot(i, 0) + -i; }); });
  EXPECT_EQ(out.data, (Values{-110, -100, -10, 0, 10}));
}

TEST(Dsl, ReductionsTakeAxesAndKeepDims) {
  const Values x = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(eval({f32({2, 3})}, {x}, [](Array a) { return sum(a); }).data, (Values{21}));
  EXPECT_EQ(eval({f32({2, 3})}, {x}, [](Array a) { return sum(a, 0); }).data, (Values{5, 7, 9}));
  EXPECT_EQ(eval({f32({2, 3})}, {x}, [](Array a) { return mean(a, -1); }).data, (Values{2, 5}));
  EXPECT_EQ(eval({f32({2, 3})}, {x}, [](Array a) { return prod(a, {0, 1}); }).data, (Values{720}));
  EXPECT_EQ(eval({f32({2, 3})}, {x}, [](Array a) { return max(a, {0}); }).data, (Values{4, 5, 6}));
  EXPECT_EQ(eval({f32({2, 3})}, {x}, [](Array a) { return min(a, Axes(1)); }).data, (Values{1, 4}));
  EXPECT_EQ(eval({f32({2, 3})}, {x}, [](Array a) { return max(a); }).data, (Values{6}));
  EXPECT_EQ(eval({f32({2, 3})}, {x}, [](Array a) { return sum(a, 1, true); }).type, f32({2, 1}));
  EXPECT_EQ(eval({f32({2, 3})}, {x}, [](Array a) { return max(a, {1}, true) - a; }).data, (Values{2, 1, 0, 2, 1, 0}));
}

TEST(Dsl, ElementwiseExtremesTakeTheSecondWhenTheFirstIsNaN) {
  EXPECT_EQ(eval({f32({3})}, {{-1, 2, kNaN}}, [](Array a) { return max(a, 0.0f); }).data, (Values{0, 2, 0}));
  EXPECT_EQ(eval({f32({3})}, {{-1, 2, kNaN}}, [](Array a) { return minimum(a, 1); }).data, (Values{-1, 1, 1}));
}

TEST(Dsl, ArgExtremesOfRowsAndOfEverything) {
  const Values x = {3, 9, 9, 7, 1, 7};
  EXPECT_EQ(eval({f32({2, 3})}, {x}, [](Array a) { return argmax(a, 1); }).data, (Values{1, 0}));
  EXPECT_EQ(eval({f32({2, 3})}, {x}, [](Array a) { return argmin(a); }).data, (Values{4}));
  EXPECT_EQ(eval({f32()}, {{5}}, [](Array a) { return argmax(a); }).data, (Values{0}));
}

TEST(Dsl, LogSumExpIsSafeAtInfinity) {
  const auto lse = [](Array a) { return logsumexp(a, 1); };
  const auto out = eval({f32({4, 2})}, {{-kInf, -kInf, kInf, 1, 1000, 1000, -kInf, 2}}, lse);
  EXPECT_EQ(out.data[0], -kInf);
  EXPECT_EQ(out.data[1], kInf);
  EXPECT_NEAR(out.data[2], 1000 + std::log(2.0), 1e-9);
  EXPECT_NEAR(out.data[3], 2, 1e-12);
  EXPECT_EQ(eval({f32({0})}, {{}}, [](Array a) { return logsumexp(a); }).data, (Values{-kInf}));
}

TEST(Dsl, SoftmaxSumsToOne) {
  const auto out = eval({f32({2, 2})}, {{0, 0, 1000, -kInf}}, [](Array a) { return softmax(a); });
  EXPECT_EQ(out.data, (Values{0.5, 0.5, 1, 0}));
}

TEST(Dsl, FunctionsOfOneArgument) {
  const double x = 0.3;
  const auto at = [&](auto f) { return eval({f64()}, {{x}}, f).data.at(0); };
  EXPECT_NEAR(at([](Array a) { return exp(a); }), std::exp(x), 1e-15);
  EXPECT_NEAR(at([](Array a) { return log(a); }), std::log(x), 1e-15);
  EXPECT_NEAR(at([](Array a) { return sqrt(a); }), std::sqrt(x), 1e-15);
  EXPECT_NEAR(at([](Array a) { return sin(a); }), std::sin(x), 1e-15);
  EXPECT_NEAR(at([](Array a) { return cos(a); }), std::cos(x), 1e-15);
  EXPECT_NEAR(at([](Array a) { return tan(a); }), std::tan(x), 1e-15);
  EXPECT_NEAR(at([](Array a) { return asin(a); }), std::asin(x), 1e-15);
  EXPECT_NEAR(at([](Array a) { return acos(a); }), std::acos(x), 1e-15);
  EXPECT_NEAR(at([](Array a) { return atan(a); }), std::atan(x), 1e-15);
  EXPECT_NEAR(at([](Array a) { return sinh(a); }), std::sinh(x), 1e-15);
  EXPECT_NEAR(at([](Array a) { return cosh(a); }), std::cosh(x), 1e-15);
  EXPECT_NEAR(at([](Array a) { return tanh(a); }), std::tanh(x), 1e-15);
  EXPECT_NEAR(at([](Array a) { return asinh(a); }), std::asinh(x), 1e-15);
  EXPECT_NEAR(at([](Array a) { return acosh(a + 1); }), std::acosh(x + 1), 1e-14);
  EXPECT_NEAR(at([](Array a) { return atanh(a); }), std::atanh(x), 1e-15);
  EXPECT_NEAR(at([](Array a) { return erf(a); }), std::erf(x), 1e-15);
  EXPECT_NEAR(at([](Array a) { return erfc(a); }), std::erfc(x), 1e-15);
  EXPECT_NEAR(at([](Array a) { return lgamma(a); }), 1.0957979948180754, 1e-15);
  EXPECT_NEAR(at([](Array a) { return digamma(a); }), -3.5025242222001332, 1e-15);
  EXPECT_NEAR(at([](Array a) { return logistic(a); }), 1 / (1 + std::exp(-x)), 1e-15);
  EXPECT_NEAR(at([](Array a) { return log1p(a); }), std::log1p(x), 1e-15);
  EXPECT_NEAR(at([](Array a) { return expm1(a); }), std::expm1(x), 1e-15);
  EXPECT_NEAR(at([](Array a) { return softplus(a); }), std::log1p(std::exp(x)), 1e-15);
  EXPECT_NEAR(at([](Array a) { return logaddexp(a, 2); }), std::log(std::exp(x) + std::exp(2)), 1e-15);
  EXPECT_NEAR(at([](Array a) { return sum(log_softmax(stack({a, a}), 0)); }), -2 * std::log(2.0), 1e-15);
  EXPECT_NEAR(at([](Array a) { return square(a); }), x * x, 1e-15);
  EXPECT_NEAR(at([](Array a) { return recip(a); }), 1 / x, 1e-15);
  EXPECT_NEAR(at([](Array a) { return abs(-a); }), x, 1e-15);
  EXPECT_NEAR(at([](Array a) { return sign(-a); }), -1, 1e-15);
  EXPECT_NEAR(at([](Array a) { return relu(-a); }), 0, 1e-15);
  EXPECT_NEAR(at([](Array a) { return leaky_relu(-a, 0.5); }), -x / 2, 1e-15);
  EXPECT_NEAR(at([](Array a) { return pow(a, 2); }), x * x, 1e-15);
  EXPECT_NEAR(at([](Array a) { return atan2(a, -1); }), std::atan2(x, -1), 1e-15);
  EXPECT_NEAR(at([](Array a) { return rem(a, 0.25); }), std::fmod(x, 0.25), 1e-15);
  EXPECT_NEAR(at([](Array a) { return stop_gradient(a); }), x, 1e-15);
  EXPECT_NEAR(at([](Array a) { return prefer_store(a) + prefer_recompute(a); }), 2 * x, 1e-15);
}

TEST(Dsl, FloorGivesSaturatedIntegers) {
  const auto out = eval({f32({4})}, {{-1.5, 2.5, 1e20, kNaN}}, [](Array a) { return floor(a); });
  EXPECT_EQ(out.type, i32({4}));
  EXPECT_EQ(out.data, (Values{-2, 2, 2147483647, 0}));
}

TEST(Dsl, IntegerDivisionIsTotal) {
  const auto out = eval({i32({4}), i32({4})}, {{7, -7, 7, -2147483648.0}, {2, 2, 0, -1}}, [](Array a, Array b) {
    return stack({quot(a, b), rem(a, b)});
  });
  EXPECT_EQ(out.data, (Values{3, -3, 7, -2147483648.0, 1, -1, 0, 0}));
}

TEST(Dsl, SelectIsElementwiseAndCondTakesOneBool) {
  EXPECT_EQ(eval({f32({3})}, {{-1, 0, 1}}, [](Array x) { return select(x > 0, x, 7); }).data, (Values{7, 7, 1}));
  EXPECT_EQ(eval({f32({2}), boolean()}, {{1, 2}, {0}}, [](Array x, Array b) { return cond(b, x, -1.0f); }).data,
            (Values{-1, -1}));
  EXPECT_EQ(eval({boolean({2})}, {{1, 0}}, [](Array b) { return select(b, 1, 0); }).type, i32({2}));
}

TEST(Dsl, LayoutOperations) {
  const Values x = {1, 2, 3, 4, 5, 6};
  const auto at = [&](auto f) { return eval({f32({2, 3})}, {x}, f); };
  EXPECT_EQ(at([](Array a) { return transpose(a); }).data, (Values{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(at([](Array a) { return transpose(a, {-1, 0}); }).type, f32({3, 2}));
  EXPECT_EQ(at([](Array a) { return reshape(a, {3, -1}); }).type, f32({3, 2}));
  EXPECT_EQ(at([](Array a) { return replicate(a, 2, -1); }).data, (Values{1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6}));
  EXPECT_EQ(at([](Array a) { return broadcast_to(a(0), {2, 3}); }).data, (Values{1, 2, 3, 1, 2, 3}));
  EXPECT_EQ(at([](Array a) { return slice(a, 1, 3, 1); }).data, (Values{2, 3, 5, 6}));
  EXPECT_EQ(at([](Array a) { return window(a, -1, 3); }).data, (Values{0, 0, 0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(at([](Array a) { return reverse(a, 1); }).data, (Values{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(at([](Array a) { return concat({a, a + 6}, 1); }).data, (Values{1, 2, 3, 7, 8, 9, 4, 5, 6, 10, 11, 12}));
  EXPECT_EQ(at([](Array a) { return append(a, a); }).type, f32({4, 3}));
  EXPECT_EQ(at([](Array a) { return stack({a(0, 0), 9, a(1, 2)}); }).data, (Values{1, 9, 6}));
  EXPECT_EQ(at([](Array a) { return stack(std::vector<Array>{a(0), a(1)}, 1); }).data, (Values{1, 4, 2, 5, 3, 6}));
}

TEST(Dsl, Leaves) {
  EXPECT_EQ(eval({}, {}, [] { return iota({2, 2}, -1); }).data, (Values{0, 1, 0, 1}));
  EXPECT_EQ(eval({}, {}, [] { return iota(3); }).type, i32({3}));
  EXPECT_EQ(eval({}, {}, [] { return zeros(u32({2})); }).data, (Values{0, 0}));
  EXPECT_EQ(eval({}, {}, [] { return ones(boolean({2})); }).data, (Values{1, 1}));
  EXPECT_EQ(eval({}, {}, [] { return full(i32({2}), -3); }).data, (Values{-3, -3}));
  EXPECT_EQ(eval({}, {}, [] { return constant(f32({2}), {1, kInf}); }).data, (Values{1, kInf}));
  EXPECT_EQ(eval({}, {}, [] { return constant(HostArray(u32({2}), {1, 4294967295.0})); }).data, (Values{1, 4294967295.0}));
}

TEST(Dsl, ScatterAddsAndDrops) {
  const auto out =
      eval({f32({4}), i32({4})}, {{1, 2, 4, 8}, {0, 2, 0, 5}}, [](Array u, Array k) { return scatter({3}, u, {k}); });
  EXPECT_EQ(out.data, (Values{5, 0, 2}));
  EXPECT_EQ(eval({i32({3})}, {{1, 1, -1}}, [](Array k) { return scatter({2}, 1.0f, {k}); }).data, (Values{0, 2}));
  EXPECT_EQ(eval({f32({2}), i32({2})}, {{3, 4}, {1, 0}}, [](Array x, Array k) { return gather(x, {k}); }).data,
            (Values{4, 3}));
}

TEST(Dsl, OneHotOfAnIndexOutOfRangeIsZero) {
  EXPECT_EQ(eval({i32({3})}, {{1, -1, 2}}, [](Array k) { return one_hot(k, 2); }).data, (Values{0, 1, 0, 0, 0, 0}));
}

TEST(Dsl, ProductsOfVectorsAndMatrices) {
  const Values a = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(eval({f32({3})}, {{1, 2, 3}}, [](Array v) { return dot(v, v); }).data, (Values{14}));
  EXPECT_EQ(eval({f32({2, 3})}, {a}, [](Array m) { return matmul(m, transpose(m)); }).data, (Values{14, 32, 32, 77}));
  EXPECT_EQ(eval({f32({2, 3})}, {a}, [](Array m) { return matmul(m, m(0)); }).data, (Values{14, 32}));
  EXPECT_EQ(eval({f32({2, 3})}, {a},
                 [](Array m) {
                   return matmul(constant(f32({2}), {1, 10}), m);
                 })
                .data,
            (Values{41, 52, 63}));
  EXPECT_EQ(eval({f32({3})}, {{1, 2, 3}}, [](Array v) { return matmul(v, v); }).data, (Values{14}));
}

TEST(Dsl, BatchesOfMatmulBroadcast) {
  const auto out = eval({f32({2, 1, 1, 2}), f32({3, 2, 1})}, {{1, 2, 3, 4}, {1, 0, 0, 1, 1, 1}},
                        [](Array a, Array b) { return matmul(a, b); });
  EXPECT_EQ(out.type, f32({2, 3, 1, 1}));
  EXPECT_EQ(out.data, (Values{1, 2, 3, 3, 4, 7}));
}

TEST(Dsl, MatmulOverAnEmptyInnerAxisIsZero) {
  EXPECT_EQ(eval({f32({2, 0}), f32({0, 2})}, {{}, {}}, [](Array a, Array b) { return matmul(a, b); }).data,
            (Values{0, 0, 0, 0}));
}

TEST(Dsl, MixtureObjectiveAgreesWithPlainLoops) {
  const int n = 3, d = 3, k = 2, m = 2;
  const double gamma = 1.5;
  const Values alpha = {0.3, -0.2}, mu = {0.1, 0.2, 0.3, -0.4, 0.5, -0.6}, q = {0.2, -0.1, 0.05, 0.3, 0.1, -0.2},
               l = {0.5, -0.25, 0.75, 0.1, 0.2, -0.3}, x = {1, 0.5, -0.5, 0.2, 0.1, 0.9, -1, 0.3, 0.6};
  const auto lse = [](const Values& v) {
    double s = 0;
    for (double e : v) s += std::exp(e);
    return std::log(s);
  };
  double expected = gmm_constant(n, d, k, gamma, m) - n * lse(alpha);
  for (int i = 0; i < n; ++i) {
    Values beta;
    for (int j = 0; j < k; ++j) {
      const double *qj = &q[static_cast<size_t>(j * d)], *lj = &l[static_cast<size_t>(j * 3)];
      const double root[3][3] = {{std::exp(qj[0]), 0, 0}, {lj[0], std::exp(qj[1]), 0}, {lj[1], lj[2], std::exp(qj[2])}};
      double norm = 0;
      for (const auto& row : root) {
        double z = 0;
        for (int c = 0; c < d; ++c) z += row[c] * (x[static_cast<size_t>(i * d + c)] - mu[static_cast<size_t>(j * d + c)]);
        norm += z * z;
        if (i == 0)
          for (double e : row) expected += 0.5 * gamma * gamma * e * e;
      }
      beta.push_back(alpha[static_cast<size_t>(j)] + qj[0] + qj[1] + qj[2] - 0.5 * norm);
      if (i == 0) expected -= m * (qj[0] + qj[1] + qj[2]);
    }
    expected += lse(beta);
  }
  const auto out =
      testing::run(gmm(n, d, k), {alpha, mu, q, l, x, {gamma}, {static_cast<double>(m)}, {gmm_constant(n, d, k, gamma, m)}});
  ASSERT_EQ(out.size(), 1u);
  EXPECT_NEAR(out[0].data[0], expected, 1e-12 * std::abs(expected));
}

}  // namespace dsl_test
}  // namespace spirograd
