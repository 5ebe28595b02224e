// Constant positions, out of the code.
#pragma once

#include <cstdint>
#include <vector>

#include "spirv/kernel/kernel.h"

namespace spirograd::kernel {

/// What a kernel reaches of a binding.
struct Reach {
  uint64_t first = 0;  // the element that number 0 in the code is now
  uint64_t count = 0;  // elements from there on that it may reach; 0: nobody knows
  bool operator==(const Reach&) const = default;
};

/// Numbers the elements of each binding from the least constant of all its accesses, so that a kernel that reads x[6] and
/// x[7] is the same code as one that reads x[8] and x[9]: who binds the array says where it begins. Returns what is reached
/// of each binding.
std::vector<Reach> rebase(Kernel& kernel);

}  // namespace spirograd::kernel
