// The generator of random programs: what it makes is well formed, evaluates, depends on the decisions only, and covers the
// operations it promises; shrinking keeps the failure and loses the rest.
#include "support/random_program.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "frontend/ir/eval.h"
#include "frontend/ir/traverse.h"
#include "frontend/ir/verify.h"

namespace spirograd::test {
namespace random_program_test {

using ir::NodeId;
using ir::Op;

// Nodes of the program and of its loop bodies.
std::vector<NodeId> all_nodes(const Program& p) {
  const ir::Graph& g = *p.graph;
  std::vector<std::vector<NodeId>> roots(1);
  for (const ProgramResult& r : p.results) roots[0].push_back({r.node});
  std::set<int64_t> seen;
  std::vector<NodeId> out;
  for (size_t s = 0; s < roots.size(); ++s) {
    for (NodeId id : ir::postorder(g, roots[s])) {
      out.push_back(id);
      if (g[id].op == Op::MapAccum && seen.insert(g[id].attr[0]).second) roots.push_back(g.function(g[id].attr[0]).results);
    }
  }
  return out;
}

bool uses(const Program& p, Op op) {
  for (NodeId id : all_nodes(p))
    if ((*p.graph)[id].op == op) return true;
  return false;
}

bool same(const std::vector<ir::Array>& a, const std::vector<ir::Array>& b) {
  if (a.size() != b.size()) return false;
  for (size_t j = 0; j < a.size(); ++j) {
    if (a[j].type != b[j].type || a[j].data.size() != b[j].data.size()) return false;
    for (size_t i = 0; i < a[j].data.size(); ++i)
      if (a[j].data[i] != b[j].data[i] && !(std::isnan(a[j].data[i]) && std::isnan(b[j].data[i]))) return false;
  }
  return true;
}

void expect_sound(const RandomProgram& r, uint64_t seed) {
  const auto error = ir::check_well_formed(r.program);
  ASSERT_FALSE(error) << "seed " << seed << ": " << error->str();
  const auto values = ir::try_evaluate(r.program, r.inputs);
  ASSERT_TRUE(values) << "seed " << seed << ": " << values.error().str();
  for (size_t j = 0; j < values->size(); ++j) {
    ASSERT_EQ((*values)[j].type, r.program.results[j].type);
    for (double x : (*values)[j].data) ASSERT_TRUE(ir::fits(x, (*values)[j].type.dtype)) << "seed " << seed << ": " << x;
  }
}

TEST(RandomProgram, IsWellFormedAndEvaluates) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    RandomOptions options;
    options.hostile_values = seed % 2 == 1;
    expect_sound(random_program(seed, options), seed);
    if (HasFatalFailure()) return;
  }
}

TEST(RandomProgram, DependsOnTheSeedOnly) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const RandomProgram a = random_program(seed), b = random_program(seed);
    EXPECT_EQ(a.inputs, b.inputs);
    EXPECT_TRUE(same(ir::evaluate(a.program, a.inputs), ir::evaluate(b.program, b.inputs))) << seed;
  }
  EXPECT_NE(random_decisions(1), random_decisions(2));
}

TEST(RandomProgram, CoversEveryOperation) {
  std::set<Op> seen;
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    const Program p = random_program(seed).program;
    for (NodeId id : all_nodes(p)) seen.insert((*p.graph)[id].op);
  }
  for (const ir::OpInfo& info : ir::kOps) {
    // Of users alone: lines E21 to E24 of the conformance tables. Bits differ where the last digits of a number do.
    if (info.op == Op::Var || info.kind == ir::Kind::Rule || info.op == Op::Bits || info.op == Op::FromBits) continue;
    EXPECT_TRUE(seen.contains(info.op)) << info.name;
  }
}

TEST(RandomProgram, NestsBuildsAndPutsLoopsInside) {
  int deepest = 0, loops_in_builds = 0, out_of_closed = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    const Program p = random_program(seed).program;
    for (NodeId id : all_nodes(p)) {
      const ir::Node& n = (*p.graph)[id];
      if (n.op == Op::IndexVar) deepest = std::max(deepest, static_cast<int>(n.attr[0]) + 1);
      if (n.op == Op::MapAccum && n.free_vars != 0) ++loops_in_builds;
      if (n.op == Op::Gather && n.free_vars != 0) ++out_of_closed;
    }
  }
  EXPECT_GE(deepest, 3);
  EXPECT_GE(loops_in_builds, 10);
  EXPECT_GE(out_of_closed, 50);
}

TEST(RandomProgram, LeavesOutWhatTheOptionsForbid) {
  RandomOptions options;
  options.allow_builds = options.allow_loops = false;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const RandomProgram r = random_program(seed, options);
    EXPECT_FALSE(uses(r.program, Op::Build)) << seed;
    EXPECT_FALSE(uses(r.program, Op::MapAccum)) << seed;
    expect_sound(r, seed);
  }
}

TEST(RandomProgram, DifferentiableOnesAreFiniteAndSmooth) {
  RandomOptions options;
  options.differentiable_only = true;
  int moved = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomProgram r = random_program(seed, options);
    expect_sound(r, seed);
    const auto before = ir::evaluate(r.program, r.inputs);
    for (size_t j = 0; j < r.inputs.size(); ++j)
      if (is_float(r.program.params[j].type.dtype))
        for (double& x : r.inputs[j]) x += 1e-7;
    const auto after = ir::evaluate(r.program, r.inputs);
    for (size_t j = 0; j < before.size(); ++j) {
      EXPECT_EQ(before[j].type.dtype, DType::F32);
      for (size_t i = 0; i < before[j].data.size(); ++i) {
        const double x = before[j].data[i], y = after[j].data[i];
        ASSERT_LT(std::fabs(x), 1e5) << seed;
        ASSERT_LT(std::fabs(x - y), 1e-2) << seed;
        moved += x != y;
      }
    }
  }
  EXPECT_GT(moved, 300);
}

TEST(RandomProgram, NoDecisionsGiveTheSimplestProgram) {
  const RandomProgram r = random_program(Decisions{});
  EXPECT_EQ(r.program.results.size(), 1u);
  EXPECT_EQ(all_nodes(r.program).size(), 1u);
}

TEST(Shrink, KeepsTheFailureAndDropsTheRest) {
  const auto fails = [](const Decisions& d) { return uses(random_program(d).program, Op::Scatter); };
  uint64_t seed = 0;
  while (!fails(random_decisions(seed))) ++seed;
  const Decisions small = shrink(random_decisions(seed), fails);
  EXPECT_TRUE(fails(small));
  EXPECT_LE(small.size(), 12u);
  EXPECT_LE(all_nodes(random_program(small).program).size(), 6u);
}

}  // namespace random_program_test
}  // namespace spirograd::test
