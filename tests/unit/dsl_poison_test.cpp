// After a mistake every operation passes on that there is no value: none crashes, none adds a second message.
#include <gtest/gtest.h>

#include <functional>

#include "spirograd/build.h"
#include "spirograd/loops.h"
#include "spirograd/ops.h"
#include "spirograd/trace.h"

namespace spirograd {
namespace dsl_poison_test {

struct Case {
  const char* name;
  std::function<Array(Array bad, Array good)> body;
};

std::vector<Case> every_operation() {
  using A = Array;
  return {
      {"+", [](A x, A y) { return x + y; }},
      {"-", [](A x, A y) { return y - x; }},
      {"*", [](A x, A) { return 2 * x; }},
      {"/", [](A x, A) { return x / 2; }},
      {"neg", [](A x, A) { return -x; }},
      {"+=", [](A x, A y) { return y += x; }},
      {"<", [](A x, A y) { return x < y; }},
      {"<=", [](A x, A y) { return x <= y; }},
      {">", [](A x, A y) { return x > y; }},
      {">=", [](A x, A y) { return x >= y; }},
      {"==", [](A x, A y) { return x == y; }},
      {"!=", [](A x, A y) { return x != y; }},
      {"&&", [](A x, A y) { return (y > 0) && x; }},
      {"||", [](A x, A) { return x || true; }},
      {"!", [](A x, A) { return !x; }},
      {"index", [](A x, A) { return x(0); }},
      {"index by", [](A x, A y) { return y(x); }},
      {"abs", [](A x, A) { return abs(x); }},
      {"sign", [](A x, A) { return sign(x); }},
      {"sqrt", [](A x, A) { return sqrt(x); }},
      {"exp", [](A x, A) { return exp(x); }},
      {"log", [](A x, A) { return log(x); }},
      {"sin", [](A x, A) { return sin(x); }},
      {"cos", [](A x, A) { return cos(x); }},
      {"tan", [](A x, A) { return tan(x); }},
      {"asin", [](A x, A) { return asin(x); }},
      {"acos", [](A x, A) { return acos(x); }},
      {"atan", [](A x, A) { return atan(x); }},
      {"sinh", [](A x, A) { return sinh(x); }},
      {"cosh", [](A x, A) { return cosh(x); }},
      {"tanh", [](A x, A) { return tanh(x); }},
      {"asinh", [](A x, A) { return asinh(x); }},
      {"acosh", [](A x, A) { return acosh(x); }},
      {"atanh", [](A x, A) { return atanh(x); }},
      {"erf", [](A x, A) { return erf(x); }},
      {"erfc", [](A x, A) { return erfc(x); }},
      {"lgamma", [](A x, A) { return lgamma(x); }},
      {"digamma", [](A x, A) { return digamma(x); }},
      {"logistic", [](A x, A) { return logistic(x); }},
      {"log1p", [](A x, A) { return log1p(x); }},
      {"expm1", [](A x, A) { return expm1(x); }},
      {"softplus", [](A x, A) { return softplus(x); }},
      {"logaddexp", [](A x, A y) { return logaddexp(y, x); }},
      {"log_softmax", [](A x, A) { return log_softmax(x); }},
      {"square", [](A x, A) { return square(x); }},
      {"recip", [](A x, A) { return recip(x); }},
      {"relu", [](A x, A) { return relu(x); }},
      {"leaky_relu", [](A x, A) { return leaky_relu(x); }},
      {"floor", [](A x, A) { return floor(x); }},
      {"cast", [](A x, A) { return cast(x, DType::I32); }},
      {"stop_gradient", [](A x, A) { return stop_gradient(x); }},
      {"prefer_store", [](A x, A) { return prefer_store(x); }},
      {"prefer_recompute", [](A x, A) { return prefer_recompute(x); }},
      {"pow", [](A x, A y) { return pow(y, x); }},
      {"atan2", [](A x, A y) { return atan2(y, x); }},
      {"quot", [](A x, A y) { return quot(x, y); }},
      {"rem", [](A x, A y) { return rem(x, y); }},
      {"minimum", [](A x, A y) { return minimum(y, x); }},
      {"maximum", [](A x, A y) { return maximum(y, x); }},
      {"select", [](A x, A y) { return select(x, y, y); }},
      {"select value", [](A x, A y) { return select(y > 0, y, x); }},
      {"cond", [](A x, A y) { return cond(x, y, y); }},
      {"sum", [](A x, A) { return sum(x, 3); }},
      {"prod", [](A x, A) { return prod(x); }},
      {"mean", [](A x, A) { return mean(x); }},
      {"logsumexp", [](A x, A) { return logsumexp(x, 7); }},
      {"max", [](A x, A) { return max(x); }},
      {"max axes", [](A x, A) { return max(x, {4}); }},
      {"max Axes", [](A x, A) { return max(x, Axes(4)); }},
      {"max two", [](A x, A y) { return max(x, y); }},
      {"min", [](A x, A) { return min(x); }},
      {"min axes", [](A x, A) { return min(x, {4}); }},
      {"min Axes", [](A x, A) { return min(x, Axes(4)); }},
      {"min two", [](A x, A y) { return min(x, y); }},
      {"cumsum", [](A x, A) { return cumsum(x); }},
      {"cumprod", [](A x, A) { return cumprod(x, -1); }},
      {"argmax", [](A x, A) { return argmax(x); }},
      {"argmin", [](A x, A) { return argmin(x, 5); }},
      {"softmax", [](A x, A) { return softmax(x); }},
      {"reshape",
       [](A x, A) {
         return reshape(x, {5, -1});
       }},
      {"transpose", [](A x, A) { return transpose(x); }},
      {"transpose perm",
       [](A x, A) {
         return transpose(x, {4, 2});
       }},
      {"broadcast_to", [](A x, A) { return broadcast_to(x, {3}); }},
      {"replicate", [](A x, A) { return replicate(x, 3, 9); }},
      {"concat",
       [](A x, A y) {
         return concat({y, x});
       }},
      {"append", [](A x, A y) { return append(y, x); }},
      {"stack",
       [](A x, A y) {
         return stack({y, x});
       }},
      {"slice", [](A x, A) { return slice(x, 4, 5); }},
      {"window", [](A x, A) { return window(x, 0, 2, 3); }},
      {"reverse", [](A x, A) { return reverse(x, 3); }},
      {"gather", [](A x, A y) { return gather(y, {x}); }},
      {"scatter", [](A x, A y) { return scatter({3}, y, {x}); }},
      {"one_hot", [](A x, A) { return one_hot(x, 3); }},
      {"any", [](A x, A) { return any(x); }},
      {"all", [](A x, A) { return all(x, 7); }},
      {"outer", [](A x, A y) { return outer(x, y); }},
      {"dot", [](A x, A y) { return dot(x, y); }},
      {"matmul", [](A x, A y) { return matmul(y, x); }},
      {"build",
       [](A x, A) {
         return build({2, 3}, [&](Index i, Index) { return x(i); });
       }},
      {"fold start", [](A x, A y) { return fold([](A s, A e) { return s + e; }, x, y); }},
      {"fold elements", [](A x, A y) { return fold([](A s, A e) { return s + e; }, y, x); }},
      {"fold body", [](A x, A y) { return fold([&](A s, A e) { return s + e + x; }, 0.0f, y); }},
      {"associative_scan", [](A x, A) { return associative_scan([](A a, A b) { return a + b; }, x); }},
      {"associative_scan body", [](A x, A y) { return associative_scan([&](A a, A) { return a + x; }, y); }},
      {"scan", [](A x, A y) { return scan([](A s, A e) { return s + e; }, x, y); }},
      {"map_accum_l",
       [](A x, A y) {
         auto [state, out] = map_accum_l([](A s, A) { return std::pair(s, std::vector<A>{s, s}); }, x, y);
         return out[1];
       }},
      {"map_accum_r", [](A x, A y) { return map_accum_r([](A s, A e) { return std::pair(s, e); }, y, x).first; }},
      {"fori",
       [](A x, A) {
         return fori(
             3, [](Index i, A s) { return s + i; }, x);
       }},
      {"fori of vector",
       [](A x, A y) {
         return fori(
             3,
             [](Index, std::vector<A> s) {
               return std::vector<A>{s[1], s[0]};
             },
             std::vector<A>{x, y})[1];
       }},
  };
}

TEST(DslPoison, EveryOperationPassesItOnInSilence) {
  int told = 0;
  on_error([&](const Error&) { ++told; });
  for (const Case& c : every_operation()) {
    told = 0;
    bool has_value = true;
    const Result<Program> r = trace("t", {{"x", f32({3})}, {"y", f32({4})}}, [&](Array x, Array y) {
      const Array bad = x + y;
      EXPECT_FALSE(bad.has_value());
      EXPECT_EQ(bad.rank(), 0);
      const Array out = c.body(bad, x);
      has_value = out.has_value();
      return out;
    });
    EXPECT_FALSE(has_value) << c.name;
    EXPECT_EQ(told, 1) << c.name;
    ASSERT_FALSE(r) << c.name;
    EXPECT_NE(r.error().message.find("add: shapes [3] and [4]"), std::string::npos) << c.name << ": " << r.error().str();
  }
  on_error(nullptr);
}

TEST(DslPoison, IndexArithmeticPassesItOn) {
  const Result<Program> r = trace("t", {{"x", f32({3})}, {"y", f32({4})}}, [&](Array x, Array y) {
    const Array bad = x + y;
    const Index none;
    EXPECT_FALSE(Array(none + 1).has_value());
    EXPECT_FALSE(Array(1 - none).has_value());
    EXPECT_FALSE(Array(none * none).has_value());
    EXPECT_FALSE(Array(-none).has_value());
    EXPECT_FALSE(Array(quot(none, 2)).has_value());
    EXPECT_FALSE(Array(rem(none, 2)).has_value());
    return bad;
  });
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().message.find("add: shapes [3] and [4]"), std::string::npos);
}

}  // namespace dsl_poison_test
}  // namespace spirograd
