// What plans tell of the rows that loops keep for the way back: the bytes that they take of scratch, values, places, times.
#include <gtest/gtest.h>

#include <numeric>

#include "frontend/rewrite/passes.h"
#include "spirograd/grad.h"
#include "spirv/lower/plan.h"
#include "support/lowered.h"
#include "support/text_programs.h"

namespace spirograd {
namespace kept_rows_test {

lower::Plan gradient_plan(const std::string& text, int64_t n = 0, const Target& target = test::cpu_target()) {
  const Program p = test::program(text, n ? text::ShapeVariables{{"N", n}} : text::ShapeVariables{});
  return lower::lower(rewrite::optimise_for_lowering(grad(p).value()), target);
}

std::string told(const lower::Plan& plan) {
  std::string out;
  for (const lower::KeptRows& r : plan.kept)
    out += (out.empty() ? "" : "; ") + to_string(r.type) + " " + r.value + " at " + std::to_string(r.at.line) + ":" +
           std::to_string(r.at.column) + (r.rounds ? " rounds " : " steps ") + std::to_string(r.times);
  return out;
}

uint64_t bytes(const lower::Plan& plan) {
  return std::accumulate(plan.kept.begin(), plan.kept.end(), uint64_t{0}, [](uint64_t sum, const lower::KeptRows& r) {
    return sum + static_cast<uint64_t>(r.type.shape.count()) * device_bytes(r.type.dtype);
  });
}

TEST(KeptRows, AreToldWithTheLineTheyStemFrom) {
  const std::pair<const char*, const char*> cases[] = {
      {"def f(x: f32[64]) =\n  sum(fori(100, fn(i, s) => sin(s) * s, x))", "f32[100,64] state at 2:7 steps 100"},
      {"def f(x: f32[64]) =\n  sum(fori(100, fn(i, s) => sin(s) * s, x, keep=sqrt))",
       "f32[10,64] state at 2:7 rounds 10; f32[10,64] state at 2:7 steps 10"},
      {"def f(x: f32[64]) =\n  sum(fori(64, fn(i, s) =>\n    where(iota(64) == i, sin(s[i]), s), x))",
       "f32[64] gather at 3:31 steps 64"},
      {"def f(x: f32[64]) =\n  sum(fori(64, fn(i, s) =>\n    where(iota(64) == i, sin(s[i]), s), x, keep=sqrt))",
       "f32[8,8] gather at 3:31 steps 64"},
      {"def f(x: f32[64]) =\n  sum(fori(10, fn(i, s) => 0.5 * s + 0.1 * sin(\n    sum(s)), x))",
       "f32[10] sum at 3:5 steps 10"},
      {"def f(x: f32[64]) = sum(fori(10, fn(i, s) => 0.5 * s, x))", ""},
      {"def f(x: f32[64]) = sum(sin(x))", ""},
  };
  for (const auto& [text, want] : cases) EXPECT_EQ(told(gradient_plan(text)), want) << text;
}

// Four times the steps: scratch grows by what the rows have grown by, and by nothing else. Elements are parameters.
TEST(KeptRows, TakeTheirBytesOfScratch) {
  const char* loops[] = {
      "def f(x: f32[64], v: f32[N], k: i32[N]) = sum(fori(N, fn(i, s) => sin(s) * s, x))",
      "def f(x: f32[64], v: f32[N], k: i32[N]) = sum(fori(N, fn(i, s) => sin(s) * s, x, keep=sqrt))",
      "def f(x: f32[64], v: f32[N], k: i32[N]) = sum(fold(fn(s, e) => sin(s) * e, x, v))",
      "def f(x: f32[64], v: f32[N], k: i32[N]) = sum(fold(fn(s, i) => where(iota(64) == i, sin(s[i]), s), x, k))",
      "def f(x: f32[64], v: f32[N], k: i32[N]) = sum(fold(fn((s, a), e) => (sin(s) * a, a + cos(a) * e), (x, 1.0), v)[0])",
  };
  for (const Target& target : {test::cpu_target(), test::gpu_target(), test::with_cheap_dispatches(test::gpu())})
    for (const char* text : loops) {
      const lower::Plan few = gradient_plan(text, 256, target), many = gradient_plan(text, 1024, target);
      EXPECT_GT(bytes(few), 0u) << text;
      EXPECT_EQ(many.scratch_bytes - few.scratch_bytes, bytes(many) - bytes(few)) << text << "\n" << told(many);
      for (const lower::KeptRows& r : many.kept) EXPECT_EQ(many.buffers[r.place.buffer].role, Role::Scratch) << text;
    }
}

TEST(KeptRows, OfLoopsInChunksAreTheirs) {
  Target target = test::cpu_target();
  target.max_loop_iterations = 100;
  const lower::Plan plan = gradient_plan("def f(x: f32[64]) = sum(fori(1000, fn(i, s) => sin(s) * s, x))", 0, target);
  EXPECT_EQ(bytes(plan), 1000u * 64 * 4) << told(plan);
}

}  // namespace kept_rows_test
}  // namespace spirograd
