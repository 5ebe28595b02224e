// Kernels that serve several groups of computes alike: made once, and right wherever their arrays begin.
#include <random>
#include <set>

#include "frontend/rewrite/passes.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "support/golden_plans.h"
#include "support/lowered.h"

namespace spirograd {
namespace alike_test {

struct Lowered {
  Program program;
  lower::Plan plan;
};

Lowered lowered(const std::string& text, const Target& target) {
  const Program value = text::instantiate(text::parse(text, "alike.sg").value()).value();
  Lowered out{rewrite::optimise_for_lowering(value_and_grad(value, {"x", "m"}).value(), {.verify = true}), {}};
  out.plan = lower::lower(out.program, target);
  return out;
}

size_t dispatches(const lower::Plan& plan) {
  return static_cast<size_t>(
      std::ranges::count_if(plan.steps, [](const Step& s) { return s.kind == Step::Kind::Dispatch; }));
}

std::vector<std::vector<double>> inputs() {
  std::vector<double> x, m;
  for (int j = 0; j < 40; ++j) x.push_back(static_cast<float>(0.3 + 0.01 * (j * 17 % 40)));
  for (int j = 0; j < 40; ++j) m.push_back(static_cast<float>(0.5 - 0.02 * (j * 23 % 40)));
  return {x, m};
}

// Statements that differ in little: in where their arrays begin, in a constant, in which of two arrays they read.
std::string statements(uint32_t seed, int count) {
  std::mt19937 random(seed);
  const auto below = [&](int n) { return std::to_string(random() % static_cast<uint32_t>(n)); };
  const auto range = [&] {
    const int a = static_cast<int>(random() % 35);
    return "x[" + std::to_string(a) + ":" + std::to_string(a + 5) + "]";
  };
  std::string text = "def f(x: f32[40], m: f32[8, 5]) -> f32 {\n  let s0 = x[0]\n  let v0 = m[0]\n";
  for (int j = 0; j < count; ++j) {
    const std::string s = "s" + std::to_string(j), v = "v" + std::to_string(j), next = std::to_string(j + 1);
    std::string scalar = s, vector = v;
    switch (random() % 7) {
      case 0: vector = "sin(" + v + ") * " + range() + " + " + s; break;
      case 1: scalar = s + " * 0.5 + sum(" + v + " * " + range() + ")"; break;
      case 2: vector = v + " * 0.5 + m[" + below(8) + "] * sin(" + s + ")"; break;
      case 3: scalar = "cos(" + s + ") + x[" + below(40) + "] * x[" + below(40) + "]"; break;
      case 4: vector = "where(m[" + below(8) + "] > 0.0, " + v + ", " + range() + ")"; break;
      case 5: vector = v + " * 0." + std::to_string(5 + random() % 2); break;
      case 6: scalar = s + " * 0.25 + m[" + below(8) + ", " + below(5) + "] * " + v + "[" + below(5) + "]"; break;
    }
    text += "  let s" + next + " = " + scalar + "\n  let v" + next + " = " + vector + "\n";
  }
  return text + "  s" + std::to_string(count) + " + sum(v" + std::to_string(count) + ")\n}\n";
}

TEST(Alike, StatementsInAnyOrderMeanWhatTheyMeanAlone) {
  size_t kernels = 0, all = 0;
  for (uint32_t seed = 0; seed < 8; ++seed)
    for (const Target& t : {test::cpu_target(), test::gpu_target(), test::poor_gpu()}) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      const Lowered l = lowered(statements(seed, 16), t);
      EXPECT_TRUE(test::same_as_interpreter(l.program, l.plan, inputs()));
      kernels += l.plan.kernels.size(), all += dispatches(l.plan);
    }
  EXPECT_LT(kernels, all) << "kernels serve more than one dispatch";
}

// What a dispatch names of a buffer is all that its kernel is given: `same_as_interpreter` runs no access beyond it.
TEST(Alike, PartsOfArraysBeginWhereTheirStatementSays) {
  std::string text = "def f(x: f32[400], m: f32[1]) -> f32 {\n  let s0 = m[0]\n";
  for (int j = 0; j < 399; ++j) {
    const std::string at = std::to_string(j), next = std::to_string(j + 1);
    text += "  let s" + next + " = s" + at + " + sin(x[" + at + "] * x[" + next + "])\n";
  }
  const Lowered l = lowered(text + "  s399\n}\n", test::cpu_target());
  EXPECT_LE(l.plan.kernels.size(), 8u);
  EXPECT_GT(dispatches(l.plan), 100u);
  std::vector<double> x;
  for (int j = 0; j < 400; ++j) x.push_back(static_cast<float>(0.01 * (j * 37 % 400)));
  EXPECT_TRUE(test::same_as_interpreter(l.program, l.plan, {x, {1}}));
  std::set<uint64_t> begins;
  for (const Step& s : l.plan.steps)
    for (const BufferUse& u : s.uses)
      if (u.buffer == 0) begins.insert(u.offset);
  EXPECT_GT(begins.size(), 50u);
}

}  // namespace alike_test
}  // namespace spirograd
