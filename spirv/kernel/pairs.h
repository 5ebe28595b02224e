// Accesses to neighbours in memory that may be one.
#pragma once

#include <vector>

#include "spirv/kernel/kernel.h"

namespace spirograd::kernel {

/// Half of two loads, or two stores, of elements 2 n and 2 n + 1 of a binding.
struct Half {
  Value other = 0;   // 0: the access is no half
  bool odd = false;  // of element 2 n + 1
};

/// For each instruction of the body. Between the halves of a pair nothing stands for which it matters whether both loads are
/// made at the first of them, and both stores at the second. `allowed`: bindings that may have pairs; those of elements that
/// are not 4 bytes, or that are read and written, have none.
std::vector<Half> pairs(const Kernel& k, const std::vector<bool>& allowed);

}  // namespace spirograd::kernel
