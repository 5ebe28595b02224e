// What reverse mode keeps of loops: fewer rows, the same bits.
#include "spirograd/keep.h"

#include <gtest/gtest.h>

#include "frontend/rewrite/passes.h"
#include "spirograd/grad.h"
#include "spirograd/loops.h"
#include "spirograd/ops.h"
#include "spirograd/trace.h"
#include "spirv/lower/plan.h"
#include "support/lowered.h"
#include "support/same_nodes.h"
#include "support/text_programs.h"

namespace spirograd {
namespace keep_test {

using test::program;
using test::run;
using test::Values;

uint64_t scratch_of_gradient(const std::string& text) {
  const Program p = rewrite::optimise_for_lowering(grad(program(text)).value(), {.verify = true});
  return lower::lower(p, test::cpu_target()).scratch_bytes;
}

std::string of_length(std::string text, int n) {
  for (size_t at; (at = text.find("N ")) != std::string::npos;) text.replace(at, 2, std::to_string(n) + " ");
  return text;
}

TEST(Keep, ChangesNoBitOfValuesAndGradients) {
  const char* loops[] = {
      "def f(x: f32[3], v: f32[N ]) = sum(fori(N , fn(i, s) => sin(s) * 0.9 + s * s * 0.1, x, keep=K))",
      "def f(x: f32[3], v: f32[N ]) = sum(fold(fn(s, e) => sin(s) * e + s, x, v, keep=K))",
      "def f(x: f32[3], v: f32[N ]) = sum(scan(fn(s, e) => sin(s) * e + s, x, v, keep=K) * 0.5)",
      "def f(x: f32[3], v: f32[N ]) { let (s, r) = map_accum_l(fn(s, e) => (sin(s) * e, s * e * e), x, v, keep=K)\n sum(s) "
      "+ sum(r * r) }",
      "def f(x: f32[3], v: f32[N ]) { let (s, r) = map_accum_r(fn(s, e) => (sin(s) * e, s * e * e), x, v, keep=K)\n sum(s) "
      "+ sum(r * r) }",
      "def f(x: f32[3], v: f32[N ]) = sum(fori(N , fn(i, s) => for k: N  => if k == i then sin(s[i]) * 1.1 + 0.1 else s[k], "
      "v, "
      "keep=K))",
      "def f(x: f32[3], v: f32[N ]) = sum(fori(N , fn(i, s) => where(iota(N ) == (7 * i) % 11 - 1, "
      "sin(s[(7 * i) % 11 - 1]) * 0.9 + 0.1, s), v, keep=K))",
      "def f(x: f32[3], v: f32[N ]) { let (s, n) = while(fn(s) => sum(s) > 0.5, fn(s) => s * 0.97, x, at_most=N , keep=K)\n "
      "sum(s) * f32(n) }",
  };
  for (const std::string loop : loops)
    for (const int n : {0, 1, 2, 3, 4, 7, 16, 97}) {
      const auto with = [&](const std::string& keep) {
        std::string text = of_length(loop, n);
        text.replace(text.find("=K"), 2, "=" + keep);
        return value_and_grad(program(text)).value();
      };
      Values v;
      for (int i = 0; i < n; ++i) v.push_back(0.9 + 0.01 * (i % 7));
      const std::vector<Values> at = {{0.3, 0.5, 0.8}, v};
      const Values all = run(with("all"), at);
      for (const char* keep : {"sqrt", "levels(3)", "levels(9)", "least", "budget(400)"})
        EXPECT_EQ(run(with(keep), at), all) << loop << " " << n << " " << keep;
    }
}

TEST(Keep, KeepsWhatItSays) {
  const auto bytes = [](const std::string& keep) {
    return scratch_of_gradient("def f(x: f32[64]) = sum(fori(10000, fn(i, s) => sin(s) * 0.9 + s * 0.05, x, keep=" + keep +
                               "))");
  };
  const uint64_t row = 64 * 4, all = bytes("all");
  EXPECT_GE(all, 10000 * row);
  EXPECT_LE(all, 10010 * row);
  EXPECT_LE(bytes("sqrt"), 205 * row) << "100 rounds and 100 steps";
  EXPECT_LE(bytes("levels(3)"), 84 * row) << "22 + 21 + 21, what is left of them, and states between rounds";
  EXPECT_LE(bytes("budget(10000)"), 10000 + 8 * row);
  EXPECT_LE(bytes("least"), 52 * row) << "2 log2(10000) = 27, what is left of rounds, and states between them";
}

TEST(Keep, OfOneElementPerStepIsTheElement) {
  const auto bytes = [](const std::string& next, const std::string& keep) {
    return scratch_of_gradient("def f(x: f32[400]) = sum(square(fori(400, fn(i, s) => " + next + ", x, keep=" + keep +
                               ")))");
  };
  for (const char* next :
       {"for k: 400 => if k == i then sin(s[i]) else s[k]", "for k: 400 => if k == i then sin(s[k]) else s[k]",
        "where(iota(400) == i, sin(s[i]), s)", "s + one_hot(i, 400) * (sin(s[i]) - s[i])"})
    for (const char* keep : {"all", "sqrt", "levels(3)", "budget(1600)"})
      EXPECT_LE(bytes(next, keep), 10 * 1600u) << next << ": the elements, and states between steps; by " << keep;
}

TEST(Keep, BudgetsKnowWhatStepsKeep) {
  const auto loop = [](const std::string& keep) {
    return program("def f(x: f32[400]) = fori(400, fn(i, s) => where(iota(400) == i, sin(s[i]), s), x, keep=" + keep + ")");
  };
  EXPECT_TRUE(test::same_nodes(loop("budget(1600)"), loop("all")));
  // Of a step without a derivative, which somebody may still run.
  EXPECT_EQ(run("def g(x: f32) = x + 1\ncustom_vjp g(x, ct) = floor_(ct)\n"
                "def f(x: f32) = fori(100, fn(i, s) => grad(g)(s), x, keep=budget(60))",
                {{3}}),
            (Values{1}));
}

TEST(Keep, IsTheSameInBothSurfaces) {
  const auto text = [](const std::string& keep) {
    return program("def f(x: f32[3]) = fori(50, fn(i, s) => sin(s) * s, x, keep=" + keep + ")");
  };
  const auto traced = [](Keep keep) {
    return trace("f", {{"x", f32({3})}},
                 [&](Array x) {
                   return fori(
                       50, [](Index, Array s) { return sin(s) * s; }, x, keep);
                 })
        .value();
  };
  EXPECT_TRUE(test::same_nodes(text("all"), traced(Keep::all())));
  EXPECT_TRUE(test::same_nodes(text("sqrt"), traced(Keep::sqrt())));
  EXPECT_TRUE(test::same_nodes(text("levels(3)"), traced(Keep::levels(3))));
  EXPECT_TRUE(test::same_nodes(text("least"), traced(Keep::least())));
  EXPECT_TRUE(test::same_nodes(text("budget(200)"), traced(Keep::budget(200))));
  EXPECT_FALSE(test::same_nodes(text("all"), traced(Keep::sqrt())));
}

TEST(Keep, MistakesAreTold) {
  const std::pair<const char*, const char*> cases[] = {
      {"budget(300)", "SG0601 fori: 10000 steps over a state of 256 bytes keep"},
      {"levels(0)", "SG0404 needs a positive number in keep=levels(..), not 0"},
      {"levels", "SG0404 keep=all, sqrt, least, levels(3) or budget(65536)"},
      {"sqrt(2)", "SG0404 takes what reverse mode keeps as keep="},
      {"3", "SG0404 takes what reverse mode keeps as keep="},
  };
  for (const auto& [keep, want] : cases) {
    const auto p = text::instantiate(
        text::parse("def f(x: f32[64]) = fori(10000, fn(i, s) => sin(s), x, keep=" + std::string(keep) + ")", "test.sg")
            .value());
    ASSERT_FALSE(p) << keep;
    EXPECT_EQ(p.error().code, std::string(want).substr(0, 6)) << p.error().str();
    EXPECT_NE(p.error().str().find(std::string(want).substr(7)), std::string::npos) << p.error().str();
  }
  const auto negative = trace("f", {{"x", f32({3})}}, [](Array x) {
    return fori(
        50, [](Index, Array s) { return sin(s); }, x, Keep::levels(-1));
  });
  ASSERT_FALSE(negative);
  EXPECT_EQ(negative.error().code, "SG0101") << negative.error().str();
}

}  // namespace keep_test
}  // namespace spirograd
