// Scatters and gathers by affine index arrays against the interpreter, on random maps and sizes; closed forms one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "frontend/ir/elementary.h"
#include "support/simplified.h"

namespace spirograd::test {
namespace scatter_rules_test {

using namespace ir;

using GraphPtr = std::shared_ptr<Graph>;

Expr add_constant(Expr e, int64_t c) { return e + full(*e.graph, e.type(), static_cast<double>(c)); }
Expr times(Expr e, int64_t c) { return e * full(*e.graph, e.type(), static_cast<double>(c)); }
Expr quot(Expr e, int64_t c) { return binary(Op::Quot, e, full(*e.graph, e.type(), static_cast<double>(c))); }
Expr rem(Expr e, int64_t c) { return binary(Op::Rem, e, full(*e.graph, e.type(), static_cast<double>(c))); }

struct Map {
  Shape m, extents, rest;
  std::vector<std::vector<int64_t>> a;  // [component][variable]
  std::vector<int64_t> c;
};

Expr component(Graph& g, const Map& map, size_t s) {
  Expr f = full(g, i32(map.m), static_cast<double>(map.c[s]));
  for (int t = 0; t < map.m.rank(); ++t)
    if (map.a[s][static_cast<size_t>(t)] != 0) f = f + times(iota(g, map.m, t), map.a[s][static_cast<size_t>(t)]);
  return f;
}

std::vector<Expr> index_of(Graph& g, const Map& map) {
  std::vector<Expr> index;
  for (size_t s = 0; s < map.c.size(); ++s) index.push_back(component(g, map, s));
  return index;
}

Program scatter_program(const Map& map) {
  const auto g = std::make_shared<Graph>();
  const Type t = f32(map.m + map.rest);
  return program_of(g, {t}, {scatter(param(*g, 0, t), index_of(*g, map), map.extents)});
}
Program gather_program(const Map& map) {
  const auto g = std::make_shared<Graph>();
  const Type t = f32(map.extents + map.rest);
  return program_of(g, {t}, {gather(param(*g, 0, t), index_of(*g, map))});
}

Map random_map(uint32_t seed) {
  std::mt19937 random(seed);
  const auto pick = [&](int lo, int hi) { return lo + static_cast<int>(random() % static_cast<uint32_t>(hi - lo + 1)); };
  Map map;
  const int q = pick(1, 3), r = pick(1, 2);
  for (int t = 0; t < q; ++t) map.m.push_back(pick(0, 9) == 0 ? 0 : pick(1, 5));
  for (int s = 0; s < r; ++s) {
    map.extents.push_back(pick(0, 9) == 0 ? 0 : pick(1, 9));
    map.c.push_back(pick(-3, 4));
    map.a.emplace_back();
    for (int t = 0; t < q; ++t) map.a.back().push_back(pick(0, 2) == 0 ? 0 : pick(-4, 4));
  }
  if (pick(0, 1) == 1) map.rest.push_back(pick(0, 3));
  return map;
}

std::string print(const Map& map) {
  std::string out = to_string(map.m) + " -> " + to_string(map.extents);
  for (size_t s = 0; s < map.c.size(); ++s) {
    out += "; " + std::to_string(map.c[s]);
    for (int64_t a : map.a[s]) out += " " + std::to_string(a);
  }
  return out;
}

TEST(ScatterRules, RandomAffineMapsKeepTheirValues) {
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    const Map map = random_map(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + print(map));
    checked_simplify(scatter_program(map), seed);
    checked_simplify(gather_program(map), seed);
    if (HasFailure()) return;
  }
}

// One variable is injective or constant: nothing is summed, so no price is too high.
TEST(ScatterRules, OneVariableNeverNeedsAScatter) {
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    const Map map = random_map(seed);
    if (map.m.rank() != 1) continue;
    SCOPED_TRACE(print(map));
    EXPECT_EQ(count_ops(rewrite::simplify(scatter_program(map)), Op::Scatter), 0);
  }
}

// Dense maps (each target is hit about as often as there are free positions) are cheaper as sums.
TEST(ScatterRules, TransposedConvolutionsAreSums) {
  for (int64_t stride = 1; stride <= 4; ++stride)
    for (int64_t n = 1; n <= 6; ++n)
      for (int64_t k = 1; k <= 5; ++k)
        for (int64_t pad = 0; pad <= 2; ++pad) {
          const Map map{
              {n, k}, {stride * (n - 1) + k - 2 * pad > 0 ? stride * (n - 1) + k - 2 * pad : 1}, {2}, {{stride, 1}}, {-pad}};
          SCOPED_TRACE(print(map));
          const Program s = checked_simplify(scatter_program(map));
          EXPECT_EQ(count_ops(s, Op::Scatter), 0);
        }
}

