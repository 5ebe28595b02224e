// `while` without a bound: inferred where the condition counts, and refused with the reason where it does not.
#include "frontend/ir/counted.h"

#include <gtest/gtest.h>

#include "frontend/ir/loop.h"
#include "frontend/ir/traverse.h"
#include "spirograd/grad.h"
#include "spirograd/loops.h"
#include "spirograd/ops.h"
#include "spirograd/trace.h"
#include "support/text_programs.h"

namespace spirograd {
namespace counted_test {

using test::program;
using test::run;
using test::Values;

std::vector<int64_t> lengths(const Program& p) {
  std::vector<ir::NodeId> roots;
  for (const ProgramResult& r : p.results) roots.push_back({r.node});
  std::vector<int64_t> out;
  for (ir::NodeId id : ir::postorder(*p.graph, roots))
    if ((*p.graph)[id].op == ir::Op::MapAccum) out.push_back(ir::loop_parts(*p.graph, (*p.graph)[id]).length);
  return out;
}

// A number that starts at `start`, while `go`, becomes `next`.
std::string counting(const std::string& start, const std::string& go, const std::string& next) {
  return "def f(x: f32, k: i32) -> (i: i32, s: f32, n: i32) { let ((i, s), n) = while(fn((i, s)) => " + go +
         ", fn((i, s)) => (" + next + ", 0.5 * s), (" + start + ", x))\n (i32(i), s, n) }";
}

struct Case {
  const char *start, *go, *next;
  int64_t steps, end;
};

constexpr Case kCases[] = {
    {"0", "i < 10", "i + 1", 10, 10},
    {"0", "i < 10", "i + 3", 4, 12},
    {"0", "i < 9", "i + 3", 3, 9},
    {"0", "i <= 9", "i + 3", 4, 12},
    {"0", "10 > i", "1 + i", 10, 10},
    {"0", "9 >= i", "3 + i", 4, 12},
    {"10", "i > 0", "i - 1", 10, 0},
    {"10", "i >= 0", "i - 4", 3, -2},
    {"10", "0 < i", "i + -4", 3, -2},
    {"0", "i != 10", "i + 5", 2, 10},
    {"10", "i != 0", "i - 5", 2, 0},
    {"7", "i != 7", "i + 5", 0, 7},
    {"0", "not (i >= 10)", "i + 1", 10, 10},
    {"0", "not (i == 4)", "i + 2", 2, 4},
    {"0", "not (i > 9 or s < 0.0)", "i + 1", 10, 10},
    {"0", "i < 10 and i < 6", "i + 1", 6, 6},
    {"0u", "i < 10u", "i + 4u", 3, 12},
    {"0", "i < 10u", "i + 4", 3, 12},
    {"0", "i < 10", "i + 4u", 3, 12},
    {"5", "i < 5", "i + 1", 0, 5},
    {"9", "i < 5", "i + 1", 0, 9},
    {"9", "i <= 5", "i - 1", 0, 9},
    {"quot(20, 3)", "i < sum(iota(5))", "i + min(2, 3)", 2, 10},
    {"2147483640", "i < 2147483645", "i + 7", 1, 2147483647},
};

TEST(Counted, BoundsAreThoseOfTheCondition) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(std::string(c.start) + ", " + c.go + ", " + c.next);
    const Program p = program(counting(c.start, c.go, c.next));
    EXPECT_EQ(lengths(p), std::vector<int64_t>{c.steps});
    const auto k = static_cast<double>(c.steps);
    EXPECT_EQ(run(p, {{64}, {0}}), (Values{static_cast<double>(c.end), 64 * std::pow(0.5, k), k}));
  }
}

// What ends the loop before makes it shorter, never longer.
TEST(Counted, OneOfSeveralConditionsIsEnough) {
  const Program p = program(counting("0", "s > 3.0 and i < 10", "i + 1"));
  EXPECT_EQ(lengths(p), std::vector<int64_t>{10});
  EXPECT_EQ(run(p, {{64}, {0}}), (Values{5, 2, 5}));
  EXPECT_EQ(run(p, {{1e9}, {0}}), (Values{10, 1e9 / 1024, 10}));
}

