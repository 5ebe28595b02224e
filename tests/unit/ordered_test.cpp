// Large arrays between kernels: which are stored, and with their axes in which order. Values agree with the interpreter.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "frontend/rewrite/passes.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "support/golden_plans.h"
#include "support/lowered.h"

namespace spirograd {
namespace ordered_test {

Program program(const std::string& text) {
  const Program p = text::instantiate(text::parse(text, "test.sg").value()).value();
  return rewrite::optimise_for_lowering(p, {.verify = true});
}

std::vector<Shape> stored(const Program& p, const Target& target = test::cpu_target()) {
  std::vector<Shape> out;
  for (const BufferDesc& b : lower::lower(p, target).buffers)
    if (b.role == Role::Scratch) out.push_back(b.type.shape);
  return out;
}

bool stores(const Program& p, const Shape& shape, const Target& target = test::cpu_target()) {
  const std::vector<Shape> all = stored(p, target);
  return std::find(all.begin(), all.end(), shape) != all.end();
}

// Products of all pairs of 2048 and 32,
const std::string kProducts = "{ let z = for i: 2048, j: 32, r: 8 => exp(sum(for c: 8 => w[r, j, c] * x[i, c]) * 0.1)\n";
// read along the 2048 for each of the 32.
const std::string kAlongFirst = "(for j: 32, r: 8, c: 8 => sum(for i: 2048 => z[i, j, r] * x[i, c]))";
const std::string kPairs = "def main(w: f32[8, 32, 8], x: f32[2048, 8]) -> f32[32, 8, 8] " + kProducts + kAlongFirst + "}";

TEST(Ordered, WhatIsReducedOverItsFirstAxisIsStoredWithItFurtherIn) {
  const Program p = program(kPairs);
  EXPECT_TRUE(stores(p, {32, 2048, 8}));
  EXPECT_FALSE(stores(p, {2048, 32, 8}));
  const auto inputs = test::sines(p, 0.07);
  EXPECT_TRUE(test::same_as_interpreter(p, lower::lower(p, test::cpu_target()), inputs, 1e-5));
}

TEST(Ordered, SmallArraysAreInACache) {
  std::string few = kPairs;
  for (size_t at; (at = few.find("2048")) != std::string::npos;) few.replace(at, 4, "500");
  EXPECT_TRUE(stores(program(few), {500, 32, 8}));
}

TEST(Ordered, FromAQuarterOfAMillionElementsOn) {
  const auto moved = [](const std::string& n) {
    std::string text =
        "def main(w: f32[8, 32, 8], x: f32[N, 8]) -> (f32[32, 8], f32[32, 8]) {\n"
        "  let z = for i: N, j: 32, r: 8 => exp(sum(for c: 8 => w[r, j, c] * x[i, c]) * 0.1)\n"
        "  (for j: 32, r: 8 => sum(for i: N => z[i, j, r]), for j: 32, r: 8 => max(for i: N => z[i, j, r])) }";
    for (size_t at; (at = text.find('N')) != std::string::npos;) text.replace(at, 1, n);
    const Program p = program(text);
    return stores(p, {32, std::stoll(n), 8});
  };
  EXPECT_TRUE(moved("1024"));
  EXPECT_FALSE(moved("1023"));
}

TEST(Ordered, NeighboursThatAreServedTogetherReadTheLastAxis) {
  EXPECT_TRUE(stores(program(kPairs), {2048, 32, 8}, test::gpu_target()));
}

TEST(Ordered, ResultsStayAsTheyAre) {
  const Program p = program("def main(w: f32[8, 32, 8], x: f32[2048, 8]) -> (f32[2048, 32, 8], f32[32, 8, 8]) " + kProducts +
                            "(z, " + kAlongFirst + ") }");
  EXPECT_FALSE(stores(p, {32, 2048, 8}));
}

// Twice as many elements are read the other way round.
TEST(Ordered, MostReadersDecide) {
  const Program p =
      program("def main(w: f32[8, 32, 8], x: f32[2048, 8], y: f32[32, 24]) -> (f32[2048, 8, 24], f32[32, 8, 8]) " +
              kProducts + "(for i: 2048, r: 8, c: 24 => sum(for j: 32 => z[i, j, r] * y[j, c]), " + kAlongFirst + ") }");
  EXPECT_TRUE(stores(p, {2048, 32, 8}));
}

// Points side by side share what the inner sums read, as they would in a kernel of their own.
TEST(Stored, SumsInsideOfSumsAreNotWherePointsShareWhatTheyRead) {
  const Program p = program(
      "def main(w: f32[48, 16, 20], x: f32[512, 20]) -> f32[512, 48] =\n"
      "  for i: 512, j: 48 => sum(for r: 16 => square(sum(for c: 20 => w[r, j, c] * x[i, c])))");
  EXPECT_TRUE(stored(p).empty());
  const auto inputs = test::sines(p, 0.07);
  EXPECT_TRUE(test::same_as_interpreter(p, lower::lower(p, test::cpu_target()), inputs, 1e-5));
}

TEST(Stored, MatricesAreWhereASumIsAllThatReadsThem) {
  EXPECT_TRUE(stores(program("def main(a: f32[320, 128], b: f32[128, 256]) -> f32 = sum(square(a @ b))"), {320, 256}));
}

// The mixture: products for all points, components and coordinates are summed as they are made, in its value as in its
// gradient.
Program mixture() {
  std::ifstream file(std::string(SPIROGRAD_SOURCE_DIR) + "/samples/gmm.sg");
  std::stringstream source;
  source << file.rdbuf();
  return text::instantiate(text::parse(source.str(), "gmm.sg").value(), "gmm",
                           text::ShapeVariables{{"N", 10000}, {"K", 50}, {"D", 20}})
      .value();
}

TEST(Stored, TheMixtureHasNoArrayOfAllItsProducts) {
  const Program gmm = mixture();
  const Program gradient = rewrite::optimise_for_lowering(value_and_grad(gmm, {"alpha", "mu", "q", "l"}).value(), {});
  for (const Target& t : {test::cpu_target(), test::lane_cpu()})
    for (const Program& p : {rewrite::optimise_for_lowering(gmm, {}), gradient})
      for (const Shape& s : stored(p, t)) {
        const bool panels = s.rank() == 3;  // a copy in whole vectors
        const bool parts = s.rank() == 6;   // sums over 50 points each, of the upper triangle in tiles
        EXPECT_LE(s.count(), parts ? 10000 / 50 * 50 * 240 : 10000 * (panels ? 64 : 50)) << to_string(s);
      }
}

// Its moments in tiles, and its quadratic forms: so much code that little more of it would be too much.
TEST(Stored, TheMixtureIsSubgroupsWork) {
  const Program gradient = rewrite::optimise_for_lowering(value_and_grad(mixture(), {"alpha", "mu", "q", "l"}).value(), {});
  int tiles = 0, forms = 0;
  for (const auto& lines : lower::lower(gradient, test::lane_cpu()).schedules) {
    const bool team = lines[0].how.find("team 8") != std::string::npos;
    if (lines[0].what.starts_with("sum f32[200,3,5,4,4,50]")) tiles += team ? 1 : 100;
    if (lines[0].what.starts_with("sub f32[10000,50]")) forms += team ? 1 : 100;
  }
  EXPECT_EQ(tiles, 1);
  EXPECT_EQ(forms, 1);
}

// Windows are gathered with their axes in front, from rows along the last one.
TEST(Ordered, NeighboursAreNeighboursInMemoryWhereInvocationsAreServedTogether) {
  const Program p = program(
      "def main(x: f32[4, 16, 64, 64]) -> (f32[4, 16, 62, 62], f32) {\n"
      "  let y = avg_pool(x, 3, stride=1)\n  (exp(y), sum(square(y))) }");
  EXPECT_TRUE(stores(p, {62, 64, 62}, test::gpu()));
  EXPECT_FALSE(stores(p, {62, 62, 64}, test::gpu()));
  EXPECT_TRUE(test::same_as_interpreter(p, lower::lower(p, test::gpu()), test::sines(p, 0.07), 1e-5));
}

TEST(Ordered, ArraysThatAreReadAsTheyLieStayAsTheyAre) {
  const Program p = program(
      "def main(x: f32[500, 300]) -> (f32[500], f32[300], f32) {\n"
      "  let y = exp(sin(x) * cos(x))\n  (sum(y, axis=1), max(y, axis=0), sum(square(y))) }");
  EXPECT_FALSE(stores(p, {300, 500}, test::gpu()));
}

}  // namespace ordered_test
}  // namespace spirograd