TEST(ScatterRules, TwoDimensionalConvolutionTransposeHasNoScatter) {
  const Map map{{5, 4, 3, 2}, {7, 5}, {}, {{1, 0, 1, 0}, {0, 1, 0, 1}}, {0, 0}};
  EXPECT_EQ(count_ops(checked_simplify(scatter_program(map)), Op::Scatter), 0);
}

void expect_no_scatter(const GraphPtr& g, Type updates, const std::vector<Expr>& index, Shape extents) {
  const Program p = program_of(g, {updates}, {scatter(param(*g, 0, updates), index, extents)});
  const Program s = checked_simplify(p);
  EXPECT_EQ(count_ops(s, Op::Scatter), 0);
  EXPECT_EQ(count_ops(s, Op::Gather), 0) << "a closed form exists";
  // The adjoint has one as well.
  const Type table = f32(extents + updates.shape.slice(index[0].rank(), updates.shape.rank()));
  EXPECT_EQ(count_ops(checked_simplify(program_of(g, {table}, {gather(param(*g, 0, table), index)})), Op::Scatter), 0);
}

TEST(ScatterRules, ShiftIsAWindow) {
  const auto g = std::make_shared<Graph>();
  expect_no_scatter(g, f32({5, 2}), {add_constant(iota(*g, {5}, 0), -2)}, {4});
}
TEST(ScatterRules, FallingIndexIsAReverse) {
  const auto g = std::make_shared<Graph>();
  expect_no_scatter(g, f32({5}), {add_constant(-iota(*g, {5}, 0), 6)}, {6});
}
TEST(ScatterRules, StridesAreDilations) {
  const auto g = std::make_shared<Graph>();
  expect_no_scatter(g, f32({5, 2}), {add_constant(times(iota(*g, {5}, 0), 3), 1)}, {11});
}
TEST(ScatterRules, QuotientIsASegmentedSum) {
  const auto g = std::make_shared<Graph>();
  for (int64_t n : {1, 4, 7, 9}) expect_no_scatter(g, f32({n, 2}), {quot(iota(*g, {n}, 0), 3)}, {2});
}
TEST(ScatterRules, RemainderIsASumOverBlocks) {
  const auto g = std::make_shared<Graph>();
  for (int64_t n : {1, 4, 7, 9}) expect_no_scatter(g, f32({n}), {rem(iota(*g, {n}, 0), 3)}, {3});
}
TEST(ScatterRules, QuotientAndRemainderTogetherAreAReshape) {
  const auto g = std::make_shared<Graph>();
  const Expr i = iota(*g, {12}, 0);
  expect_no_scatter(g, f32({12}), {quot(i, 4), rem(i, 4)}, {3, 4});
}
TEST(ScatterRules, UnusedVariableIsSummed) {
  const auto g = std::make_shared<Graph>();
  expect_no_scatter(g, f32({3, 4, 2}), {iota(*g, {3, 4}, 1)}, {4});
}
TEST(ScatterRules, PermutedVariablesAreATranspose) {
  const auto g = std::make_shared<Graph>();
  expect_no_scatter(g, f32({3, 4}), {iota(*g, {3, 4}, 1), iota(*g, {3, 4}, 0)}, {4, 3});
}
TEST(ScatterRules, MixedRadixIndexIsAReshape) {
  const auto g = std::make_shared<Graph>();
  expect_no_scatter(g, f32({3, 4}), {times(iota(*g, {3, 4}, 0), 4) + iota(*g, {3, 4}, 1)}, {12});
  expect_no_scatter(g, f32({3, 2}), {add_constant(times(iota(*g, {3, 2}, 0), 4) + iota(*g, {3, 2}, 1), 1)}, {12});
}
TEST(ScatterRules, ConstantIndexIsPadding) {
  const auto g = std::make_shared<Graph>();
  expect_no_scatter(g, f32({3}), {scalar(*g, DType::I32, 1)}, {4});
  expect_no_scatter(g, f32({3}), {scalar(*g, DType::I32, 4)}, {4});
}
TEST(ScatterRules, DiagonalIsAMask) {
  const auto g = std::make_shared<Graph>();
  const Expr i = iota(*g, {4}, 0);
  const Program s =
      checked_simplify(program_of(g, {f32({4, 2})}, {scatter(param(*g, 0, f32({4, 2})), std::vector{i, i}, {4, 5})}));
  EXPECT_EQ(count_ops(s, Op::Scatter), 0);
  EXPECT_EQ(count_ops(s, Op::Gather), 0);
}

