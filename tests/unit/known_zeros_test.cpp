// Elements that are 0 by where they are, and what is left of sums over them.
#include "spirv/lower/known_zeros.h"

#include <gtest/gtest.h>

#include "frontend/ir/algebra.h"
#include "frontend/rewrite/simplify.h"
#include "frontend/rewrite/vectorise.h"
#include "spirograd/text.h"

namespace spirograd::lower {
namespace known_zeros_test {

Program simple(const std::string& source) {
  return rewrite::simplify(rewrite::vectorise(text::instantiate(text::parse(source, "test.sg").value()).value()));
}

// Of the result of a program, by number.
bool is_zero(const std::string& source, const KnownPlace& at, size_t result = 0) {
  const Program p = simple(source);
  return is_known_zero(*p.graph, {p.results[result].node}, at);
}

double left(const std::string& source) {
  const Program p = simple(source);
  Accesses found = accesses(*p.graph, {p.results[0].node}, {});
  count_terms_left(*p.graph, found);
  return found.reductions.at(0).left;
}

TEST(KnownZeros, AreThoseThatConditionsOnCoordinatesChoose) {
  const std::string lower = "def f(x: f32[7, 5, 5]) = for j: 7, r: 5, c: 5 => where(c <= r, x[j, r, c], 0.0)";
  EXPECT_TRUE(is_zero(lower, {{}, 1, 2})) << "whatever the first coordinate is";
  EXPECT_FALSE(is_zero(lower, {{}, 2, 2}));
  EXPECT_FALSE(is_zero(lower, {{}, {}, 2})) << "the row is not known";
  EXPECT_FALSE(is_zero("def f(x: f32[5, 5]) = for r: 5, c: 5 => where(c <= r, x[r, c], 0.5)", {1, 2}));
  EXPECT_FALSE(is_zero("def f(x: f32[5, 5]) = for r: 5, c: 5 => where(c <= r, x[r, c], -0.0)", {1, 2})) << "has a sign";
  EXPECT_FALSE(is_zero("def f(x: f32[5, 5]) = for r: 5, c: 5 => where(x[c, r] <= 1, x[r, c], 0.0)", {1, 2}));
  const std::string band =
      "def f(x: f32[9]) = for r: 9, c: 9 => where(abs(r - c) < 2 and r + c != 3, x[r], where(r == 8, x[c], 0.0))";
  EXPECT_TRUE(is_zero(band, {1, 2}));
  EXPECT_TRUE(is_zero(band, {4, 6}));
  EXPECT_FALSE(is_zero(band, {4, 5}));
  EXPECT_FALSE(is_zero(band, {8, 0}));
}

TEST(KnownZeros, AreFoundThroughLayouts) {
  ir::Graph g;
  const ir::Expr x = ir::param(g, 0, f32({6, 4})), padded = ir::window(x, 0, -1, 9);  // rows 0, 7 and 8 are zeros
  const auto zero = [&](ir::Expr e, const KnownPlace& at) { return is_known_zero(g, e.id, at); };
  EXPECT_TRUE(zero(padded, {0, {}}));
  EXPECT_FALSE(zero(padded, {1, {}}));
  EXPECT_TRUE(zero(padded, {7, {}}));
  EXPECT_FALSE(zero(padded, {{}, 0}));
  EXPECT_TRUE(zero(ir::transpose(padded, {1, 0}), {{}, 8}));
  EXPECT_TRUE(zero(ir::reshape(padded, {3, 3, 4}), {2, 2, {}}));
  EXPECT_FALSE(zero(ir::reshape(padded, {3, 3, 4}), {2, 0, {}}));
  EXPECT_TRUE(zero(ir::reshape(padded, {36}), {3}));
  EXPECT_FALSE(zero(ir::reshape(padded, {36}), {{}}));
  EXPECT_TRUE(zero(ir::reshape(padded, {1, 9, 1, 4}), {{}, 0, {}, {}})) << "axes of one element need not be known";
  EXPECT_TRUE(chooses_by_place(g, ir::transpose(padded, {1, 0}).id));
  EXPECT_FALSE(chooses_by_place(g, ir::transpose(x, {1, 0}).id));
}

TEST(KnownZeros, AreLeftOutOfTheTermsOfSumsInsideOfSums) {
  const auto form = [](const std::string& root) {
    return "def f(a: f32[6, 20, 20], x: f32[9, 20]) {\n  let root = for j: 6, r: 20, c: 20 => " + root +
           "\n  for i: 9, j: 6 => sum(square(root[j] @ x[i]))\n}";
  };
  EXPECT_EQ(left(form("where(c <= r, a[j, r, c], 0.0)")), 210.0 / 400);
  EXPECT_EQ(left(form("where(c == r, a[j, r, c], 0.0)")), 20.0 / 400);
  EXPECT_EQ(left(form("where(c == j, a[j, r, c], 0.0)")), 1) << "j is not known";
  EXPECT_EQ(left(form("sin(a[j, r, c])")), 1);
  EXPECT_EQ(left("def f(a: f32[8, 8], x: f32[9, 8]) = x @ (for r: 8, c: 8 => where(c <= r, a[r, c], 0.0))"), 1)
      << "no sum around";
}

}  // namespace known_zeros_test
}  // namespace spirograd::lower
