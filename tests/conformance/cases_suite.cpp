// The cases C01 to C76: they come from the test suite of an existing system of dual arrays; the numbers are facts of
// mathematics.
#include "tests/conformance/conformance.h"

namespace spirograd::conformance {
namespace {

Values times(int n, double x) { return Values(static_cast<size_t>(n), x); }

Values counted(int n, double factor = 1) {
  Values v;
  for (int j = 0; j < n; ++j) v.push_back(factor * j);
  return v;
}

Values joined(std::initializer_list<Values> parts) {
  Values v;
  for (const Values& part : parts) v.insert(v.end(), part.begin(), part.end());
  return v;
}

const Values kTable = counted(14, 0.25);
const Values kHighRank = {5, 2, 6, 1, -2, 1e-6, 0.1, -0.2, 13.1, 9, 8, -4, 34, 2.99432, -33, 26};
const Values kRelu = {1.1, -2.2, 0, 4.4, 5.5, 6.6, 7.7, 8.8, -9.9, -10, 11, 12};
const Values kFour = {1.1, 2.2, 3.3, 4};
const Values kFifteen = counted(15);

}  // namespace

std::vector<Case> suite_cases() {
  // clang-format off
  return {
      {.line = "C01", .program = "C01", .inputs = {{1.1}, {2.2}, {3.3}}, .value = {4.242393641025528},
       .gradient = {2.4396285219055063, -1.953374825727421, 0.9654825811012627}},
      {.line = "C02", .program = "C02", .inputs = {times(4, 1.1), times(4, 2.2), times(4, 3.3)},
       .gradient = joined({times(4, 2.4396285219055063), times(4, -1.953374825727421), times(4, 0.9654825811012627)})},
      {.line = "C03", .program = "C03", .inputs = {{1.1}, {2.2}}, .gradient = {3.1435239435581166, -1.1053869545195814}},
      {.line = "C04", .program = "C03", .inputs = {{1.1}, {2.2}}, .jvp = {{{0.1, 0.2}, {0.09327500345189534}}}},
      {.line = "C05", .program = "C05", .inputs = {{1}}, .gradient = {3.6174114266850617}},
      {.line = "C06", .program = "C05", .inputs = {{1}}, .jvp = {{{1.1}, {3.9791525693535674}}}},
      {.line = "C07", .program = "C07", .inputs = {{1.1}, {2.2}, {3.3}}, .gradient = {0, -5219.20995030263, 2782.276274462047}},
      {.line = "C08", .program = "C08", .inputs = {{1.1}, {2.2}, {3.3}}, .gradient = {0, -5219.20995030263, 2783.276274462047}},
      {.line = "C09", .program = "C09", .inputs = {{42}}, .gradient = {2}},
      {.line = "C10", .program = "C10", .inputs = {{-42}}, .gradient = {5}},
      {.line = "C11", .program = "C11", .inputs = {counted(28)}, .gradient = joined({times(22, 2), times(6, 1)})},
      {.line = "C12", .program = "C12", .inputs = {{3}}, .gradient = {50}},
      {.line = "C13", .program = "C13", .inputs = {counted(28), {1}}, .value = {609}, .gradient = {0}},
      {.line = "C14", .program = "C14", .inputs = {kFour},
       .gradient = {-4521.201512195087, -5568.7163677622175, -5298.386349932494, -4907.349735554627}},
      {.line = "C15", .program = "C14", .inputs = {kFour},
       .gradient = {-189890.46351219364, -233886.08744601303, -222532.22669716467, -206108.68889329425}, .cotangent = times(3, 42)},
      {.line = "C16", .program = "C14", .inputs = {kFour},
       .jvp = {{times(4, 42), {-296584.8166864211, -290062.472288043, -265770.1775742018}}}},
      {.line = "C20", .program = "C20", .inputs = {counted(5)}, .gradient = {1, 1, 0, 0, 0}},
      {.line = "C21", .program = "C21", .inputs = {kRelu}, .gradient = {1, 0, 0, 1, 1, 1, 1, 1, 0, 0, 1, 1}},
      {.line = "C22", .program = "C22", .inputs = {{1.1}}, .gradient = {4.5309153191767395}},
      {.line = "C23", .program = "C22", .inputs = {{1.1}}, .gradient = {191.20462646925841}, .cotangent = {42.2}},
      {.line = "C26", .program = "C26", .inputs = {{1.1}}, .gradient = {45}},
      {.line = "C27", .program = "C27", .inputs = {{1.1}}, .gradient = {470}, .jvp = {{{0.1}, {47}}}},
      {.line = "C28", .program = "C28", .inputs = {{3.4}}, .gradient = {4}},
      {.line = "C29", .program = "C29", .inputs = {{3.4}}, .gradient = {126}},
      {.line = "C30", .program = "C30", .inputs = {{3.4}}, .gradient = {2}},
      {.line = "C31", .program = "C31", .inputs = {{3.4}}, .gradient = {122}},
      {.line = "C32", .program = "C32", .inputs = {{3.4}}, .gradient = {1}},
      {.line = "C33", .program = "C33", .inputs = {{3.4}}, .gradient = {10}},
      {.line = "C34", .program = "C34", .inputs = {{3.4}}, .gradient = {10}},
      {.line = "C36", .program = "C36", .inputs = {{3.4}}, .gradient = {10}},
      {.line = "C37", .program = "C37", .inputs = {{3.4}}, .gradient = {8}},
      {.line = "C39", .program = "C39", .inputs = {{3.4}}, .gradient = {0}},
      {.line = "C40", .program = "C40", .inputs = {{3.4}}, .gradient = {0}},
      {.line = "C41", .program = "C41", .inputs = {{3.4}}, .gradient = {0}},
      {.line = "C42", .program = "C42", .inputs = {{3.4}}, .gradient = {0}},
      {.line = "C43", .program = "C43", .inputs = {times(10, 1), times(10, 2), times(10, 3)},
       .value = {3, 6, 6, 6, 6, 6, 6, 6, 6, 4}},
      {.line = "C43", .program = "C43", .inputs = {counted(10), counted(10), counted(10)},
       .value = {1, 3, 6, 9, 12, 15, 18, 21, 24, 17}},
      {.line = "C43", .program = "C43", .inputs = {counted(10), counted(10, 2), counted(10, 3)},
       .value = {2, 5, 11, 17, 23, 29, 35, 41, 47, 33}},
      {.line = "C44", .program = "C43", .inputs = {times(10, 1), times(10, 2), times(10, 3)},
       .gradient = joined({times(10, 1), {0}, times(9, 1), times(9, 1), {0}})},
      {.line = "C45", .program = "C45", .inputs = {kFifteen}, .gradient = joined({times(12, 1), times(3, 0)})},
      {.line = "C46", .program = "C46", .inputs = {{2}, {3}}, .gradient = {0.3333332633333395, -0.22222217555555968}},
      // In f32 the factor itself is rounded, which 7000 steps amplify.
      {.line = "C49", .program = "C49_loop", .inputs = {{2}, {3}}, .gradient = {0.3332633406816766, -0.22217556045445108},
       .f32_tolerance = 1e-3},
      {.line = "C53", .program = "C53", .inputs = {{1.1}}, .gradient = {0.4535961214255773},
       .hvp = {{{1}, {-0.8912073600614354}}, {{1.1}, {-0.9803280960675791}}}},
      {.line = "C55", .program = "C55", .inputs = {{1.1}}, .gradient = {1}},
      {.line = "C56", .program = "C56", .inputs = {{1.1}}, .gradient = {0.4535961214255773}},
      {.line = "C57", .program = "C57", .inputs = {{1.1}}, .gradient = {0.12389721944941383}},
      {.line = "C58", .program = "C58", .inputs = {{1.1}}, .gradient = {0.4535961214255773}},
      {.line = "C61", .program = "C61", .inputs = {{1.1}}, .gradient = {6}},
      {.line = "C64", .program = "C64_0", .inputs = {{1.1}}, .gradient = {1}},
      {.line = "C64", .program = "C64_1", .inputs = {{1.1}}, .gradient = {1.4535961214255773}},
      {.line = "C64", .program = "C64_5", .inputs = {{1.1}}, .gradient = {2.2207726343670955}},
      {.line = "C64", .program = "C64_es", .inputs = {{1.1}}, .gradient = {1.360788364276732}},
      {.line = "C70", .program = "C70", .inputs = {{1.1}}, .gradient = {1.1961317861865948}},
      {.line = "C72", .program = "C72", .inputs = {kTable}, .gradient = joined({{1, 0, 0, 0, 0, 1}, times(8, 0)})},
      {.line = "C72", .program = "C72_choice", .inputs = {kTable}, .gradient = joined({{3, 1, 1, 1, 1, 3}, times(8, 0)})},
      {.line = "C72", .program = "C72_even", .inputs = {kTable}, .gradient = {1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1}},
      {.line = "C72", .program = "C72_even_times", .inputs = {kTable}, .gradient = {6, 0, 0, 0, 6, 6, 0, 0, 6, 6, 0, 0, 0, 6}},
      {.line = "C72", .program = "C72_rows", .inputs = {kTable}, .gradient = {1, 0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0, 1}},
      {.line = "C73", .program = "C73", .inputs = {counted(12)}, .gradient = times(12, 1)},
      {.line = "C73", .program = "C73_times", .inputs = {counted(12)}, .gradient = times(12, 6)},
      {.line = "C74", .program = "C74", .inputs = {kTable}, .gradient = times(14, 1)},
      {.line = "C74", .program = "C74_choice", .inputs = {kTable}, .gradient = joined({times(6, 3), times(8, 2)})},
      {.line = "C74", .program = "C74_min", .inputs = {kTable}, .gradient = times(14, 1)},
      {.line = "C74", .program = "C74_pair", .inputs = {kTable}, .gradient = times(14, 1)},
      {.line = "C74", .program = "C74_folded", .inputs = {kTable}, .gradient = times(14, 1)},
      {.line = "C74", .program = "C74_folded_times", .inputs = {kTable}, .gradient = times(14, 6)},
      {.line = "C74", .program = "C74_row", .inputs = {kTable}, .gradient = joined({{0, 0, 4, 4}, times(10, 0)})},
      {.line = "C76", .program = "C76", .inputs = {kHighRank}, .gradient = times(16, 2)},
      {.line = "C76", .program = "C76_choice", .inputs = {kHighRank}, .gradient = joined({times(8, 1), times(8, 2)})},
  };
  // clang-format on
}

}  // namespace spirograd::conformance
