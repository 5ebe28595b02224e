// The cases E01 to E28: derivatives inside of programs, by formulas.
#include "tests/conformance/conformance.h"

namespace spirograd::conformance {

std::vector<Case> nested_cases() {
  // clang-format off
  return {
      {.line = "E01", .program = "E01", .inputs = {{0.7}}, .value = {1.179607218336833}, .gradient = {1.0787319935025934}},
      {.line = "E02", .program = "E02", .inputs = {{0.7}}, .value = {-2.468042592812215}, .gradient = {-2.60841636807157}},
      {.line = "E03", .program = "E03", .inputs = {{2}, {0.5}}, .value = {1.5}, .gradient = {0.75, 6}},
      {.line = "E04", .program = "E04", .inputs = {{2}}, .value = {1}, .gradient = {0}},
      {.line = "E05", .program = "E05", .inputs = {{2}, {3}}, .value = {9, 12}, .gradient = {6, 10}},
      {.line = "E06", .program = "E06", .inputs = {{2}, {3, 4}}, .value = {4, 4.5}, .gradient = {0.75, 1, 1}},
      {.line = "E07", .program = "E07", .inputs = {{2, 3}}, .value = {3, 2, 1, 1}, .gradient = {1, 1}},
      {.line = "E08", .program = "E08", .inputs = {{2, 3}}, .value = {3, 2, 1, 0, 0, 6}, .gradient = {1, 3}},
      {.line = "E09", .program = "E09", .inputs = {{2, 3}}, .value = {3, 8}, .gradient = {1, 3}},
      {.line = "E10", .program = "E10", .inputs = {{2, 3}}, .value = {6, 4, 4, 0}, .gradient = {4, 2}},
      {.line = "E11", .program = "E11", .inputs = {{2, 3}}, .value = {14, 4}, .gradient = {6, 2}},
      {.line = "E12", .program = "E12", .inputs = {{0.1, 0.2, 0.3}},
       .value = {0.19933383317463074, 0.3946826463633095, 0.5821211533990214},
       .gradient = {1.9800249888913688, 1.920399289523471, 1.8220169162528101}},
      {.line = "E13", .program = "E13", .inputs = {{1, 2, 3}}, .value = {4, 8, 12}, .gradient = {4, 4, 4}},
      {.line = "E14", .program = "E14", .inputs = {{0.1}}, .value = {0.002126764793255863}, .gradient = {-0.21267647932558628}},
      {.line = "E15", .program = "E15", .inputs = {{3}}, .value = {192}, .gradient = {64}},
      {.line = "E16", .program = "E16", .inputs = {{2}}, .value = {1.4142135623730951}, .gradient = {0.35355339059327373}},
      {.line = "E17", .program = "E17", .inputs = {{2, 3}}, .value = {19, 11}, .gradient = {9, 4}},
      {.line = "E18", .program = "E18", .inputs = {{1, 2, 3, 4}}, .value = {4, 8, 2, 2}, .gradient = {3, 3, 1, 1}},
      {.line = "E19", .program = "E19", .inputs = {{0.5, -0.25}}, .value = {0.71875}, .gradient = {0.1, -0.6}},
      {.line = "E20", .program = "E20", .inputs = {{2}, {3}}, .value = {6, 3, 2}, .gradient = {4, 3}},
      {.line = "E21", .program = "E21", .inputs = {{3}}, .value = {9}, .gradient = {1}, .hvp = {{{1}, {0}}}},
      {.line = "E22", .program = "E22", .inputs = {{2}}, .value = {12}, .gradient = {12}, .hvp = {{{1}, {6}}}},
      {.line = "E23", .program = "E23", .inputs = {{2}, {1, 3, 5}}, .value = {2, 6, 10}, .gradient = {9, 4, 4, 4},
       .jvp = {{{1, 1, 0, 0}, {5, 3, 5}}}},
      {.line = "E24", .program = "E24", .inputs = {{8, 16}}, .value = {1, 2}, .gradient = {-1, -1}},
      {.line = "E25", .program = "E25", .inputs = {{2}, {1, 3, 5}}, .value = {2, 6, 10}, .gradient = {9, 4, 4, 4},
       .jvp = {{{1, 1, 0, 0}, {5, 3, 5}}}},
      {.line = "E26", .program = "E26", .inputs = {{2}, {3}}, .value = {41}, .gradient = {37, 73}, .jvp = {{{1, 0}, {37}}}},
      {.line = "E27", .program = "E27", .inputs = {{8, 16}}, .value = {1, 2}, .gradient = {-1, -1}},
      {.line = "E28", .program = "E28", .inputs = {{0.5, 1, 3}}, .value = {0.25, 1, 2}, .gradient = {1, 2, 0}},
  };
  // clang-format on
}

}  // namespace spirograd::conformance
