// Sums in shared memory, by halves: what the probe of workgroups and the tests of evaluator, emitter and drivers add up
// with.
#pragma once

#include "spirv/kernel/builder.h"

namespace spirograd::probes {

/// Leaves the sum of an array's `count` elements in its first one, which invocation 0 may read at once. Each invocation has
/// stored its own element, i. Pre: count is a power of two.
inline void add_by_halves(kernel::Builder& b, uint32_t array, kernel::Value i, uint32_t count) {
  using kernel::KOp;
  const auto word = [&](uint32_t x) { return b.constant(kernel::Scalar::U32, x); };
  for (uint32_t half = count / 2; half > 0; half /= 2) {
    b.barrier();
    b.begin_if(b.op(KOp::Lt, i, word(half)));
    b.shared_store(array, i, b.add({b.shared_load(array, i), b.shared_load(array, b.add(i, word(half)))}));
    b.end_if();
  }
}

}  // namespace spirograd::probes
