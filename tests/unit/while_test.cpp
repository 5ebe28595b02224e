// Loops that end before their bound: invocations leave those that run inside of a kernel, and nothing else changes by that,
// down to the last bit. Where a later step might change something again, they stay.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "frontend/rewrite/passes.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "spirv/kernel/eval.h"
#include "spirv/kernel/verify.h"
#include "support/lowered.h"

namespace spirograd {
namespace while_test {

using Inputs = std::vector<std::vector<double>>;

Program program(const std::string& text) { return text::instantiate(text::parse(text, "test.sg").value()).value(); }

int64_t breaks(const lower::Plan& plan) {
  int64_t n = 0;
  for (const kernel::Kernel& k : plan.kernels)
    n += std::count_if(k.body.begin(), k.body.end(), [](const kernel::Inst& i) { return i.op == kernel::KOp::Break; });
  return n;
}

// The same kernels without what leaves loops: each such instruction is a constant that nobody uses.
lower::Plan patient(lower::Plan plan) {
  for (kernel::Kernel& k : plan.kernels)
    for (kernel::Inst& i : k.body)
      if (i.op == kernel::KOp::Break) i = {kernel::KOp::Const, kernel::Scalar::Bool, {}, 0};
  return plan;
}

struct Lowered {
  Program program;
  lower::Plan plan;
};

Lowered lowered(const Program& given, const Target& target) {
  Lowered out{rewrite::optimise_for_lowering(given, {.verify = true}), {}};
  out.plan = lower::lower(out.program, target);
  for (const kernel::Kernel& k : out.plan.kernels)
    if (const auto complaint = kernel::verify(k)) ADD_FAILURE() << complaint->str();
  return out;
}

std::vector<HostArray> arrays(const Program& p, const Inputs& inputs) {
  std::vector<HostArray> out;
  for (size_t j = 0; j < inputs.size(); ++j) out.emplace_back(p.params[j].type, inputs[j]);
  return out;
}

void expect_right(const Lowered& l, const Inputs& inputs) {
  EXPECT_TRUE(test::same_as_interpreter(l.program, l.plan, inputs));
  const std::vector<HostArray> given = arrays(l.program, inputs), have = lower::evaluate(l.plan, given),
                               want = lower::evaluate(patient(l.plan), given);
  for (size_t r = 0; r < have.size(); ++r) EXPECT_EQ(have[r].bytes, want[r].bytes) << "result " << r;
}

// Instructions that all invocations of a plan's only kernel execute.
uint64_t executed(const lower::Plan& plan, const std::vector<HostArray>& inputs) {
  EXPECT_EQ(plan.steps.size(), 1u);
  const Step& s = plan.steps[0];
  std::vector<std::vector<uint8_t>> bytes;
  for (const BufferUse& u : s.uses)
    bytes.push_back(u.buffer < inputs.size() ? inputs[u.buffer].bytes : std::vector<uint8_t>(u.bytes));
  std::vector<std::span<uint8_t>> buffers(bytes.begin(), bytes.end());
  return kernel::evaluate(plan.kernels[s.kernel], buffers);
}

struct Case {
  const char* what;
  std::string text;
  Inputs inputs;
  int64_t breaks;
};

std::vector<Case> cases() {
  const auto counted = [](const std::string& most) {
    return "def f(x: f32[4]) -> (y: f32[4], n: i32[4]) = "
           "for i: 4 => while(fn(s) => s < 100.0, fn(s) => s * 2.0, x[i], at_most=" +
           most + ")";
  };
  const Inputs four = {{3, NAN, 200, 0.1}};
  return {
      {"for each element", counted("50"), four, 1},
      {"cut off by the bound", counted("9"), four, 1},
      {"few steps, which are not worth it", counted("8"), four, 0},
      {"one step", counted("1"), four, 0},
      {"no step", counted("0"), four, 0},
      {"one loop",
       "def f(x: f32) -> (y: f32, n: i32) = while(fn(s) => s < 100.0, fn(s) => s * 2.0, x, at_most=50)",
       {{3}},
       1},
      {"a condition that is negated",
       "def f(x: f32) -> (y: f32, n: i32) = while(fn(s) => not (s > 100.0), fn(s) => s * 2.0, x, at_most=50)",
       {{3}},
       1},
      {"a tuple, of which an array",
       "def f(x: f32[3], y: f32) -> (a: f32[3], b: f32, n: i32) { let ((a, b), n) = while(fn((a, b)) => sum(a) < b, "
       "fn((a, b)) => (a * 2, b + 1), (x, y), at_most=20)\n (a, b, n) }",
       {{1, 2, 0.5}, {100}},
       1},
      {"a flag",
       "def f(x: f32) -> (y: f32) { let ((s, go), n) = while(fn((s, go)) => go, fn((s, go)) => (s * 2, s < 100), "
       "(x, x < 100), at_most=50)\n s }",
       {{3}},
       1},
      {"one in another one",
       "def f(x: f32[5]) -> (y: f32[5]) = for i: 5 => { let ((a, b), n) = while(fn((a, b)) => a < 100.0, fn((a, b)) => {\n"
       " let (c, k) = while(fn(c) => c < a, fn(c) => c * 1.5, b, at_most=40)\n (a * 1.7 + c, b + 1.0) }, (x[i], 1.0), "
       "at_most=64)\n a }",
       {{0.5, 1, 99, 100, 40}},
       2},
      {"steps that read their number",
       "def f(x: f32) -> (y: f32) = fori(50, fn(i, s) => if s < 100.0 then s + f32(i) else s, x)",
       {{3}},
       1},
      {"a condition that reads the number of the step",
       "def f(x: f32) -> (y: f32) = fori(50, fn(i, s) => if rem(i, 3) == 1 then s + 1.5 else s, x)",
       {{3}},
       0},
      {"a condition that reads the element",
       "def f(x: f32, v: f32[12]) -> (y: f32) = fold(fn(s, e) => if s < e then s * 2.0 else s, x, v)",
       {{3}, {9, 1, 50, 1, 90, 7, 2, 80, 0, 0, 500, 1000}},
       0},
      {"what goes on beside it",
       "def f(x: f32) -> (y: f32, z: f32) = fori(9, fn(i, (s, t)) => (if s < 20.0 then s * 2.0 else s, t * 1.5 + s), (x, "
       "x))",
       {{3}},
       0},
      {"a count of floats, which could be -0",
       "def f(x: f32) -> (y: f32, z: f32) = fori(9, fn(i, (s, t)) => (if s < 20.0 then s * 2.0 else s, t + f32(i32(s < "
       "20.0))), "
       "(x, -0.0))",
       {{3}},
       0},
      {"all its states",
       "def f(x: f32) -> (y: f32[10]) = scan(fn(s, e) => if s < 20.0 then s * 2.0 else s, x, iota(9))",
       {{3}},
       0},
  };
}

TEST(While, LeavesALoopInsideOfAKernelWhereItEndsAndChangesNoBit) {
  for (const Target& t : {test::cpu_target(), test::gpu_target()})
    for (const Case& c : cases()) {
      SCOPED_TRACE(c.what);
      const Lowered l = lowered(program(c.text), t);
      EXPECT_EQ(breaks(l.plan), c.breaks);
      expect_right(l, c.inputs);
    }
}

// The interpreter ends a loop where a step has left its state as it was, if no later one can see anything else.
TEST(While, TheInterpreterGoesOnWhereALaterStepMayChangeSomething) {
  const auto value = [](const std::string& text, const Inputs& inputs) {
    return ir::evaluate(program(text), inputs)[0].data;
  };
  EXPECT_EQ(
      value(
          "def f(x: f32) -> (y: i32) = { let (s, n) = while(fn(s) => s < 9.0, fn(s) => s * 2.0, x, at_most=300000)\n n }\n",
          {{1}}),
      std::vector<double>{4});
  EXPECT_EQ(value("def f(x: f32[5]) -> (y: f32) = fold(fn(s, e) => s + e, 0.0, x)\n", {{0, 0, 3, 0, 4}}),
            std::vector<double>{7});
  EXPECT_EQ(value("def f(x: f32[3]) -> (y: f32[4]) = scan(fn(s, e) => s * 2.0, x[0], x)\n", {{0, 1, 2}}),
            (std::vector<double>{0, 0, 0, 0}));
  EXPECT_EQ(value("def f(x: f32) -> (y: f32[2]) = fori(5, fn(i, s) => [s[1], s[0]], [x, 2.0])\n", {{1}}),
            (std::vector<double>{2, 1}));
}

TEST(While, CostsTheStepsThatItTakes) {
  const auto costs = [](int most, bool leaves) {
    const Lowered l =
        lowered(program("def f(x: f32[40]) -> (y: f32[40]) = for i: 40 => { let (s, n) = "
                        "while(fn(s) => abs(s * s - x[i]) > 0.00001 * x[i], fn(s) => 0.5 * (s + x[i] / s), x[i], "
                        "at_most=" +
                        std::to_string(most) + ")\n s }"),
                test::cpu_target());
    std::vector<double> x(40);
    for (size_t j = 0; j < x.size(); ++j) x[j] = 1.0 + static_cast<double>(j);
    return executed(leaves ? l.plan : patient(l.plan), arrays(l.program, {x}));
  };
  const uint64_t steps = costs(30, true);
  EXPECT_EQ(costs(1000, true), steps) << "however far away the bound is";
  EXPECT_GT(costs(1000, false), 50 * steps);
}

// What one invocation keeps of several elements goes on until the last of them has ended.
TEST(While, WaitsForAllElementsOfAnInvocation) {
  Target t = test::cpu_target();
  t.price.busy = 1;
  std::vector<double> x(64);
  for (size_t j = 0; j < x.size(); ++j) x[j] = std::pow(1.7, static_cast<double>(j * 29 % 64));
  const Lowered l = lowered(program("def f(x: f32[64]) -> (y: f32[64], n: i32[64]) = "
                                    "for i: 64 => while(fn(s) => s < 1000.0, fn(s) => s * 1.1, x[i], at_most=500)"),
                            t);
  EXPECT_EQ(breaks(l.plan), 1);
  EXPECT_LT(l.plan.kernels[0].invocations, 64u);
  expect_right(l, {x});
}

TEST(While, MembersOfAWorkgroupStayTogether) {
  const Lowered l = lowered(program("def f(x: f32[300]) -> (y: f32[300], n: i32) = "
                                    "while(fn(s) => sum(s) > 1.0, fn(s) => s * 0.5, x, at_most=30)"),
                            test::gpu_target());
  EXPECT_EQ(breaks(l.plan), 0);
  expect_right(l, {std::vector<double>(300, 1.5)});
}

// Reverse mode keeps the state before each step, those behind the end as well. Forward mode keeps none.
TEST(While, DerivativesAreThoseOfAllSteps) {
  const Program p = program(
      "def f(x: f32) -> (y: f32) { let (s, n) = while(fn(s) => s < 100.0, fn(s) => s * s + 1.0, x, "
      "at_most=30)\n s }");
  const Lowered back = lowered(value_and_grad(p, {"x"}).value(), test::cpu_target());
  EXPECT_EQ(breaks(back.plan), 0);
  expect_right(back, {{1.2}});
  const Lowered forward = lowered(jvp(p, {"x"}).value(), test::cpu_target());
  EXPECT_EQ(breaks(forward.plan), 1);
  expect_right(forward, {{1.2}, {1}});
}

}  // namespace while_test
}  // namespace spirograd
