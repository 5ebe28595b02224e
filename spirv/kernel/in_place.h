// Which results of a kernel may lie where one of its operands lies.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "spirv/kernel/kernel.h"

namespace spirograd::kernel {

/// Pairs of a binding that is only read and one that is only written, that may be one array: each element is
/// written at most once, by one invocation, which is the only one that reads it, and the values that it reads end in what it
/// writes there and nowhere else. So no order of reading and writing makes a difference, even where a driver takes bindings
/// for different arrays and moves reads about. Conservative: what is not found may be right all the same.
std::vector<std::pair<uint32_t, uint32_t>> in_place(const Kernel& kernel);

}  // namespace spirograd::kernel
