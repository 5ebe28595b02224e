// Arrays on the host: elements in, elements out.
#include "spirograd/host_array.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

namespace spirograd {
namespace {

template <class T>
void put(std::vector<uint8_t>& bytes, size_t i, T x) {
  std::memcpy(bytes.data() + i * sizeof(T), &x, sizeof(T));
}

template <class T>
T take(const std::vector<uint8_t>& bytes, size_t i) {
  T x;
  std::memcpy(&x, bytes.data() + i * sizeof(T), sizeof(T));
  return x;
}

// Modulo 2^32; NaN and infinities become 0.
uint32_t wrap(double x) {
  if (!std::isfinite(x)) return 0;
  return static_cast<uint32_t>(static_cast<int64_t>(std::fmod(std::trunc(x), 4294967296.0)));
}

}  // namespace

HostArray::HostArray(Type t) : type(t), bytes(static_cast<size_t>(t.shape.count()) * host_bytes(t.dtype)) {}

HostArray::HostArray(Type t, const std::vector<double>& values) : HostArray(t) {
  for (size_t i = 0; i < values.size(); ++i) {
    switch (t.dtype) {
      case DType::Bool: put<uint8_t>(bytes, i, values[i] != 0); break;
      case DType::I32:
      case DType::U32: put<uint32_t>(bytes, i, wrap(values[i])); break;
      case DType::F32: put<float>(bytes, i, static_cast<float>(values[i])); break;
      case DType::F64: put<double>(bytes, i, values[i]); break;
      case DType::F16: put<Half>(bytes, i, Half(values[i])); break;
    }
  }
}

template <Element T>
HostArray HostArray::of(std::span<const T> values) {
  HostArray a({dtype_of<T>, {static_cast<int64_t>(values.size())}});
  if constexpr (dtype_of<T> == DType::Bool)
    std::transform(values.begin(), values.end(), a.bytes.begin(), [](T x) { return x ? uint8_t{1} : uint8_t{0}; });
  else if (!values.empty())
    std::memcpy(a.bytes.data(), values.data(), values.size_bytes());
  return a;
}

template <Element T>
Result<HostArray> HostArray::of(const Shape& shape, std::span<const T> values) {
  const Type t{dtype_of<T>, shape};
  if (static_cast<uint64_t>(shape.count()) != values.size())
    return Error("SG0501", "HostArray::of: " + std::to_string(values.size()) + " values for " + to_string(t));
  HostArray a = of<T>(values);
  a.type = t;
  return a;
}

template <Element T>
requires(!std::same_as<T, bool>) Result<std::span<const T>> HostArray::as()
const& {
  const std::string wanted(name(dtype_of<T>));
  if (type.dtype != dtype_of<T>)
    return Error("SG0501",
                 "HostArray::as: the array is " + to_string(type) + ", and its elements are asked for as " + wanted)
        .hint("values() gives the elements of any array as doubles");
  const size_t n = static_cast<size_t>(count());
  if (bytes.size() != n * sizeof(T))
    return Error("SG0501", "HostArray::as: the array is " + to_string(type) + " and has " + std::to_string(bytes.size()) +
                               " bytes, not " + std::to_string(n * sizeof(T)));
  return std::span<const T>(reinterpret_cast<const T*>(bytes.data()), n);
}

template HostArray HostArray::of(std::span<const bool>);
template HostArray HostArray::of(std::span<const uint8_t>);
template HostArray HostArray::of(std::span<const int32_t>);
template HostArray HostArray::of(std::span<const uint32_t>);
template HostArray HostArray::of(std::span<const Half>);
template HostArray HostArray::of(std::span<const float>);
template HostArray HostArray::of(std::span<const double>);
template Result<HostArray> HostArray::of(const Shape&, std::span<const bool>);
template Result<HostArray> HostArray::of(const Shape&, std::span<const uint8_t>);
template Result<HostArray> HostArray::of(const Shape&, std::span<const int32_t>);
template Result<HostArray> HostArray::of(const Shape&, std::span<const uint32_t>);
template Result<HostArray> HostArray::of(const Shape&, std::span<const Half>);
template Result<HostArray> HostArray::of(const Shape&, std::span<const float>);
template Result<HostArray> HostArray::of(const Shape&, std::span<const double>);
template Result<std::span<const uint8_t>> HostArray::as() const&;
template Result<std::span<const int32_t>> HostArray::as() const&;
template Result<std::span<const uint32_t>> HostArray::as() const&;
template Result<std::span<const Half>> HostArray::as() const&;
template Result<std::span<const float>> HostArray::as() const&;
template Result<std::span<const double>> HostArray::as() const&;

std::vector<double> HostArray::values() const {
  std::vector<double> out(static_cast<size_t>(count()));
  for (size_t i = 0; i < out.size(); ++i) {
    switch (type.dtype) {
      case DType::Bool: out[i] = bytes[i] != 0; break;
      case DType::I32: out[i] = take<int32_t>(bytes, i); break;
      case DType::U32: out[i] = take<uint32_t>(bytes, i); break;
      case DType::F32: out[i] = take<float>(bytes, i); break;
      case DType::F64: out[i] = take<double>(bytes, i); break;
      case DType::F16: out[i] = static_cast<double>(take<Half>(bytes, i)); break;
    }
  }
  return out;
}

}  // namespace spirograd
