// How large kernels get, by estimate: what is computed for several places counts for each, and is told apart from what is
// computed for one place in several ways.
#include <gtest/gtest.h>

#include "frontend/rewrite/simplify.h"
#include "frontend/rewrite/vectorise.h"
#include "spirograd/text.h"
#include "spirv/lower/extent.h"
#include "spirv/lower/place_keys.h"

namespace spirograd::lower {
namespace extent_test {

Program traced(const std::string& source) { return text::instantiate(text::parse(source, "test.sg").value()).value(); }

Extent extent(const std::string& source) {
  const Program p = rewrite::simplify(rewrite::vectorise(traced(source)));
  return ExtentWalk(*p.graph, {})({p.results[0].node});
}

// Where the first operand of the first operand .. of the result is read.
PlaceKeys keys(const std::string& source) {
  const Program p = rewrite::vectorise(traced(source));
  ir::NodeId at{p.results[0].node};
  PlaceKeys k = keys_of_point((*p.graph)[at].type.shape);
  for (; (*p.graph)[at].op != ir::Op::Param; at = (*p.graph)[at].in[0]) k = operand_keys(*p.graph, (*p.graph)[at], 0, k, 0);
  return k;
}
PlaceKeys point(const Shape& s) { return keys_of_point(s); }

// Sums of what stands left and right, again and again: 2^n ways to n + 1 places.
std::string spread(int times) {
  std::string body = "x";
  for (int i = 0; i < times; ++i) body = "s(" + body + ")";
  return "def f(x: f32[1000]) -> f32[1000] {\n  let s = fn(y) => for i: 1000 => sin(y[i - 1]) + cos(y[i + 1])\n  " + body +
         "\n}";
}

TEST(Extent, CountsWhatIsComputedAtEachPlace) {
  const Extent one = extent(spread(1)), two = extent(spread(2)), five = extent(spread(5));
  EXPECT_GE(two.written_out, 5 * one.code / 2) << "the inner one at two places, its operand at three";
  EXPECT_LE(two.written_out, 3 * one.code);
  EXPECT_GE(five.written_out, 14 * one.code) << "1 + 2 + 3 + 4 + 5";
  EXPECT_LE(five.written_out, 15 * one.code);
  EXPECT_LE(five.code, 5 * one.code);
}

TEST(Extent, CountsOnceWhatIsComputedAtOnePlace) {
  const int64_t once = extent("def f(x: f32[10]) = sin(x)").code;
  const Extent in_two_ways = extent("def f(x: f32[10]) = sin(x) * (sin(x) + 1.0)");
  EXPECT_EQ(in_two_ways.code, once + 4) << "two operations, a constant and its spread";
  EXPECT_EQ(in_two_ways.written_out, in_two_ways.code);
  const Extent at_two_places = extent("def f(x: f32[10]) = for i: 8 => sin(x[i]) + sin(x[i + 2])");
  EXPECT_EQ(at_two_places.leaves.size(), 1u);
  EXPECT_GE(at_two_places.written_out, 2 * once);
}

TEST(Extent, IsTheSameForANumberWhereverItIsAskedFor) {
  const int64_t one = extent("def f(x: f32[9], a: f32) = x * tanh(a)").written_out,
                two = extent("def f(x: f32[9], a: f32) = for i: 8 => x[i] * tanh(a) + x[i + 1] * tanh(a)").written_out;
  EXPECT_LT(two, one + 15) << "tanh once";
}

TEST(Extent, EndsWhereTheCodeIsAboveTheLimit) {
  const Program p = rewrite::simplify(rewrite::vectorise(traced(spread(40))));
  const Extent e = ExtentWalk(*p.graph, {})({p.results[0].node}, 500);
  EXPECT_GT(e.written_out, 500);
  EXPECT_LT(e.written_out, 600);
}

TEST(PlaceKeys, KnowWhatShiftsAndReversalsMakeOfACoordinate) {
  EXPECT_EQ(keys("def f(x: f32[9]) = window(window(x, 2, 6), 1, 4)"), keys("def f(x: f32[9]) = window(x, 3, 4)"));
  EXPECT_NE(keys("def f(x: f32[9]) = window(x, 2, 4)"), keys("def f(x: f32[9]) = window(x, 3, 4)"));
  EXPECT_EQ(keys("def f(x: f32[9]) = window(x, 0, 9)"), point({9}));
  EXPECT_EQ(keys("def f(x: f32[9]) = reverse(reverse(x))"), point({9}));
  EXPECT_EQ(keys("def f(x: f32[9]) = reverse(window(reverse(x), 2, 4))"), keys("def f(x: f32[9]) = window(x, 3, 4)"));
  EXPECT_NE(keys("def f(x: f32[9]) = reverse(x)"), point({9}));
}

TEST(PlaceKeys, FollowAxes) {
  EXPECT_EQ(keys("def f(x: f32[4, 5]) = transpose(transpose(x))"), point({4, 5}));
  EXPECT_NE(keys("def f(x: f32[5, 5]) = transpose(x)"), point({5, 5}));
  EXPECT_EQ(keys("def f(x: f32[4, 5]) = reshape(window(reshape(x, [4, 1, 5]), 1, 2), [2, 5])"),
            keys("def f(x: f32[4, 5]) = window(x, 1, 2)"));
  EXPECT_NE(keys("def f(x: f32[4, 6]) = reshape(x, [24])"), keys("def f(x: f32[6, 4]) = reshape(x, [24])"));
  EXPECT_NE(keys("def f(x: f32[24]) = reshape(x, [4, 6])"), keys("def f(x: f32[24]) = reshape(x, [6, 4])"));
  EXPECT_EQ(keys("def f(x: f32[1, 5]) = window(x, 0, 1)"), point({1, 5})) << "an axis of one element has one place";
}

TEST(PlaceKeys, TellReadsByIndexApartByTheirIndex) {
  const std::string by_k = "def f(x: f32[9], k: i32[4]) = x[k]";
  EXPECT_EQ(keys("def f(x: f32[9], k: i32[4]) = window(window(x[k], 1, 3), 1, 2)"),
            keys("def f(x: f32[9], k: i32[4]) = window(x[k], 2, 2)"));
  EXPECT_NE(keys(by_k), keys("def f(x: f32[9], k: i32[4]) = window(x, 0, 4)"));
  EXPECT_NE(keys("def f(x: f32[9], k: i32[4]) = window(x[k], 1, 2)"),
            keys("def f(x: f32[9], k: i32[4]) = window(x[k], 2, 2)"));
}

}  // namespace extent_test
}  // namespace spirograd::lower