TEST(ScatterRules, RunTimeTableStaysAndItsIdentityComponentMovesToTheRows) {
  const auto g = std::make_shared<Graph>();
  const Expr table = param(*g, 1, i32({4}));
  const Expr index[] = {iota(*g, {3, 4}, 0), broadcast(table, {3, 4}, {1})};
  const Program s =
      checked_simplify(program_of(g, {f32({3, 4}), i32({4})}, {scatter(param(*g, 0, f32({3, 4})), index, {3, 5})}));
  ASSERT_EQ(count_ops(s, Op::Scatter), 1);
  for (NodeId id : postorder(*s.graph, roots_of(s)))
    if ((*s.graph)[id].op == Op::Scatter) {
      EXPECT_EQ((*s.graph)[id].in.size(), 2u) << "one component is left";
    }
}

TEST(ScatterRules, RunTimeIndexPerRowKeepsTheRow) {
  const auto g = std::make_shared<Graph>();
  const Expr index[] = {iota(*g, {3, 4}, 0), param(*g, 1, i32({3, 4}))};
  const Program s =
      checked_simplify(program_of(g, {f32({3, 4}), i32({3, 4})}, {scatter(param(*g, 0, f32({3, 4})), index, {3, 5})}));
  EXPECT_EQ(count_ops(s, Op::Scatter), 1);
}

TEST(ScatterRules, ConstantInjectiveTableBecomesAGather) {
  const auto g = std::make_shared<Graph>();
  const Expr once[] = {constant(*g, i32({4}), {3, 0, 7, 2})};
  const Type t = f32({4, 2});
  EXPECT_EQ(count_ops(checked_simplify(program_of(g, {t}, {scatter(param(*g, 0, t), once, {5})})), Op::Scatter), 0);
  const Expr twice[] = {constant(*g, i32({4}), {3, 0, 3, 2})};
  EXPECT_EQ(count_ops(checked_simplify(program_of(g, {t}, {scatter(param(*g, 0, t), twice, {5})})), Op::Scatter), 1);
}

// What is written by a known index that goes up or down or stays for long, as the adjoint of a border that repeats its last
// element, mirrors, or lies beyond the array.
TEST(ScatterRules, LongRunsOfAKnownIndexAreSlices) {
  using Index = std::function<int64_t(int64_t)>;
  constexpr int64_t n = 40;
  const auto scatters = [](const Index& index, int64_t extent, bool rows = true) {
    const auto g = std::make_shared<Graph>();
    std::vector<double> table;
    for (int64_t k = 0; k < n; ++k) table.push_back(static_cast<double>(index(k)));
    const Type t = f32(rows ? Shape{n, 3} : Shape{n});
    const Expr at[] = {constant(*g, i32({n}), table)};
    return count_ops(checked_simplify(program_of(g, {t}, {scatter(param(*g, 0, t), at, {extent})})), Op::Scatter);
  };
  const Index up = [](int64_t k) { return std::min<int64_t>(k + 2, 39); };
  EXPECT_EQ(scatters(up, n), 0);
  EXPECT_EQ(scatters(up, n, false), 0) << "of a vector";
  EXPECT_EQ(scatters([](int64_t k) { return std::max<int64_t>(k - 1, 0); }, n), 0);
  EXPECT_EQ(scatters([](int64_t k) { return std::abs(k - 3); }, n), 0) << "a mirror";
  EXPECT_EQ(scatters([](int64_t k) { return std::min<int64_t>(k, 79 - k) - 5; }, 20), 0) << "beyond both ends";
  EXPECT_EQ(scatters([](int64_t k) { return std::clamp<int64_t>(k - 5, 0, 29); }, 30), 0) << "at both ends";
  EXPECT_EQ(scatters([](int64_t k) { return k < 20 ? -1 : 7; }, 9), 0) << "nowhere, and at one place";
  EXPECT_EQ(scatters([](int64_t k) { return k % 8; }, 8), 1) << "more slices than a few";
  EXPECT_EQ(scatters([](int64_t k) { return k < 36 ? k : (k * k) % 40; }, n), 1) << "more than one at the end";
}

