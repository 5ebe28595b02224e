// Loops of the C++ surface: order, structure of the state, captured values.
#include <array>

#include "spirograd/build.h"
#include "spirograd/loops.h"
#include "spirograd/ops.h"
#include "tests/support/dsl_run.h"

namespace spirograd {
namespace dsl_loops_test {

using testing::eval;
using testing::Values;

TEST(DslLoops, FoldVisitsRowsInOrder) {
  const auto out =
      eval({f32({3})}, {{1, 2, 3}}, [](Array xs) { return fold([](Array s, Array x) { return 10 * s + x; }, 0.0f, xs); });
  EXPECT_EQ(out.type, f32());
  EXPECT_EQ(out.data, (Values{123}));
}

TEST(DslLoops, ScanHasOneRowMoreThanThereAreElements) {
  const auto out =
      eval({f32({3})}, {{1, 2, 3}}, [](Array xs) { return scan([](Array s, Array x) { return s + x; }, 5.0f, xs); });
  EXPECT_EQ(out.data, (Values{5, 6, 8, 11}));
}

TEST(DslLoops, MapAccumLeftAndRightKeepRowsInPlace) {
  const auto sums = [](Array s, Array x) { return std::pair(s + x, s); };
  const auto left = eval({f32({3})}, {{1, 2, 4}}, [&](Array xs) { return map_accum_l(sums, 0.0f, xs).second; });
  EXPECT_EQ(left.data, (Values{0, 1, 3}));
  const auto right = eval({f32({3})}, {{1, 2, 4}}, [&](Array xs) { return map_accum_r(sums, 0.0f, xs).second; });
  EXPECT_EQ(right.data, (Values{6, 4, 0}));
}

TEST(DslLoops, StateOfATupleKeepsItsStructure) {
  const auto out = eval({f32({4}), i32({4})}, {{3, 1, 4, 1}, {1, 2, 3, 4}}, [](Array xs, Array ks) {
    auto [state, seen] = map_accum_l(
        [](std::tuple<Array, Array> s, std::pair<Array, Array> e) {
          auto [largest, count] = s;
          return std::pair(std::tuple(max(largest, e.first), count + e.second), count);
        },
        std::tuple(0.0f, 0), std::pair(xs, ks));
    auto [largest, count] = state;
    return concat({reshape(cast(largest, DType::I32), {1}), reshape(count, {1}), seen});
  });
  EXPECT_EQ(out.data, (Values{4, 10, 0, 1, 3, 6}));
}

TEST(DslLoops, StateOfAVectorMayHaveAnyLength) {
  const auto out = eval({f32({2})}, {{1, 2}}, [](Array x) {
    const std::vector<Array> start = {x(0), x(1), constant(DType::F32, 3)};
    const std::vector<Array> last = fori(
        4,
        [](Index, std::vector<Array> s) {
          return std::vector<Array>{s[1], s[2], s[0]};
        },
        start);
    return stack(last);
  });
  EXPECT_EQ(out.data, (Values{2, 3, 1}));
}

TEST(DslLoops, ForiCountsFromZero) {
  const auto out = eval({}, {}, [] {
    return fori(
        4, [](Index i, Array s) { return 10 * s + i + 1; }, 0);
  });
  EXPECT_EQ(out.type, i32());
  EXPECT_EQ(out.data, (Values{1234}));
}

TEST(DslLoops, NumbersInTheStartTakeTheTypeWithWhichTheBodyAgrees) {
  // f64 beside f64: every digit is kept, also where the array is captured and the body has to run again.
  const auto beside =
      eval({f64({2})}, {{1, 1}}, [](Array xs) { return fold([](Array s, Array x) { return s * x; }, 0.1, xs); });
  EXPECT_EQ(beside.type, f64());
  EXPECT_EQ(beside.data, (Values{0.1}));
  const auto captured = eval({f64()}, {{1}}, [](Array x) {
    return fori(
        2, [&](Index, Array s) { return s * x; }, 0.1);
  });
  EXPECT_EQ(captured.type, f64());
  EXPECT_EQ(captured.data, (Values{0.1}));
  const auto whole = eval({f64()}, {{0.1}}, [](Array x) {
    return fori(
        1, [&](Index, Array s) { return s + x; }, 0);
  });
  EXPECT_EQ(whole.data, (Values{0.1}));
  // An outer loop whose body fails with f32 runs its inner loop again too.
  const auto nested = eval({f64()}, {{1}}, [](Array x) {
    return fori(
        2,
        [&](Index, Array s) {
          return s * fori(
                         2, [&](Index, Array t) { return t * x; }, 1.0);
        },
        0.1);
  });
  EXPECT_EQ(nested.data, (Values{0.1}));
  const auto unsigned_state = eval({u32()}, {{3}}, [](Array x) {
    return fori(
        1, [&](Index, Array s) { return s + x; }, 4);
  });
  EXPECT_EQ(unsigned_state.type, u32());
}

TEST(DslLoops, WhatWasTriedInVainIsNotTold) {
  int told = 0;
  on_error([&](const Error&) { ++told; });
  const Result<Program> good = trace("test", {{"x", f64()}}, [](Array x) {
    return fori(
        2, [&](Index, Array s) { return s * x; }, 0.1);
  });
  EXPECT_TRUE(good) << good.error().str();
  EXPECT_EQ(told, 0);
  const Result<Program> bad = trace("test", {{"x", f64({2})}}, [](Array x) {
    return fori(
        2, [&](Index, Array s) { return s * x; }, 0.1);
  });
  EXPECT_FALSE(bad);
  EXPECT_EQ(told, 1);
  on_error({});
}

TEST(DslLoops, NoStepsGiveTheStart) {
  EXPECT_EQ(eval({f32()}, {{7}},
                 [](Array x) {
                   return fori(
                       0, [](Index, Array s) { return s * 2; }, x);
                 })
                .data,
            (Values{7}));
  EXPECT_EQ(eval({f32({0})}, {{}}, [](Array xs) { return scan([](Array s, Array) { return s; }, 7.0f, xs); }).data,
            (Values{7}));
}

TEST(DslLoops, CapturedArraysBecomeInvariantOperands) {
  const Result<Program> p = trace("test", {{"w", f32({2, 2})}, {"v", f32({2})}}, [](Array w, Array v) {
    return fori(
        3, [&](Index, Array s) { return matmul(w, s); }, v);
  });
  const auto out = testing::run(p, {{1, 1, 1, 0}, {1, 0}});
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].data, (Values{3, 2}));
}

