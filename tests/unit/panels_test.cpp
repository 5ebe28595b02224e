// Contractions in tiles of subgroups and of workgroups: along which axes their lanes lie, and in which order they reduce.
// Values agree with the interpreter.
#include <gtest/gtest.h>

#include "frontend/rewrite/passes.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "support/lowered.h"

namespace spirograd {
namespace panels_test {

Target target_of_lanes() {
  Target t = test::cpu_target();
  t.subgroup_operations = kSubgroupBasic | kSubgroupBallot;
  return t;
}

// The loops of all kernels, a line for each.
std::string loops(const Program& program, const Target& target = target_of_lanes()) {
  const Program p = rewrite::optimise_for_lowering(program, {.verify = true});
  const lower::Plan plan = lower::lower(p, target);
  EXPECT_TRUE(test::same_as_interpreter(p, plan, test::sines(p, 0.7), 1e-4));
  std::string out;
  for (const std::vector<lower::ScheduleLine>& kernel : plan.schedules)
    for (const lower::ScheduleLine& line : kernel) out += line.what + ": " + line.how + "\n";
  return out;
}

Program program(const std::string& text) { return text::instantiate(text::parse(text, "test.sg").value()).value(); }

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Panels, LanesHoldWhatTheyHaveInCommonForElementsOfAnAxisThatIsLongEnough) {
  const auto of = [](const std::string& axes) {
    return loops(
        program("def f(x: f32[4, 16, 34, 34], w: f32[8, 16, 3, 3]) -> f32[4, 8, 32, 32] =\n"
                "  for n: 4, o: 8, i: 32, j: 32 => sum(for " +
                axes + " => x[n, c, i + a, j + b] * w[o, c, a, b])"));
  };
  const std::string channels_last = "k = serial 3; a = serial 3; b = serial 2 unroll 8; broadcast 8";
  for (const char* axes : {"c: 16, a: 3, b: 3", "a: 3, c: 16, b: 3", "a: 3, b: 3, c: 16"})
    EXPECT_TRUE(has(of(axes), channels_last)) << axes << "\n" << of(axes);
}

// x x^T reads its array in panels along the lanes, and as it lies along the rows.
TEST(Panels, AnArrayThatIsBothOperandsIsReadInBothWays) {
  Target t = target_of_lanes();
  t.subgroup_operations |= kSubgroupShuffle;
  const Program p = rewrite::optimise_for_lowering(program("def f(x: f32[512, 40]) -> f32[512, 512] = x @ transpose(x)"),
                                                   {.verify = true});
  const lower::Plan plan = lower::lower(p, t);
  EXPECT_TRUE(test::same_as_interpreter(p, plan, test::sines(p, 0.7), 1e-4));
  ASSERT_EQ(plan.kernels.size(), 2u) << "the copy, and the product";
  const kernel::Kernel& product = plan.kernels.back();
  std::vector<int64_t> loads(product.bindings.size());
  for (const kernel::Inst& i : product.body)
    if (i.op == kernel::KOp::Load) ++loads[i.in[0]];
  EXPECT_EQ(loads.size(), 3u) << "the array, its copy, and the result";
  EXPECT_EQ(std::ranges::count_if(loads, [](int64_t n) { return n > 0; }), 2);
}

TEST(Panels, TheLastOfLongAxesStaysTheInnermost) {
  const std::string found =
      loops(program("def f(x: f32[64, 10, 12], w: f32[12, 10, 64]) -> f32[64, 64] =\n"
                    "  for i: 64, j: 64 => sum(for a: 10, b: 12 => x[i, a, b] * w[b, a, j])"));
  EXPECT_TRUE(has(found, "sum of f32[64,64,10,12]: k = serial 10; a = serial 2 unroll 6; broadcast 8")) << found;
}

// The cotangent of an image is read where its index is within; how far a weight is along the filter says nothing about
// lanes.
TEST(Panels, GradientsOfConvolutionsLieAlongRowsAsTheConvolutionsDo) {
  const Program loss = program("def f(x: f32[4, 16, 32, 32], w: f32[8, 16, 3, 3]) -> f32 = sum(square(conv(x, w)))");
  const std::string found = loops(grad(loss, {"x"}).value());
  EXPECT_TRUE(has(
      found,
      "transpose f32[4,16,32,32]: i = grid 4; j = grid 2 register 8; k = grid 32; l = grid 1 register 2 lane 8 register 2"))
      << found;
}

// What is copied to shared memory is a part of the last axis that is reduced: of one that is long enough, if any is.
TEST(Panels, WorkgroupsCopyElementsOfAnAxisThatIsLongEnough) {
  const Program values = program(
      "def f(x: f32[4, 16, 34, 34], w: f32[16, 16, 3, 3]) -> f32[4, 16, 32, 32] =\n"
      "  for n: 4, o: 16, i: 32, j: 32 => sum(for c: 16, a: 3, b: 3 => x[n, c, i + a, j + b] * w[o, c, a, b])");
  const std::string found = loops(values, test::gpu());
  EXPECT_TRUE(has(found, "sum of f32[4,16,32,32,3,3,16]: k = serial 3; a = serial 3; b = ")) << found;
  EXPECT_TRUE(has(found, "stage A, B")) << found;
}

// The parts are whole rows of the image.
TEST(Panels, WorkgroupsCopyRowsForTheGradientsOfFilters) {
  const Program loss = program("def f(x: f32[4, 16, 34, 34], w: f32[16, 16, 3, 3]) -> f32 = sum(square(conv(x, w)))");
  const std::string found = loops(grad(loss, {"w"}).value(), test::gpu());
  EXPECT_TRUE(has(found, "partial results: k = grid 4; a = grid 4 serial 8; b = serial 32\n")) << found;
  EXPECT_TRUE(has(found, "k = serial 8; a = serial 2 serial 2 unroll 8; accumulators 4; stage A pad 4, B pad 4")) << found;
}

}  // namespace panels_test
}  // namespace spirograd
