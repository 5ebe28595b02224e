// SPIR-V modules with a fault built in. What comes out is valid if what goes in is; what has none of the instructions in
// question comes out as it was.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace spirograd::pretend {

using Words = std::vector<uint32_t>;

/// In the invocations whose number along x is one_in - 1 modulo one_in, OpAtomicFAddEXT adds nothing.
Words lose_additions(std::span<const uint32_t> module, uint32_t one_in);
/// In the same ones, OpAtomicCompareExchange stores what it compares with, and says that all is well.
Words lose_exchanges(std::span<const uint32_t> module, uint32_t one_in);
/// x != y is false and x == y is true where one of them is NaN, and no other comparison takes NaN into account.
Words assume_no_nan(std::span<const uint32_t> module);
/// As over the reals, in f32: (x + y) - y and (x - y) + y are x, (x + y) - x and x - (x - y) are y.
/// `free_only`: not what is decorated with NoContraction.
Words reassociate(std::span<const uint32_t> module, bool free_only = false);
/// Whatever decides whether a loop ends decides so after so many decisions of the invocation, in all loops together.
Words cut_loops(std::span<const uint32_t> module, uint32_t iterations);

}  // namespace spirograd::pretend
