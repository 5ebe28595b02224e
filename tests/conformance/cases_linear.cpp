// The cases F01 to F18: order, segments, linear algebra and transforms, by formulas.
#include "tests/conformance/conformance.h"

namespace spirograd::conformance {

std::vector<Case> linear_cases() {
  // clang-format off
  return {
      {.line = "F01", .program = "F01", .inputs = {{3, 1, 2}}, .value = {1, 4, 9}, .gradient = {3, 1, 2}},
      {.line = "F02", .program = "F02", .inputs = {{3, 1, 2, 5, 1, 0}}, .value = {9, 25, 4, 1, 1, 0}, .gradient = {6, 2, 4, 10, 2, 0}},
      {.line = "F03", .program = "F03", .inputs = {{2, 0, 0, 4}, {2, 8}}, .value = {1, 2},
       .gradient = {-0.5, -1, -0.25, -0.5, 0.5, 0.25}},
      {.line = "F03", .program = "F03", .inputs = {{0, 4, 2, 0}, {8, 2}}, .value = {1, 2},
       .gradient = {-0.25, -0.5, -0.5, -1, 0.25, 0.5}},
      {.line = "F04", .program = "F04", .inputs = {{2, 1, 1, 3}}, .value = {5}, .gradient = {3, -1, -1, 2}},
      {.line = "F04", .program = "F04", .inputs = {{0, 2, 1, 3}}, .value = {-2}, .gradient = {3, -1, -2, 0}},
      {.line = "F05", .program = "F05", .inputs = {{4, 2, 2, 5}}, .value = {2, 0, 1, 2}, .gradient = {0.1875, 0.125, 0.125, 0.25}},
      {.line = "F06", .program = "F06", .inputs = {{2, 0, 0, 4}}, .value = {0.5, 0, 0, 0.25},
       .gradient = {-0.25, -0.125, -0.125, -0.0625}},
      {.line = "F07", .program = "F07", .inputs = {{8}, {6}}, .value = {2, 10, 10}, .gradient = {1.6833333333333333, 1.2}},
      {.line = "F08", .program = "F08", .inputs = {{2, 9, 3, 4}, {2, 7}}, .value = {-5.875, 2.75},
       .gradient = {3.3125, -0.875, -0.25, 1.28125, 0.625, -0.625}},
      {.line = "F09", .program = "F09", .inputs = {{3, 1, 5, 2}}, .value = {15, 3}, .gradient = {1, 0, 3, 0}},
      {.line = "F10", .program = "F10", .inputs = {{2, 3, 4, 5}}, .value = {18, 48}, .gradient = {24, 6, 12, 11}},
      {.line = "F10", .program = "F10", .inputs = {{0, 3, 4, 5}}, .value = {18, 0}, .gradient = {24, 6, 0, 3}},
      {.line = "F11", .program = "F11", .inputs = {{0, 1.0986122886681098}}, .value = {0, 1.3862943611198906}, .gradient = {1.25, 0.75}},
      {.line = "F12", .program = "F12", .inputs = {{0.5, -0.99}}, .value = {0.47693627620446987, -1.8213863677184495},
       .gradient = {1.1125848189719498, 24.450876473746412}},
      {.line = "F13", .program = "F13", .inputs = {{1, 2, 3, 4}, {5, 6}}, .value = {85, 195}, .gradient = {81, 30, 25, 86, 20, 30}},
      {.line = "F14", .program = "F14", .inputs = {{1, 2, 3, 4}, {5, 7}}, .value = {7, 19, 31, 43}, .gradient = {12, 12, 12, 7, 6, 10}},
      {.line = "F15", .program = "F15", .inputs = {{1, 4, 2, 8}}, .value = {10, 37.333333333333336},
       .gradient = {2, 7.166666666666667, 2.6666666666666665, 7.333333333333333}},
      {.line = "F16", .program = "F16", .inputs = {{1, 2, -1}, {0.5, 0, 3}}, .value = {16.25, 17.348076211353316, 12.151923788646684},
       .gradient = {6, 12, -6, 3, 0, 18}},
      {.line = "F17", .program = "F17", .inputs = {{1, 2, 3, 4, 5}, {2, 0, -1, 0.5, 1}}, .value = {1.5, 4, 11.5, 11.5, 9},
       .gradient = {2.5, 2.5, 2.5, 2.5, 2.5, 15, 15, 15, 15, 15}},
      {.line = "F18", .program = "F18", .inputs = {{1, 2, 4, 8}}, .value = {5, -2.25}, .gradient = {0.25, 0.75, -0.25, 0.25}},
  };
  // clang-format on
}

}  // namespace spirograd::conformance