TEST(ScatterRules, SumOverTargetAxisDropsOnlyWhatIsOutside) {
  const auto g = std::make_shared<Graph>();
  const Type t = f32({6}), table = i32({6});
  const Expr index[] = {param(*g, 1, table), param(*g, 2, table)};
  const Expr s = scatter(param(*g, 0, t), index, {4, 5});
  const Program both = checked_simplify(program_of(g, {t, table, table}, {sum_all(s)}));
  EXPECT_EQ(count_ops(both, Op::Scatter), 0);
  for (int axis = 0; axis < 2; ++axis) checked_simplify(program_of(g, {t, table, table}, {sum(s, axis)}));
}

TEST(ScatterRules, TwoWayIndexBecomesTwoMaskedSums) {
  const auto g = std::make_shared<Graph>();
  const Type t = f32({6}), b = boolean({6});
  const Expr zero = zeros(*g, i32({6})), one = full(*g, i32({6}), 1);
  const Expr index[] = {select(param(*g, 1, b), zero, one)};
  const Expr i[] = {iota(*g, {6}, 0), index[0]};
  EXPECT_EQ(count_ops(checked_simplify(program_of(g, {t, b}, {scatter(param(*g, 0, t), index, {2})})), Op::Scatter), 0);
  EXPECT_EQ(count_ops(checked_simplify(program_of(g, {t, b}, {scatter(param(*g, 0, t), i, {6, 2})})), Op::Scatter), 0);
}

TEST(ScatterRules, ZerosStayZeros) {
  const auto g = std::make_shared<Graph>();
  const Expr index[] = {param(*g, 0, i32({3}))};
  EXPECT_EQ(
      count_ops(checked_simplify(program_of(g, {i32({3})}, {scatter(zeros(*g, f32({3, 2})), index, {4})})), Op::Scatter), 0);
  const Expr empty[] = {param(*g, 0, i32({0}))};
  EXPECT_EQ(
      count_ops(checked_simplify(program_of(g, {i32({0})}, {scatter(zeros(*g, f32({0, 2})), empty, {4})})), Op::Scatter), 0);
}

TEST(GatherRules, AxesOfExtentZeroGiveZeros) {
  const auto g = std::make_shared<Graph>();
  const Expr index[] = {param(*g, 1, i32({3}))};
  EXPECT_EQ(count_ops(checked_simplify(program_of(g, {f32({0, 2}), i32({3})}, {gather(param(*g, 0, f32({0, 2})), index)})),
                      Op::Gather),
            0);
}

TEST(GatherRules, ClosedFormsNeedNoGather) {
  const auto g = std::make_shared<Graph>();
  const Expr x = param(*g, 0, f32({4, 3}));
  const std::vector<std::vector<Expr>> cases = {
      {iota(*g, {4}, 0)},
      {add_constant(iota(*g, {6}, 0), -1)},
      {add_constant(-iota(*g, {6}, 0), 4)},
      {iota(*g, {2, 4}, 1)},
      {iota(*g, {3, 4}, 1), iota(*g, {3, 4}, 0)},
      {quot(iota(*g, {9}, 0), 2)},
      {rem(iota(*g, {9}, 0), 4)},
      {scalar(*g, DType::I32, 2)},
      {full(*g, i32({2, 2}), 1), iota(*g, {2, 2}, 0)},
  };
  for (const auto& index : cases) {
    const Program s = checked_simplify(program_of(g, {f32({4, 3})}, {gather(x, index)}));
    EXPECT_EQ(count_ops(s, Op::Gather), 0);
  }
}

TEST(GatherRules, GatherOfGatherIsOneGatherOnlyWhenInRange) {
  const auto g = std::make_shared<Graph>();
  const Expr x = param(*g, 0, f32({5, 2})), t = param(*g, 1, i32({4}));
  const Expr inner = gather(x, std::vector{t});
  const Expr inside[] = {rem(quot(iota(*g, {9}, 0), 2), 4)}, hostile[] = {param(*g, 2, i32({6}))};
  const std::vector<Type> types = {f32({5, 2}), i32({4}), i32({6})};
  checked_simplify(program_of(g, types, {gather(inner, inside)}));
  const Program s = checked_simplify(program_of(g, types, {gather(inner, hostile)}));
  EXPECT_EQ(count_ops(s, Op::Gather), 2);
}

