// Loops whose steps are dispatches: what lowering makes of them for any number of steps, that it does not grow with that,
// and what the runtime refuses.
#include <gtest/gtest.h>

#include "frontend/rewrite/passes.h"
#include "spirv/lower/memory.h"
#include "support/dispatch_loops.h"
#include "support/lowered.h"
#include "support/unrolled.h"
#include "vk_runtime/barrier_plan.h"
#include "vk_runtime/executable_check.h"

namespace spirograd {
namespace repeat_test {

using test::parsed;

Executable executable_of(const lower::Plan& plan) {
  Executable e;
  e.buffers = plan.buffers;
  e.steps = plan.steps;
  e.n_inputs = plan.n_inputs;
  e.n_outputs = plan.n_outputs;
  e.scratch_bytes = plan.scratch_bytes;
  for (const Step& s : plan.steps) {
    if (s.kind != Step::Kind::Dispatch) continue;
    e.kernels.resize(std::max<size_t>(e.kernels.size(), s.kernel + 1));
    e.kernels[s.kernel].bindings = static_cast<uint32_t>(s.uses.size());
  }
  return e;
}

size_t repeats(const lower::Plan& plan) {
  return static_cast<size_t>(
      std::count_if(plan.steps.begin(), plan.steps.end(), [](const Step& s) { return s.kind == Step::Kind::Repeat; }));
}

lower::Plan plan_of(const Program& p) {
  return lower::lower(rewrite::optimise_for_lowering(p, {.verify = true}), test::with_cheap_dispatches(test::cpu_target()));
}

TEST(Repeat, LoopsOfAnyLengthGiveWhatTheInterpreterGives) {
  for (int n : {0, 1, 2, 3, 4, 5, 6, 7, 12})
    for (const test::DispatchLoop& loop : test::dispatch_loops(n)) {
      const lower::Plan plan = plan_of(loop.program);
      EXPECT_TRUE(test::same_as_interpreter(loop.program, plan, test::inputs_of(loop.program))) << loop.name << ", " << n;
      EXPECT_EQ(repeats(plan) > 0, n >= 5) << loop.name << ", " << n;
      EXPECT_NO_THROW(vk::check_executable(executable_of(plan))) << loop.name << ", " << n;
    }
  for (const test::DispatchLoop& loop : test::dispatch_loops(1000)) {
    if (loop.name.find("nested") != std::string::npos) continue;
    const lower::Plan plan = plan_of(loop.program);
    EXPECT_TRUE(test::same_as_interpreter(loop.program, plan, test::inputs_of(loop.program), 1e-3)) << loop.name;
    EXPECT_GE(runs(plan.steps, Step::Kind::Dispatch), 1000u);
    EXPECT_LE(plan.steps.size(), 60u) << loop.name;
  }
}

// A dispatch, 3 times (a fill, 4 times a dispatch), a copy.
TEST(Repeat, StepsInsideOfLoopsCountAsOftenAsTheyRun) {
  const auto step = [](Step::Kind kind, uint32_t body = 0, uint32_t count = 0) {
    Step s;
    s.kind = kind;
    s.body = body;
    s.count = count;
    return s;
  };
  using Kind = Step::Kind;
  const std::vector<Step> steps = {step(Kind::Dispatch),     step(Kind::Repeat, 3, 3), step(Kind::Fill),
                                   step(Kind::Repeat, 1, 4), step(Kind::Dispatch),     step(Kind::Copy)};
  EXPECT_EQ(runs(steps, Kind::Dispatch), 13u);
  EXPECT_EQ(runs(steps, Kind::Fill), 3u);
  EXPECT_EQ(commands(steps), 17u);
  EXPECT_EQ(total(steps, [](const Step& s) { return s.kind == Kind::Dispatch ? 0.5 : 0.0; }), 6.5);
  EXPECT_EQ(total({}, [](const Step&) { return 1.0; }), 0);
}

// Written out, the steps get as many barriers, and what shares scratch memory is the same.
TEST(Repeat, BarriersAndMemoryAreThoseOfTheStepsWrittenOut) {
  for (int n : {5, 6, 9})
    for (const test::DispatchLoop& loop : test::dispatch_loops(n))
      for (const BindingForm form : {BindingForm::Address, BindingForm::Descriptors}) {
        lower::Plan plan = plan_of(loop.program);
        Executable e = executable_of(plan);
        e.form = form;
        const test::Unrolled flat = test::unrolled(e, vk::plan_barriers(e));
        EXPECT_EQ(flat.barriers.size(), vk::plan_barriers(flat.executable).size()) << loop.name << ", " << n;
        const uint64_t bytes = plan.scratch_bytes;
        plan.steps = flat.executable.steps;
        lower::place_scratch(plan);
        EXPECT_EQ(bytes, plan.scratch_bytes) << loop.name << ", " << n;
      }
}

TEST(Repeat, StepsAndBarriersOfAPlanDoNotGrowWithTheLoop) {
  const auto sizes = [](int n) {
    std::vector<size_t> out;
    for (const test::DispatchLoop& loop : test::dispatch_loops(n)) {
      if (loop.name == "gradient of nested") continue;
      const lower::Plan plan = plan_of(loop.program);
      out.push_back(plan.steps.size());
      out.push_back(vk::plan_barriers(executable_of(plan)).size());
    }
    return out;
  };
  EXPECT_EQ(sizes(601), sizes(901));
  EXPECT_EQ(sizes(600), sizes(900));
}

TEST(Repeat, LoopsBeyondTheLimitOfCommandsAreRefused) {
  const std::string body = "fn(i, s) => tanh(w @ s)";
  const auto loop = [&](int64_t outer, int64_t inner) {
    return parsed("def main(w: f32[5,5], x: f32[5]) -> f32[5] = fori(" + std::to_string(outer) + ", fn(k, t) => fori(" +
                  std::to_string(inner) + ", " + body + ", t), x)\n");
  };
  EXPECT_EQ(commands(plan_of(loop(1000, 2000)).steps), kCommandLimit);
  try {
    plan_of(loop(1000, 2001));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code, "SG0305");
    EXPECT_NE(e.message.find("1000 steps with 2001 dispatches"), std::string::npos) << e.message;
  }
}

// ---- executables from elsewhere -----------------------------------------------------------------------------------------

// Writes rows 0 .. 5 of the first half of a buffer, and of the second half backwards.
Executable good() {
  Executable e;
  e.buffers = {{Role::Output, "y", f32({48}), 192, 0, {}}};
  e.n_outputs = 1;
  Step outer, inner, fill;
  outer.kind = inner.kind = Step::Kind::Repeat;
  outer.count = 3, outer.body = 3;
  inner.count = 2, inner.body = 1;
  fill.kind = Step::Kind::Fill;
  fill.uses = {{0, 0, 16, false, true, {32, 16}}};
  Step back = fill;
  back.uses = {{0, 160, 32, false, true, {-32}}};
  e.steps = {outer, inner, fill, back};
  return e;
}

std::string complaint(const Executable& e) {
  try {
    vk::check_executable(e);
  } catch (const Error& error) {
    EXPECT_EQ(error.code, "SG0900");
    return error.message;
  }
  return "";
}

TEST(Repeat, MalformedOnesAreRefusedWithTheirStep) {
  ASSERT_EQ(complaint(good()), "");
  const auto after = [](auto change) {
    Executable e = good();
    change(e.steps);
    return complaint(e).erase(0, std::string("the executable is malformed: ").size());
  };
  using Steps = std::vector<Step>;
  const std::string outside = "step 2 uses bytes outside of its buffer";
  EXPECT_EQ(after([](Steps& s) { s[0].count = 0; }), "step 0 repeats its body 0 times");
  EXPECT_EQ(after([](Steps& s) { s[1].count = 1; }), "step 1 repeats its body 1 times");
  EXPECT_EQ(after([](Steps& s) { s[0].body = 0; }), "step 0 repeats 0 steps of 3");
  EXPECT_EQ(after([](Steps& s) { s[0].body = 4; }), "step 0 repeats 4 steps of 3");
  EXPECT_EQ(after([](Steps& s) { s[0].body = ~0u; }), "step 0 repeats 4294967295 steps of 3");
  EXPECT_EQ(after([](Steps& s) { s[1].body = 3; }), "step 1 repeats 3 steps of 2");
  EXPECT_EQ(after([](Steps& s) { s[0].body = 1; }), "step 1 repeats 1 steps of 0");
  EXPECT_EQ(after([](Steps& s) { s.resize(2); }), "step 0 repeats 3 steps of 1");
  EXPECT_EQ(after([](Steps& s) { s[1].uses = s[2].uses; }), "step 1 has the wrong number of buffers");
  EXPECT_EQ(after([](Steps& s) { s[2].uses[0].strides.push_back(0); }), "step 2 has more strides than Repeats around it");
  EXPECT_EQ(after([](Steps& s) { s[2].uses[0].strides = {32, 18}; }), "step 2 uses parts of words");
  for (const int64_t stride : {int64_t{84}, int64_t{-4}, INT64_MAX - 3, INT64_MIN, int64_t{1} << 62})
    for (const size_t d : {0u, 1u})
      EXPECT_EQ(after([&](Steps& s) { s[2].uses[0].strides[d] = stride * (d == 1 && stride == 84 ? 2 : 1); }), outside);
  EXPECT_EQ(after([](Steps& s) { s[2].uses[0].offset = 100; }), outside) << "the last row";
  EXPECT_EQ(after([](Steps& s) { s[3].uses[0].offset = 60; }), "step 3 uses bytes outside of its buffer");
  EXPECT_EQ(after([](Steps& s) { s[0].count = ~0u; }), "it has more than 2000000 commands, at step 0");
  EXPECT_EQ(after([](Steps& s) {
              s[2].uses[0].strides = s[3].uses[0].strides = {};
              s[0].count = s[1].count = 1000;
              s.push_back(s[3]);
            }),
            "");
  EXPECT_EQ(after([](Steps& s) {
              s[2].uses[0].strides = s[3].uses[0].strides = {};
              s[0].count = s[1].count = 1414;
            }),
            "it has more than 2000000 commands, at step 3");
}

TEST(Repeat, ManyNestedOnesAreRefusedAtOnce) {
  Executable e = good();
  Step repeat = e.steps[0], fill = e.steps[2];
  fill.uses[0].strides = {};
  e.steps.clear();
  for (uint32_t left = 100'000; left > 0; --left) {
    repeat.count = 2, repeat.body = left;
    e.steps.push_back(repeat);
  }
  e.steps.push_back(fill);
  EXPECT_EQ(complaint(e), "the executable is malformed: it has more than 2000000 commands, at step 20");
}

TEST(Repeat, PartsOfWordsAreNoPushConstants) {
  Executable e = good();
  KernelBinary& k = e.kernels.emplace_back();
  k.name = "k";
  k.needs.push_bytes = 16;
  EXPECT_EQ(complaint(e), "");
  k.needs.push_bytes = 18;
  EXPECT_EQ(complaint(e), "the executable is malformed: kernel 'k' has parts of words among its push constants");
}

}  // namespace repeat_test
}  // namespace spirograd
