// The cases D01 to D31: derived by hand, cross-checked with finite differences.
#include "tests/conformance/conformance.h"

namespace spirograd::conformance {

std::vector<Case> derived_cases() {
  // clang-format off
  return {
      {.line = "D01", .program = "D01", .inputs = {{1, 2, 3, 4}}, .value = {20}, .gradient = {8, 6, 4, 2},
       .hvp = {{{1, 0, 0, 0}, {0, 0, 0, 2}}}},
      {.line = "D02", .program = "D02", .inputs = {{1, 2, 3}}, .value = {3.40760596444438},
       .gradient = {0.09003057317038046, 0.2447284710547977, 0.665240955774822},
       .jvp = {{{1, -1, 0.5}, {0.17792258000299377}}},
       .hvp = {{{1, -1, 0.5}, {0.07401210131275807, -0.2882711920250553, 0.2142590907122972}}}},
      {.line = "D03", .program = "D03", .inputs = {{1, 2, 3, 4, 5, 6}, {7, 8, 9, 10, 11, 12}}, .value = {58, 64, 139, 154},
       .gradient = {15, 19, 23, 15, 19, 23, 5, 5, 7, 7, 9, 9}},
      {.line = "D04", .program = "D03", .inputs = {{1, 2, 3, 4, 5, 6}, {7, 8, 9, 10, 11, 12}},
       .gradient = {7, 9, 11, 16, 20, 24, 1, 8, 2, 10, 3, 12}, .cotangent = {1, 0, 0, 2}},
      {.line = "D05", .program = "D05", .inputs = {{3, 4, 5}}, .value = {4433}, .gradient = {11, 1100, 0}},
      {.line = "D06", .program = "D06", .inputs = {{2, 3, 5}}, .value = {33}, .gradient = {2, 3, 4}},
      {.line = "D07", .program = "D07", .inputs = {{2, 3, 5}}, .value = {-2.667622421042716},
       .gradient = {-1.8185948536513634, -0.4233600241796016, 3.835697098652554}},
      {.line = "D08", .program = "D08", .inputs = {{2, 3, 5, 7, 11}}, .value = {3, 5, 7}, .gradient = {0, 1, 10, 100, 0},
       .cotangent = {1, 10, 100}},
      {.line = "D09", .program = "D09", .inputs = {{-1.2}, {1}}, .value = {24.2}, .gradient = {-215.6, -88},
       .hvp = {{{1, 0}, {1330, 480}}, {{1, 2}, {2290, 880}}}},
      {.line = "D10", .program = "D10", .inputs = {{2}, {3, 5, 7}}, .value = {2, 6, 30, 210}, .gradient = {124, 82, 48, 30},
       .jvp = {{{1, 1, 0, 0}, {1, 5, 25, 175}}}},
      {.line = "D12", .program = "D12", .inputs = {{4, 0, -1}}, .value = {2}, .gradient = {0.25, 0, 0}},
      {.line = "D13", .program = "D13", .inputs = {{2, 3}}, .gradient = {3, 2}, .cotangent = {1, 0, 0}},
      {.line = "D13", .program = "D13", .inputs = {{2, 3}}, .gradient = {-0.4161468365471424, 0}, .cotangent = {0, 1, 0}},
      {.line = "D13", .program = "D13", .inputs = {{2, 3}}, .gradient = {0, 6}, .cotangent = {0, 0, 1}},
      {.line = "D14", .program = "D14", .inputs = {{0.5, 0, 5, 4}}, .value = {5}, .gradient = {0, -1, -2, -5},
       .hvp = {{{1, 1, 1, 1}, {4, 4, 4, 4}}}},
      {.line = "D15", .program = "D15", .inputs = {{1, 2, 3, 4, 5}, {10, -1}}, .value = {8, 17, 26, 35},
       .gradient = {10, 19, 28, 37, -4, 30, 40}, .cotangent = {1, 2, 3, 4}},
      {.line = "D16", .program = "D16", .inputs = {{1, 2, 3, 4, 5}, {1, 2, 4}}, .value = {10, 17, 24, 31, 14},
       .gradient = {3, 7, 7, 7, 6, 10, 15, 14}},
      {.line = "D18", .program = "D18", .inputs = {{1, 2, 3, 4, 5, 6}}, .value = {297}, .gradient = {1, 4, 16, 2, 8, 32}},
      {.line = "D20", .program = "D20", .inputs = {{0.5, -1, 2}}, .value = {3.241311296657157},
       .gradient = {0.1752903921400367, -0.9608874267293126, 0.7855970345892759},
       .hvp = {{{1, 1, 0}, {0.13770761225720413, 0.03072672157660784, -0.16843433383381198}}}},
      {.line = "D21", .program = "D21", .inputs = {{2.2, 0.5, 1.9}}, .value = {7.8}, .gradient = {2, 3, 1}},
      {.line = "D22", .program = "D22", .inputs = {{3}, {-4}}, .value = {2.498091544796509}, .gradient = {-0.16, -0.12},
       .jvp = {{{1, 1}, {-0.28}}}, .hvp = {{{1, 1}, {0.0272, -0.0496}}}},
      {.line = "D23", .program = "D23", .inputs = {{2}, {3}}, .value = {8}, .gradient = {12, 5.545177444479561},
       .hvp = {{{1, 0}, {12, 12.317766166719341}}}},
      {.line = "D25", .program = "D25", .inputs = {{0.3, -0.2, 0.5, 0.7}},
       .gradient = {0.2564733492495669, 1.435758678208848, 0.07719606913339377, 0.35260691599741256}},
      {.line = "D27", .program = "D27", .inputs = {{4, 0, -1, 1}}, .value = {4.386294361119891}, .gradient = {0.5, 0, 0, 1.5}},
      {.line = "D29", .program = "D29", .inputs = {{1, 2, 3, 4, 5, 9}}, .value = {3, 7, 14, 0, 0},
       .gradient = {1, 1, 10, 10, 100, 100}, .cotangent = {1, 10, 100, 1000, 10000}},
      {.line = "D30", .program = "D30_min", .inputs = {{3, 1, 1, 2}}, .gradient = {0, 1, 0, 0}},
      {.line = "D30", .program = "D30_max_left", .inputs = {{0}}, .gradient = {0}},
      {.line = "D30", .program = "D30_max_right", .inputs = {{0}}, .gradient = {1}},
      {.line = "D30", .program = "D30_abs", .inputs = {{0}}, .gradient = {0}},
      {.line = "D30", .program = "D30_relu", .inputs = {{0}}, .gradient = {0}},
      {.line = "D31", .program = "D31_all", .inputs = {{2, 3, 5, 7}}, .value = {418}, .gradient = {124, 123, 80, 51},
       .hvp = {{{1, 0, 0, 0}, {0, 41, 24, 15}}}},
      {.line = "D31", .program = "D31_sqrt", .inputs = {{2, 3, 5, 7}}, .value = {418}, .gradient = {124, 123, 80, 51},
       .hvp = {{{1, 0, 0, 0}, {0, 41, 24, 15}}}},
  };
  // clang-format on
}

}  // namespace spirograd::conformance
