// Elements of buffers as values of the evaluator: bits in a word of 64.
#pragma once

#include <cstring>

#include "spirograd/dtype.h"
#include "spirv/kernel/kernel.h"
#include "spirv/kernel/scalar.h"

namespace spirograd::kernel {

/// `t`: of the binding.
inline uint64_t read_element(const uint8_t* from, Scalar t) {
  if (t == Scalar::F16) {
    Half half;
    std::memcpy(&half, from, sizeof half);
    return bits(static_cast<float>(half));
  }
  uint64_t word = 0;
  std::memcpy(&word, from, bytes_of(t));
  return t == Scalar::Bool ? word != 0 : word;
}

inline void write_element(uint8_t* to, Scalar t, uint64_t value) {
  if (t == Scalar::F16) value = Half(static_cast<double>(as_f32(value))).bits;
  std::memcpy(to, &value, bytes_of(t));
}

}  // namespace spirograd::kernel
