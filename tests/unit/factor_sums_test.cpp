// Factors leave sums: the result is the same over the reals, the product that was summed is smaller.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "frontend/ir/eval.h"
#include "frontend/ir/traverse.h"
#include "frontend/rewrite/factor_sums.h"
#include "frontend/rewrite/simplify.h"
#include "frontend/rewrite/vectorise.h"
#include "spirograd/text.h"
#include "support/random_program.h"

namespace spirograd {
namespace factor_sums_test {

Program bulk(const std::string& source) {
  const text::Module module = text::parse(source, "test.sg").value();
  return rewrite::simplify(rewrite::vectorise(text::instantiate(module).value()));
}

std::vector<std::vector<double>> some_inputs(const Program& p) {
  std::vector<std::vector<double>> out;
  for (const Param& param : p.params) {
    out.emplace_back();
    for (int64_t i = 0; i < param.type.shape.count(); ++i)
      out.back().push_back(std::sin(1.7 * static_cast<double>(i) + 0.3));
  }
  return out;
}

// What computes the results by this operation.
std::vector<ir::NodeId> nodes_by(const Program& p, ir::Op op) {
  std::vector<ir::NodeId> roots;
  for (const ProgramResult& r : p.results) roots.push_back({r.node});
  std::vector<ir::NodeId> out = ir::postorder(*p.graph, roots);
  std::erase_if(out, [&](ir::NodeId id) { return (*p.graph)[id].op != op; });
  return out;
}

// Elements of all nodes that are summed: what a naive evaluation multiplies out.
int64_t summed_elements(const Program& p) {
  int64_t total = 0;
  for (ir::NodeId id : nodes_by(p, ir::Op::Sum)) total += (*p.graph)[(*p.graph)[id].in[0]].type.shape.count();
  return total;
}

void expect_equal(const Program& a, const Program& b, const std::vector<std::vector<double>>& inputs) {
  const auto want = ir::evaluate(a, inputs), have = ir::evaluate(b, inputs);
  for (size_t r = 0; r < want.size(); ++r)
    for (size_t i = 0; i < want[r].data.size(); ++i)
      EXPECT_NEAR(want[r].data[i], have[r].data[i], 1e-9 * std::max(1.0, std::abs(want[r].data[i]))) << text::print(b);
}

// What the pass makes of it, which has the same values.
Program factored(const Program& p) {
  const Program q = rewrite::factor_sums(p);
  expect_equal(p, q, some_inputs(p));
  return q;
}

TEST(Contract, InvariantFactorLeavesTheSum) {
  const Program p = bulk("def f(a: f32[5], b: f32[5, 7]) = sum(for i: 5, j: 7 => a[i] * b[i, j])");
  const Program q = factored(p);
  EXPECT_NE(text::print(q).find("sum(b, axis=[1])"), std::string::npos) << text::print(q);
}

TEST(Contract, ProductOfMatricesThatIsSummedNeverMultipliesOut) {
  const Program p = bulk("def f(a: f32[8, 9], b: f32[9, 7]) = sum(sum(matmul(a, b), axis=1), axis=0)");
  const Program q = factored(p);
  EXPECT_LT(summed_elements(q), summed_elements(p) / 2);
}

TEST(Contract, NegationLeavesTheSum) {
  const Program p = bulk("def f(a: f32[5]) = sum(-a)");
  EXPECT_NE(text::print(factored(p)).find("= -"), std::string::npos);
}

// inf * 1 + inf * -2 is NaN; inf * (1 - 2) is not.
TEST(Contract, InfiniteConstantsStayInTheSum) {
  const Program p = bulk("def f(a: f32[0], x: f32[2]) = sum(for j: 2 => min(a) * x[j])");
  const Program q = rewrite::factor_sums(rewrite::simplify(p));
  const std::vector<std::vector<double>> inputs = {{}, {1, -2}};
  EXPECT_TRUE(std::isnan(ir::evaluate(q, inputs)[0].data[0])) << text::print(q);
}

TEST(Contract, FactorsOfARepeatedProductLeaveOneByOne) {
  const Program p = bulk(
      "def f(u: f32[5], v: f32[6], w: f32[5, 7]) = "
      "sum(for k: 6, i: 5, j: 7 => (u[i] * v[k]) * w[i, j], axis=1)");
  const Program q = factored(p);
  EXPECT_LE(summed_elements(q), 5 * 7) << text::print(q);
}

TEST(Contract, FactorsLeaveSumsInLoops) {
  const Program p = bulk(
      "def f(a: f32[5], b: f32[5, 7]) = "
      "fori(3, fn(i, s) => s + sum(for i: 5, j: 7 => s * a[i] * b[i, j]) * 0.01, 1.0)");
  const Program q = factored(p);
  EXPECT_NE(text::print(q), text::print(p));
}

// Elements of the largest scatter.
int64_t largest_scatter(const Program& p) {
  int64_t most = 0;
  for (ir::NodeId id : nodes_by(p, ir::Op::Scatter)) most = std::max(most, (*p.graph)[id].type.shape.count());
  return most;
}

TEST(Scatters, OfWhichASumIsMadeAreSummedEachOnItsOwn) {
  const std::string head = "def f(v: f32[40], w: f32[9], k: i32[40], j: i32[40]) = sum(for n: 40 => ";
  for (const char* body :
       {"scatter([9], v[n], k[n]) + scatter([9], v[n] * v[n], j[n])", "scatter([9], v[n], k[n]) - scatter([9], 2.0, j[n])",
        "-scatter([9], v[n], k[n])", "v[n] * scatter([9], v[n], k[n])", "w * scatter([9], v[n], k[n])",
        "if v[n] > 0 then scatter([9], v[n], k[n]) else zeros(9)",
        "if k[n] > 3 then scatter([9], v[n], k[n]) else scatter([9], v[n], j[n])",
        "w * (scatter([9], v[n], k[n]) + v[n] * (scatter([9], 1.0, j[n]) - scatter([9], v[n], 2 * k[n])))"}) {
    const Program p = bulk(head + body + ", axis=0)");
    std::vector<std::vector<double>> inputs = some_inputs(p);
    for (size_t i = 0; i < 40; ++i)
      inputs[2][i] = static_cast<double>(i * 7 % 13) - 2, inputs[3][i] = static_cast<double>(i % 9);
    const Program q = rewrite::factor_sums(p);
    expect_equal(p, q, inputs);
    EXPECT_EQ(largest_scatter(p), 9 * 40) << body;
    EXPECT_EQ(largest_scatter(q), 9) << body << "\n" << text::print(q);
  }
}

// Arrays that are twice themselves, again and again, hold more terms than anyone should write.
TEST(Scatters, ThatAreTermsManyTimesStay) {
  std::string source = "def f(v: f32[4], k: i32[4]) {\n  let s0 = for n: 4 => scatter([9], v[n], k[n])\n";
  for (int i = 1; i <= 30; ++i) {
    const std::string before = "s" + std::to_string(i - 1);
    source += "  let s" + std::to_string(i) + " = " + before + " + v[0] * " + before + "\n";
  }
  const Program p = bulk(source + "  sum(s30, axis=0)\n}");
  EXPECT_LT(rewrite::factor_sums(p).graph->size(), 10 * p.graph->size());
}

// The derivative of cross-entropy: what else is there for each element is computed in any case.
TEST(Scatters, OfOneElementStayBesideOthers) {
  const Program p = bulk("def f(x: f32[40, 9], k: i32[40]) = sum(for n: 40 => exp(x[n]) - scatter([9], 1.0, k[n]), axis=0)");
  EXPECT_EQ(rewrite::factor_sums(p).results[0].node, p.results[0].node);
}

// What several products of matrices read has a sum of products as its cotangent.
TEST(Products, OfMatricesThatAreAddedAreSummedEachOnItsOwn) {
  const auto sums = [](const Program& p) { return nodes_by(p, ir::Op::Sum).size(); };
  const std::string head =
      "def f(a: f32[4, 40], b: f32[40, 5], c: f32[4, 40], d: f32[40, 5]) = for i: 4, j: 5 => sum(for k: ";
  EXPECT_EQ(sums(factored(bulk(head + "40 => a[i, k] * b[k, j] + c[i, k] * d[k, j])"))), 2);
  EXPECT_EQ(sums(factored(bulk(head + "40 => c[i, k] - (a[i, k] * b[k, j] - c[i, k] * d[k, j]) * b[k, j])"))), 1);
  EXPECT_EQ(sums(factored(bulk(head + "40 => -(a[i, k] * b[k, j] - c[i, k] * d[k, j]) - c[i, k])"))), 3);
  EXPECT_EQ(sums(factored(bulk(head + "9 => a[i, k] * b[k, j] + c[i, k] * d[k, j])"))), 1);
  EXPECT_EQ(sums(factored(bulk("def f(a: f32[40], b: f32[40], c: f32[40]) = sum(a * b + b * c)"))), 1);
  std::string many = "a[i, k] * b[k, j]";
  for (int j = 0; j < 3000; ++j) many += " + c[i, k] * b[k, j]";
  const Program p = bulk(head + "40 => " + many + ")");
  EXPECT_EQ(sums(rewrite::factor_sums(p)), sums(p)) << "too many";
}

TEST(Contract, EmptyAxesAndScalarsStayRight) {
  for (const char* source : {"def f(a: f32[5], b: f32[5, 0]) = sum(for i: 5, j: 0 => a[i] * b[i, j])",
                             "def f(a: f32[0], b: f32[0, 3]) = sum(for i: 0, j: 3 => a[i] * b[i, j], axis=1)",
                             "def f(a: f32, b: f32[4]) = sum(a * b)"}) {
    factored(bulk(source));
  }
}

TEST(Contract, RandomProgramsKeepTheirValues) {
  for (uint64_t seed = 0; seed < 600; ++seed) {
    const test::RandomProgram rp = test::random_program(seed, {.differentiable_only = true});
    const Program p = rewrite::simplify(rewrite::vectorise(rp.program));
    expect_equal(p, rewrite::factor_sums(p), rp.inputs);
  }
}

}  // namespace factor_sums_test
}  // namespace spirograd
