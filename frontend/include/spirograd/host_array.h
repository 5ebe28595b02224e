// An array on the host: what programs are fed and what they give back. Row-major, little-endian, bool one byte per element.
#pragma once

#include <cstdint>
#include <vector>

#include "spirograd/result.h"
#include "spirograd/shape.h"

namespace spirograd {

struct HostArray {
  Type type;
  std::vector<uint8_t> bytes;

  HostArray() = default;
  /// Zeros of that type.
  explicit HostArray(Type t);
  /// Elements converted from double (rounded, or wrapped for integers). Pre: values.size() == t.shape.count().
  HostArray(Type t, const std::vector<double>& values);

  int64_t count() const { return type.shape.count(); }
  /// Elements as doubles; exact for every dtype.
  std::vector<double> values() const;
};

/// Bytes of one element in files and in HostArray.
constexpr uint64_t host_bytes(DType t) { return t == DType::F64 ? 8 : t == DType::Bool ? 1 : 4; }

}  // namespace spirograd
