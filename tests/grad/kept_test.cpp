// What each step of a loop keeps for reverse mode: what the transposed step needs, and no more; the derivatives are right.
#include "ad/kept.h"

#include "frontend/ir/loop.h"
#include "support/text_programs.h"
#include "tests/grad/grad_support.h"

namespace spirograd::grad_test {
namespace kept_test {

struct Case {
  const char* program;
  const char* kept;  // for each step of each loop of the gradient
};

// Arrays of 6 elements.
constexpr Case kCases[] = {
    // one element of the state changes
    {"fori(6, fn(i, s) => for k: 6 => if k == i then sin(s[i]) else s[k], x)", "f64"},
    {"fori(6, fn(i, s) => where(iota(6) == i, sin(s[i]), s), x)", "f64"},
    {"fori(6, fn(i, s) => s + one_hot(i, 6) * (sin(s[i]) - s[i]), x)", "f64"},
    {"fori(6, fn(i, s) => where(iota(6) == i, sin(s[i]) * s[i - 1], s), x)", "f64 f64"},
    {"fori(6, fn(i, s) => where(iota(6) == (5 * i) % 9 - 1, sin(s[(5 * i) % 9 - 1]), s), x)", "f64"},
    {"reshape(fori(2, fn(i, s) => for k: 2, l: 3 => if k == i then sin(s[i, l]) else s[k, l], reshape(x, [2, 3])), [6])",
     "f64[3]"},
    // where it stands is a state, too
    {"fori(6, fn(_, (s, i)) => (where(iota(6) == i, sin(s[i]), s), i + 1), (x, 0))[0]", "i32 f64"},
    // a number that all elements need
    {"fori(6, fn(i, s) => 0.5 * s + 0.1 * sin(sum(s * s)), x)", "f64[6]"},
    {"fori(6, fn(i, s) => 0.5 * s + 0.1 * sin(sum(s)), x)", "f64"},
    {"fori(6, fn(i, s) => 0.5 * s + max(s), x)", "i32"},
    {"fori(6, fn(i, (a, b)) => (0.9 * a + 0.1, 0.5 * b + sin(sum(a + b))), (x, x))[1]", "f64"},
    // all of the state, or nothing
    {"fori(6, fn(i, s) => sin(s) + 0.1 * s, x)", "f64[6]"},
    {"fori(6, fn(i, s) => 0.5 * s + x, x)", ""},
    {"fori(6, fn(i, (a, b)) => (sin(a * b), b * b), (x, x))[0]", "f64[6] f64[6]"},
    // loops inside of steps: what they start from, or what they keep
    {"fori(6, fn(i, s) => where(iota(6) == i, fori(4, fn(_, t) => sin(t), s[i]), s), x)", "f64"},
    {"fori(6, fn(i, s) => fori(2, fn(j, t) => where(iota(6) == i + j, sin(t[i + j]), t), s), x)", "f64[2]"},
    {"fori(6, fn(i, s) => where(iota(6) == i, sin(s[i]), s), x, keep=sqrt)", "f64[3]"},
    {"fori(6, fn(i, s) => sin(s) + 0.1 * s, x, keep=sqrt)", "f64[6]"},
    // the index of the comprehension for the place
    {"fori(6, fn(i, s) => for k: 6 => if k == i then sin(s[k]) else s[k], x)", "f64"},
    {"fori(6, fn(i, s) => for k: 6 => if k != i then s[k] else sin(s[k]) * s[k - 1], x)", "f64 f64"},
    {"fori(6, fn(i, s) => for k: 6 => if k == i and s[k] > 0.2 then sin(s[k]) else s[k], x)", "f64"},
};

Program of(const Case& c) { return test::program("def f(x: f64[6]) = " + std::string(c.program)); }

// The rows of the stacks that the loops of a program give, not those of loops inside of others.
std::string stacks_of(const Program& p) {
  std::vector<NodeId> roots;
  for (const ProgramResult& r : p.results) roots.push_back({r.node});
  std::string out;
  for (NodeId id : postorder(*p.graph, roots)) {
    const Node& n = (*p.graph)[id];
    if (n.op != Op::MapAccum) continue;
    const Function& f = p.graph->function(n.attr[0]);
    for (auto j = static_cast<size_t>(loop_parts(*p.graph, n).n_acc); j < f.results.size(); ++j)
      out += (out.empty() ? "" : " ") + to_string((*p.graph)[f.results[j]].type);
  }
  return out;
}

TEST(Kept, IsWhatTheTransposedStepNeeds) {
  for (const Case& c : kCases) EXPECT_EQ(stacks_of(vjp(of(c)).value()), c.kept) << c.program;
}

TEST(Kept, DerivativesAgreeWithDifferencesToSecondOrder) {
  std::mt19937 rng(7);
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.program);
    check_derivatives(of(c), {{0.3, -0.7, 1.1, 0.8, -0.2, 0.6}}, rng, 2);
  }
}

TEST(Kept, OfEmptyArraysAndNoStepsIsNothing) {
  for (const char* text : {"def f(x: f64[0]) = sum(fori(3, fn(i, s) => where(iota(0) == i, sin(s[i]), s), x))",
                           "def f(x: f64[0]) = sum(fori(0, fn(i, s) => where(iota(0) == i, sin(s[i]), s), x))"})
    EXPECT_EQ(run(value_and_grad(test::program(text)).value(), {{}}), (Inputs{{0}, {}})) << text;
  const char* text = "def f(x: f64[1]) = sum(fori(1, fn(i, s) => where(iota(1) == i, sin(s[i]), s), x))";
  expect_near(run(grad(test::program(text)).value(), {{0.5}}), {{std::cos(0.5)}});
}

TEST(Kept, WhatIsNotTouchedMayBeNaN) {
  const double nan = std::nan("");
  const Program p = test::program("def f(x: f64[4]) = fori(3, fn(i, s) => where(iota(4) == i, sin(s[i]), s), x)[1]");
  expect_near(gradient(p, {{nan, 0.5, nan, nan}}), {{0, std::cos(0.5), 0, 0}});
}

// A chain of a thousand steps written out, beside two states: the cut is found in time, and is the state.
TEST(Kept, LongStepsAreCutInTime) {
  std::string step;
  for (int j = 0; j < 1000; ++j) step += "  let a = sin(a) * b[" + std::to_string(j % 6) + "] + a\n";
  const Program p =
      test::program("def f(x: f64[6]) = fori(3, fn(i, (a, b)) => {\n" + step + "  (a, 0.5 * b + sum(a))\n}, (x, x))[0]");
  EXPECT_EQ(stacks_of(vjp(p).value()), "f64[6] f64[6]");
}

}  // namespace kept_test
}  // namespace spirograd::grad_test
