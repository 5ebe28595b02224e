// Loops that run inside of one kernel: by elements, by one invocation, by one workgroup. Values and gradients are those of
// the interpreter whatever the size of the state, and a loop of small state is one dispatch.
#include <gtest/gtest.h>

#include <algorithm>

#include "frontend/ir/algebra.h"
#include "frontend/ir/own_graph.h"
#include "frontend/ir/traverse.h"
#include "frontend/rewrite/passes.h"
#include "spirograd/grad.h"
#include "spirv/lower/loops.h"
#include "support/golden_plans.h"
#include "support/loop_programs.h"
#include "support/lowered.h"

namespace spirograd {
namespace loop_forms_test {

Target gpu_target() {
  Target t = test::cpu_target();
  t.price = Prices{};
  t.quirks = 0;
  return t;
}

TEST(LoopForms, AreRightAtAnySizeOfStateAndNumberOfSteps) {
  for (const test::LoopProgram& l : test::loop_programs())
    for (int64_t state : {1, 2, 3, 8, 9, 33})
      for (int64_t steps : {0, 1, 5})
        for (const Target& t : {test::cpu_target(), gpu_target()}) {
          const Program value = test::loop_program(l, state, steps);
          const Program both = value_and_grad(value, {"a", "b", "xs"}).value();
          lower::Plan plan;
          EXPECT_TRUE(test::lowers_right(both, test::loop_inputs(state, steps), t, &plan))
              << l.name << " of " << state << ", " << steps << " steps, busy " << t.price.busy;
          if (!l.gradient_too) continue;
          EXPECT_EQ(test::dispatched_loops(plan), 0) << l.name << " of " << state;
        }
}

Program program(const std::string& text) { return text::instantiate(text::parse(text, "test.sg").value()).value(); }

TEST(LoopForms, StateInRegistersIsReadWhereAComputedIndexSays) {
  const Program p = program(
      "def main(a: f32[5], i: i32[30]) -> (y: f32[5]) =\n"
      "  fold(fn(s, j) => for k: 5 => s[rem(k + 1, 5)] * 0.5 + s[j], a, i)\n");
  std::vector<double> index;
  for (int j = 0; j < 30; ++j) index.push_back(j % 7 - 1);  // out of range as well
  lower::Plan plan;
  EXPECT_TRUE(test::lowers_right(p, {{1, -2, 3, 0.5, 2}, index}, test::cpu_target(), &plan));
  EXPECT_EQ(plan.steps.size(), 1u);
}

TEST(LoopForms, ALoopInALoopKeepsItsStateInRegistersToo) {
  const Program p = program(
      "def main(a: f32[3]) -> (y: f32[3]) =\n"
      "  fori(7, fn(i, s) => fori(3, fn(j, u) => [u[2] - s[0], sin(u[0]), u[1] + s[2] * f32(i - j)], s), a)\n");
  lower::Plan plan;
  EXPECT_TRUE(test::lowers_right(p, {{0.1, -0.2, 0.3}}, test::cpu_target(), &plan));
  EXPECT_EQ(plan.steps.size(), 1u);
}

// A loop in a body is state of whoever runs the body.
TEST(LoopForms, AnInvocationKeepsNoLargerStateOfALoopInALoop) {
  const auto form = [](int inner) {
    const std::string n = std::to_string(inner);
    Program p =
        rewrite::optimise_for_lowering(program("def main(a: f32[2]) -> (y: f32[2]) = fori(7, fn(i, s) => {\n"
                                               "  let u = fori(2, fn(j, u) => u * u + s[1], for k: " +
                                               n +
                                               " => s[0] * f32(k))\n"
                                               "  [sum(u), u[1]]\n}, a)\n"));
    ir::Graph& g = *ir::make_graph_private(p);
    for (ir::NodeId at : ir::postorder(g, std::vector<ir::NodeId>{{p.results[0].node}}))
      if (g[at].op == ir::Op::MapAccum) return lower::loop_form(g, at, test::cpu_target()).kind;
    return lower::LoopForm::Kind::Elements;
  };
  EXPECT_EQ(form(8), lower::LoopForm::Kind::Together);
  EXPECT_EQ(form(32), lower::LoopForm::Kind::Together);
  EXPECT_EQ(form(33), lower::LoopForm::Kind::Dispatches);
}

// On processors an invocation has every eighth of 32 neighbours, so that a subgroup reads lines to their ends; on others all
// invocations are neighbours.
TEST(LoopForms, ElementsOfASubgroupAreNeighboursOnProcessors) {
  for (const int64_t state : {256, 1000, 1024, 1037}) {
    const std::string n = std::to_string(state);
    const Program p =
        program("def f(x: f32[3, " + n + "], a: f32[" + n + "]) -> f32[" + n + "] = fold(fn(s, v) => s * a + v, a, x)");
    std::vector<std::vector<double>> inputs(2);
    for (int64_t j = 0; j < 3 * state; ++j) inputs[0].push_back(0.25 * static_cast<double>(j % 17));
    for (int64_t j = 0; j < state; ++j) inputs[1].push_back(0.125 * static_cast<double>(j % 13));
    for (const Target& t : {test::cpu_target(), gpu_target()}) {
      lower::Plan plan;
      EXPECT_TRUE(test::lowers_right(p, inputs, t, &plan)) << state;
      EXPECT_EQ(plan.steps.size(), 1u) << state;
    }
  }
}

// Its dispatch is its own: what else there is has other workgroups.
TEST(LoopForms, AWorkgroupOfTwoRunsALoopAlone) {
  const Program p = program(
      "def main(w: f32[2, 3000], x: f32[2]) -> (r: f32[2], q: f32[2]) =\n"
      "  (fori(20, fn(i, s) => tanh(for j: 2 => sum(w[j] * s[j])), x), exp(x))\n");
  std::vector<double> w;
  for (int j = 0; j < 6000; ++j) w.push_back(0.001 * (j % 13 - 5.5));
  lower::Plan plan;
  EXPECT_TRUE(test::lowers_right(p, {w, {0.3, -0.7}}, test::cpu_target(), &plan));
  ASSERT_EQ(plan.steps.size(), 2u);
  EXPECT_EQ(plan.kernels[0].workgroup, 2u);
}

// A state of n numbers, each of which depends on its neighbour; all of them and their gradients are wanted.
std::string many_numbers(int n) {
  std::string params, names, next, start;
  for (int j = 0; j < n; ++j) {
    const std::string comma = j > 0 ? ", " : "", x = "x" + std::to_string(j);
    names += comma + x;
    next += comma + "0.5 * sin(x" + std::to_string((j + 1) % n) + ") + a[" + std::to_string(j) + "] * " + x;
    start += comma + "a[" + std::to_string(j) + "]";
  }
  return "def main(a: f32[" + std::to_string(n) + "]) -> (l: f32) = {\n  let (" + names + ") = fori(50, fn(i, (" + names +
         ")) => (" + next + "), (" + start + "))\n  x0 * x" + std::to_string(n - 1) + "\n}\n";
}

// Their number does not matter, for those of one type share a buffer.
TEST(LoopForms, ManyNumbersOfStateAreOneKernelForwardAndOneBackward) {
  for (int n : {3, 8, 14, 15, 20}) {
    const Program p = grad(program(many_numbers(n)), {"a"}).value();
    std::vector<double> a;
    for (int j = 0; j < n; ++j) a.push_back(0.03 * j - 0.3);
    for (const Target& t : {test::cpu_target(), gpu_target()}) {
      lower::Plan plan;
      EXPECT_TRUE(test::lowers_right(p, {a}, t, &plan)) << n;
      EXPECT_EQ(test::dispatched_loops(plan), 0) << n;
      EXPECT_LE(plan.steps.size(), 4u) << n;
    }
  }
}

// Seven arrays that neighbours read of one another; the second and third are computed from registers as well.
TEST(LoopForms, WhatIsSharedIsComputedInTurnWhereBarriersAreDear) {
  const Program value = program(
      "def main(x: f32[50], v: f32[50]) -> f32 = {\n"
      "  let (y, u) = fori(9, fn(t, (x, v)) => {\n"
      "    let a = for i: 50 => x[i + 1] - x[i]\n    let b = for i: 50 => sin(a[i + 2]) + 0.5 * v[i]\n"
      "    let c = for i: 50 => b[i - 1] * v[i] + a[i]\n    let d = for i: 50 => tanh(c[i + 1] + a[i - 1])\n"
      "    let e = for i: 50 => d[i - 3] - b[i + 1]\n    let f = for i: 50 => cos(e[i + 2]) * a[i - 2]\n"
      "    (for i: 50 => x[i] + 0.01 * f[i + 1], for i: 50 => 0.9 * v[i] + 0.1 * sin(f[i - 1] * e[i + 3]))\n  }, (x, v))\n"
      "  sum(y * u)\n}\n");
  std::vector<double> x, v;
  for (int j = 0; j < 50; ++j) x.push_back(0.07 * (j % 7) - 0.2), v.push_back(0.05 * (j % 11) - 0.25);
  const auto loops = [&](const Program& p, const Target& t) {
    lower::Plan plan;
    EXPECT_TRUE(test::lowers_right(p, {x, v}, t, &plan));
    int64_t most = 0;
    for (const kernel::Kernel& k : plan.kernels)
      most = std::max<int64_t>(most, std::count_if(k.body.begin(), k.body.end(),
                                                   [](const kernel::Inst& i) { return i.op == kernel::KOp::Loop; }));
    return most;
  };
  Target few_iterations = test::cpu_target();
  few_iterations.max_loop_iterations = 400;
  const Program both = value_and_grad(value, {"x", "v"}).value();
  EXPECT_EQ(loops(value, test::cpu_target()), 6) << "a, d, e, f and the sine, in the loop of the steps";
  EXPECT_EQ(loops(value, few_iterations), 1);
  EXPECT_EQ(loops(value, gpu_target()), 1);
  EXPECT_GT(loops(both, test::cpu_target()), 1);
}

// States beyond what registers hold: read at neighbours, at an index that the data give, and as a whole; with numbers and an
// array of another shape beside them, a result of each step, and updates of one element on the way back.
TEST(LoopForms, LargeStatesAreInTheMemoryOfAWorkgroup) {
  const auto text = [](int n, int steps, bool matrix) {
    const std::string size = std::to_string(n);
    return "def main(x: f32[" + size + "], v: f32[" + size + "], i: i32[" + std::to_string(steps) + "]) -> f32 = {\n" +
           "  let step = fn((x, m, c), j) => {\n"
           "    let y = for k: " +
           size + " => 0.5 * x[k] + 0.3 * x[(k + 1) % " + size + "] + 0.01 * x[j] * v[k] + 0.1 * c\n" +
           "    let r = for a: 3, b: 50 => 0.9 * m[a, b] + 0.1 * x[a + b] * m[2 - a, b]\n"
           "    ((y, r, 0.7 * c + mean(x) * m[1, 2]), " +
           (matrix ? "r[1]" : "y[3]") + ")\n  }\n" +
           "  let ((y, m, c), all) = map_accum_l(step, (x, ones([3, 50]) * x[1], 0.25), i)\n"
           "  sum(y * y) + sum(m) + c + sum(square(all))\n}\n";
  };
  Target dear = test::cpu_target();  // dispatches
  dear.price.dispatch *= 100;
  for (const int n : {129, 400, 1001})
    for (const int steps : {1, 6, 7}) {
      const Program value = program(text(n, steps, n % 2 == 1)), both = value_and_grad(value, {"x", "v"}).value();
      std::vector<double> x, v, i;
      for (int j = 0; j < n; ++j) x.push_back(0.1 * (j % 7) - 0.3), v.push_back(0.2 * (j % 5) - 0.4);
      for (int j = 0; j < steps; ++j) i.push_back(j == 2 ? -1 : (j * 37) % n);
      lower::Plan plan;
      for (const Program& p : {both, value})
        for (const Target& t : {test::cpu_target(), dear})
          EXPECT_TRUE(test::lowers_right(p, {x, v, i}, t, &plan)) << n << ", " << steps << " steps";
      EXPECT_EQ(test::dispatched_loops(plan), 0) << n << ", " << steps << " steps";
    }
}

// A number that every step adds to stays exact beside a state in memory.
TEST(LoopForms, SumsBesideALargeStateAreCompensated) {
  const Program p = rewrite::optimise_for_lowering(
      program("def main(x: f32[200]) -> (y: f32[200], sum: f32) =\n"
              "  fori(3000, fn(i, (y, s)) => (for k: 200 => 0.5 * y[199 - k] + 0.25, s + 0.1 * x[i % 200]), (x, 0.0))\n"));
  const lower::Plan plan = lower::lower(p, test::cpu_target());
  EXPECT_EQ(test::dispatched_loops(plan), 0);
  EXPECT_TRUE(test::same_as_interpreter(p, plan, {std::vector<double>(200, 0.7)}, 1e-6));
}

// Little work of many elements, and too much of it: a product reads its matrix in each step, by both processors.
TEST(LoopForms, ALargeStateIsKeptWhereThatIsLessThanDispatches) {
  const auto loops = [](const std::string& step) {
    const Program p =
        program("def main(x: f32[400], w: f32[400, 400]) -> f32[400] = fori(9, fn(i, x) => " + step + ", x)\n");
    std::vector<double> x(400, 0.25), w(160000, 0.001);
    lower::Plan plan;
    EXPECT_TRUE(test::lowers_right(p, {x, w}, test::cpu_target(), &plan));
    return test::dispatched_loops(plan);
  };
  EXPECT_EQ(loops("for k: 400 => 0.3 * x[k] + 0.5 * x[399 - k] + w[k, i]"), 0u);
  EXPECT_EQ(loops("x / (1.0 + sum(x * x))"), 0u);
  EXPECT_EQ(loops("tanh(w @ x)"), 1u);
}

// What all members of a workgroup have to know they find together, where barriers are cheap.
TEST(LoopForms, MembersOfAWorkgroupReduceTogether) {
  const Program p = program(
      "def main(x: f32[200]) -> (y: f32[200], n: f32) = fori(5, fn(i, (x, n)) => {\n"
      "  let m = argmax(abs(x))\n"
      "  (for k: 200 => 0.9 * x[199 - k] / (1.0 + sum(x * x)) + 0.1 * x[m], n + x[m]) }, (x, 0.0))\n");
  for (const Target& t : {test::cpu_target(), gpu_target()}) {
    lower::Plan plan;
    EXPECT_TRUE(test::lowers_right(p, test::sines(p, 0.7), t, &plan));
    EXPECT_EQ(test::dispatched_loops(plan), 0);
    uint64_t longest = 0;
    for (const kernel::Kernel& k : plan.kernels) longest = std::max(longest, kernel::loop_iterations(k));
    EXPECT_EQ(longest < 5 * 10, t.price.cooperates) << longest;
  }
}

// How many loads of arrays are in the loops of workgroups, and how many values lanes tell each other.
struct InLoops {
  int loads = 0, broadcasts = 0;
};

InLoops in_loops(const lower::Plan& plan) {
  InLoops out;
  for (const kernel::Kernel& k : plan.kernels) {
    int open = 0;
    if (k.shared.empty()) continue;
    for (const kernel::Inst& i : k.body) {
      open += (i.op == kernel::KOp::Loop) - (i.op == kernel::KOp::EndLoop);
      out.loads += open > 0 && i.op == kernel::KOp::Load;
      out.broadcasts += open > 0 && i.op == kernel::KOp::Broadcast;
    }
  }
  return out;
}

// Of a matrix that every step reads each lane keeps its rows, and of the state it reads a part for all.
TEST(LoopForms, LanesKeepWhatAllStepsReadAndTellEachOtherWhatChanges) {
  const Target lanes = test::lane_cpu();
  const auto lowered = [&](const std::string& n, const std::string& step) {
    const Program value = program("def main(w: f32[" + n + ", " + n + "], x: f32[" + n + "]) -> f32 =\n" +
                                  "  sum(square(fori(7, fn(i, x) => " + step + ", x)))\n");
    lower::Plan plan;
    for (const Program& p : {value_and_grad(value, {"w", "x"}).value(), value})
      EXPECT_TRUE(test::lowers_right(p, test::sines(p, 0.2), lanes, &plan)) << step << " of " << n;
    EXPECT_EQ(test::dispatched_loops(plan), 0) << step << " of " << n;
    return in_loops(plan);
  };
  for (const char* n : {"16", "9", "23"}) {
    EXPECT_EQ(lowered(n, "tanh(w @ x)").loads, 0) << n;
    EXPECT_EQ(lowered(n, "tanh(x @ w)").loads, 0) << n;
  }
  EXPECT_GT(lowered("16", "tanh(w @ x)").broadcasts, 0);
  EXPECT_GT(lowered("70", "tanh(w @ x)").loads, 0) << "no room";
  EXPECT_EQ(lowered("8", "0.1 * tanh(x @ w) + 0.2 * (w @ x) + 0.1 * sum(x * x)").loads, 0);
}

// Each row of a batch is a workgroup's, if its lanes keep the matrix; else all rows are dispatched, step by step.
TEST(LoopForms, RowsOfABatchAreSubgroupsThatKeepWhatTheyRead) {
  const Target lanes = test::lane_cpu();
  const Program value = program(
      "def main(w: f32[32, 32], x: f32[6, 32]) -> f32 =\n"
      "  sum(square(fori(60, fn(i, x) => tanh(x @ w), x)))\n");
  lower::Plan plan;
  for (const Program& p : {value_and_grad(value, {"w", "x"}).value(), value})
    EXPECT_TRUE(test::lowers_right(p, test::sines(p, 0.2), lanes, &plan));
  EXPECT_EQ(test::dispatched_loops(plan), 0);
  EXPECT_EQ(in_loops(plan).loads, 0);
  EXPECT_EQ(plan.kernels[0].invocations, 48u);
  EXPECT_TRUE(test::lowers_right(value, test::sines(value, 0.2), test::cpu_target(), &plan));
  EXPECT_EQ(test::dispatched_loops(plan), 1);
}

// A panel of 400 rows of a factorisation, as it were: 256 invocations cannot keep it in their registers.
TEST(LoopForms, AWorkgroupHasAsManyMembersAsItsStateTakes) {
  const Program p = program(
      "def main(x: f32[400, 16]) -> f32[400, 16] = fori(3, fn(i, s) => {\n"
      "  let m = argmax(abs(s.T[i]))\n  for a: 400, b: 16 => 0.9 * s[a, b] - 0.1 * s[m, b] * s[a, i] }, x)\n");
  for (const uint32_t most : {512u, 256u}) {
    Target t = gpu_target();
    t.price = gpu_prices(132 * 2048);
    t.shared_bytes = 48 << 10;
    t.max_invocations = most;
    lower::Plan plan;
    EXPECT_TRUE(test::lowers_right(p, test::sines(p, 0.7), t, &plan));
    uint32_t members = 0;
    for (const kernel::Kernel& k : plan.kernels) members = std::max(members, k.workgroup);
    EXPECT_EQ(members, most == 512 ? 512u : 64u);
  }
}

TEST(LoopForms, AnUpdateOfOneElementOrRowIsNoScatter) {
  const Program p = program(
      "def main(x: f32[20], m: f32[6, 7], i: i32[9]) -> (y: f32[20], q: f32[6, 7]) =\n"
      "  fold(fn((y, q), j) => (0.5 * y[19 - j] + y + scatter([20], sin(y[j]) * 0.1, j),\n"
      "                         q * 0.9 + scatter([6], for c: 7 => q[j, 6 - c] + y[c], j)), (x, m), i)\n");
  std::vector<double> x, m;
  for (int j = 0; j < 20; ++j) x.push_back(0.1 * j - 1);
  for (int j = 0; j < 42; ++j) m.push_back(0.05 * (j % 11));
  for (const Target& t : {test::cpu_target(), gpu_target()}) {
    lower::Plan plan;
    EXPECT_TRUE(test::lowers_right(p, {x, m, {0, 3, -1, 19, 20, 5, 2, 5, 1}}, t, &plan));
    EXPECT_EQ(test::dispatched_loops(plan), 0);
  }
}

TEST(LoopForms, ManyResultsOfALoopAreCopiedToTheirPlaces) {
  std::string names, results, next;
  for (int j = 0; j < 18; ++j) {
    const std::string comma = j > 0 ? ", " : "", x = "x" + std::to_string(j);
    names += comma + x;
    results += comma + "y" + std::to_string(j) + ": f32";
    next += comma + "x" + std::to_string((j + 5) % 18) + " * 0.5 + a[" + std::to_string(j) + "]";
  }
  std::string start = next;
  for (size_t at; (at = start.find('x')) != std::string::npos;) start.replace(at, start.find(' ', at) - at, "1.0");
  const std::string loop = "fori(9, fn(i, (" + names + ")) => (" + next + "), (" + start + "))\n";
  const Program p = program("def main(a: f32[18]) -> (" + results + ") = " + loop);
  std::vector<double> a(18, 0.25);
  a[3] = -1;
  lower::Plan plan;
  EXPECT_TRUE(test::lowers_right(p, {a}, test::cpu_target(), &plan));
  EXPECT_EQ(test::dispatched_loops(plan), 0);
  const auto packs = [&] {
    std::vector<uint64_t> bytes;
    for (const BufferDesc& b : plan.buffers)
      if (b.role == Role::Scratch) bytes.push_back(b.bytes);
    return bytes;
  };
  EXPECT_EQ(packs(), (std::vector<uint64_t>{72}));
  Target narrow = test::cpu_target();
  narrow.max_range = 32;
  EXPECT_TRUE(test::lowers_right(p, {a}, narrow, &plan));
  EXPECT_EQ(packs(), (std::vector<uint64_t>{32, 32, 8})) << "no more than a descriptor reaches";
}

TEST(LoopForms, WithoutSharedMemoryAWorkgroupRunsNoLoop) {
  Target t = test::cpu_target();
  const Program p = program("def main(a: f32[40]) -> (y: f32[40]) = fori(6, fn(i, s) => s / (1.0 + sum(s * s)), a)\n");
  const std::vector<double> a(40, 0.1);
  lower::Plan plan;
  EXPECT_TRUE(test::lowers_right(p, {a}, t, &plan));
  EXPECT_EQ(plan.steps.size(), 1u);
  EXPECT_FALSE(plan.kernels[0].shared.empty());
  t.shared_memory = false;
  EXPECT_TRUE(test::lowers_right(p, {a}, t, &plan));
  EXPECT_GT(plan.steps.size(), 1u);
}

// A system of equations that are written one by one, each with a coefficient and the elements that it reads.
Program equations(int n) {
  const auto at = [&](const char* array, int i) { return std::string(array) + "[" + std::to_string(i % n) + "]"; };
  std::string derivatives;
  for (int i = 0; i < n; ++i)
    derivatives += (i ? ", " : "") + at("k", i) + " * sin(" + at("y", i + 1) + ") - " + at("y", i) + " * " + at("y", i + 3);
  const std::string size = std::to_string(n);
  const Program p = program(("def main(y0: f32[" + size + "], k: f32[" + size +
                             "]) -> (s: f32) =\n  sum(square(fori(9, fn(t, y) => y + 0.1 * [" + derivatives + "], y0)))\n")
                                .c_str());
  return value_and_grad(p, {"y0", "k"}).value();
}

std::vector<double> small_numbers(int n) {
  std::vector<double> out;
  for (int i = 0; i < n; ++i) out.push_back(0.05 * (i + 1) * (i % 3 ? 1 : -1));
  return out;
}

TEST(LoopForms, EquationsWrittenOneByOneRunInOneKernel) {
  for (const int n : {5, 9, 12}) {
    lower::Plan plan;
    EXPECT_TRUE(test::lowers_right(equations(n), {small_numbers(n), small_numbers(n)}, test::cpu_target(), &plan)) << n;
    EXPECT_EQ(test::dispatched_loops(plan), 0) << n;
  }
}

// Coefficients that one loop needs in buffers of their own are read from their array by another one.
TEST(LoopForms, LoopsOfManyCoefficientsRunOnDevicesOfFewBuffers) {
  for (const int n : {9, 16, 20, 33}) {
    for (const uint32_t buffers : {5u, 8u, 16u}) {
      Target t = test::cpu_target();
      t.max_buffers = buffers;
      t.max_push_bytes = 8 * buffers;
      lower::Plan plan;
      EXPECT_TRUE(test::lowers_right(equations(n), {small_numbers(n), small_numbers(n)}, t, &plan)) << n << " " << buffers;
    }
  }
}

// What every step adds to a matrix is one contraction behind the loop.
TEST(LoopForms, SumsThatALoopOnlyAddsUpLeaveIt) {
  const test::LoopProgram& matrix = test::loop_programs()[2];
  const Program p = rewrite::optimise_for_lowering(value_and_grad(test::loop_program(matrix, 33, 5), {"b"}).value());
  for (ir::NodeId id : ir::postorder(*p.graph, std::vector<ir::NodeId>{{p.results[1].node}}))
    if (const ir::Node& n = (*p.graph)[id]; n.op == ir::Op::MapAccum) {
      for (ir::NodeId r : p.graph->function(ir::loop_parts(*p.graph, n).function).results)
        EXPECT_LE((*p.graph)[r].type.shape.count(), 33);
    }
}

// The gradient of the weights of a batch of recurrent nets: the product of what all steps were given and gave.
TEST(LoopForms, ProductsOfMatricesThatALoopAddsUpLeaveIt) {
  const Program batch =
      program("def f(x: f32[7,20,30], w: f32[30,30]) = sum(fold(fn(s, e) => tanh(s @ w + e), zeros([20,30]), x))");
  const Program p = rewrite::optimise_for_lowering(value_and_grad(batch, {"w"}).value());
  for (ir::NodeId id : ir::postorder(*p.graph, std::vector<ir::NodeId>{{p.results[1].node}}))
    if (const ir::Node& n = (*p.graph)[id]; n.op == ir::Op::MapAccum) {
      for (ir::NodeId r : p.graph->function(ir::loop_parts(*p.graph, n).function).results)
        EXPECT_EQ((*p.graph)[r].type.shape.count(), 20 * 30) << "a state, and nothing of the weights";
    }
}

// So are those of several gates, which are stacked.
TEST(LoopForms, StacksOfProductsThatALoopAddsUpLeaveIt) {
  for (const std::string gates :
       {"for g: 3 => s @ w[g]", "einsum(\"bh,ghk->gbk\", s, w)", "[s @ w[0], s @ w[1], s @ w[2]]"}) {
    const Program batch = program("def f(x: f32[6,10,12], w: f32[3,12,12]) = sum(fold(fn(s, e) => { let z = " + gates +
                                  "\n logistic(z[0]) * s + tanh(z[1] + e) * logistic(z[2]) }, zeros([10,12]), x))");
    const Program grad = value_and_grad(batch, {"w"}).value(), p = rewrite::optimise_for_lowering(grad);
    for (ir::NodeId id : ir::postorder(*p.graph, std::vector<ir::NodeId>{{p.results[1].node}}))
      if (const ir::Node& n = (*p.graph)[id]; n.op == ir::Op::MapAccum) {
        for (ir::NodeId r : p.graph->function(ir::loop_parts(*p.graph, n).function).results)
          EXPECT_EQ((*p.graph)[r].type.shape.count(), 10 * 12) << gates;
      }
    const std::vector<std::vector<double>> inputs = {small_numbers(6 * 10 * 12), small_numbers(3 * 12 * 12)};
    lower::Plan plan;
    EXPECT_TRUE(test::lowers_right(grad, inputs, test::cpu_target(), &plan)) << gates;
  }
}

// The gradient of a table of which every step reads a row, or an element of each: what all steps give is scattered at once.
TEST(LoopForms, ScattersThatALoopAddsUpLeaveIt) {
  for (const std::string read : {"e[k]", "e[k % 50]", "transpose(e)[:, k]", "e[iota(30), (iota(30) + k) % 30]"}) {
    const Program p =
        value_and_grad(program("def f(w: f32[30,30], e: f32[50,30], k: i32[40]) = sum(fold(fn(s, k) => tanh(w @ s + " +
                               read + "), zeros(30), k))"),
                       {"e"})
            .value();
    std::vector<std::vector<double>> inputs = {small_numbers(30 * 30), small_numbers(50 * 30), {}};
    for (int k = 0; k < 40; ++k) inputs[2].push_back(k * k % 53 - 1);
    lower::Plan plan;
    EXPECT_TRUE(test::lowers_right(p, inputs, test::cpu_target(), &plan)) << read;
    EXPECT_EQ(test::dispatched_loops(plan), 0) << read;
    const auto fills = [](const Step& s) { return s.kind == Step::Kind::Fill; };
    EXPECT_LE(std::ranges::count_if(plan.steps, fills), 1) << read;
  }
}

// Counting is such a loop, too; nothing of it may be left.
TEST(LoopForms, CountsOfALoopAreOneScatter) {
  const char* kLoops[] = {
      "def f(k: i32[90], h: f32[70]) = fold(fn(h, k) => h + scatter([70], 1.0, k), h, k)",
      "def f(k: i32[90], h: f32[70], u: f32[90]) = fold(fn(h, (k, u)) => h - scatter([70], u * u, k % 7), h, (k, u))",
      ("def f(k: i32[90], h: f32[70], u: f32[90]) = fold(fn((h, s), (k, u)) => { let t = tanh(s + u)\n"
       "  (h + scatter([70], t * u, k), t) }, (h, 0.0), (k, u))"),
  };
  for (const char* text : kLoops) {
    const Program p = program(text);
    std::vector<std::vector<double>> inputs = {{}, small_numbers(70), small_numbers(90)};
    for (int k = 0; k < 90; ++k) inputs[0].push_back(k * k % 75 - 2);
    inputs.resize(p.params.size());
    lower::Plan plan;
    EXPECT_TRUE(test::lowers_right(p, inputs, test::cpu_target(), &plan)) << text;
    EXPECT_EQ(test::dispatched_loops(plan), 0) << text;
  }
}

}  // namespace loop_forms_test
}  // namespace spirograd
