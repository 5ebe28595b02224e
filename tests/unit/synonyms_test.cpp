#include "frontend/text/synonyms.h"

#include <gtest/gtest.h>

#include <cmath>

#include "frontend/ir/eval.h"
#include "spirograd/text.h"

namespace spirograd::text {
namespace synonyms_test {

std::string error_of(const std::string& body) {
  const auto module = parse("def f(x: f32[3,3], y: f32, key: u32[2], n: i32, i: i32, c: bool) = " + body, "f.sg");
  if (!module) return module.error().str();
  const auto program = instantiate(*module);
  return program ? "" : program.error().str();
}

TEST(Synonyms, AnOperationThatIsKnownByAnotherNameIsNamed) {
  const std::string e = error_of("sigmoid(x)");
  EXPECT_NE(e.find("error[SG0403]"), std::string::npos) << e;
  EXPECT_NE(e.find("help: 'sigmoid' is written logistic(x)"), std::string::npos) << e;
  EXPECT_NE(error_of("clip(x, 0, 1)").find("clamp(x, lo, hi)"), std::string::npos);
  EXPECT_EQ(synonym_hint("frobnicate"), "");
}

// What a hint tells people to write exists, and what it explains does not.
TEST(Synonyms, WhatIsWrittenInsteadIsAnExpressionOfTheLanguage) {
  const std::pair<const char*, std::vector<const char*>> names[] = {
      {"let a = x\n let y = x\n ",
       {"fabs",       "arccosh",    "ln",       "log2",      "log10",    "exp2",    "power",         "sqr",
        "rsqrt",      "reciprocal", "silu",     "gammaln",   "amax",     "amin",    "average",       "std",
        "flip",       "permute",    "trace",    "unsqueeze", "detach",   "isnan",   "isinf",         "isfinite",
        "nan_to_num", "trunc",      "fix",      "rint",      "degrees",  "radians", "float_power",   "heaviside",
        "logit",      "gelu",       "elu",      "mish",      "softsign", "relu6",   "hardtanh",      "subtract",
        "multiply",   "divide",     "negative", "var",       "ptp",      "squeeze", "count_nonzero", "true_divide",
        "rad2deg",    "deg2rad",    "diag",     "tile",      "swapaxes", "inner",   "nansum",        "floor_divide",
        "copysign",   "zeros_like", "ones_like"}},
      {"let a = x\n let b = x\n ", {"tensordot", "mm", "hstack", "vstack"}},
      {"let n = 3\n let k = 1\n let x = ones([3])\n let y = x\n ", {"roll", "pad", "repeat", "vdot"}},
      {"let n = 3\n let a = 1.0\n let b = 2.0\n ", {"linspace"}},
      {"let f = fn(s, e) => s + e\n let start = 0.0\n let x = ones([3])\n ", {"reduce", "foldl"}},
      {"let f = fn(e) => e * e\n let x = ones([3])\n ", {"map"}},
      {"let a = c\n let b = not c\n ", {"logical_and", "logical_or", "logical_not"}},
      {"let x = i32(x)\n let y = x\n ",
       {"left_shift", "right_shift", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"}},
      {"let n = 5\n let k = 3\n let x = ones([3])\n let i = iota(3)\n ",
       {"index_add", "scatter_add", "bincount", "embedding", "take"}},
  };
  for (const auto& [given, each] : names)
    for (const char* name : each) {
      EXPECT_NE(error_of(std::string(name) + "(x)").find("is written"), std::string::npos) << name;
      EXPECT_EQ(error_of("{ " + std::string(given) + std::string(written_here(name)) + " }"), "") << name;
    }
}

// Those of more than one operation have the values that they have elsewhere.
TEST(Synonyms, HaveTheValuesOfTheOriginals) {
  const std::tuple<const char*, double, double> cases[] = {{"gelu", 1.5, 1.5 * 0.5 * (1 + std::erf(1.5 / std::sqrt(2.0)))},
                                                           {"gelu", -2.5, -2.5 * 0.5 * std::erfc(2.5 / std::sqrt(2.0))},
                                                           {"elu", -0.7, std::expm1(-0.7)},
                                                           {"elu", 0.7, 0.7},
                                                           {"mish", 0.3, 0.3 * std::tanh(std::log1p(std::exp(0.3)))},
                                                           {"silu", -1.2, -1.2 / (1 + std::exp(1.2))},
                                                           {"softsign", -3, -0.75},
                                                           {"logit", 0.25, std::log(1.0 / 3)},
                                                           {"relu6", 7, 6},
                                                           {"degrees", 1, 180 / std::acos(-1.0)},
                                                           {"radians", 1, std::acos(-1.0) / 180}};
  for (const auto& [name, x, want] : cases) {
    const auto module = parse("def f(x: f64) -> f64 = " + std::string(written_here(name)), "f.sg");
    ASSERT_TRUE(module) << name;
    const std::vector<std::vector<double>> inputs = {{x}};
    EXPECT_NEAR(ir::evaluate(instantiate(*module).value(), inputs)[0].data[0], want, 1e-14) << name << " of " << x;
  }
}

}  // namespace synonyms_test
}  // namespace spirograd::text
