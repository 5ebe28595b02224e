// 2,000 random programs through the whole compiler, on the host.
#include "tests/property/pipeline.h"

namespace spirograd::property {
namespace pipeline_test {

TEST(Pipeline, EveryStageOf1400ProgramsMeansTheSame) {
  Counts counts;
  const Property property = up_to_signs_of_zeros(counts, stages_agree);
  check_programs(0, 1000, {}, property);
  check_programs(1000, 400, {.hostile_values = true}, property);
  std::cout << counts.kernels << " programs through kernels, of these " << counts.rounded << " compared in f64 only ("
            << counts.huge_angles << " with huge angles), " << counts.zero_signs << " up to signs of zeros, "
            << counts.contracted << " up to infinities; " << counts.too_many_axes << " with too many axes\n";
  EXPECT_LT(counts.zero_signs, 14u);
  EXPECT_LT(counts.contracted, 14u);
  EXPECT_LT(counts.rounded, 42u) << "too many programs depend on f32 rounding: a mistake in f32 would hide among them";
  EXPECT_LT(counts.too_many_axes, 70u);
}

TEST(Pipeline, DerivativesOf600ProgramsAgree) {
  Counts counts;
  const RandomOptions options = {.differentiable_only = true, .max_size = 40};
  check_programs(2000, 600, options, up_to_signs_of_zeros(counts, derivatives_agree));
  std::cout << counts.differentiated << " programs differentiated, " << counts.differences << " compared with differences, "
            << counts.second << " to second order; gradients of " << counts.kernels << " through kernels, of these "
            << counts.rounded << " compared in f64 only; " << counts.zero_signs << " up to signs of zeros\n";
  EXPECT_GT(counts.differences, 400u);
  EXPECT_GT(counts.second, 100u);
  EXPECT_LT(counts.rounded, 12u);
  EXPECT_LT(counts.zero_signs, 6u);
}

}  // namespace pipeline_test
}  // namespace spirograd::property
