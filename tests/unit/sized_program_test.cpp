// The generator of programs by size class: sound, repeatable, and about what each class promises.
#include "support/sized_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "frontend/ir/algebra.h"
#include "frontend/ir/eval.h"
#include "frontend/ir/traverse.h"
#include "frontend/ir/verify.h"

namespace spirograd::test {
namespace sized_program_test {

using ir::Node;
using ir::NodeId;
using ir::Op;

std::vector<NodeId> nodes_of(const Program& p) {
  std::vector<NodeId> roots;
  for (const ProgramResult& r : p.results) roots.push_back({r.node});
  return ir::postorder(*p.graph, roots);
}

// Programs 0 .. count-1 of a class, given to `f` node by node.
template <class F>
void each_node(SizeClass c, uint64_t count, F&& f) {
  for (uint64_t seed = 0; seed < count; ++seed) {
    const SizedProgram s = sized_program(c, sized_decisions(seed));
    for (NodeId id : nodes_of(s.program)) f(*s.program.graph, (*s.program.graph)[id]);
  }
}

TEST(SizedProgram, IsWellFormedInEveryClass) {
  for (const SizeClassInfo& info : kSizeClasses)
    for (uint64_t seed = 0; seed < 60; ++seed) {
      const Program p = sized_program(info.size_class, sized_decisions(seed)).program;
      const auto error = ir::check_well_formed(p);
      ASSERT_FALSE(error) << info.name << " " << seed << ": " << error->str();
    }
}

TEST(SizedProgram, SmallOnesEvaluateAndTheirInputsFit) {
  for (SizeClass c : {SizeClass::Small, SizeClass::Integers, SizeClass::Extremes})
    for (uint64_t seed = 0; seed < 40; ++seed) {
      const SizedProgram s = sized_program(c, sized_decisions(seed));
      const auto values = ir::try_evaluate(s.program, s.inputs());
      ASSERT_TRUE(values) << seed << ": " << values.error().str();
    }
}

TEST(SizedProgram, NoDecisionsGiveTheLeastProgram) {
  for (const SizeClassInfo& info : kSizeClasses) {
    const SizedProgram s = sized_program(info.size_class, {});
    EXPECT_EQ(nodes_of(s.program).size(), 1u) << info.name;
    EXPECT_LE(s.program.params[0].type.shape.count(), 8) << info.name;
  }
}

TEST(SizedProgram, LongOnesReduceMoreThan65536) {
  std::set<Op> seen;
  each_node(SizeClass::Long, 300, [&](const ir::Graph& g, const Node& n) {
    const bool reduces = ir::info(n.op).kind == ir::Kind::Reduce;
    if (reduces && g[n.in[0]].type.shape.count() > 65536 * std::max<int64_t>(1, n.type.shape.count())) seen.insert(n.op);
    if (n.op == Op::Scatter && g[n.in[0]].type.shape.count() > 65536) seen.insert(n.op);
  });
  for (Op op : {Op::Sum, Op::Prod, Op::ReduceMax, Op::ReduceMin, Op::ArgMax, Op::ArgMin, Op::Scatter})
    EXPECT_TRUE(seen.contains(op)) << ir::name(op);
}

TEST(SizedProgram, AxesHaveRank3PermutationsAndSeveralReducedAxes) {
  int permutations = 0, cycles = 0, several = 0, all_but_middle = 0;
  each_node(SizeClass::Axes, 300, [&](const ir::Graph&, const Node& n) {
    if (n.op == Op::Transpose && n.attr.size() >= 3) {
      ++permutations;
      cycles += n.attr[static_cast<size_t>(n.attr[0])] != 0;  // not its own inverse
    }
    if (ir::info(n.op).kind == ir::Kind::Reduce && n.attr.size() >= 2) {
      ++several;
      all_but_middle += n.attr.back() - n.attr[0] + 1 > static_cast<int64_t>(n.attr.size());
    }
  });
  EXPECT_GT(permutations, 50);
  EXPECT_GT(cycles, 20);
  EXPECT_GT(several, 50);
  EXPECT_GT(all_but_middle, 10);
}

TEST(SizedProgram, IntegersDivideByEverything) {
  std::set<double> divisors;
  each_node(SizeClass::Integers, 1000, [&](const ir::Graph& g, const Node& n) {
    if (n.op != Op::Rem && n.op != Op::Quot) return;
    const Node& by = g[n.in[1]].op == Op::Broadcast ? g[g[n.in[1]].in[0]] : g[n.in[1]];
    if (by.op == Op::Const) divisors.insert(by.data[0]);
  });
  for (double d : {0.0, 1.0, -1.0, 2.0, 7.0, -7.0, 65536.0, 1073741824.0, 2147483647.0, -2147483648.0})
    EXPECT_TRUE(divisors.contains(d)) << d;
  const std::vector<double> inputs = recipe_values({Recipe::Kind::Integers, 3}, i32({400}), 0);
  for (double x : {-2147483648.0, 2147483647.0, -1.0, 0.0})
    EXPECT_NE(std::find(inputs.begin(), inputs.end(), x), inputs.end()) << x;
}

TEST(SizedProgram, LoopsRunUpTo100000Steps) {
  int64_t longest = 0;
  int beyond = 0;
  each_node(SizeClass::Loops, 200, [&](const ir::Graph& g, const Node& n) {
    if (n.op != Op::MapAccum) return;
    longest = std::max(longest, ir::loop_parts(g, n).length);
    beyond += ir::loop_parts(g, n).length > 65535;
  });
  EXPECT_EQ(longest, 100000);
  EXPECT_GT(beyond, 20);
}

TEST(SizedProgram, SomeLoopsEndBeforeTheirBound) {
  int ending = 0;
  each_node(SizeClass::Loops, 400, [&](const ir::Graph& g, const Node& n) {
    if (n.op != Op::MapAccum || ir::loop_parts(g, n).length < 33) return;
    const std::vector<ir::NodeId>& results = g.function(ir::loop_parts(g, n).function).results;
    ending += g[results[0]].op == Op::Select && g[g[results[0]].in[0]].op == Op::Lt;
  });
  EXPECT_GT(ending, 5);
}

TEST(SizedProgram, InputsDependOnTheRecipeOnly) {
  const Recipe r = {Recipe::Kind::Extremes, 5};
  EXPECT_EQ(to_string(r), "extremes 5");
  const std::vector<double> a = recipe_values({{}, 5}, f32({100}), 0), b = recipe_values({{}, 5}, f32({100}), 0);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, recipe_values({{}, 5}, f32({100}), 1));
  EXPECT_NE(a, recipe_values({{}, 6}, f32({100}), 0));
  EXPECT_EQ(recipe_of("extremes", 5), r);
  EXPECT_THROW(recipe_of("quiet", 5), Error);
}

}  // namespace sized_program_test
}  // namespace spirograd::test
