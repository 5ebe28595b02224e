// Sums of sums in the order that keeps less; values stay the same over the reals.
#include "frontend/rewrite/exchange_sums.h"

#include <gtest/gtest.h>

#include <cmath>

#include "frontend/ir/traverse.h"
#include "frontend/rewrite/vectorise.h"
#include "spirograd/grad.h"
#include "support/golden_plans.h"
#include "support/lowered.h"
#include "support/text_programs.h"

namespace spirograd {
namespace exchange_sums_test {

using test::program;
using test::Values;

// Whether the pass changes the program; values before and after agree, and so do those of kernels.
bool changes(const Program& p) {
  const Program bulk = rewrite::simplify(rewrite::vectorise(p)), after = rewrite::exchange_sums(bulk);
  const std::vector<Values> inputs = test::sines(p, 0.7);
  const Values want = test::run(bulk, inputs), have = test::run(after, inputs);
  EXPECT_EQ(want.size(), have.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(want[i], have[i], 1e-9 * (1 + std::abs(want[i]))) << i;
  const Program lowered = rewrite::optimise_for_lowering(p, {.verify = true});
  for (const Target& t : {test::cpu_target(), Target{}})
    EXPECT_TRUE(test::same_as_interpreter(lowered, lower::lower(lowered, t), inputs, 1e-4));
  return text::print(after) != text::print(bulk);
}

bool changes(const std::string& source) { return changes(program(source)); }

TEST(ExchangeSums, ABatchIsSummedFirst) {
  const std::string source =
      "def f(a: f32[100,3], b: f32[100,4], c: f32[4,5]) = "
      "for m: 3, n: 5 => sum(for i: 100 => a[i, m] * sum(for k: 4 => b[i, k] * c[k, n]))";
  EXPECT_TRUE(changes(source));
  const Program after = rewrite::exchange_sums(rewrite::simplify(rewrite::vectorise(program(source))));
  EXPECT_NE(text::print(after).find("broadcast(b, [3, 100, 4]"), std::string::npos) << text::print(after);
}

TEST(ExchangeSums, FactorsOfEitherSumMayBeMany) {
  EXPECT_TRUE(
      changes("def f(a: f32[100,3], b: f32[100,4], c: f32[4,5], w: f32[100], s: f32) = "
              "for m: 3, n: 5 => sum(for i: 100 => -w[i] * a[i, m] * s * sum(for k: 4 => b[i, k] * w[i] * c[k, n] * 0.5))"));
  EXPECT_TRUE(
      changes("def f(b: f32[100,4], c: f32[4,5], w: f32[100]) = "
              "for n: 5 => sum(for i: 100 => w[i] * sum(for k: 4 => b[i, k] * c[k, n]))"));
  EXPECT_TRUE(
      changes("def f(b: f32[2,100,4], c: f32[2,4,6,30], w: f32[2,100]) = "
              "for h: 2, n: 30 => sum(for i: 100 => w[h, i] * sum(for k: 4, l: 6 => b[h, i, k] * c[h, k, l, n]))"))
      << "a sum over two axes";
}

// The gradient of squares of products: the products of each element of the batch are needed for their squares alone.
TEST(ExchangeSums, TheGradientOfAQuadraticFormKeepsNothingForEachElement) {
  const Program p = program(
      "def f(r: f32[4,16,16], mu: f32[4,16], x: f32[1000,16]) = sum(for i: 1000, j: 4 => "
      "exp(-sum(for a: 16 => square(sum(for c: 16 => r[j, a, c] * (x[i, c] - mu[j, c]))))))");
  const Program g = value_and_grad(p, {"r", "mu"}).value();
  EXPECT_TRUE(changes(g));
  const Program lowered = rewrite::optimise_for_lowering(g, {.verify = true});
  for (const Target& t : {test::cpu_target(), test::lane_cpu()})
    EXPECT_LT(lower::lower(lowered, t).scratch_bytes, 1000u * 4 * 16 * 4);
}

// Products of matrices in the order that computes least, unless what is in between is wanted as well.
TEST(ExchangeSums, ProductsOfMatrices) {
  const auto largest = [](const std::string& source) {
    const Program after = rewrite::exchange_sums(rewrite::simplify(rewrite::vectorise(program(source))));
    int64_t most = 0;
    std::vector<ir::NodeId> roots;
    for (const ProgramResult& r : after.results) roots.push_back({r.node});
    for (ir::NodeId id : ir::postorder(*after.graph, roots))
      if ((*after.graph)[id].op == ir::Op::Sum) most = std::max(most, (*after.graph)[id].type.shape.count());
    return most;
  };
  const std::string of = "def f(a: f32[20,30], b: f32[30,25], c: f32[25,28], v: f32[28]) = ";
  EXPECT_EQ(largest(of + "((a @ b) @ c) @ v"), 30);
  EXPECT_EQ(largest(of + "a @ (b @ (c @ v))"), 30);
  EXPECT_EQ(largest(of + "{ let m = a @ b\n (m, m @ (c @ v)) }"), 500);
  EXPECT_EQ(largest(of + "(a @ b) @ c"), 560) << "no order is twice as fast";
  EXPECT_TRUE(changes(of + "((a @ b) @ c) @ v"));
  EXPECT_FALSE(changes(of + "{ let m = a @ b\n (m, m @ (c @ v)) }"));
  const std::string large = "def f(a: f32[50,60], b: f32[60,55], v: f32[55], w: f32[50]) = { let m = a @ b\n ";
  EXPECT_EQ(largest(large + "(m @ v, w @ m) }"), 60) << "nobody needs the product";
  EXPECT_EQ(largest(large + "(m @ v, m) }"), 50 * 55);
}

// Of the gradient of a product of a matrix with a vector nothing is a product of matrices.
TEST(ExchangeSums, FactorsOfProductsOfVectorsLeave) {
  EXPECT_TRUE(
      changes("def f(b: f32[20,30], v: f32[30], r: f32[25]) = "
              "for i: 25, k: 20 => sum(for j: 30 => b[k, j] * (v[j] * r[i]))"));
  const Program g =
      value_and_grad(program("def f(a: f32[40,50], b: f32[50,60], v: f32[60]) = sum(square((a @ b) @ v))"), {"a", "b", "v"})
          .value();
  EXPECT_TRUE(changes(g));
  const Program after = rewrite::optimise_for_lowering(g, {.verify = true});
  for (uint32_t id = 1; id < after.graph->size(); ++id)
    EXPECT_LE((*after.graph)[ir::NodeId{id}].type.shape.rank(), 2) << text::print(after);
}

TEST(ExchangeSums, NothingElseChanges) {
  const auto same = [](const std::string& source) { EXPECT_FALSE(changes(source)) << source; };
  same(
      "def f(a: f32[10,30], b: f32[10,8], c: f32[8,40]) = "
      "for m: 30, n: 40 => sum(for i: 10 => a[i, m] * sum(for k: 8 => b[i, k] * c[k, n]))");  // the array would be larger
  same(
      "def f(a: f32[100,3], b: f32[100,90], c: f32[90,5]) = "
      "for m: 3, n: 5 => sum(for i: 100 => a[i, m] * sum(for k: 90 => b[i, k] * c[k, n]))");  // more work
  same(
      "def f(a: f32[100,3], b: f32[100,4,5]) = "
      "for m: 3, n: 5 => sum(for i: 100 => a[i, m] * sum(for k: 4 => b[i, k, n]))");  // nothing is left for the other
  same(
      "def f(a: f32[100,3], b: f32[100,4], c: f32[4,5]) = "
      "for m: 3, n: 5 => sum(for i: 100 => a[i, m] * exp(sum(for k: 4 => b[i, k] * c[k, n])))");  // no product
  same(
      "def f(a: f32[0,3], b: f32[0,4], c: f32[4,5]) = "
      "for m: 3, n: 5 => sum(for i: 0 => a[i, m] * sum(for k: 4 => b[i, k] * c[k, n]))");
}

}  // namespace exchange_sums_test
}  // namespace spirograd