TEST(Counted, TheProgramIsThatOfTheBoundWritten) {
  const std::string loop = counting("0", "i < 10", "i + 1");
  std::string written = loop;
  written.insert(written.find("(0, x))") + 6, ", at_most=10");
  EXPECT_EQ(text::print(program(loop)), text::print(program(written)));
  EXPECT_EQ(run(grad(program(loop), {"x"}, "s").value(), {{64}, {0}}), (Values{1.0 / 1024}));
  EXPECT_EQ(run(program("def f(x: f32[N]) -> (s: f32) = { let (i, s) = while(fn((i, s)) => i < N, fn((i, s)) => (i + 1, s + "
                        "x[i]), (0, 0.0))[0]\n s }",
                        {{"N", 3}}),
                {{1, 2, 4}}),
            Values{7});
  // Loops in loops, each with its own bound.
  EXPECT_EQ(lengths(program("def f(x: f32) = while(fn((i, s)) => i < 3, fn((i, s)) => (i + 1, while(fn((j, t)) => j > 0, "
                            "fn((j, t)) => (j - 1, t * s), (4, s))[0][1]), (0, x))[0][1]")),
            std::vector<int64_t>{3});
}

struct Refused {
  const char *start, *go, *next, *why;
};

constexpr Refused kRefused[] = {
    {"0", "s > 1.0", "i + 1", "the condition compares floats"},
    {"0", "i * i < 10", "i + 1", "does not compare a whole number of the state"},
    {"0", "i < 10 or s > 0.0", "i + 1", "does not compare a whole number of the state"},
    {"0", "i == 0", "i + 1", "does not compare a whole number of the state"},
    {"0", "i < k", "i + 1", "depends on the input or on the state"},
    {"0", "i < i", "i + 1", "depends on the input or on the state"},
    {"k", "i < 10", "i + 1", "starts at what depends on the input"},
    {"0", "i < 10", "i + k", "does not add a known number"},
    {"0", "i < 10", "i * 2", "does not add a known number"},
    {"0", "i < 10", "i + 0", "does not add a known number"},
    {"0", "i < 10", "if s > 0.0 then i + 1 else i", "does not add a known number"},
    {"0", "i < 10", "i - 1", "moves away"},
    {"0", "i >= 0", "i + 1", "moves away"},
    {"0", "i != 10", "i + 3", "moves past"},
    {"0", "i != -5", "i + 5", "moves past"},
    {"0", "i < 2147483647", "i + 7", "wraps around"},
    {"3u", "i > 0u", "i - 2u", "wraps around"},
};

TEST(Counted, WhatDoesNotCountNeedsABoundAndSaysWhy) {
  for (const Refused& c : kRefused) {
    const Result<Program> p = guarded([&] { return program(counting(c.start, c.go, c.next)); });
    ASSERT_FALSE(p) << c.go << ", " << c.next;
    EXPECT_EQ(p.error().code, "SG0404");
    EXPECT_NE(p.error().message.find("needs the keyword 'at_most=', for "), std::string::npos) << p.error().message;
    EXPECT_NE(p.error().message.find(c.why), std::string::npos) << c.go << ", " << c.next << ": " << p.error().message;
  }
}

TEST(Counted, IsTheSameInCpp) {
  const auto loop = [](Array x) {
    const auto [state, n] =
        while_loop([](const std::pair<Array, Array>& s) { return s.first < 10; },
                   [](const auto& s) { return std::pair(s.first + 3, s.second * 0.5); }, std::pair(0, x));
    return std::vector<Named>{{"i", state.first}, {"s", state.second}, {"n", n}};
  };
  const Program p = trace("f", {{"x", f32()}}, loop).value();
  EXPECT_EQ(lengths(p), std::vector<int64_t>{4});
  EXPECT_EQ(run(p, {{64}}), (Values{12, 4, 4}));

  const auto no_bool = [](Array x) {
    return while_loop([](Array s) { return s; }, [](Array s) { return s * 0.5; }, x).first;
  };
  const auto no_condition = trace("f", {{"x", f32()}}, no_bool);
  EXPECT_EQ(no_condition.error().code, "SG0102") << no_condition.error().str();

  const auto until = [](Array x) {
    return while_loop([](Array s) { return s > 1; }, [](Array s) { return s * 0.5; }, x).first;
  };
  const auto refused = trace("f", {{"x", f32()}}, until);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "SG0404");
  EXPECT_NE(refused.error().message.find("while_loop: needs a bound, for the condition compares floats"), std::string::npos);
}

}  // namespace counted_test
}  // namespace spirograd