// Of one row of a gather only the places of that row are read.
TEST(GatherRules, ARowOfAGatherReadsItsPlacesAlone) {
  const auto g = std::make_shared<Graph>();
  const Expr x = param(*g, 0, f32({5})), t = param(*g, 1, i32({3, 4})), place = param(*g, 2, i32({}));
  const Expr row = clamp(place, scalar(*g, DType::I32, 0), scalar(*g, DType::I32, 2));
  const Expr inner[] = {t}, outer[] = {row};
  const Program s = checked_simplify(program_of(g, {f32({5}), i32({3, 4}), i32({})}, {gather(gather(x, inner), outer)}));
  EXPECT_EQ(count_ops(s, Op::Gather), 2) << "of the places, and of what is there";
  for (NodeId id : postorder(*s.graph, roots_of(s))) {
    const Node& n = (*s.graph)[id];
    if (n.op == Op::Gather && n.type.dtype == DType::F32) {
      EXPECT_EQ(n.type.shape, Shape{4});
    }
  }
}

TEST(GatherRules, ChoiceBetweenTwoPartsIsASelect) {
  const auto g = std::make_shared<Graph>();
  const Expr u = param(*g, 0, f32({4})), v = param(*g, 1, f32({4})), c = param(*g, 2, boolean({4}));
  const Expr parts[] = {u, v};
  const Expr choice = select(c, zeros(*g, i32({4})), full(*g, i32({4}), 1));
  const Expr index[] = {iota(*g, {4}, 0), choice};
  for (int axis : {0, 1}) {
    Expr table = stack(parts, axis);
    if (axis == 0) table = transpose(table, {1, 0});
    const Program s = checked_simplify(program_of(g, {f32({4}), f32({4}), boolean({4})}, {gather(table, index)}));
    EXPECT_EQ(count_ops(s, Op::Gather), 0);
    EXPECT_EQ(count_ops(s, Op::Select), 1);
  }
}

TEST(ScatterRules, HugeStridesMakeNoHugeArrays) {
  for (int64_t stride : {1000, 1 << 30, -(1 << 30)}) {
    const Program s = checked_simplify(scatter_program({{2}, {3}, {}, {{stride}}, {1}}));
    EXPECT_EQ(count_ops(s, Op::Scatter), 0);
    for (NodeId id : postorder(*s.graph, roots_of(s))) EXPECT_LE((*s.graph)[id].type.shape.count(), 16);
  }
}

// Where 10^9 i - 10^9 meets its target is more than i32 can subtract, so whether a source arrives there is not asked there.
TEST(ScatterRules, WhatI32CannotCompareStaysAScatter) {
  const Map far{{3, 150, 151}, {3, 2, 301}, {}, {{1, 0, 0}, {1000000000, 0, 0}, {0, 1, 1}}, {0, -1000000000, 0}};
  const Program s = checked_simplify(scatter_program(far));
  EXPECT_EQ(count_ops(s, Op::Scatter), 1);
}

TEST(GatherRules, LargeCoefficientsNeverWrapIntoRange) {
  const auto g = std::make_shared<Graph>();
  // 65536 * 65536 wraps to 0 in i32: element 65536 of the index would be in range again.
  const Expr i = iota(*g, {3}, 0);
  const Expr wide = times(times(i, 65536), 65536);
  checked_simplify(program_of(g, {f32({4})}, {gather(param(*g, 0, f32({4})), std::vector{wide})}));
  checked_simplify(program_of(g, {f32({3})}, {scatter(param(*g, 0, f32({3})), std::vector{wide}, {4})}));
}

// The strict lower triangle, column by column: the index is quadratic and repeats itself above the diagonal, where updates
// are zero.
TEST(ScatterRules, TriangleUnpackedByIndexNeedsNoScatter) {
  auto g = std::make_shared<Graph>();
  const Shape square = {6, 6};
  const Expr row = iota(*g, square, 0), column = iota(*g, square, 1);
  const auto number = [&](double v) { return full(*g, i32(square), v); };
  const Expr below = binary(Op::Lt, column, row);
  const Expr place =
      column * number(6) - binary(Op::Quot, column * (column + number(1)), number(2)) + (row - column - number(1));
  const Expr x = param(*g, 0, f32({6, 6, 2}));
  const Expr mask = broadcast(below, x.shape(), {0, 1});
  const Expr updates = select(mask, x, zeros(*g, x.type()));
  const Program p = checked_simplify(program_of(g, {x.type()}, {scatter(updates, std::vector{place}, {15})}));
  EXPECT_EQ(count_ops(p, Op::Scatter), 0);
}

}  // namespace scatter_rules_test
}  // namespace spirograd::test
