// An array on the host: what programs are fed and what they give back. Row-major, little-endian, bool one byte per element.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
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

  /// Elements as they are, one after another: an array of rank 1. `HostArray::of<float>({1, 2, 3})` is an f32[3].
  template <Element T>
  static HostArray of(std::span<const T> values);
  template <Element T>
  static HostArray of(std::initializer_list<T> values) {
    return of<T>(std::span<const T>(values.begin(), values.size()));
  }
  /// The same in a shape, in row-major order. Error SG0501 if there are more or fewer values than the shape has elements.
  template <Element T>
  static Result<HostArray> of(const Shape& shape, std::span<const T> values);
  template <Element T>
  static Result<HostArray> of(const Shape& shape, std::initializer_list<T> values) {
    return of<T>(shape, std::span<const T>(values.begin(), values.size()));
  }

  /// The elements in place, valid as long as the array lives and keeps its bytes. Error SG0501 if T is not the element type,
  /// or the bytes are not those of the type. Of a bool array: uint8_t, 0 or 1.
  template <Element T>
  requires(!std::same_as<T, bool>) Result<std::span<const T>> as()
  const&;
  template <Element T>
  Result<std::span<const T>> as() const&& = delete;  // they would dangle

  int64_t count() const { return type.shape.count(); }
  /// Elements as doubles; exact for every dtype.
  std::vector<double> values() const;
};

/// Bytes of one element in files and in HostArray.
constexpr uint64_t host_bytes(DType t) { return t == DType::Bool ? 1 : device_bytes(t); }

}  // namespace spirograd
