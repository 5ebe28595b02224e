// What each operation computes, in the reference interpreter: the numbers that NumPy gives, and 0 where NumPy would
// complain.
#include <gtest/gtest.h>

#include <cmath>

#include "frontend/ir/eval.h"
#include "spirograd/text.h"

namespace spirograd {
namespace text_eval_test {

constexpr double kInf = HUGE_VAL;
const double kNan = std::nan("");

// Over a: f64[2,3] = [[1,2,3],[4,5,6]], v: f64[4] = [3,-1,0.5,2], k: i32[3] = [2,0,5], n: i32 = 7, s: f64 = 2.
struct Case {
  const char* expression;
  std::vector<double> values;
};

std::vector<double> evaluated(const std::string& expression) {
  const std::string source = "def f(a: f64[2,3], v: f64[4], k: i32[3], n: i32, s: f64) = " + expression;
  auto m = text::parse(source, "test.sg");
  if (!m) throw m.error();
  auto p = text::instantiate(*m);
  if (!p) throw p.error();
  const std::vector<std::vector<double>> inputs = {{1, 2, 3, 4, 5, 6}, {3, -1, 0.5, 2}, {2, 0, 5}, {7}, {2}};
  std::vector<double> out;
  for (const ir::Array& r : ir::evaluate(*p, inputs)) out.insert(out.end(), r.data.begin(), r.data.end());
  return out;
}

void check(std::initializer_list<Case> cases) {
  for (const Case& c : cases) {
    std::vector<double> got;
    try {
      got = evaluated(c.expression);
    } catch (const Error& e) {
      FAIL() << c.expression << "\n" << e.str();
    }
    ASSERT_EQ(got.size(), c.values.size()) << c.expression;
    for (size_t j = 0; j < got.size(); ++j) {
      if (std::isnan(c.values[j])) {
        EXPECT_TRUE(std::isnan(got[j])) << c.expression;
      } else if (std::isinf(c.values[j])) {
        EXPECT_EQ(got[j], c.values[j]) << c.expression;
      } else {
        EXPECT_NEAR(got[j], c.values[j], 1e-7) << c.expression << " element " << j;
      }
    }
  }
}

TEST(TextEval, ElementwiseOperations) {
  check({{"v + 1", {4, 0, 1.5, 3}},
         {"-v * 2 - v / 2", {-7.5, 2.5, -1.25, -5}},
         {"v ** 2", {9, 1, 0.25, 4}},
         {"abs(v)", {3, 1, 0.5, 2}},
         {"sign(v)", {1, -1, 1, 1}},
         {"square(v)", {9, 1, 0.25, 4}},
         {"recip(v)", {1 / 3.0, -1, 2, 0.5}},
         {"sqrt(v)", {std::sqrt(3.0), kNan, std::sqrt(0.5), std::sqrt(2.0)}},
         {"relu(v)", {3, 0, 0.5, 2}},
         {"leaky_relu(v)", {3, -0.01, 0.5, 2}},
         {"leaky_relu(v, slope=0.5)", {3, -0.5, 0.5, 2}},
         {"floor(v)", {3, -1, 0, 2}},
         {"floor(-v / 2)", {-2, 0, -1, -1}},
         {"logistic(s)", {1 / (1 + std::exp(-2.0))}},
         {"(erf(s), atan2(s, -s), logaddexp(s, s))", {std::erf(2.0), std::atan2(2.0, -2.0), 2 + std::log(2.0)}},
         {"(erfc(s), lgamma(s + 1), digamma(s))", {std::erfc(2.0), std::log(2.0), 0.42278433509846714}},
         {"(log1p(s), expm1(s), softplus(s), softplus(-s))",
          {std::log1p(2.0), std::expm1(2.0), 2 + std::log1p(std::exp(-2.0)), std::log1p(std::exp(-2.0))}},
         {"(logaddexp(s, -40), logaddexp(-inf, -inf), logaddexp(inf, inf), logaddexp(-inf, inf))", {2, -kInf, kInf, kInf}},
         {"(logaddexp(nan, s), logaddexp(s, nan), logaddexp(-inf, nan), softplus(inf), softplus(-inf), softplus(nan))",
          {kNan, kNan, kNan, kInf, 0, kNan}},
         {"(exp(s), log(s), sin(s), cos(s), tan(s))",
          {std::exp(2.0), std::log(2.0), std::sin(2.0), std::cos(2.0), std::tan(2.0)}},
         {"(asin(s/4), acos(s/4), atan(s))", {std::asin(0.5), std::acos(0.5), std::atan(2.0)}},
         {"(sinh(s), cosh(s), tanh(s))", {std::sinh(2.0), std::cosh(2.0), std::tanh(2.0)}},
         {"(asinh(s), acosh(s), atanh(s/4))", {std::asinh(2.0), std::acosh(2.0), std::atanh(0.5)}},
         {"(min(v, 1), max(v, 1))", {1, -1, 0.5, 1, 3, 1, 1, 2}},
         {"(minimum(s, 1), maximum(s, 1))", {1, 2}},
         {"where(v > 0, v, -1)", {3, -1, 0.5, 2}},
         {"if s > 1 and not (s > 3) then v[0] else 0", {3}},
         {"(v <= 0.5, v != 2, v >= 2 or v < 0)", {0, 1, 1, 0, 1, 1, 1, 0, 1, 1, 0, 1}},
         {"stop_gradient(v)", {3, -1, 0.5, 2}},
         {"prefer_store(v) - 2 * prefer_recompute(v)", {-3, 1, -0.5, -2}},
         {"(pi, -inf, nan)", {3.14159265358979, -kInf, kNan}}});
}

TEST(TextEval, IntegersAndConversions) {
  check({{"(quot(n, 2), rem(n, 2), n % 4)", {3, 1, 3}},
         {"(quot(-n, 2), rem(-n, 2))", {-3, -1}},
         {"(quot(n, 0), rem(n, 0))", {7, 0}},
         {"quot(k, [1, 2, 3])", {2, 0, 1}},
         {"i32(v)", {3, -1, 0, 2}},
         {"(f64(n) / 2, bool(n), i32(s > 1), u32(-n))", {3.5, 1, 1, 4294967289.0}},
         {"u32(n) - 8u", {4294967295.0}},
         {"(7 // 2, 7 % 4, 6 / 3, (0 - 7) // 2)", {3, 3, 2, -4}},
         {"len(v) * 2 + a.shape[1]", {11}}});
}

TEST(TextEval, Reductions) {
  check({{"sum(a)", {21}},
         {"sum(a, axis=0)", {5, 7, 9}},
         {"sum(a, axis=-1)", {6, 15}},
         {"sum(a, axis=[0, 1])", {21}},
         {"a / sum(a, axis=1, keepdims=true)", {1 / 6.0, 2 / 6.0, 0.5, 4 / 15.0, 5 / 15.0, 6 / 15.0}},
         {"prod(a, axis=1)", {6, 120}},
         {"mean(a, axis=0)", {2.5, 3.5, 4.5}},
         {"(max(v), min(v), max(a, axis=0))", {3, -1, 4, 5, 6}},
         {"(argmax(v), argmin(v), argmax(a, axis=1))", {0, 1, 2, 2}},
         {"(any(v > 2), all(v > 2), any(v > 9), all(v > -9))", {1, 0, 0, 1}},
         {"(any(zeros(0) > 1), all(zeros(0) > 1), sum(zeros(0)), prod(zeros(0)), max(zeros(0)))", {0, 1, 0, 1, -kInf}},
         {"logsumexp([0.0, s, 3.0])", {std::log(1 + std::exp(2.0) + std::exp(3.0))}},
         {"logsumexp([1000.0, 1000.0 + s])", {1000 + std::log(1 + std::exp(2.0))}},
         {"(logsumexp([-inf, -inf]), logsumexp([1.0, inf]), logsumexp(zeros(0)))", {-kInf, kInf, -kInf}},
         {"logsumexp(a * 0, axis=1)", {std::log(3.0), std::log(3.0)}},
         {"softmax([0.0, log(s)])", {1 / 3.0, 2 / 3.0}},
         {"exp(log_softmax([0.0, log(s)], axis=0))", {1 / 3.0, 2 / 3.0}},
         {"log_softmax([0.0, s * 100])", {-200, -std::exp(-200.0)}},
         {"(mean(zeros(0)), len(softmax(zeros(0))), len(log_softmax(zeros(0))))", {kNan, 0, 0}},
         {"softmax(a * 0, axis=0)", {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}}});
}

TEST(TextEval, Indexing) {
  check({{"a[1, 2]", {6}},
         {"a[1]", {4, 5, 6}},
         {"a[:, 1]", {2, 5}},
         {"a[0, 1:3]", {2, 3}},
         {"a[:, 1:3]", {2, 3, 5, 6}},
         {"a[..., 0]", {1, 4}},
         {"v[-1]", {0}},
         {"v[4]", {0}},
         {"a[2]", {0, 0, 0}},
         {"v[k]", {0.5, 3, 0}},
         {"a[:, k]", {3, 1, 0, 6, 4, 0}},
         {"a[1, k]", {6, 4, 0}},
         {"a[[0, 1], [2, 0]]", {3, 4}},
         {"a[[0, 1], :]", {1, 2, 3, 4, 5, 6}},
         {"(v[:, None] * v[None, :])[0]", {9, -3, 1.5, 6}},
         {"(a[None, :, None, k]).shape", {1, 2, 1, 3}},
         {"(reshape(iota(24), [2, 3, 4])[0, :, k]).shape", {3, 3}},
         {"(reshape(iota(24), [2, 3, 4])[:, k, 1:3]).shape", {2, 3, 2}},
         {"(reshape(iota(24), [2, 3, 4])[k, :, k]).shape", {3, 3}},
         {"reshape(iota(24), [2, 3, 4])[[1], :, [2]]", {14, 18, 22}},
         {"(reshape(iota(24), [2, 3, 4])[1, 2, None, ...])[0]", {20, 21, 22, 23}},
         {"v[0:0].shape", {0}}});
}

TEST(TextEval, LayoutAndIndexedOperations) {
  check({{"a.T", {1, 4, 2, 5, 3, 6}},
         {"transpose(a, [1, 0])[2]", {3, 6}},
         {"reshape(a, [3, -1])[1]", {3, 4}},
         {"concat(v, [9.0])", {3, -1, 0.5, 2, 9}},
         {"append(a, a[:, 0:1], axis=1)[1]", {4, 5, 6, 4}},
         {"stack(v, v * 2, axis=1)[0]", {3, 6}},
         {"[s, 1, v[3]]", {2, 1, 2}},
         {"[[1, 2], [3, 4]]", {1, 2, 3, 4}},
         {"reverse(v)", {2, 0.5, -1, 3}},
         {"reverse(a, axis=1)[0]", {3, 2, 1}},
         {"window(v, lo=-1, n=6)", {0, 3, -1, 0.5, 2, 0}},
         {"replicate(v[0:2], 2)", {3, -1, 3, -1}},
         {"replicate(v[0:2], 2, axis=1)", {3, 3, -1, -1}},
         {"broadcast(v[0:1], [3])", {3, 3, 3}},
         {"(iota(3), iota([2, 2], axis=1), zeros([2]), ones(1), full([2], s))", {0, 1, 2, 0, 1, 0, 1, 0, 0, 1, 2, 2}},
         {"ones([1], dtype=f64) * v[0]", {3}},
         {"gather(v, k)", {0.5, 3, 0}},
         {"gather(a, [0, 1], 1)", {2, 5}},
         {"scatter([3], v, [0, 2, 2, 3])", {3, 0, -0.5}},
         {"scatter([2, 2], v[0:2], 1, [0, 1])", {0, 0, 3, -1}},
         {"scatter([3], a, [1, 1])", {0, 0, 0, 5, 7, 9, 0, 0, 0}},
         {"one_hot(k, 3)", {0, 0, 1, 1, 0, 0, 0, 0, 0}},
         {"(dot(v, v), outer(v, v)[0, 1])", {14.25, -3}},
         {"matmul(a, a.T)", {14, 32, 32, 77}},
         {"a @ [1.0, 0.0, 2.0]", {7, 16}},
         {"([a, a] @ a.T)[1]", {14, 32, 32, 77}},
         {"const(f64[1,2], [0.5, -1])", {0.5, -1}}});
}

TEST(TextEval, ComprehensionsAndLoops) {
  check({{"for i: 3 => i * 2", {0, 2, 4}},
         {"for i: 2, j: 3 => a[i, j] * 10", {10, 20, 30, 40, 50, 60}},
         {"for i: 2 => for j: 3 => a[i, 2 - j]", {3, 2, 1, 6, 5, 4}},
         {"sum(for i: 4 => v[i - 1] * (f64(i) + 1))", {6 - 3 + 2}},
         {"for i: 3 => (v[k[i]], i)", {0.5, 3, 0, 0, 1, 2}},
         {"fold(fn(t, x) => t + x, 0.0, v)", {4.5}},
         {"fold(fn(t, x) => t * s + x, 0, v)", {3 * 8 - 4 + 1 + 2}},
         {"fold(fn(c, x) => c + 1, 0, v)", {4}},
         {"fold(fn((p, q), (x, y)) => (p + x, max(q, y)), (s, v[0]), (v, -v))", {6.5, 3}},
         {"scan(fn(t, x) => t * x, s, [3.0, 5.0, 7.0])", {2, 6, 30, 210}},
         {"map_accum_l(fn(t, x) => (t + x, t), 0.0, v)", {4.5, 0, 3, 2, 2.5}},
         {"map_accum_r(fn(t, x) => (t + x, t), 0.0, v)", {4.5, 1.5, 2.5, 2, 0}},
         {"fori(5, fn(i, t) => t + i, 0)", {10}},
         {"fori(3, fn(i, (x, y)) => (y, x + y), (1, 1))", {3, 5}},
         {"for j: 2 => fold(fn(t, x) => t + x * a[j, 0], 0.0, v)", {4.5, 18}},
         {"fold(fn(t, x) => fori(2, fn(i, u) => u + x * f64(i), t), s, v)", {6.5}},
         {"fold(max, -inf, v)", {3}},
         {"fold(fn(t, x) => t + x, 7.0, zeros([0], dtype=f64))", {7}},
         {"fori(0, fn(i, t) => t * 2.0, s)", {2}}});
}

TEST(TextEval, ItemsOfTuples) {
  check({{"(v, k, s)[2]", {2}},
         {"(v, (a, s))[1][1]", {2}},
         {"(v, (a, s))[1][0][1, 2]", {6}},
         {"{ let t = (s, n)\n (t[1], t[0]) }", {7, 2}},
         {"(v, s)[len(v) - 3]", {2}},
         {"(s,)[0]", {2}},
         {"((s, v[0:0])[1]).shape", {0}},
         {"(for i: 4 => (v[i], i))[1][3]", {3}},
         {"map_accum_l(fn(t, x) => (t + x, t), 0.0, v)[1][3]", {2.5}},
         {"value_and_grad(fn(x) => sum(x * x))(v)[1]", {6, -2, 1, 4}},
         {"grad(fn(x, y) => x * x * y, wrt=(x, y))(s, 3.0)[1]", {4}},
         {"grad(fn(x) => (x, x * x)[1])(s)", {4}},
         {"fold(fn(t, x) => (t[1], t[0] + x), (0.0, 1.0), v)[0]", {3.5}}});
}

TEST(TextEval, NumbersKnownBeforeTheProgramRuns) {
  check({{"iota(2 ** len(a))", {0, 1, 2, 3}},
         {"(zeros(min(len(v), 3)).shape, ones(max(-1, 0)).shape)", {3, 0}},
         {"(2 ** 0, (-2) ** 3, 0 ** 0, 2 ** 3 ** 2)", {1, -8, 1, 512}},
         {"reshape(v, [2 ** 1, if len(v) % 2 == 0 then len(v) // 2 else -1])[1]", {0.5, 2}},
         {"for i: (if 2 < 1 or not (3 != 3) and true then 2 else 5) => i", {0, 1}},
         {"v[min(1, 2):max(2, 3)]", {-1, 0.5}},
         {"fori(2 ** 3, fn(i, t) => t + i, 0)", {28}},
         {"while(fn(t) => t < 9, fn(t) => t * 2, s, at_most=2 ** 2)", {16, 3}},
         {"sum(a, axis=1, keepdims=len(v) > 3)", {6, 15}},
         {"if len(v) > 9 then v[0:9] else v", {3, -1, 0.5, 2}},
         {"if true == (1 <= 1) then [s] else nothing_of_that_name", {2}},
         {"1 / 2.0 ** 2 * s", {0.5}},
         {"2 ** 2 * s + 2 ** (-1)", {8.5}},
         {"2 ** s", {4}},
         {"2 ** 3 * k", {16, 0, 40}},
         {"10 ** 20 * s", {2e20}},
         {"(min(2, s), max(2.5, s), min(0.5, 1))", {2, 2.5, 0.5}}});
}

}  // namespace text_eval_test
}  // namespace spirograd
