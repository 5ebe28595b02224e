// Loops inside of loops over elements: the rows that an inner loop keeps for another one, each invocation keeps for itself,
// so that what runs rounds of steps again to walk them back is one kernel.
#include <gtest/gtest.h>

#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "support/lowered.h"

namespace spirograd {
namespace rounds_test {

const std::string kPrograms[] = {
    // Gradients of these run rounds again, and rounds of rounds.
    "def main(x: T) = sum(fori(50, fn(i, s) => sin(s) * 0.9 + x * 0.1, x, keep=sqrt))",
    "def main(x: T) = sum(fori(23, fn(i, s) => sin(s) * 0.9 + x * f32(i), x, keep=levels(3)))",
    "def main(x: T) = sum(fori(9, fn(i, s) => fori(16, fn(j, t) => cos(t) * s * 0.4, s * 0.5, keep=sqrt), x, keep=sqrt))",
    "def main(x: T) = sum(fori(20, fn(i, s) => if i % 3 == 0 then sin(s) else s * 0.7, x, keep=sqrt))",
    // Loops whose rows other loops beside them read, of several types.
    "def main(x: T) = sum(fori(5, fn(i, s) => {\n"
    "  let (p, rows) = map_accum_l(fn(p, j) => (sin(p) + s, p * f32(j)), s, iota(4))\n"
    "  fold(fn(a, r) => a * 0.5 + 0.1 * sin(r * p), x, rows) }, x))",
    "def main(x: T) = sum(fori(5, fn(i, s) => {\n"
    "  let (p, (rows, signs)) = map_accum_l(fn(p, j) => (sin(p * 0.7) - s * 0.2, (p, p > 0.3)), s, iota(6))\n"
    "  map_accum_r(fn(a, (r, b)) => (a * 0.5 + r * select(b, 0.2, 0.3), a), p, (rows, signs))[0] }, x))",
};

TEST(Rounds, RowsOfALoopInsideOfALoopStayInItsKernel) {
  for (const std::string& program : kPrograms)
    for (const std::string& type : std::vector<std::string>{"f32", "f32[1]", "f32[3]", "f32[5,7]", "f32[67]"})
      for (const Target& t : {test::cpu_target(), test::gpu_target()}) {
        std::string source = program;
        source.replace(source.find("x: T"), 4, "x: " + type);
        const Program p = text::instantiate(text::parse(source, "test.sg").value()).value();
        for (const Program& what : {p, value_and_grad(p, {"x"}).value()}) {
          lower::Plan plan;
          EXPECT_TRUE(test::lowers_right(what, test::sines(what, 0.7), t, &plan)) << source << ", busy " << t.price.busy;
          EXPECT_EQ(test::dispatched_loops(plan), 0) << source;
          EXPECT_LE(plan.steps.size(), 5u) << source;
        }
      }
}

// A number beside arrays belongs to all invocations: loops inside that change one are dispatches.
TEST(Rounds, WithNumbersBesideArraysAreRight) {
  const std::string source =
      "def main(x: f32[5,7]) = { let (s, n) = fori(17, fn(i, (s, n)) => (sin(s * n) + x, n * 0.9), (x, 1.0), keep=sqrt)\n"
      "  sum(s) * n }";
  const Program p = value_and_grad(text::instantiate(text::parse(source, "test.sg").value()).value(), {"x"}).value();
  for (const Target& t : {test::cpu_target(), test::gpu_target()}) {
    lower::Plan plan;
    EXPECT_TRUE(test::lowers_right(p, test::sines(p, 0.7), t, &plan)) << t.price.busy;
  }
}

// An invocation has several elements side by side, and fewer than that at the end: nobody stores what another one does.
TEST(Rounds, InvocationsOfSeveralElementsKeepRowsOfEach) {
  const auto source = [](const std::string& keep) {
    return "def main(x: f32[1003]) = sum(fori(49, fn(i, s) => s * s * 0.5 + x * 0.1, x, keep=" + keep + "))";
  };
  lower::Plan plans[2];
  for (int k : {0, 1}) {
    const Program p = text::instantiate(text::parse(source(k == 0 ? "all" : "sqrt"), "test.sg").value()).value();
    const Program both = value_and_grad(p, {"x"}).value();
    EXPECT_TRUE(test::lowers_right(both, test::sines(both, 0.7), test::cpu_target(), &plans[k]));
  }
  EXPECT_LE(plans[1].steps.size(), 5u);
  EXPECT_LT(3 * plans[1].scratch_bytes, plans[0].scratch_bytes);
}

}  // namespace rounds_test
}  // namespace spirograd
