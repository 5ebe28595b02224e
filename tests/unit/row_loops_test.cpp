// Loops that many rows run beside each other, each with a small state of its own, and loops that look places up in tables:
// they are one kernel each, and give what the interpreter gives.
#include <gtest/gtest.h>

#include <cmath>

#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "support/lowered.h"

namespace spirograd {
namespace row_loops_test {

std::vector<double> waves(int64_t n) {
  std::vector<double> out;
  for (int64_t j = 0; j < n; ++j) out.push_back(std::sin(1 + 0.7 * static_cast<double>(j)));
  return out;
}

// Programs of which each row, whatever the others do, runs a loop of its own: small vectors, matrices, numbers beside them,
// rows of other arrays, tables, an end of its own.
const std::string kRowPrograms[] = {
    "def main(x: f32[N,3]) = for i: N => fori(7, fn(t, p) => p + 0.1 * p * dot(p, p), x[i])",
    "def main(x: f32[N,3]) = for i: N => fori(5, fn(t, (p, v)) => (p + 0.1 * v, v - 0.1 * p / sqrt(0.1 + dot(p, p))),\n"
    "                                        (x[i], zeros(3)))[0]",
    "def main(x: f32[N,3]) = for i: N => {\n"
    "  let a = for k: 2, l: 2 => x[i,k] - 0.3 * x[i,l+1]\n"
    "  fori(6, fn(t, m) => 0.5 * (m @ a) + 0.1 * m.T, a)\n"
    "}",
    "def main(x: f32[N,3]) = for i: N => {\n"
    "  let (p, n) = fori(9, fn(t, (p, n)) => (reverse(p) * 0.5 + sum(p[1:]), n + max(p)), (x[i], x[i,1]))\n"
    "  n * p[0]\n"
    "}",
    "def main(x: f32[N,3], w: f32[9,3]) = for i: N => fori(6, fn(t, p) => 0.9 * p + w[floor(p[1] * 4.0)] * p[2], x[i])",
    "def main(x: f32[N,3], w: f32[9,3]) = for i: N => fold(fn(p, r) => sin(p * r) + p[argmax(p)], x[i], w)",
    "def main(x: f32[N,3], w: f32[9,3]) = for i: N => scan(fn(p, r) => sin(p * r) + p[1], x[i], w)",
    "def main(x: f32[N,3]) = for i: N =>\n"
    "  while(fn(p) => dot(p, p) > 0.5, fn(p) => p * 0.8, x[i], at_most=20)[0]",
};

TEST(RowLoops, RowsOfWhichEachRunsALoopOfItsOwnAreOneKernel) {
  for (const std::string& source : kRowPrograms)
    for (int64_t rows : {2, 3, 8, 37})
      for (const Target& t : {test::cpu_target(), test::gpu_target()}) {
        const Program p =
            text::instantiate(text::parse(source, "test.sg").value(), "main", text::ShapeVariables{{"N", rows}}).value();
        std::vector<std::vector<double>> inputs = {waves(3 * rows)};
        if (p.params.size() > 1) inputs.push_back(waves(27));
        lower::Plan plan;
        EXPECT_TRUE(test::lowers_right(p, inputs, t, &plan)) << source << "\n" << rows << " rows, busy " << t.price.busy;
        EXPECT_EQ(test::dispatched_loops(plan), 0) << source;
        EXPECT_LE(plan.steps.size(), 4u) << source;
        std::vector<double> weights(static_cast<size_t>(p.results[0].type.shape.count()));
        for (size_t j = 0; j < weights.size(); ++j) weights[j] = std::cos(static_cast<double>(j));
        std::vector<std::vector<double>> with_weights = inputs;
        with_weights.push_back(weights);
        EXPECT_TRUE(test::lowers_right(vjp(p).value(), with_weights, t, &plan)) << "pullback of " << source << "\n"
                                                                                << rows << " rows";
      }
}

// Each of many elements looks a place up by halves: the table is read where the state says.
TEST(RowLoops, ElementsReadTablesWhereTheirStateSays) {
  const std::string source =
      "def main(v: f32[50], w: f32[50], x: f32[70]) -> (y: f32[70]) =\n"
      "  for i: 70 => w[searchsorted(v, x[i])] + fori(20, fn(t, s) => s + 0.03 * w[floor(s)], x[i])\n";
  const Program p = text::instantiate(text::parse(source, "test.sg").value()).value();
  std::vector<double> v, x;
  for (int j = 0; j < 50; ++j) v.push_back(0.91 * j);
  for (int j = 0; j < 70; ++j) x.push_back(std::fmod(7.3 * j, 50) - 2);  // before the first and behind the last as well
  for (const Target& t : {test::cpu_target(), test::gpu_target()}) {
    lower::Plan plan;
    EXPECT_TRUE(test::lowers_right(p, {v, waves(50), x}, t, &plan)) << t.price.busy;
    EXPECT_EQ(test::dispatched_loops(plan), 0);
    EXPECT_LE(plan.steps.size(), 3u);
  }
}

}  // namespace row_loops_test
}  // namespace spirograd
