// Rows, squares and tiles of workgroups: what is computed of the same rows is one kernel, transposes go through shared
// memory, and what the operand of a contraction is made of is computed once. In so many kernels, with the values of the
// interpreter.
#include <gtest/gtest.h>

#include "frontend/rewrite/passes.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "support/lowered.h"

namespace spirograd {
namespace row_kernels_test {

struct Case {
  const char* name;
  const char* text;
  size_t kernels;        // of a GPU whose lanes exchange values
  const char* how = "";  // in the schedule of the last one
};

constexpr Case kCases[] = {
    {"softmax_of_long_rows", "def f(x: f32[37, 700]) -> f32[37, 700] = softmax(x, axis=1)", 1,
     "i = grid 37; j = register 6 local 128; tail recompute; group 128"},
    {"softmax_of_short_rows", "def f(x: f32[37, 100]) -> f32[37, 100] = softmax(x, axis=1)", 1,
     "i = grid 19 local 2; j = register 4 lane 32; tail recompute; group 64; team 32"},
    {"softmax_of_a_vector", "def f(x: f32[300]) -> f32[300] = softmax(x)", 1,
     "i = register 5 local 64; tail recompute; group 64"},
    {"softmax_of_columns", "def f(x: f32[40, 500]) -> f32[40, 500] = softmax(x, axis=0)", 2},
    {"softmax_of_few_columns", "def f(x: f32[40, 50]) -> f32[40, 50] = softmax(x, axis=0)", 1},
    {"rows_that_are_too_long", "def f(x: f32[3, 17000]) -> f32[3, 17000] = softmax(x, axis=1)", 3},
    {"normalised",
     "def f(x: f32[5, 9, 64]) -> f32[5, 9, 64] = {\n  let m = mean(x, axis=2)\n  let v = mean(square(x - m[:, :, None]), "
     "axis=2)\n"
     "  (x - m[:, :, None]) / sqrt(v[:, :, None] + 0.00001)\n}",
     1, "i = grid 23 local 2; j = register 2 lane 32; tail recompute; group 64; team 32"},
    {"norms_that_are_asked_for",
     "def f(x: f32[37, 100]) -> (f32[37, 100], f32[37]) = {\n  let n = sqrt(sum(square(x), axis=1))\n  (x / n[:, None], "
     "n)\n}",
     1, "i = grid 19 local 2; j = register 4 lane 32; tail recompute; group 64; team 32"},
    {"several_maps_and_rows",
     "def f(x: f32[37, 100]) -> (f32[37, 100], f32[37, 100], f32[37, 1]) = {\n  let n = sum(square(x), axis=1)[:, None]\n"
     "  let y = x * sin(n)\n  (y, exp(y) / n, n + 1.0)\n}",
     2},
    {"a_map_that_waits_for_columns",
     "def f(x: f32[37, 100]) -> (f32[37, 100], f32[37, 100]) = {\n  let y = softmax(x, axis=1)\n"
     "  let s = tanh(sum(y, axis=0))\n  (y, y * sum(y * s, axis=1)[:, None])\n}",
     3, "i = grid 19 local 2; j = register 4 lane 32; tail recompute; group 64; team 32"},
    {"rows_of_others_as_well",
     "def f(x: f32[160, 160]) -> f32[160, 160] = {\n  let y = softmax(x, axis=1)\n  y - transpose(y, [1, 0])\n}", 2},
    {"rows_of_another_length",
     "def f(x: f32[37, 100], y: f32[37, 80]) -> f32[37, 100] = x / sqrt(sum(square(y), axis=1))[:, None]", 1},
    {"rows_of_the_other_axis", "def f(x: f32[64, 64]) -> f32[64, 64] = x / sqrt(sum(square(x), axis=1))[None, :]", 1},
    {"places_of_the_largest", "def f(x: f32[37, 700]) -> i32[37] = argmax(x, axis=1)", 1, "i = grid 37; group 256"},
    {"places_in_short_rows", "def f(x: f32[37, 90]) -> i32[37] = argmin(x, axis=1)", 1,
     "i = grid 19 local 2; tail recompute; group 64; team 32"},
    {"a_transpose", "def f(x: f32[300, 1700]) -> f32[1700, 300] = transpose(x, [1, 0])", 1,
     "i = grid 54 register 4 local 8; j = grid 10 local 32; tail recompute; group 256; staged"},
    {"a_matrix_and_its_transpose", "def f(x: f32[700, 700]) -> f32[700, 700] = x - 2.0 * transpose(x, [1, 0])", 1,
     "i = grid 22 register 4 local 8; j = grid 22 local 32; tail recompute; group 256; staged"},
    {"axes_the_other_way_round", "def f(x: f32[70, 40, 170]) -> f32[170, 40, 70] = transpose(x, [2, 1, 0])", 1,
     "i = grid 6 register 4 local 8; j = grid 40; k = grid 3 local 32; tail recompute; group 256; staged"},
    {"an_operand_that_is_computed",
     "def f(x: f32[100, 70], s: f32[100], w: f32[70, 90]) -> f32[100, 90] = (x * s[:, None] - 1.0) @ w", 1},
};

Target gpu(uint32_t operations, uint32_t most = 1024) {
  Target t = test::gpu_target();
  t.subgroup_operations |= operations;
  t.max_invocations = most;
  return t;
}

Program lowered(const char* text) {
  const Program whole = text::instantiate(text::parse(text, "test.sg").value()).value();
  return rewrite::optimise_for_lowering(whole, {.verify = true});
}

class RowKernelsOf : public ::testing::TestWithParam<Case> {};

TEST_P(RowKernelsOf, AreOneKernelWithTheSameValues) {
  const Program p = lowered(GetParam().text);
  const lower::Plan plan = lower::lower(p, gpu(kSubgroupShuffle));
  EXPECT_EQ(plan.steps.size(), GetParam().kernels);
  if (*GetParam().how) {
    EXPECT_EQ(plan.schedules.back()[0].how, GetParam().how);
  }
  Target small = gpu(kSubgroupShuffle, 64);
  small.shared_bytes = 4096;
  for (const Target& t : {gpu(kSubgroupShuffle), gpu(0), small, test::cpu_target()})
    EXPECT_TRUE(test::same_as_interpreter(p, lower::lower(p, t), test::sines(p, 0.7), 1e-4));
}

INSTANTIATE_TEST_SUITE_P(Of, RowKernelsOf, ::testing::ValuesIn(kCases),
                         [](const auto& of) { return std::string(of.param.name); });

// In a direction and backwards, too: what both ask for is computed once.
TEST(RowKernels, TakeDerivatives) {
  struct Derivatives {
    const char* text;
    size_t forward, reverse;  // kernels
  };
  for (const auto& [text, forward, reverse] : std::initializer_list<Derivatives>{
           {"def f(x: f32[37, 300]) -> f32[37, 300] = softmax(x, axis=1)", 1, 1},
           {"def f(x: f32[37, 300]) -> f32[37, 300] = for i: 37 => x[i] / sqrt(sum(square(x[i])))", 1, 1},
           {"def f(x: f32[37, 300], g: f32[300]) -> f32[37, 300] = {\n  let m = mean(x, axis=1)[:, None]\n"
            "  (x - m) / sqrt(mean(square(x - m), axis=1)[:, None] + 0.00001) * g\n}",
            1, 2}}) {
    const Program whole = text::instantiate(text::parse(text, "test.sg").value()).value();
    const Program in_a_direction = rewrite::optimise_for_lowering(jvp(whole).value(), {.verify = true}),
                  backwards = rewrite::optimise_for_lowering(vjp(whole).value(), {.verify = true});
    EXPECT_EQ(lower::lower(in_a_direction, gpu(kSubgroupShuffle)).steps.size(), forward) << text;
    EXPECT_EQ(lower::lower(backwards, gpu(kSubgroupShuffle)).steps.size(), reverse) << text;
    for (const Program& p : {in_a_direction, backwards})
      for (const Target& t : {gpu(kSubgroupShuffle), gpu(0), gpu(kSubgroupShuffle, 64)})
        EXPECT_TRUE(test::same_as_interpreter(p, lower::lower(p, t), test::sines(p, 0.7), 1e-4)) << text;
  }
}

// On processors an invocation has a short row for itself: each element is loaded and computed once.
TEST(RowKernels, OfShortRowsAreOneInvocationEach) {
  struct Short {
    const char* text;
    size_t kernels;
    const char* how;  // of the last one; "": as other maps
  };
  for (const auto& [text, kernels, how] : std::initializer_list<Short>{
           {"def f(x: f32[4000, 10]) -> f32[4000, 10] = softmax(x, axis=1)", 1, "i = grid 4000; j = register 10"},
           {"def f(x: f32[4000, 1]) -> f32[4000, 1] = softmax(x, axis=1)", 1, ""},
           {"def f(x: f32[100, 30, 50]) -> f32[100, 30, 50] = softmax(x, axis=2)", 1, "i = grid 3000; j = register 50"},
           {"def f(x: f32[700, 10]) -> f32[700, 10] = softmax(x, axis=1)", 2, ""},  // not worth the code
           {"def f(x: f32[300, 10]) -> f32[300, 10] = softmax(x, axis=1)", 1, ""},  // nor another kernel
           {"def f(x: f32[4000, 10]) -> (f32[4000, 10], f32[4000]) = {\n  let n = sqrt(sum(square(x), axis=1))\n  (x / n[:, "
            "None], "
            "n)\n}",
            1, "i = grid 4000; j = register 10"},
           {"def f(x: f32[4000, 64]) -> f32[4000, 64] = x - mean(x, axis=1)[:, None]", 1, "i = grid 4000; j = register 64"},
           {"def f(x: f32[4000, 65]) -> f32[4000, 65] = x - mean(x, axis=1)[:, None]", 2, ""},         // too long
           {"def f(x: f32[4000, 64]) -> f32[4000, 64] = exp(sin(tanh(softmax(x, axis=1)))) ", 2, ""},  // too much code
           {"def f(x: f32[9, 10]) -> f32[9, 10] = softmax(x, axis=1)", 1, ""},                         // too few rows
           {"def f(x: f32[4000, 10]) -> f32[4000, 10] = softmax(x, axis=0)", 5, ""}}) {                // columns
    const Program whole = text::instantiate(text::parse(text, "test.sg").value()).value();
    const Program p = rewrite::optimise_for_lowering(whole, {.verify = true});
    const lower::Plan plan = lower::lower(p, test::cpu_target());
    EXPECT_EQ(plan.steps.size(), kernels) << text;
    if (*how) {
      EXPECT_EQ(plan.schedules.back()[0].how, how) << text;
    }
    for (const Program& q : {p, rewrite::optimise_for_lowering(jvp(whole).value(), {.verify = true}),
                             rewrite::optimise_for_lowering(vjp(whole).value(), {.verify = true})}) {
      EXPECT_TRUE(test::same_as_interpreter(q, lower::lower(q, test::cpu_target()), test::sines(q, 0.7), 1e-4)) << text;
    }
  }
}

// Ties, NaN and infinities, wherever they are dealt to.
TEST(PlacesByWorkgroups, AreThoseOfTheFirstExtreme) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const char* text :
       {"def f(x: f32[7, 200]) -> (i32[7], i32[7]) = (argmax(x, axis=1), argmin(x, axis=1))",
        "def f(x: f32[7, 70]) -> i32[7] = argmax(x, axis=1)", "def f(x: f32[7, 70]) -> i32[7] = argmin(x, axis=1)"}) {
    const Program p = lowered(text);
    const int64_t n = p.params[0].type.shape[1];
    std::vector<double> x(static_cast<size_t>(7 * n), 1);
    const auto at = [&](int64_t row, int64_t k) -> double& { return x[static_cast<size_t>(row * n + k)]; };
    for (int64_t k = 0; k < n; ++k)
      at(1, k) = nan, at(2, k) = k < 40 ? nan : 3, at(3, k) = k % 33 == 0 ? 5 : -5, at(4, k) = -inf;
    at(4, 69) = -7, at(5, 37) = 2, at(5, 69) = 2, at(5, 5) = 0, at(5, 66) = 0, at(6, 0) = nan, at(6, 64) = inf,
          at(6, 65) = inf;
    for (const Target& t : {gpu(kSubgroupShuffle), gpu(0)}) {
      const lower::Plan plan = lower::lower(p, t);
      EXPECT_NE(plan.schedules.back()[0].how.find("group"), std::string::npos);
      EXPECT_TRUE(test::same_as_interpreter(p, plan, {x}, 0)) << text;
    }
  }
}

}  // namespace row_kernels_test
}  // namespace spirograd
