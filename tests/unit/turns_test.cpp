// Rows in turns: which axes are cut into parts, what keeps others whole, and that values are those of the interpreter.
#include "spirv/lower/turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "frontend/ir/loop.h"
#include "frontend/ir/own_graph.h"
#include "frontend/rewrite/passes.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "support/lowered.h"
#include "support/turns_programs.h"

namespace spirograd {
namespace turns_test {

Program program(const std::string& text) {
  return rewrite::optimise_for_lowering(text::instantiate(text::parse(text, "test.sg").value()).value(), {.verify = true});
}

Program gradient(const std::string& text, const std::vector<std::string>& wrt) {
  const Program p = text::instantiate(text::parse(text, "test.sg").value()).value();
  return rewrite::optimise_for_lowering(value_and_grad(p, wrt).value(), {.verify = true});
}

Target with_caches_of(uint64_t bytes, Target t = test::cpu_target()) {
  t.price.resident = bytes;
  return test::with_cheap_dispatches(t);  // arrays are stored, though they are small
}

std::vector<std::vector<double>> inputs_of(const Program& p) {
  std::vector<std::vector<double>> out;
  for (const Param& param : p.params) {
    out.emplace_back();
    for (int64_t i = 0; i < param.type.shape.count(); ++i) {
      const double x = static_cast<double>(static_cast<float>(std::sin(0.7 * static_cast<double>(i) + 1)));
      out.back().push_back(is_float(param.type.dtype) ? x : static_cast<double>(i * 5 % 9 - 1));
    }
  }
  return out;
}

// Steps of the loop over parts; 1 if all rows are computed at once.
int64_t parts(const Program& p, const Target& target) {
  Target at_once = target;
  at_once.price.resident = 0;
  const lower::Plan whole = lower::lower(p, at_once);
  if (!lower::wants_turns(whole, target)) return 1;
  Program own = p;
  ir::Graph& g = *ir::make_graph_private(own);
  std::vector<ir::NodeId> roots;
  for (const ProgramResult& r : own.results) roots.push_back({r.node});
  const lower::Turns turns = lower::rows_in_turns(g, roots, target);
  if (!turns.loop || 3 * lower::lower(p, target).scratch_bytes > 2 * whole.scratch_bytes) return 1;
  return ir::loop_parts(g, g[turns.loop]).length;
}

class TurnsOf : public ::testing::TestWithParam<test::TurnsProgram> {};

TEST_P(TurnsOf, AreThoseStated) {
  const Program p = program(GetParam().text);
  EXPECT_EQ(parts(p, with_caches_of(4096)), GetParam().parts);
  EXPECT_EQ(parts(p, with_caches_of(0)), 1) << "none are asked for";
  EXPECT_EQ(parts(p, with_caches_of(1 << 20)), 1) << "arrays are small";
  for (uint64_t bytes : {256u, 1024u, 4096u})
    for (const Target& t : {test::cpu_target(), test::gpu_target()}) {
      const lower::Plan plan = lower::lower(p, with_caches_of(bytes, t));
      EXPECT_TRUE(test::same_as_interpreter(p, plan, inputs_of(p), 1e-5)) << bytes;
    }
}

INSTANTIATE_TEST_SUITE_P(Turns, TurnsOf, ::testing::ValuesIn(test::kTurnsPrograms),
                         [](const auto& c) { return std::string(c.param.name); });

// What stands between the points and their likelihoods, an array of points x components x coordinates, is never whole.
TEST(Turns, TheGradientOfAMixtureKeepsAPartOfItsPoints) {
  const Program p = gradient(
      "def main(a: f32[8], mu: f32[8, 6], q: f32[8, 6, 6], x: f32[360, 6]) -> f32 = {\n"
      "  let root = for j: 8, r: 6, c: 6 => where(r == c, exp(q[j, r, c]), where(c < r, q[j, r, c], 0.0))\n"
      "  let z = for i: 360, j: 8, r: 6 => sum(root[j, r] * (x[i] - mu[j]))\n"
      "  sum(logsumexp(a - sum(log(1.0 + square(z)), axis=2), axis=1)) }\n",
      {"a", "mu", "q"});
  const uint64_t whole = lower::lower(p, with_caches_of(0)).scratch_bytes;
  const lower::Plan in_turns = lower::lower(p, with_caches_of(8192));
  EXPECT_GT(whole, 360u * 8 * 6 * 4);
  EXPECT_LT(in_turns.scratch_bytes, whole / 3);
  EXPECT_TRUE(test::same_as_interpreter(p, in_turns, inputs_of(p), 1e-5));
}

// Statements on arrays of rows, rows, columns and numbers, each of which reads what stands above it.
std::string random_statements(std::mt19937& random) {
  std::vector<std::string> arrays = {"sin(x[:, None] * y)"}, rows = {"x"}, columns = {"y"};
  const auto any = [&](const std::vector<std::string>& of) { return of[random() % of.size()]; };
  std::string text;
  for (int k = 0; k < 8; ++k) {
    const std::string a = any(arrays);
    std::vector<std::string>* to = &arrays;
    std::string value;
    switch (random() % 9) {
      case 0: value = "exp(sin(" + a + "))"; break;
      case 1: value = a + " + " + any(arrays); break;
      case 2: value = a + " * " + any(rows) + "[:, None]"; break;
      case 3: value = a + " - " + any(columns); break;
      case 4:
      case 5: value = "0.1 * (" + a + ") @ w"; break;
      case 6: value = "0.1 * sum(" + a + ", axis=1)", to = &rows; break;
      case 7: value = "max(" + a + ", axis=1)", to = &rows; break;
      case 8: value = "0.01 * sum(" + a + ", axis=0)", to = &columns; break;
    }
    to->push_back("v" + std::to_string(k));
    text += "  let " + to->back() + " = " + value + "\n";
  }
  return text + "  sum(" + arrays.back() + ") + sum(square(" + rows.back() + ")) + sum(sin(" + columns.back() + "))\n";
}

TEST(Turns, GradientsOfRandomProgramsMeanTheSame) {
  int in_turns = 0;
  for (uint32_t seed = 0; seed < 200 && !HasFailure(); ++seed) {
    std::mt19937 random(seed);
    const std::string text =
        "def main(x: f32[67], y: f32[12], w: f32[12, 12]) -> f32 {\n" + random_statements(random) + "}\n";
    const Program p = gradient(text, {"x", "y", "w"});
    in_turns += parts(p, with_caches_of(256)) > 1;
    for (const Target& t : {test::cpu_target(), test::gpu_target()})
      EXPECT_TRUE(test::same_as_interpreter(p, lower::lower(p, with_caches_of(256, t)), inputs_of(p), 1e-4)) << text;
  }
  EXPECT_GE(in_turns, 30) << "of 200";
}

}  // namespace turns_test
}  // namespace spirograd
