// What has to hold of a random program on the host: equal values at every stage of the compiler, text that parses to the
// same nodes, kernels that agree with the interpreter, and derivatives that agree with each other and with differences.
#pragma once

#include "tests/property/property.h"

namespace spirograd::property {

inline constexpr double kExact = 1e-9;   // the order of sums in double
inline constexpr double kSingle = 1e-4;  // f32 against double

/// How programs were compared.
struct Counts {
  uint64_t kernels = 0, rounded = 0, huge_angles = 0, contracted = 0, zero_signs = 0, too_many_axes = 0, differences = 0,
           second = 0, differentiated = 0;
};

/// "", or what is wrong. `number` chooses target and directions.
std::string stages_agree(const RandomProgram&, uint64_t number, Counts&);
/// The same for forward and reverse mode, and for every third number to second order. Pre: all results are floats.
std::string derivatives_agree(const RandomProgram&, uint64_t number, Counts&);

/// A property of the program, or, if that fails, of the program in which no sign of a zero shows.
template <class F>
Property up_to_signs_of_zeros(Counts& counts, F property) {
  return [&counts, property, number = uint64_t{0}](const RandomProgram& r) mutable {
    ++number;
    const std::string wrong = property(r, number, counts);
    if (wrong.empty()) return wrong;
    Counts again;
    if (!property({with_plain_zeros(r.program), r.inputs}, number, again).empty()) return wrong;
    ++counts.zero_signs;
    return std::string();
  };
}

}  // namespace spirograd::property