TEST(DslLoops, LoopInsideBuildSeesItsIndex) {
  const auto out = eval({f32({3})}, {{1, 2, 3}}, [](Array x) {
    return build(3, [&](Index i) {
      return fori(
          3, [&](Index j, Array s) { return s * x(i) + cast(i * j, DType::F32); }, 1.0f);
    });
  });
  EXPECT_EQ(out.data, (Values{1, 8 + 4, 27 + 12 - 2}));
}

TEST(DslLoops, BuildInsideALoopSeesStateAndCounter) {
  const auto out = eval({f32({3})}, {{1, 2, 3}}, [](Array x) {
    return fori(
        2, [&](Index t, Array s) { return build(3, [&](Index i) { return s(2 - i) + cast(t, DType::F32) * x(i); }); }, x);
  });
  EXPECT_EQ(out.data, (Values{2, 4, 6}));
}

TEST(DslLoops, LoopInsideALoopUpdatesBothStates) {
  const auto out = eval({i32()}, {{1}}, [](Array x) {
    return fori(
        3,
        [&](Index i, Array s) {
          return fori(
              2, [&](Index j, Array r) { return r + s * (i + j) + x; }, s);
        },
        1);
  });
  // s = 1: i=0: r = 1 + 0 + 1 = 2, r = 2 + 1 + 1 = 4.  s = 4: r = 4 + 4 + 1 = 9, 9 + 8 + 1 = 18.  s = 18: 18 + 36 + 1 = 55,
  // 55 + 54 + 1.
  EXPECT_EQ(out.data, (Values{110}));
}

TEST(DslLoops, OutputsMayBeANumber) {
  const auto out = eval({f32({2})}, {{1, 2}}, [](Array xs) {
    return map_accum_l([](Array s, Array x) { return std::pair(s * x, 2); }, 1.0f, xs).second;
  });
  EXPECT_EQ(out.type, i32({2}));
  EXPECT_EQ(out.data, (Values{2, 2}));
}

}  // namespace dsl_loops_test
}  // namespace spirograd
