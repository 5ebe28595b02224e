// Whether an output may lie where an input lies: pure, from what the steps and kernels of an executable declare.
#pragma once

#include <string>

#include "spirograd/executable.h"

namespace spirograd::vk {

/// Empty if running the steps gives the same where the output takes the bytes of the input: all steps that read the input
/// come before the first one that writes the output, or are that one, and it reads each element only to write the same one.
/// Else why not, for people: "step 3 (sum over axis 0) reads 'w' after 'w_next' is written". Pre: check_executable passes
/// it, an input and an output of one type.
std::string obstacle_in_place(const Executable& executable, uint32_t input, uint32_t output);

/// The output takes the bytes of the input, in every step. Pre: no obstacle.
void put_in_place(Executable& executable, uint32_t input, uint32_t output);

}  // namespace spirograd::vk
