// Loops over the rows of a batch, of which no step reads another row: blocks of rows are loops for themselves, whatever
// stands beside them and wherever the rows lie. Values and gradients are those of the interpreter.
#include "spirv/lower/row_blocks.h"

#include <gtest/gtest.h>

#include "frontend/ir/own_graph.h"
#include "frontend/ir/traverse.h"
#include "frontend/rewrite/passes.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "spirv/lower/loops.h"
#include "support/lowered.h"

namespace spirograd {
namespace row_blocks_test {

Program program(const std::string& text) { return text::instantiate(text::parse(text, "test.sg").value()).value(); }

Target gpu_target() {
  Target t = test::cpu_target();
  t.price = Prices{};
  t.quirks = 0;
  return t;
}

// The forms of a program's loops, first to last.
std::vector<lower::LoopForm> forms(const Program& p, const Target& t) {
  Program lowered = rewrite::optimise_for_lowering(p);
  ir::Graph& g = *ir::make_graph_private(lowered);
  std::vector<ir::NodeId> roots;
  for (const ProgramResult& r : lowered.results) roots.push_back({r.node});
  std::vector<lower::LoopForm> out;
  for (const ir::NodeId at : ir::postorder(g, roots))
    if (g[at].op == ir::Op::MapAccum) out.push_back(lower::loop_form(g, at, t));
  return out;
}

// s is f32[rows, 24]; a step may read w: f32[24, 24], x: f32[9, rows, 24], and its number i.
Program loop(int rows, const std::string& step, const std::string& result = "s") {
  const std::string b = std::to_string(rows);
  return program("def f(s: f32[" + b + ", 24], w: f32[24, 24], x: f32[9, " + b + ", 24]) -> f32 = {\n" +
                 "  let r = fori(9, fn(i, s) => " + step + ", s)\n  sum(square(" + (result == "s" ? "r" : result) +
                 "))\n}\n");
}

// `inside`: the loop of the value is one dispatch.
void expect_right(const Program& p, bool inside, const std::string& what) {
  for (const Target& t : {test::cpu_target(), gpu_target()})
    for (const bool gradient : {false, true}) {
      const Program each = gradient ? value_and_grad(p, {"s", "w"}).value() : p;
      lower::Plan plan;
      EXPECT_TRUE(test::lowers_right(each, test::sines(each, 0.3), t, &plan)) << what << (gradient ? ", gradient" : "");
      EXPECT_LE(test::dispatched_loops(plan), inside && !gradient && t.price.cooperates ? 0 : 2)
          << what << (gradient ? ", gradient" : "") << ", busy " << t.price.busy;
    }
}

const std::string kProduct = "tanh(for r: ROWS, j: 24 => sum(for k: 24 => s[r, k] * 0.1 * w[k, j]) + x[i, r, j])";

std::string with_rows(std::string step, int rows) {
  for (size_t at; (at = step.find("ROWS")) != std::string::npos;) step.replace(at, 4, std::to_string(rows));
  return step;
}

TEST(RowBlocks, ABatchOfRecurrentNetsIsALoopForEachOfItsBlocks) {
  for (const int rows : {2, 3, 6, 7, 40, 64, 100}) {
    const Program p = loop(rows, with_rows(kProduct, rows));
    expect_right(p, rows > 7, std::to_string(rows) + " rows");
    if (rows < 40) continue;
    const std::vector<lower::LoopForm> found = forms(p, gpu_target());
    ASSERT_EQ(found.size(), 1u);
    ASSERT_TRUE(found[0].blocks) << rows;
    EXPECT_EQ(found[0].blocks->rows, rows);
    EXPECT_EQ(found[0].blocks->block, 2) << "48 of 64 lanes";
    EXPECT_FALSE(forms(p, test::cpu_target())[0].blocks) << "barriers are dear";
  }
}

TEST(RowBlocks, MayKnowTheNumberOfTheirRowsAndReadTablesOfThem) {
  expect_right(loop(40, "for r: 40, j: 24 => 0.5 * sin(s[r, j]) + 0.01 * f32(r) * cos(mean(s[r]))"), true,
               "the number of a row");
  expect_right(loop(40, "{ let m = for r: 40 => max(s[r])\n for r: 40, j: 24 => s[r, j] / (1.0 + m[r] * m[r]) + w[j, 3] }"),
               true, "a value of each row");
  expect_right(loop(40, "for r: 40, j: 24 => 0.5 * s[r, 23 - j] + x[3, r, j] * x[i, r, (j + 1) % 24]"), true,
               "all steps of a row");
  expect_right(loop(6, "for r: 6, j: 24 => [0.1, 0.2, 0.3, 0.4, 0.5, 0.6][r] * cos(mean(s[r])) + s[r, j]"), false,
               "a constant");
  expect_right(
      loop(40,
           "{ let u = for j: 24, r: 40 => sum(for k: 24 => 0.1 * w[k, j] * s[r, k])\n for r: 40, j: 24 => tanh(u[j, r]) }"),
      true, "rows along the last axis in between");
}

TEST(RowBlocks, LeaveLoopsAloneThatMixRows) {
  const std::vector<std::string> steps = {"for r: 40, j: 24 => 0.5 * s[39 - r, j] + 0.1 * sum(s[r])",
                                          "for r: 40, j: 24 => s[r, j] - mean(for q: 40 => s[q, j]) + 0.1 * sum(s[r])",
                                          "for r: 40, j: 24 => 0.2 * s[(r + i) % 40, j] + 0.1 * sum(s[r])",
                                          "s * 0.5 + reshape(reshape(s, [24, 40]) * 0.25, [40, 24]) * sum(s)"};
  for (const std::string& step : steps) {
    const Program p = loop(40, step);
    expect_right(p, false, step);
    for (const lower::LoopForm& f : forms(p, gpu_target())) EXPECT_FALSE(f.blocks) << step;
  }
}

// Numbers and results of each step beside the state, of rows and of none, rows where they are.
TEST(RowBlocks, HaveNumbersAndStacksBesideThem) {
  const Program p = program(
      "def f(s: f32[40, 24], w: f32[24, 24], x: f32[9, 40, 24]) -> f32 = {\n"
      "  let step = fn((s, c), x) => {\n"
      "    let u = tanh(for r: 40, j: 24 => sum(for k: 24 => s[r, k] * 0.1 * w[k, j]) + c * x[r, j])\n"
      "    ((u, c * 0.9), (for r: 40 => sum(u[r]), for j: 24, r: 40 => u[r, j] * x[r, 2], c + w[1, 2]))\n  }\n"
      "  let ((u, c), (a, b, d)) = map_accum_l(step, (s, 1.0), x)\n"
      "  sum(square(u)) + c + sum(a * a) + sum(b) + sum(d * d)\n}\n");
  expect_right(p, true, "beside");
  const std::vector<lower::LoopForm> found = forms(p, gpu_target());
  ASSERT_EQ(found.size(), 1u);
  ASSERT_TRUE(found[0].blocks);
}

}  // namespace row_blocks_test
}  // namespace spirograd
