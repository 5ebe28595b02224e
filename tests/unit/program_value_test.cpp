// Programs are values: no function that takes one changes it or what it shares, and all refuse an empty one.
#include <gtest/gtest.h>

#include "frontend/ir/eval.h"
#include "frontend/ir/own_graph.h"
#include "frontend/ir/traverse.h"
#include "frontend/rewrite/factor_sums.h"
#include "frontend/rewrite/passes.h"
#include "frontend/rewrite/simplify.h"
#include "frontend/rewrite/split_loops.h"
#include "frontend/rewrite/spread_updates.h"
#include "frontend/rewrite/vectorise.h"
#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "spirv/lower/plan.h"
#include "support/random_program.h"

namespace spirograd {
namespace program_value_test {

constexpr const char* kLoopsInLoops = R"(
def f(x: f32[4], unused: f32[3]) -> (loss: f32, rows: f32[4]) {
  let rows = for i: 4 => x[3 - i] * sin(x[i])
  let y = fori(3, fn(i, s) => fori(2, fn(j, t) => t * t + rows, s) - rows, x)
  (sum(y * y), rows)
}
)";

Program program() { return text::instantiate(text::parse(kLoopsInLoops, "loops.sg").value()).value(); }

Target target() {
  Target t;
  t.float64 = true;
  return t;
}

TEST(ProgramValue, NoFunctionAddsToTheGraphOfItsArgument) {
  const Program p = program();
  const uint32_t nodes = p.graph->size();
  const int64_t functions = p.graph->function_count();
  const std::string text = text::print(p);
  const Program bulk = rewrite::vectorise(p);
  const std::string bulk_text = text::print(bulk);
  const uint32_t bulk_nodes = bulk.graph->size();
  EXPECT_TRUE(grad(p, {"x"}));
  EXPECT_TRUE(value_and_grad(p));
  EXPECT_TRUE(jvp(p));
  EXPECT_TRUE(vjp(p));
  EXPECT_TRUE(compile(p, target()));
  for (const Program* given : {&p, &bulk}) {
    rewrite::simplify(*given);
    rewrite::factor_sums(*given);
    rewrite::split_loops(*given);
    rewrite::spread_updates(*given);
    rewrite::optimise_for_lowering(*given, {.verify = true});
  }
  lower::lower(rewrite::optimise_for_lowering(p, {.verify = true}), target());
  EXPECT_EQ(p.graph->size(), nodes);
  EXPECT_EQ(p.graph->function_count(), functions);
  EXPECT_EQ(text::print(p), text);
  EXPECT_EQ(bulk.graph->size(), bulk_nodes);
  EXPECT_EQ(text::print(bulk), bulk_text);
}

TEST(ProgramValue, APrivateGraphHoldsWhatIsReachedInTheSameOrder) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const Program p = test::random_program(seed).program;
    Program own = p;
    const auto graph = ir::make_graph_private(own);
    ASSERT_EQ(own.graph, graph);
    ASSERT_NE(own.graph, p.graph);
    ASSERT_EQ(text::print(own), text::print(p)) << "seed " << seed;
    std::vector<ir::NodeId> old_roots, new_roots;
    for (size_t j = 0; j < p.results.size(); ++j) {
      old_roots.push_back({p.results[j].node});
      new_roots.push_back({own.results[j].node});
    }
    const auto before = ir::postorder(*p.graph, old_roots), after = ir::postorder(*graph, new_roots);
    ASSERT_EQ(before.size(), after.size());
    for (size_t j = 1; j < before.size(); ++j)
      ASSERT_EQ(before[j - 1] < before[j], after[j - 1] < after[j]) << "seed " << seed << ": ids in another order";
    Program again = own;
    ASSERT_EQ(ir::make_graph_private(again)->size(), graph->size()) << "seed " << seed << ": a copy of a copy shrinks";
  }
}

TEST(ProgramValue, PlacesInTheSourceSurviveTransformations) {
  const Program p = rewrite::vectorise(program());
  bool found = false;
  for (uint32_t id = 1; id < p.graph->size(); ++id)
    found |= (*p.graph)[{id}].op == ir::Op::Sin && p.graph->loc({id}).line == 3;
  EXPECT_TRUE(found);
}

TEST(ProgramValue, AnEmptyProgramIsAnErrorEverywhere) {
  Program no_nodes = program();
  no_nodes.results[0].node = no_nodes.graph->size();
  Program no_node = program();
  no_node.results[1].node = 0;
  for (const Program& p : {Program{}, no_nodes, no_node}) {
    const auto refused = [](const auto& result) { return result ? std::string("made") : result.error().code; };
    EXPECT_EQ(refused(compile(p, target())), "SG0404");
    EXPECT_EQ(refused(grad(p)), "SG0404");
    EXPECT_EQ(refused(grad(p, {"x"}, "loss")), "SG0404");
    EXPECT_EQ(refused(value_and_grad(p)), "SG0404");
    EXPECT_EQ(refused(vjp(p)), "SG0404");
    EXPECT_EQ(refused(jvp(p)), "SG0404");
    EXPECT_EQ(refused(ir::try_evaluate(p, {})), "SG0404");
    EXPECT_EQ(text::print(p), "");
  }
}

}  // namespace program_value_test
}  // namespace spirograd
