// What is promised of the size of what the transformations make, and of rules that are there for speed alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "frontend/ir/own_graph.h"
#include "frontend/ir/traverse.h"
#include "frontend/rewrite/vectorise.h"
#include "spirograd/text.h"
#include "support/random_program.h"
#include "support/text_programs.h"
#include "tests/grad/grad_support.h"

namespace spirograd::grad_test {
namespace promises_test {

// Nodes of an operation that the program reaches, those of each loop's body once.
int64_t count(const Program& p, const std::set<Op>& ops) {
  int64_t out = 0;
  std::set<int64_t> functions;
  std::vector<std::vector<NodeId>> scopes(1);
  for (const ProgramResult& r : p.results) scopes[0].push_back({r.node});
  while (!scopes.empty()) {
    const std::vector<NodeId> roots = std::move(scopes.back());
    scopes.pop_back();
    for (NodeId id : ir::postorder(*p.graph, roots)) {
      const ir::Node& n = (*p.graph)[id];
      out += ops.empty() || ops.contains(n.op);
      if (n.op == Op::MapAccum && functions.insert(n.attr[0]).second) scopes.push_back(p.graph->function(n.attr[0]).results);
    }
  }
  return out;
}

// Each read of an element, by an index or as an extreme, gives a one-hot array to the sum of cotangents, which is one
// scatter: no read gives two. The way back through a loop computes what it needs of the way there again, scatters included,
// so programs without loops are asked.
TEST(Promises, AGradientHasNoMoreScattersThanItsProgramHasReads) {
  int64_t reads = 0, scatters = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    const Program p =
        rewrite::vectorise(test::random_program(seed, {.allow_loops = false, .differentiable_only = true}).program);
    const Result<Program> pullback = vjp(p);
    if (!pullback) continue;  // it has no float
    const int64_t own = count(p, {Op::Gather, Op::ReduceMax, Op::ReduceMin}),
                  more = count(*pullback, {Op::Scatter}) - count(p, {Op::Scatter});
    EXPECT_LE(more, own) << "seed " << seed;
    reads += own, scatters += std::max<int64_t>(0, more);
  }
  EXPECT_GT(scatters, 300) << "the programs read";
  EXPECT_GT(reads, scatters);
}

// As one would write them: what is shared stays shared, forward a tangent for each value, backward each cotangent once. The
// programs are the first two figures of "Parallel dual-numbers reverse AD" (Smeding and Vakar); without the sharing the
// derivative of the second would double with each line.
TEST(Promises, DerivativesReadAsTheyAreWrittenByHand) {
  const Program product = test::program("def main(x: f64, y: f64) -> (r: f64) {\n  let z = x + y\n  x * z\n}\n");
  EXPECT_EQ(text::print(jvp(product).value()),
            "def main(x: f64, y: f64, dot_x: f64, dot_y: f64) -> (r: f64, dot_r: f64) {\n"
            "  let t0 = x + y\n"
            "  let t1 = x * t0\n"
            "  let t2 = t0 * dot_x\n"
            "  let t3 = dot_x + dot_y\n"
            "  let t4 = x * t3\n"
            "  let t5 = t2 + t4\n"
            "  (t1, t5)\n}\n");
  EXPECT_EQ(text::print(value_and_grad(product).value()),
            "def main(x: f64, y: f64) -> (r: f64, d_x: f64, d_y: f64) {\n"
            "  let t0 = x + y\n"
            "  let t1 = x * t0\n"
            "  let t2 = t0 + x\n"
            "  (t1, t2, x)\n}\n");
  const Program doubled =
      test::program("def main(x: f64) -> (r: f64) {\n  let a = x + x\n  let b = a + a\n  let c = b + b\n  c * c\n}\n");
  EXPECT_EQ(text::print(value_and_grad(doubled).value()),
            "def main(x: f64) -> (r: f64, d_x: f64) {\n"
            "  let t0 = x + x\n"
            "  let t1 = t0 + t0\n"
            "  let t2 = t1 + t1\n"
            "  let t3 = t2 * t2\n"
            "  let t4 = t2 * 2.0d\n"
            "  let t5 = t4 + t4\n"
            "  let t6 = t5 + t5\n"
            "  let t7 = t6 + t6\n"
            "  (t3, t7)\n}\n");
}

// The transformation makes so few nodes for each that it is given, however long the program is: it ends soon.
TEST(Promises, VectorisingTakesStepsInProportion) {
  for (const int size : {60, 600})
    for (uint64_t seed = 0; seed < 600; ++seed) {
      const Program p = test::random_program(seed, {.max_size = size, .max_builds = 3}).program;
      const int64_t given = count(p, {});
      const auto made = static_cast<int64_t>(rewrite::vectorise(p).graph->size());  // and what was replaced on the way
      EXPECT_LE(made, 4 * given + 50) << "seed " << seed << ", size " << size;
    }
}

// Rules that say a derivative faster than the loops of the definition give the same: of all three orders that have one.
TEST(Promises, RulesForSpeedChangeNothing) {
  const std::string given = "def main(x: f64[4,4], b: f64[4]) {\n  let a = 0.3 * x + 2.0 * eye(4)\n";
  for (const std::string body : {"solve(a, b)", "inv(a)", "det(a)", "cholesky(a @ a.T)", "solve_triangular(a, b)",
                                 "solve_triangular(a.T, b, lower=false)", "solve(a, inv(a))"}) {
    const Program p = test::program(given + "  " + body + "\n}\n");
    const Program plain =
        ir::with_replaced(p, {Op::WithJvp, Op::WithVjp}, [](ir::Graph&, const ir::Node& n) { return n.in[0]; });
    ASSERT_GT(count(p, {Op::WithJvp, Op::WithVjp}), 0) << body;
    ASSERT_EQ(count(plain, {Op::WithJvp, Op::WithVjp}), 0) << body;
    std::mt19937 rng(5);
    const Inputs at = {random_values(rng, 16, -1, 1), random_values(rng, 4, -1, 1)};
    const Inputs directions = {random_values(rng, 16, -1, 1), random_values(rng, 4, -1, 1)};
    const Inputs weights = {random_values(rng, p.results[0].type.shape.count(), -1, 1)};
    expect_near(run(jvp(p).value(), joined(at, directions)), run(jvp(plain).value(), joined(at, directions)), 1e-10,
                body.c_str());
    expect_near(run(vjp(p).value(), joined(at, weights)), run(vjp(plain).value(), joined(at, weights)), 1e-10, body.c_str());
    const Inputs second = joined(joined(at, weights), {Values(16, 0.3), Values(4, -0.2), Values(weights[0].size(), 0.1)});
    expect_near(run(jvp(vjp(p).value()).value(), second), run(jvp(vjp(plain).value()).value(), second), 1e-9, body.c_str());
  }
}

}  // namespace promises_test
}  // namespace spirograd::grad_test
