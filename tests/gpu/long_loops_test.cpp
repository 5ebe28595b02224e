// Loops and reductions longer than some drivers let an invocation run: right on every driver, and never run unseen.
#include <cmath>

#include "frontend/ir/eval.h"
#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "tests/gpu/fixture.h"
#include "tests/support/loop_programs.h"

namespace spirograd::vk::testing {
namespace long_loops_test {

Program program(const std::string& text) { return text::instantiate(text::parse(text, "test.sg").value()).value(); }

class LongLoops : public Gpu {
 protected:
  bool as_for_a_gpu = false;  // whose workgroups work together

  void expect(const Program& p, const std::vector<HostArray>& inputs, size_t result, const std::vector<double>& want,
              double tolerance = 1e-5) {
    std::vector<std::vector<double>> all(p.results.size());
    all[result] = want;
    expect(p, inputs, all, tolerance);
  }

  // The results in both binding forms; empty: any.
  void expect(const Program& p, const std::vector<HostArray>& inputs, const std::vector<std::vector<double>>& want,
              double tolerance) {
    for (BindingForm form : {BindingForm::Address, BindingForm::Descriptors}) {
      CompileOptions options;
      options.form = form;
      Target target = device->target();
      if (as_for_a_gpu) target.price = {};
      const auto executable = compile(p, target, options);
      ASSERT_TRUE(executable) << executable.error().str();
      EXPECT_LE(requirements_of(*executable).loop_iterations, device->target().max_loop_iterations);
      const auto s = session(*executable);
      ASSERT_TRUE(s);
      const auto out = s->run(inputs);
      ASSERT_TRUE(out) << out.error().str();
      for (size_t r = 0; r < want.size(); ++r) {
        if (want[r].empty()) continue;
        const std::vector<double> have = (*out)[r].values();
        ASSERT_EQ(have.size(), want[r].size());
        for (size_t i = 0; i < have.size(); ++i)
          EXPECT_NEAR(have[i], want[r][i], tolerance * std::max(1.0, std::abs(want[r][i]))) << "element " << i;
      }
    }
  }
};

TEST_F(LongLoops, StepsBeyondTheLimitOfADriver) {
  expect(program("def main(x: i32) -> (y: i32) = fori(70001, fn(i, s) => x - s, 0)\n"), {{i32(Shape{}), {3}}}, 0, {3});
  expect(program("def main(x: i32) -> (y: i32) = fori(70001, fn(i, s) => s + x, 0)\n"), {{i32(Shape{}), {3}}}, 0, {210003});
  std::vector<double> sums = {0.5};
  for (int j = 0; j < 70001; ++j) sums.push_back(sums.back() + j % 5);
  const auto running = "def main(x: f32) -> (y: f32[70002]) = scan(fn(s, i) => s + x * f32(rem(i, 5)), 0.5, iota(70001))\n";
  expect(program(running), {{f32(Shape{}), {1}}}, 0, sums, 0);
  const auto nested =
      "def main(x: i32[2]) -> (y: i32[2]) = for k: 2 => fori(300, fn(i, s) => fori(300, fn(j, t) => t + x[k], s), 0)\n";
  expect(program(nested), {{i32({2}), {1, 2}}}, 0, {90000, 180000});
}

// Invocations beside each other leave at different steps, and the inner loop of one at different steps of the outer one.
TEST_F(LongLoops, LoopsThatEndBeforeTheirBound) {
  const Program roots = program(
      "def main(x: f32[200]) -> (y: f32[200], n: i32[200]) = for i: 200 => while(fn(s) => abs(s * s - x[i]) > 1e-5 * x[i],"
      " fn(s) => 0.5 * (s + x[i] / s), x[i], at_most=70001)\n");
  const Program nested = program(
      "def main(x: f32[200]) -> (y: f32[200], n: i32[200]) = for i: 200 => { let ((a, b), n) = while(fn((a, b)) => a < "
      "100.0,"
      " fn((a, b)) => {\n let (c, k) = while(fn(c) => c < a, fn(c) => c * 1.5, b, at_most=1000)\n (a * 1.7 + c, b + 1.0) },"
      " (x[i], 1.0), at_most=40)\n (a, n) }\n");
  const Program state = program(
      "def main(x: f32[3]) -> (y: f32[3], n: i32) = while(fn(s) => sum(s) > 0.5, fn(s) => s * 0.75, x, at_most=5000)\n");
  std::vector<double> x;
  for (int j = 0; j < 200; ++j) x.push_back(static_cast<double>(static_cast<float>(0.3 + j * 37 % 200)));
  x[7] = NAN;
  const auto in = [](Type t, std::vector<double> values) {
    return std::vector<HostArray>{{std::move(t), std::move(values)}};
  };
  for (const Program& p : {roots, nested}) {
    const std::vector<double> want = ir::evaluate(p, std::vector<std::vector<double>>{x})[0].data;
    const auto executable = compile(p, device->target()).value();
    const auto out = session(executable)->run(in(f32({200}), x));
    ASSERT_TRUE(out) << out.error().str();
    const std::vector<double> have = (*out)[0].values();
    EXPECT_TRUE(std::isnan(have[7]));
    EXPECT_EQ((*out)[1].values()[7], 0);
    for (size_t j = 0; j < have.size(); ++j) EXPECT_TRUE(j == 7 || std::abs(have[j] - want[j]) <= 1e-4 * want[j]) << x[j];
  }
  expect(state, in(f32({3}), {1, 2, 3}), {{std::pow(0.75, 9), 2 * std::pow(0.75, 9), 3 * std::pow(0.75, 9)}, {9}}, 1e-5);
}

TEST_F(LongLoops, GradientsOfLoopsBeyondTheLimit) {
  double s = 0, ds = 0;
  for (int i = 0; i < 70001; ++i) {
    ds = std::cos(s) * 0.999 * ds + 1;
    s = std::sin(s) * 0.999 + 0.3;
  }
  const Program p = program("def main(x: f32) -> (y: f32) = fori(70001, fn(i, s) => sin(s) * 0.999 + x, 0.0)\n");
  const Program both = value_and_grad(p, {"x"}).value();
  expect(both, {{f32(Shape{}), {static_cast<double>(0.3f)}}}, 0, {s}, 1e-4);
  expect(both, {{f32(Shape{}), {static_cast<double>(0.3f)}}}, 1, {ds}, 1e-3);
}

// In registers of one invocation, and in memory that a workgroup shares.
TEST_F(LongLoops, StateThatOneWorkgroupKeeps) {
  for (const test::LoopProgram& l : test::loop_programs())
    for (int64_t state : {3, 19}) {
      SCOPED_TRACE(std::string(l.name) + " of " + std::to_string(state));
      const Program p = value_and_grad(test::loop_program(l, state, 40), {"a", "xs"}).value();
      const std::vector<std::vector<double>> values = test::loop_inputs(state, 40);
      std::vector<HostArray> inputs;
      for (size_t j = 0; j < values.size(); ++j) inputs.emplace_back(p.params[j].type, values[j]);
      std::vector<std::vector<double>> want;
      for (const ir::Array& a : ir::evaluate(p, values)) want.push_back(a.data);
      expect(p, inputs, want, 1e-3);
    }
}

// One row after the other, or each by a subgroup that keeps the matrix.
TEST_F(LongLoops, RowsOfABatchThatMeetAMatrixInEachStep) {
  for (const auto& [rows, state] : {std::pair{6, 32}, {5, 20}}) {
    const std::string row = std::to_string(state), batch = std::to_string(rows) + ", " + row;
    SCOPED_TRACE(batch);
    const Program p =
        value_and_grad(program("def main(w: f32[" + row + ", " + row + "], s: f32[" + batch + "], xs: f32[60, " + batch +
                               "]) -> (l: f32) =\n" + "  sum(square(fold(fn(s, x) => tanh(s @ w + x), s, xs)))\n"),
                       {"w", "s", "xs"})
            .value();
    std::vector<std::vector<double>> values;
    std::vector<HostArray> inputs;
    for (const Param& param : p.params) {
      std::vector<double>& v = values.emplace_back();
      for (int64_t i = 0; i < param.type.shape.count(); ++i)
        v.push_back(static_cast<float>(0.2 * std::sin(0.7 * static_cast<double>(i))));
      inputs.emplace_back(param.type, v);
    }
    std::vector<std::vector<double>> want;
    for (const ir::Array& a : ir::evaluate(p, values)) want.push_back(a.data);
    expect(p, inputs, want, 1e-4);
  }
}

// What its members all have to know they find together, as a GPU has it, or each alone.
TEST_F(LongLoops, ReductionsOfStateThatOneWorkgroupKeeps) {
  const Program steps = program(
      "def main(x: f32[200], w: f32[200]) -> (loss: f32) {\n"
      "  let (y, n) = fori(30, fn(i, (x, n)) => {\n"
      "    let m = argmax(abs(x))\n"
      "    (for k: 200 => 0.9 * x[199 - k] / (1.0 + sum(x * x) * 0.01) + 0.1 * x[m] + max(w * x) * 0.01, n + x[m]) },\n"
      "    (x, 0.0))\n"
      "  sum(y * w) + n\n"
      "}\n");
  const Program p = value_and_grad(steps, {"x", "w"}).value();
  std::vector<std::vector<double>> values(2);
  for (int k = 0; k < 200; ++k)
    for (int j : {0, 1})
      values[static_cast<size_t>(j)].push_back(static_cast<double>(std::sin(1.7f * static_cast<float>(k + j))));
  const std::vector<HostArray> inputs = {HostArray(f32({200}), values[0]), HostArray(f32({200}), values[1])};
  std::vector<std::vector<double>> want;
  for (const ir::Array& a : ir::evaluate(p, values)) want.push_back(a.data);
  for (const bool gpu : {false, true}) {
    as_for_a_gpu = gpu;
    expect(p, inputs, want, 1e-3);
  }
}

TEST_F(LongLoops, ReductionsBeyondTheLimit) {
  const Program places = program("def main(x: f32) -> (y: i32) = argmax(f32(iota(100003)) * x)\n");
  expect(places, {{f32(Shape{}), {1}}}, 0, {100002});
  expect(places, {{f32(Shape{}), {-1}}}, 0, {0});
  const Program nested = program("def main(x: f32) -> (y: f32) = sum(for i: 331 => max(for j: 307 => x * f32(i + j)))\n");
  expect(nested, {{f32(Shape{}), {1}}}, 0, {331.0 * 306 + 331 * 330 / 2.0});
  expect(
      program("def main(x: f32) -> (y: f32[3]) = for r: 3 => sum(for i: 300007 => if rem(i, 1000) == r then x else 0.0)\n"),
      {{f32(Shape{}), {1}}}, 0, {301, 301, 301});
}

TEST_F(LongLoops, WhatWasCompiledForAnotherDeviceIsRefusedByName) {
  Target boundless = device->target();
  boundless.max_loop_iterations = kNoLoopLimit;
  const Program p = program("def main(x: i32) -> (y: i32) = fori(70001, fn(i, s) => x - s, 0)\n");
  CompileOptions options;
  options.form = device->preferred_form();
  const Executable executable = compile(p, boundless, options).value();
  EXPECT_EQ(requirements_of(executable).loop_iterations, 70002u);
  const auto s = Session::create(device, executable);
  if (device->target().max_loop_iterations >= requirements_of(executable).loop_iterations) {
    EXPECT_TRUE(s);
  } else {
    ASSERT_FALSE(s) << "the driver would end this loop early";
    EXPECT_EQ(s.error().code, "SG0303");
    EXPECT_NE(s.error().message.find("70002"), std::string::npos) << s.error().message;
    EXPECT_NE(s.error().message.find(device->info().name), std::string::npos) << s.error().message;
  }
}

// A fact found by the self-test: lavapipe of Mesa 22 ends loops after 65,535 iterations, SwiftShader does not.
TEST_F(LongLoops, TheLimitIsFoundByTheSelfTest) {
  const std::string name = device->info().driver;
  const uint64_t limit = device->target().max_loop_iterations;
  if (name.find("SwiftShader") != std::string::npos) {
    EXPECT_EQ(limit, 1000003u);
  }
  if (name.find("Mesa 22.") != std::string::npos) {
    EXPECT_LE(limit, 65535u);
    EXPECT_GE(limit, 60000u);
  }
  EXPECT_EQ(device->info().verdicts.size(), 31u);
}

}  // namespace long_loops_test
}  // namespace spirograd::vk::testing
