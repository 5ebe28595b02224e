#include "frontend/text/synonyms.h"

#include <gtest/gtest.h>

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
  for (const char* name :
       {"fabs",    "arccosh", "ln",   "log2",    "log10", "exp2", "power",   "sqr",   "rsqrt",     "reciprocal", "silu",
        "gammaln", "amax",    "amin", "average", "std",   "flip", "permute", "trace", "unsqueeze", "detach"}) {
    EXPECT_NE(error_of(std::string(name) + "(x)").find("is written"), std::string::npos) << name;
    EXPECT_EQ(error_of("{ let a = x\n let y = x\n " + std::string(written_here(name)) + " }"), "") << name;
  }
}

}  // namespace synonyms_test
}  // namespace spirograd::text
